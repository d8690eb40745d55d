// tests/emulation/module.cpp – kernel text compiled by the C++ compiler and loaded
#include "tests/emulation/module.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "codegen/cuda/emit.h"
#include "tests/emulation/launch.h"
#include "tests/emulation/mark_stores.h"

namespace ricci::emulation {
namespace {

namespace fs = std::filesystem;

Checks program_checks = Checks::arrays;

/// A directory of this process, gone with it.
const fs::path& directory() {
    struct Directory {
        fs::path path;
        pid_t owner = getpid();
        Directory() {
            std::string name = (fs::temp_directory_path() / "ricci_emulation_XXXXXX").string();
            if (mkdtemp(name.data()) == nullptr)
                throw Error({.kind = ErrorKind::io,
                             .message = format("cannot make a directory like {}", name)});
            path = name;
        }
        ~Directory() {
            std::error_code ignored;
            if (owner == getpid()) fs::remove_all(path, ignored);
        }
        Directory(const Directory&) = delete;
        Directory& operator=(const Directory&) = delete;
    };
    static const Directory made;
    return made.path;
}

fs::path new_file(std::string_view ending) {
    static std::atomic<int> count = 0;
    return directory() / format("{}_{}{}", getpid(), count++, ending);
}

void write_file(const fs::path& path, std::string_view text) {
    std::ofstream file(path, std::ios::binary);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    if (!file.flush())
        throw Error({.kind = ErrorKind::io, .message = format("cannot write {}", path.string())});
}

std::string read_file(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Runs a command with its outputs in a file; its exit status.
int run(const std::vector<std::string>& command, const fs::path& log) {
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (file >= 0) {
            dup2(file, STDOUT_FILENO);
            dup2(file, STDERR_FILENO);
        }
        setenv("LC_ALL", "C", 1);
        execvp(words[0], words.data());
        _exit(127);
    }
    if (child < 0) throw Error({.kind = ErrorKind::io, .message = "cannot start the C++ compiler"});
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

bool is_name(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// `name:a,b,c;` for each kernel of the text: what a compiler cannot tell of a parameter.
std::string parameter_names(std::string_view text) {
    constexpr std::string_view opening = "RC_KERNEL(";
    std::string names;
    for (std::size_t at = text.find(opening); at < text.size(); at = text.find(opening, at + 1)) {
        const std::size_t bound_end = text.find(')', at);
        const std::size_t begin = text.find('(', std::min(bound_end, text.size()));
        if (begin >= text.size()) break;
        const auto word_before = [&](std::size_t end) {
            while (end > 0 && !is_name(text[end - 1])) --end;
            std::size_t first = end;
            while (first > 0 && is_name(text[first - 1])) --first;
            return text.substr(first, end - first);
        };
        names += format("{}:", word_before(begin));
        int depth = 1;
        for (std::size_t i = begin + 1; i < text.size() && depth > 0; ++i) {
            const bool is_end = depth == 1 && (text[i] == ',' || text[i] == ')');
            depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
            if (is_end) names += format("{},", word_before(i));
        }
        names += ';';
    }
    return names;
}

/// The whole translation unit.
std::string unit(std::string_view kernels, Checks checks) {
    return format(
        "#include \"{}/tests/emulation/prelude_cpu.h\"\n#line 1 \"operations\"\n{}\n"
        "#line 1 \"kernels\"\n{}\n}}  // namespace rc_kernels\n"
        "extern \"C\" const rc_entry* rc_open(const rc_device* device) {{\n"
        "    rc_kernels::rc_the_device = device;\n    return rc_kernels::rc_entries;\n}}\n"
        "extern \"C\" const char rc_parameter_names[];\n"
        "const char rc_parameter_names[] = \"{}\";\n",
        RICCI_EMULATION_ROOT, codegen::cuda::operations(),
        checks == Checks::arrays ? mark_stores(kernels) : std::string(kernels),
        parameter_names(kernels));
}

std::vector<std::string> command(Checks checks, const fs::path& from, const fs::path& to) {
    std::vector<std::string> words = {RICCI_EMULATION_COMPILER,
                                      "-std=c++17",
                                      "-w",
                                      "-fPIC",
                                      "-shared",
                                      "-nostdlib",
                                      "-fno-exceptions",

                                      "-ffp-contract=off",
                                      "-pipe",
                                      format("-I{}", RICCI_EMULATION_ROOT)};
    const auto add = [&](std::initializer_list<const char*> more) {
        words.insert(words.end(), more.begin(), more.end());
    };
    switch (checks) {
        case Checks::arrays: add({"-O1", "-fno-asynchronous-unwind-tables"}); break;
        case Checks::address:
            add({"-O1", "-g", "-DRC_UNCHECKED", "-fsanitize=address,undefined",
                 "-fno-sanitize=vptr", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"});
            break;
        case Checks::thread: add({"-O1", "-g", "-DRC_UNCHECKED", "-fsanitize=thread"}); break;
    }
    for (const std::string& word :
         {std::string("-x"), std::string("c++"), from.string(), std::string("-o"), to.string()})
        words.push_back(word);
    return words;
}

}  // namespace

Checks checks_of_this_program() noexcept { return program_checks; }
void set_checks_of_this_program(Checks checks) noexcept { program_checks = checks; }

Compiled compile(std::string_view kernels, Checks checks) {
    const fs::path source = new_file(".cpp");
    const fs::path object = new_file(".so");
    const fs::path log = new_file(".log");
    write_file(source, unit(kernels, checks));
    const int status = run(command(checks, source, object), log);
    Compiled compiled{.is_good = status == 0, .image = {}, .log = read_file(log)};
    if (compiled.is_good) compiled.image = read_file(object);
    if (status == 127) compiled.log += format("cannot run {}\n", RICCI_EMULATION_COMPILER);
    std::error_code ignored;
    for (const fs::path& path : {source, object, log}) fs::remove(path, ignored);
    return compiled;
}

std::size_t image_bytes(const void* image) {
    const auto* bytes = static_cast<const unsigned char*>(image);
    constexpr unsigned char magic[] = {0x7F, 'E', 'L', 'F', 2, 1};
    if (std::memcmp(bytes, magic, sizeof magic) != 0) return 0;
    // The section headers come last.
    std::uint64_t headers = 0;
    std::uint16_t size = 0;
    std::uint16_t count = 0;
    std::memcpy(&headers, bytes + 0x28, sizeof headers);
    std::memcpy(&size, bytes + 0x3A, sizeof size);
    std::memcpy(&count, bytes + 0x3C, sizeof count);
    return headers + std::size_t(size) * count;
}

Module::Module(std::string_view image) {
    const fs::path path = new_file(".so");
    write_file(path, image);
    // AddressSanitizer keeps pointers to the globals of what was unloaded, and follows them when it
    // reports.
    const int stays = checks_of_this_program() == Checks::address ? RTLD_NODELETE : 0;
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | stays);
    const char* problem = handle_ == nullptr ? dlerror() : nullptr;
    // Sanitizers read the file when they report.
    std::error_code ignored;
    if (checks_of_this_program() == Checks::arrays) fs::remove(path, ignored);
    if (problem != nullptr) throw Error({.kind = ErrorKind::device, .message = problem});
    using Open = const rc_entry* (*)(const rc_device*);
    auto* opened = reinterpret_cast<Open>(dlsym(handle_, "rc_open"));
    const auto* names = static_cast<const char*>(dlsym(handle_, "rc_parameter_names"));
    RICCI_ASSERT(opened != nullptr && names != nullptr, "an image of kernels");
    for (const rc_entry* entry = opened(Processor::instance().interface()); entry != nullptr;
         entry = entry->next)
        entries_.push_back({entry, {}});
    std::string_view rest = names;
    while (!rest.empty()) {
        std::string_view kernel = rest.substr(0, rest.find(';'));
        rest.remove_prefix(std::min(kernel.size() + 1, rest.size()));
        const std::string_view name = kernel.substr(0, kernel.find(':'));
        kernel.remove_prefix(name.size() + 1);
        for (Entry& entry : entries_) {
            if (name != entry.entry->name) continue;
            for (std::string_view left = kernel; !left.empty();) {
                const std::string_view parameter = left.substr(0, left.find(','));
                left.remove_prefix(parameter.size() + 1);
                entry.parameters.emplace_back(parameter);
            }
            entry.parameters.resize(std::size_t(entry.entry->parameters), "an argument");
        }
    }
}

Module::~Module() {
    if (handle_ != nullptr) dlclose(handle_);
}

const rc_entry* Module::find(std::string_view name) const noexcept {
    for (const Entry& each : entries_)
        if (name == each.entry->name) return each.entry;
    return nullptr;
}

const std::vector<std::string>& Module::parameters(const rc_entry* entry) const {
    const auto found = std::ranges::find(entries_, entry, &Entry::entry);
    RICCI_ASSERT(found != entries_.end(), "an entry of the module");
    return found->parameters;
}

}  // namespace ricci::emulation
