// tests/runtime/kernel_cache_test.cpp – memory before disk before the compiler
#include "runtime/kernel_cache.h"

#include <filesystem>

#include <doctest/doctest.h>

#include "codegen/plan.h"
#include "dsl/canonical.h"
#include "tests/runtime/temporary_folder.h"

namespace ricci::runtime {
namespace {

using Cache = KernelCache<codegen::cpu::Module>;

/// The code of `y[i] := 2*x[i]` for four elements, and how often it was asked for.
struct Compiler {
    int calls = 0;

    codegen::Image operator()() {
        ++calls;
        ArgumentSpec x;
        x.shape = {4};
        const BoundProgram bound =
            ricci::bind(canonicalise(parse_program("y[i] := 2*x[i]")), {{"x", x}});
        const Target target = codegen::cpu::host_target();
        return codegen::cpu::compile(codegen::plan(bound, target).nests, target);
    }
};

std::shared_ptr<DiskCache> disk_in(const tests::TemporaryFolder& folder) {
    return std::make_shared<DiskCache>(folder.path().string(), 1 << 20);
}

TEST_CASE("a module is compiled once, then found in memory, then on disk") {
    const tests::TemporaryFolder folder;
    Cache cache(disk_in(folder));
    Compiler compiler;
    const auto find = [&](Cache& in) { return in.find("key", [&] { return compiler(); }).outcome; };
    CHECK(find(cache) == CacheOutcome::compiled);
    CHECK(find(cache) == CacheOutcome::memory);
    cache.clear_memory();
    CHECK(find(cache) == CacheOutcome::disk);
    Cache other(disk_in(folder));
    CHECK(find(other) == CacheOutcome::disk);
    CHECK(compiler.calls == 1);
}

TEST_CASE("without a disk everything is compiled anew") {
    Cache cache(nullptr);
    Compiler compiler;
    const auto find = [&] { return cache.find("key", [&] { return compiler(); }).outcome; };
    CHECK(find() == CacheOutcome::compiled);
    cache.clear_memory();
    CHECK(find() == CacheOutcome::compiled);
    CHECK(compiler.calls == 2);
}

TEST_CASE("another key is another module") {
    Cache cache(nullptr);
    Compiler compiler;
    const auto find = [&](const std::string& key) {
        return cache.find(key, [&] { return compiler(); });
    };
    CHECK(find("a").module != find("b").module);
    CHECK(find("a").module == find("a").module);
}

TEST_CASE("this binary has a build id, so that kernels may be kept") {
    CHECK(build_identity().size() >= 16);
}

}  // namespace
}  // namespace ricci::runtime
