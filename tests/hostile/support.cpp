// tests/hostile/support.cpp – what becomes of a program, how long it takes, and what it says
#include "tests/hostile/support.h"

#include <ctime>
#include <fstream>

#include <doctest/doctest.h>
#include <sys/resource.h>

#include "base/text.h"
#include "dsl/canonical.h"
#include "dsl/program.h"
#include "tests/support/golden.h"

#if defined(__SANITIZE_ADDRESS__)
#define RICCI_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RICCI_IS_SANITIZED 1
#endif
#endif

namespace ricci::tests {
namespace {

#ifdef RICCI_IS_SANITIZED
constexpr double most_seconds = 30;
constexpr double most_gigabytes = 8;
#else
constexpr double most_seconds = 4;  // two, where nothing else disturbs the caches
constexpr double most_gigabytes = 1;
#endif
constexpr std::size_t longest_error = 8192;

std::vector<std::string> lines_of(const std::string& path) {
    std::ifstream file(source_root() / path);
    REQUIRE(file.good());
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
}

/// Paragraphs that are no comments.
void add_paragraphs(std::vector<std::string>& programs) {
    std::string text;
    const auto finish = [&] {
        if (!text.empty() && !text.starts_with('#')) programs.push_back(text);
        text.clear();
    };
    for (const std::string& line : lines_of("tests/hostile/programs.txt")) {
        if (line.empty())
            finish();
        else
            text += line + "\n";
    }
    finish();
}

void add_examples(std::vector<std::string>& programs) {
    bool is_inside = false;
    for (const std::string& line : lines_of("docs/language.md")) {
        if (line == "```ricci") {
            is_inside = true;
            programs.emplace_back();
        } else if (line == "```") {
            is_inside = false;
        } else if (is_inside) {
            programs.back() += line + "\n";
        }
    }
}

/// The most that the process ever took.
double peak_gigabytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / (1 << 20);
}

}  // namespace

std::string survives(std::string_view what, const std::function<void()>& step) {
    const std::clock_t begin = std::clock();  // of the processor: others may use it too
    std::string said;
    try {
        step();
    } catch (const Error& error) {
        said = error.what();
        if (error.kind() == ErrorKind::internal || error.diagnosis().message.empty() ||
            said.size() > longest_error)
            FAIL_CHECK(format("{}: {}", what, said.substr(0, longest_error)));
    } catch (const std::exception& error) {
        FAIL_CHECK(format("{}: {}", what, error.what()));
    }
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    if (seconds > most_seconds)
        FAIL_CHECK(format("{}: {:.1f} s, {}", what, seconds, said.substr(0, 100)));
    if (peak_gigabytes() > most_gigabytes)
        FAIL_CHECK(format("{}: {:.1f} GB, {}", what, peak_gigabytes(), said.substr(0, 100)));
    return said.substr(0, said.find('\n'));
}

void understand(const std::string& text) { (void)canonicalise(parse_program(text)); }

const std::vector<std::string>& valid_programs() {
    static const std::vector<std::string> programs = [] {
        std::vector<std::string> found;
        add_paragraphs(found);
        add_examples(found);
        return found;
    }();
    return programs;
}

std::string repeated(std::string_view text, std::size_t count) {
    std::string result;
    result.reserve(text.size() * count);
    for (std::size_t n = 0; n < count; ++n) result += text;
    return result;
}

}  // namespace ricci::tests
