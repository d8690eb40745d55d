// codegen/cpu/target.cpp – what this machine, or a named one, can do
#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/env.h"
#include "base/error.h"
#include "base/text.h"
#include "codegen/cpu/compile.h"

namespace ricci::codegen::cpu {

namespace {

/// The levels of the x86-64 psABI that code is generated for.
struct Level {
    std::string_view name;
    std::string_view cpu;
    int vector_bytes;
    int vector_registers;
    bool has_fma;
};
constexpr Level levels[] = {
    {"avx512", "x86-64-v4", 64, 32, true},
    {"avx2", "x86-64-v3", 32, 16, true},
    {"sse2", "x86-64", 16, 16, false},
};

std::int64_t cache_bytes(int which, std::int64_t otherwise) {
    const std::int64_t bytes = sysconf(which);
    return bytes > 0 ? bytes : otherwise;
}

/// Of what this CPU's cores share (Linux, Documentation/ABI/testing/sysfs-devices-system-cpu):
/// sysconf tells the sum over a package of AMD's, of which a core sees a part.
std::int64_t l3_cache_bytes() {
    for (int index = 0; index < 8; ++index) {
        const std::string cache = format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
        int level = 0;
        std::int64_t kib = 0;
        if (std::ifstream(cache + "level") >> level && level == 3 &&
            std::ifstream(cache + "size") >> kib && kib > 0)
            return kib << 10;
    }
    return cache_bytes(_SC_LEVEL3_CACHE_SIZE, 32 << 20);
}

// Everything that LLVM takes for granted in the level.
const Level& best_level(const llvm::StringMap<bool>& features) {
    const auto has = [&](std::initializer_list<const char*> all) {
        return std::ranges::all_of(all, [&](const char* each) { return features.lookup(each); });
    };
    if (has({"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"})) return levels[0];
    if (has({"avx2", "fma", "bmi", "bmi2", "f16c", "lzcnt", "movbe"})) return levels[1];
    return levels[2];
}

/// VDPBF16PS has the rate of multiply-adds on AMD's CPUs since Zen 4. On Intel's it has half of it
/// (Emerald Rapids: 86 GFLOP/s beside 174), which conversions to f32 beat.
bool has_fast_bf16_dot(const llvm::StringMap<bool>& features, llvm::StringRef cpu) {
    return features.lookup("avx512bf16") && cpu.starts_with("znver");
}

/// Requests for the first-level cache cost AMD's CPUs more than they save: Zen 4 takes 1.94 ms for
/// softmax of rows of 1024 with them, 1.54 without any or with requests for the second-level one,
/// which make NCHW from NHWC 3.8 ms instead of 5.5 (bench_cpu --threads 1 "softmax 1024" "NHWC to
/// NCHW").
int best_stream_level(llvm::StringRef cpu) { return cpu.starts_with("znver") ? 2 : 1; }

/// Zen 4 takes 83 us for sums by channel of 6 MB with requests, 67 without (ricci bench --threads 1
/// "s[c] := x[n,c,h,w]" x=32x64x28x28). An Intel Xeon (Sapphire Rapids) gains from them.
bool has_fast_l3(llvm::StringRef cpu) { return cpu.starts_with("znver"); }

/// Zen 4 computes 64 bytes in two turns of 32 (AMD, Software Optimization Guide for the Zen 4
/// Microarchitecture, 57647, section 2.11); Zen 5 on servers in one.
int unit_bytes(llvm::StringRef cpu) { return cpu == "znver4" ? 32 : 64; }

/// Tile registers are used by processes that have asked for them, from Linux 5.16 on
/// (Documentation/arch/x86/xstate.rst).
bool may_use_tiles() {
    constexpr long request_permission = 0x1023;  // ARCH_REQ_XCOMP_PERM
    constexpr long tile_data = 18;
    return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

Target detect() {
    const llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
    const Level& level = best_level(features);
    // In order of name: the text is part of cache keys, the map's own order is arbitrary.
    std::vector<std::string> text;
    for (const auto& feature : features) {
        text.push_back((feature.second ? "+" : "-") + feature.first().str());
    }
    std::ranges::sort(text, {}, [](const std::string& each) { return each.substr(1); });
    return {.cpu = llvm::sys::getHostCPUName().str(),
            .features = join(text, ","),
            .vector_bytes = level.vector_bytes,
            .vector_registers = level.vector_registers,
            .has_fma = level.has_fma,
            .has_bf16_dot = level.vector_bytes == 64 &&
                            has_fast_bf16_dot(features, llvm::sys::getHostCPUName()),
            .has_integer_dot = level.vector_bytes == 64 && features.lookup("avx512vnni"),
            .has_bf16_tiles = level.vector_bytes == 64 && features.lookup("amx-tile") &&
                              features.lookup("amx-bf16") && may_use_tiles(),
            .l1_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, 32 << 10),
            .l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE, 1 << 20),
            .l3_bytes = l3_cache_bytes(),
            .stream_level = best_stream_level(llvm::sys::getHostCPUName()),
            .has_fast_l3 = has_fast_l3(llvm::sys::getHostCPUName()),
            .unit_bytes = unit_bytes(llvm::sys::getHostCPUName())};
}

}  // namespace

Target host_target() {
    static const Target host = detect();
    const std::optional<std::string> wanted = env::target();
    if (!wanted) return host;
    Target target = named_target(*wanted);
    if (target.vector_bytes > host.vector_bytes) {
        throw Error({.kind = ErrorKind::device,
                     .message = format("RICCI_TARGET asks for `{}`, this machine has {}", *wanted,
                                       str(host))});
    }
    target.l1_bytes = host.l1_bytes;
    target.l2_bytes = host.l2_bytes;
    target.l3_bytes = host.l3_bytes;
    target.stream_level = host.stream_level;
    target.has_fast_l3 = host.has_fast_l3;
    target.unit_bytes = host.unit_bytes;
    return target;
}

Target named_target(std::string_view name) {
    const auto* const level = std::ranges::find(levels, name, &Level::name);
    if (level == std::end(levels)) {
        throw Error({.kind = ErrorKind::device,
                     .message = format("no target `{}`", name),
                     .hint = "the targets are avx512, avx2 and sse2"});
    }
    return {.cpu = std::string(level->cpu),
            .features = "",
            .vector_bytes = level->vector_bytes,
            .vector_registers = level->vector_registers,
            .has_fma = level->has_fma};
}

}  // namespace ricci::codegen::cpu
