// tests/base/log_test.cpp – levels and sinks of the log, files of dumps
#include "base/log.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/dump.h"
#include "base/error.h"
#include "tests/support/set_variable.h"

namespace ricci {
namespace {

namespace fs = std::filesystem;
using tests::SetVariable;

std::string content(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("messages up to the chosen level reach the sink") {
    std::vector<std::string> messages;
    set_log_sink([&](LogLevel level, std::string_view message) {
        messages.push_back(format("{}: {}", name(level), message));
    });
    set_log_level(LogLevel::info);
    log_message(LogLevel::error, "lost");
    log_format(LogLevel::info, "launch {} in {} us", "matmul", 12);
    log_message(LogLevel::debug, "not shown");
    set_log_level(LogLevel::warn);
    set_log_sink({});
    CHECK(messages == std::vector<std::string>{"error: lost", "info: launch matmul in 12 us"});
}

TEST_CASE("names of levels and stages lead back to them") {
    CHECK(log_level_from_name("debug") == LogLevel::debug);
    CHECK(log_level_from_name("loud") == std::nullopt);
    CHECK(stage_from_name("asm") == Stage::assembly);
    CHECK(stage_from_name("ptx") == Stage::ptx);
    CHECK(name(Stage::tokens) == "tokens");
    CHECK(name(Stage::schedule) == "schedule");
}

TEST_CASE("dumps of the chosen stages become numbered files") {
    const fs::path directory = fs::temp_directory_path() / "ricci_dump_test";
    fs::remove_all(directory);
    const SetVariable place("RICCI_DUMP_DIR", directory.string());
    const SetVariable stages("RICCI_DUMP", "loops,llvm");
    dump(Stage::ast, "left out", "text");
    dump(Stage::loops, "Y[n,o]", "for n");
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(directory)) {
        files.push_back(entry.path().filename().string());
    }
    REQUIRE(files.size() == 1);
    CHECK(files[0] == "01_loops_Y_n_o_.txt");
    CHECK(content(directory / files[0]) == "for n\n");
    fs::remove_all(directory);
}

TEST_CASE("a word that is no stage is an error with a suggestion") {
    const SetVariable stages("RICCI_DUMP", "lops");
    try {
        static_cast<void>(is_dumped(Stage::loops));
        FAIL("nothing was thrown");
    } catch (const Error& error) {
        CHECK(std::string(error.what()) ==
              "name: the environment variable RICCI_DUMP has `lops`, which is no stage\n"
              "  = hint: RICCI_DUMP=loops");
    }
}

TEST_CASE("a dump that cannot be written is an error") {
    const SetVariable place("RICCI_DUMP_DIR", "/dev/null/dumps");
    const SetVariable stages("RICCI_DUMP", "all");
    CHECK_THROWS_AS(dump(Stage::ast, "x", "y"), Error);
}

}  // namespace
}  // namespace ricci
