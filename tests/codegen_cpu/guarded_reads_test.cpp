// tests/codegen_cpu/guarded_reads_test.cpp – reads beyond the ends of padded arrays, in lanes
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "tests/codegen_cpu/kernel_support.h"
#include "tests/codegen_cpu/page.h"

namespace ricci::tests {
namespace {

using namespace codegen;

/// A read of `step*l + first`, where that is a place of the `size` elements.
struct Read {
    std::int64_t size = 1;
    std::int64_t step = 1;
    std::int64_t first = 0;
    double outside = 0;
    std::int64_t lanes = 16;
    bool is_known = true;  ///< whether `first` is known when code is made
    bool is_taken = true;  ///< by a condition that is the same for all lanes
};

/// y[l] = 0 <= at && at < size && taken ? x[clamp(at, 0, size-1)] : outside
Nest padded(DType dtype, const Read& read) {
    Builder b("padded");
    const BufferId x = b.argument("x", dtype, read.size);
    const BufferId y = b.argument("y", dtype, read.lanes, true);
    const VarId lane = b.var("lane");
    const AffineForm at =
        form(lane, read.step) + form(read.first) + (read.is_known ? form(0) : form(b.task));
    const auto test = [](Op op, const AffineForm& a, std::int64_t bound) {
        return make_operation(op, {make_index(a), make_integer(bound)}, DType::boolean);
    };
    const Value inside = make_operation(
        Op::logical_and, {test(Op::ge, at, 0), test(Op::lt, at, read.size)}, DType::boolean);
    const Value place = make_operation(
        Op::clamp, {make_index(at), make_integer(0), make_integer(read.size - 1)}, DType::i64);
    const Value outside = make_number(dtype, read.outside);
    const Value element = make_load(b.nest, x, {form(0), place});
    const Value in_row = make_operation(Op::select, {inside, element, outside}, dtype);
    const Value taken = test(Op::ge, form(b.task), read.is_taken ? 0 : 1);
    Body body = {
        make_store(y, {form(lane)}, make_operation(Op::select, {taken, in_row, outside}, dtype))};
    return b.finish(1,
                    {make_loop(lane, Bind::vector, bound(0), bound(read.lanes), std::move(body))});
}

template <class T>
void check(DType dtype, const Target& target, const Read& read) {
    const Page<T> in;
    const Page<T> out;
    for (const bool at_end : {false, true}) {
        T* const x = in.place(std::size_t(read.size), at_end);
        T* const y = out.place(std::size_t(read.lanes), at_end);
        for (std::int64_t i = 0; i < read.size; ++i) x[i] = T(i + 1);
        std::vector<T> expected;
        for (std::int64_t l = 0; l < read.lanes; ++l) {
            const std::int64_t at = read.step * l + read.first;
            const bool is_inside = at >= 0 && at < read.size && read.is_taken;
            expected.push_back(is_inside ? x[at] : T(read.outside));
        }
        run(padded(dtype, read), target, 1, {x, y});
        CAPTURE(target.cpu);
        CAPTURE(read.size);
        CAPTURE(read.step);
        CAPTURE(read.first);
        CAPTURE(read.outside);
        CAPTURE(read.is_known);
        CAPTURE(read.is_taken);
        CHECK(std::vector<T>(y, y + read.lanes) == expected);
    }
}

}  // namespace

TEST_CASE("lanes beyond the ends of an array read nothing and have what stands outside") {
    for (const Target& target : runnable_targets())
        for (const std::int64_t size : {1, 7, 16, 40})
            for (const std::int64_t step : {1, 2, 3, 7})
                for (const std::int64_t first : {-50, -3, -1, 0, 2, 39})
                    for (const bool is_known : {true, false}) {
                        const double lowest = -std::numeric_limits<double>::infinity();
                        check<float>(DType::f32, target, {size, step, first, 0, 16, is_known});
                        check<float>(DType::f32, target, {size, step, first, lowest, 16, is_known});
                        check<double>(DType::f64, target, {size, step, first, 0, 8, is_known});
                        check<std::int8_t>(DType::i8, target, {size, step, first, 5, 16, is_known});
                    }
}

TEST_CASE("a condition that is the same for all lanes may exclude all of them") {
    for (const Target& target : runnable_targets())
        for (const std::int64_t step : {1, 2, 4})
            for (const double outside : {0.0, -0.0, 3.0}) {
                check<float>(DType::f32, target, {40, step, -2, outside, 16, true, false});
                check<double>(DType::f64, target, {40, step, -2, outside, 8, false, false});
            }
}

}  // namespace ricci::tests
