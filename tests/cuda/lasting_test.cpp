// tests/cuda/lasting_test.cpp – what integer arguments decide is computed once while they stay
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "dsl/canonical.h"
#include "runtime/cuda/executor.h"
#include "runtime/lasting_steps.h"
#include "tests/cuda/emulated_gpu.h"
#include "tests/support/error_text.h"

#include "ricci/ricci.h"

namespace ricci::tests {
namespace {

constexpr std::int64_t points = 3'000;
constexpr std::int64_t rows = 2'000;

/// The gradient of a gather, large enough to be sorted by key.
Function gathered_gradient() {
    return compile("Y[i,k] := A[J[i],k]", "gather", Device::cuda).grad("A");
}
Array table() { return Array::zeros(DType::f64, {rows, 4}); }
Array keys(std::uint64_t seed = 1) { return Array::randint(DType::i64, {points}, 0, rows, seed); }
Array cotangent(std::uint64_t seed = 2) { return Array::randn(DType::f64, {points, 4}, seed); }

/// So small that it pays to sort.
emulation::DeviceOptions small(std::uint64_t seed) {
    emulation::DeviceOptions options = deferred(seed);
    options.multiprocessors = 1;
    return options;
}

/// What the gradient is: each row the sum over the points with its key, in order.
bool is_right(const Array& found, const Array& J, const Array& dY) {
    std::vector<double> expected(std::size_t(rows * 4), 0);
    const auto key = J.span<const std::int64_t>();
    const auto value = dY.span<const double>();
    for (std::size_t i = 0; i < key.size(); ++i)
        for (std::size_t k = 0; k < 4; ++k)
            expected[std::size_t(key[i]) * 4 + k] += value[i * 4 + k];
    const auto values = found.span<const double>();
    for (std::size_t i = 0; i < expected.size(); ++i)
        if (std::abs(values[i] - expected[i]) > 1e-12) return false;
    return true;
}

/// Kernels that a call starts.
template <class Call>
std::int64_t launches(const EmulatedGpu& emulated, const Call& call) {
    // Not one of a graph, which would hide them.
    const std::int64_t before = emulated.device.calls("cuLaunchKernel");
    call();
    return emulated.device.calls("cuLaunchKernel") - before;
}

TEST_CASE("points are sorted by key once while the keys stay as they are") {
    const EmulatedGpu emulated(small(1));
    const Function gradient = gathered_gradient();
    const Array A = table();
    const Array J = keys();
    const std::int64_t first = launches(emulated, [&] {
        const Array dY = cotangent();
        CHECK(is_right(gradient({{"A", A}, {"J", J}, {"dY", dY}}), J, dY));
    });
    const std::int64_t second = launches(emulated, [&] {
        const Array dY = cotangent(3);
        CHECK(is_right(gradient({{"A", A}, {"J", J}, {"dY", dY}}), J, dY));
    });
    CHECK(first > 20);
    CHECK(second < first / 3);
}

TEST_CASE("keys that are written, on either side, are sorted again") {
    const EmulatedGpu emulated(small(2));
    const Function gradient = gathered_gradient();
    const Array A = table();
    Array J = keys();
    const Array dY = cotangent();
    const auto check = [&] { CHECK(is_right(gradient({{"A", A}, {"J", J}, {"dY", dY}}), J, dY)); };
    check();
    J.span<std::int64_t>()[7] = (J.span<const std::int64_t>()[7] + 5) % rows;
    check();
    const Function reverse = compile("J[i] = c - J[i]", "reverse", Device::cuda);
    (void)reverse(J, Array(rows - 1));
    check();
    J = keys(9);
    check();
    J = keys(1).slice(0, 0, points);
    check();
}

TEST_CASE("a view of the same keys begins elsewhere, and is sorted by itself") {
    const EmulatedGpu emulated(small(3));
    const Function gradient = gathered_gradient();
    const Array A = table();
    const Array all = Array::randint(DType::i64, {2 * points}, 0, rows, 4);
    const Array dY = cotangent();
    for (const std::int64_t begin : {std::int64_t{0}, points, std::int64_t{0}, std::int64_t{16}}) {
        const Array J = all.slice(0, begin, begin + points);
        CHECK(is_right(gradient({{"A", A}, {"J", J}, {"dY", dY}}), J, dY));
    }
}

TEST_CASE("the user's memory is sorted at every call") {
    const EmulatedGpu emulated(small(4));
    const Function gradient = gathered_gradient();
    const Array A = table();
    const Array dY = cotangent();
    std::vector<std::int64_t> memory(points);
    const Array J = Array::view(memory.data(), {points});
    for (const std::int64_t first : {std::int64_t{3}, std::int64_t{1999}}) {
        for (std::size_t i = 0; i < memory.size(); ++i)
            memory[i] = (first + std::int64_t(i)) % rows;
        CHECK(is_right(gradient({{"A", A}, {"J", J}, {"dY", dY}}), J, dY));
    }
}

TEST_CASE("keys that were checked are checked again when they change") {
    const EmulatedGpu emulated(deferred(5));
    const Function gather = compile("Y[i,k] := A[J[i],k]", "gather", Device::cuda);
    const Array A = table();
    Array J = keys();
    const std::int64_t first = launches(emulated, [&] { (void)gather(A, J); });
    const std::int64_t second = launches(emulated, [&] { (void)gather(A, J); });
    CHECK(second == 1);
    CHECK(first > second);
    J.span<std::int64_t>()[11] = rows;
    for (int call = 0; call < 2; ++call)
        CHECK(error_text([&] { (void)gather(A, J); })
                  .starts_with("range: `A` is read at 2000 in dimension 0, whose extent is "
                               "2000: J[11] is 2000"));
    J.span<std::int64_t>()[11] = 0;
    CHECK(gather(A, J).at({11, 0}) == 0);
}

TEST_CASE("only what integers alone decide lasts") {
    const auto lasting = [](const std::string& text, const Arguments& arguments) {
        const EmulatedGpu emulated;
        Signature signature;
        for (const auto& [name, array] : arguments) {
            signature[name].dtype = array.dtype();
            signature[name].shape = array.shape();
        }
        const BoundProgram program = ricci::bind(canonicalise(parse_program(text)), signature);
        const codegen::Plan plan = codegen::plan(program, emulated.gpu()->target());
        return runtime::lasting_steps(program, plan);
    };
    const Array J = keys();
    const auto steps = lasting("s := sum[k](J[k]*J[k]); Y[i] := s*x[i]",
                               {{"J", J}, {"x", Array::zeros(DType::f64, {points})}});
    CHECK(steps.arguments == std::vector<std::size_t>{0});
    CHECK(std::ranges::count(steps.buffers, true) == 1);
    CHECK(steps.steps.front());
    CHECK_FALSE(steps.steps.back());
    CHECK(lasting("s := sum[k](J[k]*x[k]); Y[i] := s*x[i]",
                  {{"J", J}, {"x", Array::zeros(DType::f64, {points})}})
              .arguments.empty());
    // An output, and an argument that the program changes.
    CHECK(lasting("Y[i] := J[i]*2", {{"J", J}}).arguments.empty());
    CHECK(
        lasting("J[i] += 1; Y[i] := sum[k](J[k]*i) where i in 0:9", {{"J", J}}).arguments.empty());
}

}  // namespace
}  // namespace ricci::tests
