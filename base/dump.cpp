// base/dump.cpp – texts of the stages of compilation, shown on request
#include "base/dump.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/error.h"
#include "base/text.h"

namespace ricci {
namespace {

constexpr std::array<std::string_view, 13> stage_names = {
    "tokens",   "ast",   "program", "canonical", "gradient", "bound", "plan",
    "schedule", "loops", "llvm",    "asm",       "cuda",     "ptx"};

constexpr std::size_t longest_subject = 60;

/// The subject as a part of a file name.
std::string file_word(std::string_view subject) {
    std::string word(subject.substr(0, longest_subject));
    const auto is_plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    };
    std::ranges::replace_if(word, [&](char c) { return !is_plain(c); }, '_');
    return word;
}

[[noreturn]] void reject_stage(const std::string& word) {
    const std::vector<std::string> names(stage_names.begin(), stage_names.end());
    const std::string suggestion = nearest(word, names);
    throw Error(
        {.kind = ErrorKind::name,
         .message = format("the environment variable RICCI_DUMP has `{}`, which is no stage", word),
         .hint = suggestion.empty() ? format("the stages are {}", join(names, ", "))
                                    : format("RICCI_DUMP={}", suggestion)});
}

void write_file(const std::filesystem::path& path, std::string_view text) {
    std::error_code failure;
    std::filesystem::create_directories(path.parent_path(), failure);
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) {
        throw Error({.kind = ErrorKind::io,
                     .message = format("cannot write the dump `{}`", path.string()),
                     .hint = "RICCI_DUMP_DIR names a directory that can be written"});
    }
}

}  // namespace

std::string_view name(Stage stage) noexcept { return stage_names[static_cast<std::size_t>(stage)]; }

std::optional<Stage> stage_from_name(std::string_view name) noexcept {
    for (std::size_t i = 0; i < stage_names.size(); ++i) {
        if (stage_names[i] == name) return static_cast<Stage>(i);
    }
    return std::nullopt;
}

bool is_dumped(Stage stage) {
    bool found = false;
    for (const std::string& word : env::dump_stages()) {
        if (word != "all" && !stage_from_name(word)) reject_stage(word);
        found = found || word == "all" || word == name(stage);
    }
    return found;
}

void dump(Stage stage, std::string_view subject, std::string_view text) {
    static std::atomic<int> count = 0;
    if (!is_dumped(stage)) return;
    const int number = ++count;
    std::string whole(text);
    if (!whole.ends_with('\n')) whole += '\n';
    if (const auto directory = env::dump_directory()) {
        const auto file = format("{:02}_{}_{}.txt", number, name(stage), file_word(subject));
        write_file(std::filesystem::path(*directory) / file, whole);
    } else {
        fmt::print(stderr, "---- {:02} {} {}\n{}", number, name(stage), subject, whole);
    }
}

}  // namespace ricci
