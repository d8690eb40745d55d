// tests/codegen_cpu/steps_test.cpp – lanes a few elements apart, at the edges of memory
#include <cstring>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/codegen_cpu/kernel_support.h"
#include "tests/codegen_cpu/page.h"

namespace ricci::tests {
namespace {

using namespace codegen;

/// y[to * l] = x[from * l] for `count` of the lanes (known at compile time, or when a task begins),
/// those of an odd number only where `is_odd`.
Nest copy(DType dtype, std::int64_t lanes, std::int64_t from, std::int64_t to, std::int64_t count,
          bool is_known, bool is_odd) {
    Builder b("steps");
    const BufferId x = b.argument("x", dtype, from * (count - 1) + 1);
    const BufferId y = b.argument("y", dtype, to * (count - 1) + 1, true);
    const VarId lane = b.var("lane");
    const AffineForm limit = form(count) + (is_known ? form(0) : form(b.task));
    Body body = {make_store(y, {form(lane, to)}, b.load(x, form(lane, from)))};
    if (is_odd) {
        const Value remainder =
            make_operation(Op::mod, {make_index(form(lane)), make_integer(2)}, DType::i64);
        body = {Stmt{Guard{make_operation(Op::eq, {remainder, make_integer(1)}, DType::boolean),
                           std::move(body)}}};
    }
    return b.finish(
        1, {make_loop(lane, Bind::vector, bound(0), with(bound(lanes), limit), std::move(body))});
}

template <class T>
void check(DType dtype, const Target& target, std::int64_t lanes) {
    const Page<T> in;
    const Page<T> out;
    const std::vector<std::pair<std::int64_t, std::int64_t>> steps = {
        {2, 1}, {3, 1}, {4, 1}, {1, 2}, {1, 3}, {1, 4}, {2, 3}, {5, 5}};
    for (const auto& [from, to] : steps)
        for (const std::int64_t count : {std::int64_t{1}, lanes / 2, lanes - 1, lanes})
            for (const int form : {0, 1, 2, 3}) {
                const bool at_end = count % 2 == 0;
                const auto reads = std::size_t(from * (count - 1) + 1);
                const auto writes = std::size_t(to * (count - 1) + 1);
                T* const x = in.place(reads, at_end);
                T* const y = out.place(writes, at_end);
                for (std::size_t i = 0; i < reads; ++i) x[i] = T(i + 1);
                std::vector<T> expected(writes, T(0));
                std::memset(y, 0, writes * sizeof(T));
                const bool is_odd = form / 2 == 1;
                for (std::int64_t l = is_odd ? 1 : 0; l < count; l += is_odd ? 2 : 1)
                    expected[std::size_t(to * l)] = x[from * l];
                run(copy(dtype, lanes, from, to, count, form % 2 == 0, is_odd), target, 1, {x, y});
                CAPTURE(from);
                CAPTURE(to);
                CAPTURE(count);
                CAPTURE(form);
                CHECK(std::vector<T>(y, y + writes) == expected);
            }
}

/// Transposes `count` rows of so many columns, read at the lanes or written there, at either end of
/// a page that no other may follow.
template <class T>
void check_squares(DType dtype, const Target& target, std::int64_t columns, std::int64_t count) {
    constexpr std::int64_t lanes = 16;
    const Page<T> in;
    const Page<T> out;
    const auto elements = std::size_t(columns * count);
    for (const bool reads_rows : {true, false})
        for (const bool at_end : {true, false}) {
            Builder b("square");
            const BufferId x = b.argument("x", dtype, columns * count);
            const BufferId y = b.argument("y", dtype, columns * count, true);
            const VarId column = b.var("q");
            const VarId lane = b.var("lane");
            const AffineForm row = form(column) + form(lane, columns);
            const AffineForm line = form(column, count) + form(lane);
            Body body = {
                make_store(y, {reads_rows ? line : row}, b.load(x, reads_rows ? row : line))};
            Body vector = {make_loop(lane, Bind::vector, bound(0), with(bound(lanes), form(count)),
                                     std::move(body))};
            const Nest nest =
                b.finish(1, {make_loop(column, Bind::unroll, columns, std::move(vector))});
            T* const from = in.place(elements, at_end);
            T* const to = out.place(elements, at_end);
            for (std::size_t i = 0; i < elements; ++i) from[i] = T(i + 1);
            std::vector<T> expected(elements);
            for (std::int64_t q = 0; q < columns; ++q)
                for (std::int64_t l = 0; l < count; ++l) {
                    const auto at_row = std::size_t(q + columns * l);
                    const auto at_line = std::size_t(count * q + l);
                    expected[reads_rows ? at_line : at_row] = from[reads_rows ? at_row : at_line];
                }
            run(nest, target, 1, {from, to});
            CHECK(std::vector<T>(to, to + elements) == expected);
        }
}

}  // namespace

TEST_CASE("squares read and write nothing but their rows") {
    for (const Target& target : runnable_targets())
        for (const std::int64_t columns : {3, 9, 16, 19})
            for (const std::int64_t count : {1, 7, 16}) {
                CAPTURE(columns);
                CAPTURE(count);
                check_squares<float>(DType::f32, target, columns, count);
                check_squares<double>(DType::f64, target, columns, count);
                check_squares<std::int16_t>(DType::i16, target, columns, count);
            }
}

TEST_CASE("lanes a few elements apart read and write nothing but their elements") {
    for (const Target& target : runnable_targets()) {
        CAPTURE(target.cpu);
        check<float>(DType::f32, target, 16);
        check<double>(DType::f64, target, 16);
        // Vectors of the machine: two lanes span no whole vector but the first.
        check<float>(DType::f32, target, std::int64_t(target.vector_bytes) / 4);
        check<double>(DType::f64, target, std::int64_t(target.vector_bytes) / 8);
    }
    check<std::int32_t>(DType::i32, cpu::host_target(), 16);
    check<std::int64_t>(DType::i64, cpu::host_target(), 16);
    for (const Target& target : runnable_targets()) {
        check<std::int16_t>(DType::i16, target, 16);
        check<std::uint8_t>(DType::u8, target, 16);
    }
    check<std::uint8_t>(DType::u8, cpu::host_target(), 64);
}

}  // namespace ricci::tests
