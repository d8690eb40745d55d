// tests/runtime/tuner_test.cpp – what is measured is kept, and counts only where it is asked for
#include "runtime/tuner.h"

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.h"
#include "base/text.h"
#include "codegen/plan.h"
#include "dsl/canonical.h"
#include "dsl/parser.h"
#include "runtime/executor.h"
#include "runtime/function_state.h"
#include "runtime/random.h"
#include "tests/runtime/temporary_folder.h"

namespace ricci::runtime {
namespace {

using codegen::Tuned;
using tests::read_bytes;
using tests::TemporaryFolder;
using tests::write_bytes;

constexpr std::int64_t limit = 1 << 20;
const Tuned measured = {.candidate = "tile",
                        .seconds = 0.5,
                        .usual_seconds = 1,
                        .measured = 3,
                        .where = "1 thread of a machine"};

/// A bound program with arguments: a product, unless told otherwise.
struct Subject {
    explicit Subject(const std::string& text = "C[i,j] := A[i,k]*B[k,j]") {
        const Program program = canonicalise(parse_program(make_source(text)));
        Signature signature;
        for (const TensorId id : program.arguments) {
            arrays.push_back(Array::randn(DType::f32, {48, 48}));
            signature.emplace(program.at(id).name, spec_of(arrays.back(), false));
        }
        bound = ricci::bind(program, signature);
        for (const Array& array : arrays) arguments.push_back(&array);
    }
    [[nodiscard]] codegen::Plan plan(const codegen::Tunings& tunings) const {
        return codegen::plan(bound, target(), {}, tunings);
    }

    std::vector<Array> arrays;
    std::vector<const Array*> arguments;
    BoundProgram bound;
};

std::string schedules(const codegen::Plan& plan) {
    std::string text;
    for (const codegen::Schedule& schedule : plan.schedules) text += str(schedule);
    return text;
}

std::shared_ptr<DiskCache> disk(const TemporaryFolder& folder) {
    return std::make_shared<DiskCache>(folder.path().string(), limit);
}

TEST_CASE("what was measured is found by its kernel on its machine, by other processes too") {
    const TemporaryFolder folder;
    TuningStore store(disk(folder), "machine");
    CHECK_FALSE(store.find("kernel"));
    store.keep("kernel", measured);
    CHECK(store.find("kernel") == measured);
    CHECK_FALSE(store.find("another"));
    CHECK(TuningStore(disk(folder), "machine").find("kernel") == measured);
    CHECK_FALSE(TuningStore(disk(folder), "another").find("kernel"));
    TuningStore in_memory(nullptr, "machine");
    in_memory.keep("kernel", measured);
    CHECK(in_memory.find("kernel") == measured);
}

TEST_CASE("a damaged file counts as nothing measured") {
    const TemporaryFolder folder;
    TuningStore(disk(folder), "machine").keep("kernel", measured);
    const std::string path = std::filesystem::directory_iterator(folder.path())->path().string();
    const std::string whole = read_bytes(path);
    for (std::size_t i = 0; i < whole.size(); ++i) {
        std::string bytes = whole;
        bytes[i] = static_cast<char>(bytes[i] ^ 0x11);
        write_bytes(path, bytes);
        CHECK_FALSE(TuningStore(disk(folder), "machine").find("kernel"));
        write_bytes(path, whole.substr(0, i));
        CHECK_FALSE(TuningStore(disk(folder), "machine").find("kernel"));
    }
    write_bytes(path, whole);
    CHECK(TuningStore(disk(folder), "machine").find("kernel") == measured);
}

TEST_CASE("a text that is no measurement counts as nothing measured") {
    const TemporaryFolder folder;
    for (const char* text :
         {"", "\n", "tile", "tile\nx\n1\n2\n", "tile\nx\n1\n2\n3", "tile\nx\n1\n2\n3\n4\n",
          "tile\nx\nnan\n2\n3\n", "tile\nx\ninf\n2\n3\n", "tile\nx\n-1\n2\n3\n",
          "tile\nx\n1 \n2\n3\n", "tile\nx\n1\n2\n99999999999999999999999\n",
          "tile\n\033[31m\n1\n2\n3\n", "tile\nx\n1\n2\n0\n"}) {
        disk(folder)->store_text("tuning 1\nmachine\nkernel", text);
        CHECK_FALSE(TuningStore(disk(folder), "machine").find("kernel"));
    }
    disk(folder)->store_text("tuning 1\nmachine\nkernel", "tile\nx\n1\n2\n3\n");
    CHECK(TuningStore(disk(folder), "machine").find("kernel"));
}

TEST_CASE("tuning measures the candidates of a product once and says so") {
    const TemporaryFolder folder;
    const Subject product;
    CHECK(product.plan({}).choices.empty());
    TuningStore store(disk(folder), "machine");
    REQUIRE(product.plan(store.tunings()).choices.size() == 1);
    CHECK(schedules(product.plan(store.tunings())).find("  untuned ") != std::string::npos);
    tune(product.bound, target(), product.arguments, store);
    const codegen::Plan plan = product.plan(store.tunings());
    const std::optional<Tuned> known = store.find(plan.choices[0].kernel);
    REQUIRE(known);
    CHECK(plan.choices[0].taken == known->candidate);
    CHECK(known->measured > 1);
    CHECK(known->seconds > 0);
    CHECK(known->seconds <= known->usual_seconds);
    CHECK(schedules(plan).find("  tuned ") != std::string::npos);
    CHECK(schedules(plan).find(known->where) != std::string::npos);
    // Another process takes the same.
    TuningStore later(disk(folder), "machine");
    CHECK(str(product.plan(later.tunings())) == str(plan));
    const auto written = std::filesystem::last_write_time(folder.path());
    tune(product.bound, target(), product.arguments, later);
    CHECK(std::filesystem::last_write_time(folder.path()) == written);
    // And without tuning everything is as it was.
    CHECK(schedules(product.plan({})).find("tuned ") == std::string::npos);
}

TEST_CASE("names do not matter to what was measured, extents do") {
    TuningStore store(nullptr, "machine");
    const auto kernel = [&](const std::string& text) {
        return Subject(text).plan(store.tunings()).choices.at(0).kernel;
    };
    CHECK(kernel("C[i,j] := A[i,k]*B[k,j]") == kernel("Out[x,y] := Left[x,z]*Right[z,y]"));
    CHECK(kernel("C[i,j] := A[i,k]*B[k,j]") != kernel("C[i,j] := A[i,k]*B[j,k]"));
    CHECK(kernel("C[i,j] := A[i,k]*B[k,j]") != kernel("C[i,j] := A[i,k]*B[k,j] where k in 0:40"));
}

TEST_CASE("a candidate that there is not counts as nothing measured") {
    TuningStore store(nullptr, "machine");
    const Subject product;
    const codegen::Plan usual = product.plan(store.tunings());
    store.keep(usual.choices.at(0).kernel, measured);
    CHECK(str(product.plan(store.tunings())) == str(usual));
}

TEST_CASE("tuning leaves arguments that a program updates as they were") {
    TuningStore store(nullptr, "machine");
    const Subject update("C[i,j] += A[i,k]*B[k,j]");
    std::vector<Array> before;
    for (const Array& array : update.arrays) before.push_back(array.copy());
    tune(update.bound, target(), update.arguments, store);
    CHECK(store.find(update.plan(store.tunings()).choices.at(0).kernel));
    for (std::size_t i = 0; i < before.size(); ++i)
        CHECK(std::memcmp(before[i].data(), update.arrays[i].data(),
                          std::size_t(before[i].size()) * sizeof(float)) == 0);
}

TEST_CASE("functions are tuned where that is wanted, with the same bits") {
    const Array a = Array::randn(DType::f32, {40, 56});
    const Array b = Array::randn(DType::f32, {56, 72});
    const std::string text = "C[i,j] := A[i,k]*B[k,j]";
    CHECK_FALSE(is_tuning());
    const Array usual = compile(text)(a, b);
    set_tuning(true);
    const Array tuned = compile(text)(a, b);
    set_tuning(false);
    CHECK(std::memcmp(usual.data(), tuned.data(), std::size_t(usual.size()) * sizeof(float)) == 0);
}

TEST_CASE("a call that fails its check fails when it is tuned, too") {
    set_tuning(true);
    const Function gather = compile("G[i,j] := T[K[i],k]*V[k,j]");
    const Array table = Array::randn(DType::f32, {32, 40});
    const Array matrix = Array::randn(DType::f32, {40, 48});
    Array keys = Array::zeros(DType::i64, {64});
    const Array good = gather(table, keys, matrix);
    CHECK(good.shape() == Shape{64, 48});
    const Array far = Array::full(DType::i64, {64}, 32);
    CHECK_THROWS_AS((void)compile("G[i,j] := T[K[i],k]*V[k,j]")(table, far, matrix), Error);
    set_tuning(false);
}

}  // namespace
}  // namespace ricci::runtime
