// runtime/cuda/cubin.cpp – what a cubin says of its kernels
//
// A cubin is an ELF file. The attributes of its kernels stand in sections `.nv.info`, their code in
// `.text.<name>`: instructions of 16 bytes, the opcode in the lowest 12 bits, the width of a memory
// access in bits 73 to 75. NVIDIA does not document this; tests compare it with what ptxas reports.
#include "runtime/cuda/cubin.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/text.h"

namespace ricci::cuda {

namespace {

using Bytes = std::span<const std::byte>;

/// A number at a place; 0 beyond the end.
template <class T>
T read(Bytes bytes, std::uint64_t at) {
    T value = 0;
    if (at <= bytes.size() && bytes.size() - at >= sizeof(T))
        std::memcpy(&value, bytes.data() + at, sizeof(T));
    return value;
}

std::string_view read_name(Bytes table, std::uint64_t at) {
    if (at >= table.size()) return {};
    const Bytes rest = table.subspan(at);
    const auto end = std::ranges::find(rest, std::byte{0});
    return {reinterpret_cast<const char*>(rest.data()), std::size_t(end - rest.begin())};
}

struct Section {
    std::string_view name = {};
    std::uint32_t type = 0;
    std::uint64_t size = 0;
    std::uint32_t link = 0;
    Bytes content = {};  ///< empty where it takes no space in the file
};

struct Elf {
    int architecture = 0;
    std::vector<Section> sections;
};

std::optional<Elf> read_elf(Bytes file) {
    constexpr std::string_view magic = "\177ELF\2\1";
    if (file.size() < 64 || std::memcmp(file.data(), magic.data(), magic.size()) != 0)
        return std::nullopt;
    constexpr std::uint16_t cuda_machine = 190;
    if (read<std::uint16_t>(file, 0x12) != cuda_machine) return std::nullopt;
    // Since CUDA 13 (version 8 of the ABI) the architecture is in the second byte.
    const auto flags = read<std::uint32_t>(file, 0x30);
    Elf elf{.architecture = int((read<std::uint8_t>(file, 8) >= 8 ? flags >> 8 : flags) & 0xff),
            .sections = {}};
    const auto table = read<std::uint64_t>(file, 0x28);
    const auto entry_size = read<std::uint16_t>(file, 0x3a);
    const auto count = read<std::uint16_t>(file, 0x3c);
    constexpr std::uint32_t no_content = 8;
    std::vector<std::uint32_t> names;
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t at = table + i * entry_size;
        const auto offset = read<std::uint64_t>(file, at + 24);
        Section section{.type = read<std::uint32_t>(file, at + 4),
                        .size = read<std::uint64_t>(file, at + 32),
                        .link = read<std::uint32_t>(file, at + 40)};
        const bool is_inside = offset <= file.size() && section.size <= file.size() - offset;
        if (section.type != no_content && is_inside)
            section.content = file.subspan(offset, section.size);
        names.push_back(read<std::uint32_t>(file, at));
        elf.sections.push_back(section);
    }
    const auto name_table = read<std::uint16_t>(file, 0x3e);
    if (name_table >= count) return std::nullopt;
    for (std::size_t i = 0; i < elf.sections.size(); ++i)
        elf.sections[i].name = read_name(elf.sections[name_table].content, names[i]);
    return elf;
}

/// Names of the symbols, in order.
std::vector<std::string_view> read_symbols(const Elf& elf) {
    constexpr std::uint32_t symbol_table = 2;
    constexpr std::uint64_t entry_size = 24;
    std::vector<std::string_view> names;
    for (const Section& section : elf.sections) {
        if (section.type != symbol_table || section.link >= elf.sections.size()) continue;
        for (std::uint64_t at = 0; at + entry_size <= section.content.size(); at += entry_size)
            names.push_back(read_name(elf.sections[section.link].content,
                                      read<std::uint32_t>(section.content, at)));
    }
    return names;
}

// --- attributes ----------------------------------------------------------------------------------

/// The kernel of that name, new when there is none yet.
CubinKernel& entry(std::vector<CubinKernel>& kernels, std::string_view name) {
    const auto found = std::ranges::find(kernels, name, &CubinKernel::name);
    if (found != kernels.end()) return *found;
    kernels.push_back({.name = std::string(name), .resources = {}});
    return kernels.back();
}

/// Registers and stacks: attributes of two numbers, a symbol's and the value.
void read_attributes(Bytes info, const std::vector<std::string_view>& symbols,
                     std::vector<CubinKernel>& kernels) {
    constexpr std::uint8_t sized = 4;
    constexpr std::uint8_t frame_size = 0x11;
    constexpr std::uint8_t register_count = 0x2f;
    for (std::uint64_t at = 0; at + 4 <= info.size();) {
        const auto form = read<std::uint8_t>(info, at);
        const auto attribute = read<std::uint8_t>(info, at + 1);
        const auto size = read<std::uint16_t>(info, at + 2);
        at += 4;
        if (form != sized) continue;
        const auto symbol = read<std::uint32_t>(info, at);
        const auto value = read<std::uint32_t>(info, at + 4);
        at += size;
        if (size != 8 || symbol >= symbols.size()) continue;
        const bool is_frame = attribute == frame_size;
        if (!is_frame && attribute != register_count) continue;
        codegen::KernelResources& resources = entry(kernels, symbols[symbol]).resources;
        (is_frame ? resources.stack_bytes : resources.registers) = value;
    }
}

// --- instructions --------------------------------------------------------------------------------

constexpr std::uint64_t instruction_bytes = 16;

struct Mnemonic {
    unsigned opcode;
    std::string_view name;
    bool has_width = false;
};
constexpr unsigned branch = 0x947;
constexpr unsigned no_operation = 0x918;
constexpr Mnemonic mnemonics[] = {
    {0x209, "FMNMX"},     {0x809, "FMNMX"},     {0x223, "FFMA"},      {0x423, "FFMA"},
    {0x823, "FFMA"},      {0xa23, "FFMA"},      {0xc23, "FFMA"},      {0x221, "FADD"},
    {0x421, "FADD"},      {0x821, "FADD"},      {0xa21, "FADD"},      {0xc21, "FADD"},
    {0x220, "FMUL"},      {0x420, "FMUL"},      {0x820, "FMUL"},      {0xa20, "FMUL"},
    {0xc20, "FMUL"},      {0x22b, "DFMA"},      {0x42b, "DFMA"},      {0x82b, "DFMA"},
    {0xa2b, "DFMA"},      {0xc2b, "DFMA"},      {0x308, "MUFU"},      {0x23c, "HMMA"},
    {0xb1d, "BAR"},       {0xfae, "LDGSTS"},    {0x984, "LDS", true}, {0x388, "STS", true},
    {0x981, "LDG", true}, {0x986, "STG", true}, {0x983, "LDL", true}, {0x387, "STL", true},
    {0x389, "SHFL"},      {0xf89, "SHFL"},      {0x589, "SHFL"},      {branch, "BRA"},
    {0x94d, "EXIT"}};

std::string mnemonic(std::uint64_t low, std::uint64_t high) {
    const unsigned opcode = low & 0xfff;
    const auto* row = std::ranges::find(mnemonics, opcode, &Mnemonic::opcode);
    if (row == std::end(mnemonics)) return format("{:#x}", opcode);
    constexpr unsigned bits_64 = 5;
    constexpr unsigned bits_128 = 6;
    const unsigned width = (high >> 9) & 7;
    const bool is_wide = row->has_width && (width == bits_64 || width == bits_128);
    return format("{}{}", row->name, !is_wide ? "" : width == bits_64 ? ".64" : ".128");
}

/// Where a branch goes, in bytes from the begin of the code.
std::int64_t branch_target(std::uint64_t low, std::uint64_t high, std::uint64_t at,
                           int architecture) {
    // In words of 4 bytes from the next instruction: 48 bits from bit 34 on, to which compute
    // capability 9.0 added eight lower ones at bit 16.
    const std::uint64_t bits = (low >> 34) | (high << 30);
    auto words = static_cast<std::int64_t>(bits << 16) >> 16;
    if (architecture >= 90) words = words * 256 + std::int64_t((low >> 16) & 0xff);
    return std::int64_t(at + instruction_bytes) + 4 * words;
}

Opcodes count_instructions(Bytes code) {
    Opcodes counts;
    for (std::uint64_t at = 0; at + instruction_bytes <= code.size(); at += instruction_bytes) {
        const auto low = read<std::uint64_t>(code, at);
        if ((low & 0xfff) == no_operation) continue;
        ++counts[mnemonic(low, read<std::uint64_t>(code, at + 8))];
    }
    return counts;
}

struct Interval {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

/// The innermost loop with the most instructions: from where a branch goes back to, up to it.
Interval main_loop(Bytes code, int architecture) {
    std::vector<Interval> loops;
    for (std::uint64_t at = 0; at + instruction_bytes <= code.size(); at += instruction_bytes) {
        const auto low = read<std::uint64_t>(code, at);
        if ((low & 0xfff) != branch) continue;
        const std::int64_t target =
            branch_target(low, read<std::uint64_t>(code, at + 8), at, architecture);
        // A branch to itself ends the code.
        if (target >= 0 && target < std::int64_t(at))
            loops.push_back({std::uint64_t(target), at + instruction_bytes});
    }
    Interval largest;
    for (const Interval& loop : loops) {
        const bool is_innermost = std::ranges::none_of(loops, [&](const Interval& other) {
            return other.begin >= loop.begin && other.end <= loop.end &&
                   other.end - other.begin < loop.end - loop.begin;
        });
        if (is_innermost && loop.end - loop.begin > largest.end - largest.begin) largest = loop;
    }
    return largest;
}

}  // namespace

std::vector<CubinKernel> read_cubin(std::span<const std::byte> cubin) {
    const std::optional<Elf> elf = read_elf(cubin);
    if (!elf) return {};
    const std::vector<std::string_view> symbols = read_symbols(*elf);
    std::vector<CubinKernel> kernels;
    constexpr std::string_view text = ".text.";
    for (const Section& section : elf->sections) {
        if (!section.name.starts_with(text)) continue;
        CubinKernel& kernel = entry(kernels, section.name.substr(text.size()));
        kernel.opcodes = count_instructions(section.content);
        const Interval loop = main_loop(section.content, elf->architecture);
        kernel.main_loop =
            count_instructions(section.content.subspan(loop.begin, loop.end - loop.begin));
    }
    std::vector<CubinKernel> others = kernels;
    for (const Section& section : elf->sections)
        if (section.name == ".nv.info") read_attributes(section.content, symbols, others);
    // Compute capability 9.0 keeps a KiB of every block for itself.
    const std::uint64_t reserved = elf->architecture >= 90 ? 1024 : 0;
    for (CubinKernel& kernel : kernels) {
        kernel.resources = entry(others, kernel.name).resources;
        for (const Section& section : elf->sections)
            if (section.name == ".nv.shared." + kernel.name && section.size > reserved)
                kernel.resources.shared_bytes = std::int64_t(section.size - reserved);
    }
    return kernels;
}

std::int64_t total(const Opcodes& opcodes) {
    std::int64_t sum = 0;
    for (const auto& [name, count] : opcodes) sum += count;
    return sum;
}

std::int64_t count(const Opcodes& opcodes, const std::string& name) {
    const auto found = opcodes.find(name);
    return found == opcodes.end() ? 0 : found->second;
}

}  // namespace ricci::cuda
