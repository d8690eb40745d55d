// tests/layering/layering_test.cpp – who may include what, and the form of every source file
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/support/golden.h"

namespace ricci::tests {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string_view>;

constexpr std::size_t widest_line = 100;
constexpr std::size_t longest_file = 600;
constexpr std::size_t longest_readme = 60;

struct Room {
    std::string_view path;
    Words may_include;  ///< rooms besides itself
    bool is_library = true;
};

/// The house, from the ground up.
const std::vector<Room>& rooms() {
    static const Words program = {"base",    "affine",      "dsl",          "grad",
                                  "codegen", "codegen/cpu", "codegen/cuda", "codegen/source",
                                  "runtime", "ricci"};
    // clang-format off
    static const std::vector<Room> table = {
        {"base",         {}},
        {"affine",       {"base"}},
        {"dsl",          {"affine", "base"}},
        {"grad",         {"dsl", "affine", "base"}},
        {"codegen",      {"dsl", "affine", "base"}},
        {"codegen/cpu",  {"codegen", "dsl", "affine", "base"}},
        {"codegen/cuda", {"codegen", "dsl", "affine", "base"}},
        {"codegen/source", {"codegen/cpu", "codegen/cuda", "codegen", "dsl", "affine", "base"}},
        {"runtime",      {"codegen/cpu", "codegen/cuda", "codegen", "grad", "dsl", "affine",
                          "base"}},
        {"ricci",        {"runtime", "codegen", "grad", "dsl", "affine", "base"}},
        {"tools/ricci",  program, false},
        {"examples",     {"ricci", "base"}, false},
        {"bench",        program, false},
    };
    // clang-format on
    return table;
}

struct ThirdParty {
    std::string_view header;  ///< how the name of the header begins
    Words allowed;            ///< how the paths of the files that may include it begin
};

const std::vector<ThirdParty>& third_parties() {
    // clang-format off
    static const std::vector<ThirdParty> table = {
        {"fmt/",         {"base/text.h"}},
        {"llvm",         {"codegen/cpu/"}},
        {"tbb/",         {"runtime/parallel.cpp"}},
        {"oneapi/tbb",   {"runtime/parallel.cpp"}},
        {"oneapi/dnnl",  {"bench/"}},
        {"dnnl",         {"bench/"}},
        {"libxsmm",      {"bench/"}},
        {"omp.h",        {"bench/"}},
        {"zlib.h",       {"runtime/", "examples/"}},
        {"Eigen/",       {"bench/"}},
        {"nlohmann/",    {"bench/"}},
        {"immintrin.h",  {"runtime/cpu_rates.cpp", "bench/"}},
        {"CLI/",         {"tools/ricci/", "examples/", "bench/"}},
        {"doctest/",     {"tests/"}},
        {"ricci/",       {"tools/", "examples/", "bench/", "tests/"}},
        {"dlfcn.h",      {"runtime/", "bench/", "tests/"}},
        {"ucontext.h",   {"tests/"}},
        {"cuda.h",       {"tests/"}},
        {"nvrtc.h",      {"tests/"}},
        {"cublasLt.h",   {"tests/"}},
        {"cudnn",        {"tests/"}},
        {"sys/",         {"runtime/", "codegen/cpu/", "tools/", "bench/", "tests/"}},
        {"unistd.h",     {"runtime/", "codegen/cpu/", "tools/", "examples/", "bench/", "tests/"}},
        {"fcntl.h",      {"runtime/", "tests/"}},
        {"dirent.h",     {"runtime/"}},
        {"link.h",       {"runtime/"}},
    };
    // clang-format on
    return table;
}

struct SourceFile {
    std::string path;  ///< from the root of the tree, with `/`
    std::vector<std::string> lines;
};

std::vector<std::string> read_lines(const fs::path& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
}

const std::vector<SourceFile>& sources() {
    static const std::vector<SourceFile> files = [] {
        std::vector<SourceFile> found;
        for (const std::string_view directory :
             {"base", "affine", "dsl", "grad", "codegen", "runtime", "ricci", "tools", "examples",
              "bench", "tests"}) {
            if (!fs::exists(source_root() / directory)) continue;
            for (const auto& entry : fs::recursive_directory_iterator(source_root() / directory)) {
                const fs::path extension = entry.path().extension();
                if (extension != ".h" && extension != ".cpp") continue;
                found.push_back({fs::relative(entry.path(), source_root()).generic_string(),
                                 read_lines(entry.path())});
            }
        }
        return found;
    }();
    return files;
}

/// The innermost room that a path lies in.
const Room* room_of(std::string_view path) {
    const Room* found = nullptr;
    for (const Room& room : rooms()) {
        const bool is_inside = path.starts_with(format("{}/", room.path));
        if (is_inside && (found == nullptr || room.path.size() > found->path.size())) found = &room;
    }
    return found;
}

/// A line without its `//` comment.
std::string_view code(std::string_view line) { return line.substr(0, line.find("//")); }

/// What stands between the brackets of an #include, or nothing.
std::optional<std::string_view> included(std::string_view line, char open, char close) {
    constexpr std::string_view keyword = "#include ";
    if (!line.starts_with(keyword) || line.size() <= keyword.size()) return std::nullopt;
    line.remove_prefix(keyword.size());
    if (line.front() != open) return std::nullopt;
    return line.substr(1, line.find(close, 1) - 1);
}

bool is_any_prefix(const Words& prefixes, std::string_view path) {
    return std::ranges::any_of(prefixes, [&](auto prefix) { return path.starts_with(prefix); });
}

/// Whether the word stands in the line by itself: `exit(` is not found in `on_exit(`.
bool has_word(std::string_view line, std::string_view word) {
    for (std::size_t at = line.find(word); at < line.size(); at = line.find(word, at + 1)) {
        const char before = at == 0 ? ' ' : line[at - 1];
        if (before != '_' && std::isalnum(static_cast<unsigned char>(before)) == 0) return true;
    }
    return false;
}

/// `path:line: text` for every line of code that `is_wrong`.
template <class F>
std::string offenders(F&& is_wrong) {
    std::string found;
    for (const SourceFile& file : sources()) {
        for (std::size_t i = 0; i < file.lines.size(); ++i) {
            if (is_wrong(file, file.lines[i])) {
                found += format("{}:{}: {}\n", file.path, i + 1, file.lines[i]);
            }
        }
    }
    return found;
}

void check_none(const std::string& offenders) {
    if (!offenders.empty()) FAIL_CHECK(format("\n{}", offenders));
}

TEST_CASE("a room includes only the rooms below it") {
    check_none(offenders([](const SourceFile& file, const std::string& line) {
        const Room* room = room_of(file.path);
        const auto header = included(line, '"', '"');
        if (room == nullptr || !header) return false;
        const Room* other = room_of(*header);
        return other == nullptr ||
               (other != room &&
                std::ranges::find(room->may_include, other->path) == room->may_include.end());
    }));
}

TEST_CASE("an include in quotes names a file from the root of the tree") {
    check_none(offenders([](const SourceFile&, const std::string& line) {
        const auto header = included(line, '"', '"');
        return header && !fs::exists(source_root() / *header);
    }));
}

TEST_CASE("headers of other libraries stand only in the files named for them") {
    check_none(offenders([](const SourceFile& file, const std::string& line) {
        const auto header = included(line, '<', '>');
        if (!header) return false;
        for (const ThirdParty& library : third_parties()) {
            if (!header->starts_with(library.header)) continue;
            return !is_any_prefix(library.allowed, file.path);
        }
        // What is left must be the standard library's.
        return header->find_first_of("/.") != std::string_view::npos;
    }));
}

TEST_CASE("LLVM stands in no header that another room includes") {
    check_none(offenders([](const SourceFile& file, const std::string& line) {
        const auto header = included(line, '"', '"');
        if (!header || file.path.starts_with("codegen/cpu/")) return false;
        const auto found = std::ranges::find(sources(), *header, &SourceFile::path);
        return found != sources().end() &&
               std::ranges::any_of(found->lines, [](const std::string& text) {
                   return text.starts_with("#include <llvm");
               });
    }));
}

TEST_CASE("the environment is read in one file") {
    check_none(offenders([](const SourceFile& file, const std::string& line) {
        const bool may_read = file.path == "base/env.cpp" || file.path.starts_with("tests/");
        return !may_read && has_word(code(line), "getenv");
    }));
}

TEST_CASE("the library neither prints nor ends the process") {
    static const Words reporters = {"base/log.cpp", "base/dump.cpp", "runtime/timer.cpp"};
    static const Words words = {"std::cout", "std::cerr",    "printf(", "fprintf(", "puts(",
                                "fputs(",    "print(stderr", "abort()", "exit(",    "terminate("};
    check_none(offenders([](const SourceFile& file, const std::string& line) {
        const Room* room = room_of(file.path);
        if (room == nullptr || !room->is_library) return false;
        if (is_any_prefix(reporters, file.path)) return false;
        return std::ranges::any_of(words, [&](auto word) { return has_word(code(line), word); });
    }));
}

TEST_CASE("the first line of a file names it and says what it is for") {
    std::string found;
    for (const SourceFile& file : sources()) {
        const std::string start = format("// {} \xE2\x80\x93 ", file.path);
        const bool is_right = !file.lines.empty() && file.lines[0].starts_with(start) &&
                              file.lines[0].size() > start.size();
        if (!is_right) found += format("{} does not begin with `{}`\n", file.path, start);
    }
    check_none(found);
}

TEST_CASE("a header is read once") {
    std::string found;
    for (const SourceFile& file : sources()) {
        if (!file.path.ends_with(".h")) continue;
        const bool is_guarded = std::ranges::find(file.lines, "#pragma once") != file.lines.end();
        if (!is_guarded) found += file.path + '\n';
    }
    check_none(found);
}

TEST_CASE("no line is wider than 100 columns") {
    check_none(offenders([](const SourceFile&, const std::string& line) {
        const auto columns = std::ranges::count_if(
            line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
        return static_cast<std::size_t>(columns) > widest_line;
    }));
}

TEST_CASE("no file is longer than 600 lines") {
    std::string found;
    for (const SourceFile& file : sources()) {
        if (file.lines.size() > longest_file) {
            found += format("{}: {} lines\n", file.path, file.lines.size());
        }
    }
    check_none(found);
}

TEST_CASE("no name of a test has a semicolon, at which CTest would cut it and run nothing") {
    std::string found;
    for (const SourceFile& file : sources()) {
        if (!file.path.starts_with("tests/")) continue;
        bool is_next = false;
        for (const std::string& line : file.lines) {
            const std::size_t start = line.find("TEST_CASE(");
            const bool is_name = start != std::string::npos || is_next;
            const std::size_t open = is_name ? line.find('"') : std::string::npos;
            const std::size_t close = line.rfind('"');
            if (open < close && line.substr(open, close - open).find(';') != std::string::npos)
                found += format("{}: {}\n", file.path, line);
            is_next = start != std::string::npos && open == std::string::npos;
        }
    }
    check_none(found);
}

TEST_CASE("every room has a README of at most 60 lines") {
    std::string found;
    for (const Room& room : rooms()) {
        const fs::path directory = source_root() / room.path;
        if (!room.is_library || room.path == "ricci" || !fs::exists(directory)) continue;
        const std::size_t length = read_lines(directory / "README.md").size();
        if (length == 0 || length > longest_readme) {
            found += format("{}/README.md: {} lines\n", room.path, length);
        }
    }
    check_none(found);
}

}  // namespace
}  // namespace ricci::tests
