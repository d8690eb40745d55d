// base/env.cpp – the environment variables: the only reader of the environment
#include "base/env.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>

#include "base/error.h"
#include "base/text.h"

namespace ricci::env {
namespace {

constexpr int most_threads = 1024;

constexpr std::array variables = {
    Variable{.name = "RICCI_LOG",
             .meaning = "what is logged: `error`, `warn`, `info` (a line for each launch), `debug`",
             .fallback = "warn"},
    Variable{.name = "RICCI_DUMP",
             .meaning = "stages of compilation to show: `ast,canonical,loops,llvm,cuda`, or `all`",
             .fallback = "none"},
    Variable{.name = "RICCI_DUMP_DIR",
             .meaning = "directory for dumps, as numbered files",
             .fallback = "standard error"},
    Variable{.name = "RICCI_CACHE_DIR",
             .meaning = "directory for compiled kernels; empty: none are kept on disk",
             .fallback = "$XDG_CACHE_HOME/ricci or ~/.cache/ricci"},
    Variable{.name = "RICCI_CACHE_SIZE",
             .meaning = "most bytes of compiled kernels on disk: `64M`, `2G`",
             .fallback = "256M"},
    Variable{.name = "RICCI_DEVICE",
             .meaning = "where programs run: `cpu`, `cuda` or `reference`",
             .fallback = "cpu"},
    Variable{.name = "RICCI_NUM_THREADS",
             .meaning = "threads of a kernel; results do not depend on it",
             .fallback = "all cores"},
    Variable{
        .name = "RICCI_TIMER", .meaning = "`1`: print a table of times at exit", .fallback = "0"},
    Variable{.name = "RICCI_TUNE",
             .meaning = "`1`: measure which of several equal kernels is the fastest on this CPU, "
                        "once, and take it",
             .fallback = "0"},
    Variable{.name = "RICCI_PRECISION",
             .meaning =
                 "what CPUs with tiles of bf16 numbers may multiply f32 numbers as: `bf16x3` "
                 "(16 bits of each), `bf16x6` (all bits)",
             .fallback = "f32"},
    Variable{.name = "RICCI_TARGET",
             .meaning =
                 "what to compile for: `avx512`, `avx2`, `sse2`; in texts for a GPU `sm_80`, "
                 "`sm_90`, ...",
             .fallback = "this machine"},
    Variable{.name = "RICCI_CUDA_PATH",
             .meaning = "directories with the libraries of CUDA, `:` between; an empty one stands "
                        "for the usual places",
             .fallback = "the usual places"},
    Variable{.name = "RICCI_CUDA_LIBRARIES",
             .meaning = "who computes matrix products and convolutions on a GPU: `auto`, "
                        "`generated` (kernels of Ricci) or `library` (cuBLASLt and cuDNN, or an "
                        "error)",
             .fallback = "auto"},
    Variable{.name = "RICCI_CUDA_GATHERS",
             .meaning = "how a GPU adds what meets in one element: `deterministic`, or `fast` "
                        "(atomics; the last bits differ from run to run)",
             .fallback = "deterministic"},
    Variable{.name = "RICCI_DATA",
             .meaning = "directory with data sets for the examples",
             .fallback = "data"},
};

/// The value, also when it is empty.
std::optional<std::string> read(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::optional<std::string> read_text(const char* name) {
    std::optional<std::string> value = read(name);
    if (value && value->empty()) return std::nullopt;
    return value;
}

bool is_on(const char* name) {
    const std::optional<std::string> text = read_text(name);
    return text && *text != "0";
}

/// A whole number with an optional K, M, G or T (powers of 1024); nothing for any other text.
std::optional<std::int64_t> parse_size(std::string_view text) {
    static constexpr std::string_view units = "KMGT";
    std::int64_t count = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, count);
    if (failure != std::errc{} || count < 0) return std::nullopt;
    std::string_view unit(stop, static_cast<std::size_t>(end - stop));
    if (unit.empty()) return count;
    const std::size_t power = units.find(unit.front());
    if (unit.size() > 1 || power == std::string_view::npos) return std::nullopt;
    const std::int64_t scale = std::int64_t{1} << (10 * (power + 1));
    if (count > std::numeric_limits<std::int64_t>::max() / scale) return std::nullopt;
    return count * scale;
}

[[noreturn]] void reject(std::string_view name, std::string_view text, std::string_view expected,
                         std::string_view example) {
    throw Error(
        {.kind = ErrorKind::limit,
         .message = format("the environment variable {} is `{}`, not {}", name, text, expected),
         .hint = format("{}={}", name, example)});
}

}  // namespace

std::span<const Variable> all_variables() noexcept { return variables; }

std::optional<std::string> text(std::string_view name) { return read(std::string(name).c_str()); }

std::optional<std::string> log_level() { return read_text("RICCI_LOG"); }

std::vector<std::string> dump_stages() {
    std::vector<std::string> stages;
    const std::string list = read("RICCI_DUMP").value_or("");
    for (std::size_t begin = 0; begin < list.size();) {
        const std::size_t end = std::min(list.find(',', begin), list.size());
        if (end > begin) stages.push_back(list.substr(begin, end - begin));
        begin = end + 1;
    }
    return stages;
}

std::optional<std::string> dump_directory() { return read_text("RICCI_DUMP_DIR"); }

std::optional<std::string> cache_directory() {
    if (const auto chosen = read("RICCI_CACHE_DIR")) {
        return chosen->empty() ? std::nullopt : chosen;
    }
    if (const auto caches = read_text("XDG_CACHE_HOME")) return format("{}/ricci", *caches);
    if (const auto home = read_text("HOME")) return format("{}/.cache/ricci", *home);
    return std::nullopt;
}

std::int64_t cache_size_bytes() {
    const std::string text = read_text("RICCI_CACHE_SIZE").value_or("256M");
    const std::optional<std::int64_t> size = parse_size(text);
    if (!size) reject("RICCI_CACHE_SIZE", text, "a size in bytes", "256M");
    return *size;
}

std::optional<std::string> device() { return read_text("RICCI_DEVICE"); }

std::optional<int> thread_count() {
    const std::optional<std::string> text = read_text("RICCI_NUM_THREADS");
    if (!text) return std::nullopt;
    int count = 0;
    const char* const end = text->data() + text->size();
    const auto [stop, failure] = std::from_chars(text->data(), end, count);
    if (failure != std::errc{} || stop != end || count < 1 || count > most_threads) {
        reject("RICCI_NUM_THREADS", *text, format("a number from 1 to {}", most_threads), "2");
    }
    return count;
}

bool is_timer_on() { return is_on("RICCI_TIMER"); }

bool is_tuning() { return is_on("RICCI_TUNE"); }

Precision precision() {
    const std::string text = read_text("RICCI_PRECISION").value_or("f32");
    const std::optional<Precision> precision = precision_from_name(text);
    if (!precision) reject("RICCI_PRECISION", text, "f32, bf16x3 or bf16x6", "bf16x6");
    return *precision;
}

std::optional<std::string> target() { return read_text("RICCI_TARGET"); }

LibraryUse cuda_libraries() {
    const std::string text = read_text("RICCI_CUDA_LIBRARIES").value_or("auto");
    if (text == "auto") return LibraryUse::automatic;
    if (text == "generated") return LibraryUse::never;
    if (text == "library") return LibraryUse::always;
    reject("RICCI_CUDA_LIBRARIES", text, "auto, generated or library", "generated");
}

bool has_fast_gathers() {
    const std::string text = read_text("RICCI_CUDA_GATHERS").value_or("deterministic");
    if (text == "deterministic") return false;
    if (text == "fast") return true;
    reject("RICCI_CUDA_GATHERS", text, "deterministic or fast", "deterministic");
}

std::optional<std::vector<std::string>> cuda_path() {
    const std::optional<std::string> text = read_text("RICCI_CUDA_PATH");
    if (!text) return std::nullopt;
    std::vector<std::string> directories;
    for (std::size_t begin = 0; begin <= text->size();) {
        const std::size_t end = std::min(text->find(':', begin), text->size());
        directories.push_back(text->substr(begin, end - begin));
        begin = end + 1;
    }
    return directories;
}

std::vector<std::string> python_prefixes() {
    std::vector<std::string> prefixes;
    for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
        if (auto prefix = read_text(variable)) prefixes.push_back(std::move(*prefix));
    if (const auto home = read_text("HOME")) prefixes.push_back(format("{}/.local", *home));
    return prefixes;
}

std::optional<std::string> data_directory() { return read_text("RICCI_DATA"); }

}  // namespace ricci::env
