// tests/base/env_test.cpp – values, defaults, rejected texts
#include "base/env.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>

#include "base/error.h"
#include "base/text.h"
#include "tests/support/golden.h"
#include "tests/support/set_variable.h"

namespace ricci {
namespace {

using tests::SetVariable;

template <class F>
std::string error_of(F&& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return "nothing was thrown";
}

TEST_CASE("every variable has a meaning and a default") {
    CHECK(env::all_variables().size() == 15);
    for (const env::Variable& variable : env::all_variables()) {
        CAPTURE(std::string(variable.name));
        CHECK(variable.name.starts_with("RICCI_"));
        CHECK_FALSE(variable.meaning.empty());
        CHECK_FALSE(variable.fallback.empty());
    }
}

TEST_CASE("the README lists every variable with its meaning and default") {
    std::ifstream file(tests::source_root() / "README.md");
    const std::string readme{std::istreambuf_iterator<char>(file), {}};
    for (const env::Variable& variable : env::all_variables())
        CHECK(readme.find(format("| `{}` | {} | {} |", variable.name, variable.meaning,
                                 variable.fallback)) != std::string::npos);
}

TEST_CASE("directories of CUDA's libraries are split at colons, an empty one is kept") {
    const SetVariable set("RICCI_CUDA_PATH", "/opt/cuda/lib64:");
    CHECK(env::cuda_path() == std::vector<std::string>{"/opt/cuda/lib64", ""});
    const SetVariable unset("RICCI_CUDA_PATH", "");
    CHECK(env::cuda_path() == std::nullopt);
}

TEST_CASE("the use of CUDA's libraries is read and checked") {
    const SetVariable unset("RICCI_CUDA_LIBRARIES", "");
    CHECK(env::cuda_libraries() == env::LibraryUse::automatic);
    const SetVariable set("RICCI_CUDA_LIBRARIES", "generated");
    CHECK(env::cuda_libraries() == env::LibraryUse::never);
    const SetVariable wrong("RICCI_CUDA_LIBRARIES", "yes");
    CHECK(error_of(env::cuda_libraries) ==
          "limit: the environment variable RICCI_CUDA_LIBRARIES is `yes`, not auto, generated or "
          "library\n  = hint: RICCI_CUDA_LIBRARIES=generated");
}

TEST_CASE("the choice of gathers on a GPU is read and checked") {
    const SetVariable unset("RICCI_CUDA_GATHERS", "");
    CHECK(!env::has_fast_gathers());
    const SetVariable set("RICCI_CUDA_GATHERS", "fast");
    CHECK(env::has_fast_gathers());
    const SetVariable wrong("RICCI_CUDA_GATHERS", "atomic");
    CHECK(error_of(env::has_fast_gathers) ==
          "limit: the environment variable RICCI_CUDA_GATHERS is `atomic`, not deterministic or "
          "fast\n  = hint: RICCI_CUDA_GATHERS=deterministic");
}

TEST_CASE("the precision of products is read and checked") {
    const SetVariable unset("RICCI_PRECISION", "");
    CHECK(env::precision() == Precision::f32);
    const SetVariable set("RICCI_PRECISION", "bf16x3");
    CHECK(env::precision() == Precision::bf16x3);
    const SetVariable wrong("RICCI_PRECISION", "bf16");
    CHECK(error_of(env::precision) ==
          "limit: the environment variable RICCI_PRECISION is `bf16`, not f32, bf16x3 or bf16x6\n"
          "  = hint: RICCI_PRECISION=bf16x6");
}

TEST_CASE("the number of threads is read and checked") {
    const SetVariable set("RICCI_NUM_THREADS", "3");
    CHECK(env::thread_count() == 3);
    const SetVariable unset("RICCI_NUM_THREADS", "");
    CHECK(env::thread_count() == std::nullopt);
    const SetVariable wrong("RICCI_NUM_THREADS", "2x");
    CHECK(error_of(env::thread_count) ==
          "limit: the environment variable RICCI_NUM_THREADS is `2x`, not a number from 1 to 1024\n"
          "  = hint: RICCI_NUM_THREADS=2");
    const SetVariable zero("RICCI_NUM_THREADS", "0");
    CHECK_THROWS_AS(static_cast<void>(env::thread_count()), Error);
}

TEST_CASE("sizes have units") {
    const SetVariable bytes("RICCI_CACHE_SIZE", "1000");
    CHECK(env::cache_size_bytes() == 1000);
    const SetVariable gib("RICCI_CACHE_SIZE", "2G");
    CHECK(env::cache_size_bytes() == std::int64_t{2} << 30);
    const SetVariable unset("RICCI_CACHE_SIZE", "");
    CHECK(env::cache_size_bytes() == std::int64_t{256} << 20);
    const SetVariable wrong("RICCI_CACHE_SIZE", "99999999999T");
    CHECK(
        error_of(env::cache_size_bytes) ==
        "limit: the environment variable RICCI_CACHE_SIZE is `99999999999T`, not a size in bytes\n"
        "  = hint: RICCI_CACHE_SIZE=256M");
}

TEST_CASE("the cache has a place of its own, the user's, or none") {
    const SetVariable caches("XDG_CACHE_HOME", "/c");
    const SetVariable chosen("RICCI_CACHE_DIR", "/k");
    CHECK(env::cache_directory() == "/k");
    const SetVariable off("RICCI_CACHE_DIR", "");
    CHECK(env::cache_directory() == std::nullopt);
    unsetenv("RICCI_CACHE_DIR");
    CHECK(env::cache_directory() == "/c/ricci");
    const SetVariable home("HOME", "/h");
    const SetVariable no_caches("XDG_CACHE_HOME", "");
    CHECK(env::cache_directory() == "/h/.cache/ricci");
}

TEST_CASE("stages to dump are separated by commas") {
    const SetVariable set("RICCI_DUMP", "ast,,loops");
    CHECK(env::dump_stages() == std::vector<std::string>{"ast", "loops"});
}

TEST_CASE("the timer is on for any value but 0") {
    const SetVariable on("RICCI_TIMER", "1");
    CHECK(env::is_timer_on());
    const SetVariable off("RICCI_TIMER", "0");
    CHECK_FALSE(env::is_timer_on());
}

}  // namespace
}  // namespace ricci
