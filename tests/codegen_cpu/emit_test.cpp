// tests/codegen_cpu/emit_test.cpp – nests compute what nest.h says, on every target
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.h"
#include "tests/codegen_cpu/kernel_support.h"

namespace ricci::tests {
namespace {

using namespace codegen;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// c[i] = a[i] + b[i] for i < n, in tasks of 64, vectors of 16, the last one masked.
Nest vector_add(DType dtype, std::int64_t n) {
    Builder b("add");
    const BufferId a = b.argument("a", dtype, n);
    const BufferId other = b.argument("b", dtype, n);
    const BufferId c = b.argument("c", dtype, n, true);
    const VarId block = b.var("block");
    const VarId lane = b.var("lane");
    const AffineForm start = form(b.task, 64) + form(block, 16);
    const AffineForm at = start + form(lane);
    const Value sum = make_operation(Op::add, {b.load(a, at), b.load(other, at)}, dtype);
    return b.finish(
        (n + 63) / 64,
        {make_loop(block, Bind::serial, 4,
                   {make_loop(lane, Bind::vector, bound(0), with(bound(16), form(n) - start),
                              {make_store(c, {at}, sum)})})});
}

template <class T>
void check_vector_add(DType dtype, const Target& target) {
    const std::int64_t n = 150;
    const auto a = numbers<T>(n, 1);
    const auto b = numbers<T>(n, 2);
    std::vector<T> c(n + 1, T{7});
    run(vector_add(dtype, n), target, 3,
        {const_cast<T*>(a.data()), const_cast<T*>(b.data()), c.data()});
    for (std::size_t i = 0; i < n; ++i) CHECK(c[i] == a[i] + b[i]);
    CHECK(c[n] == T{7});
}

TEST_CASE("the last lanes of a vector loop are masked") {
    for (const Target& target : runnable_targets()) {
        CAPTURE(target.cpu);
        check_vector_add<float>(DType::f32, target);
        check_vector_add<double>(DType::f64, target);
        check_vector_add<std::int64_t>(DType::i64, target);
    }
}

/// s[task] = sum over k < n of a[task, k], with lanes over k.
Nest row_reduction(Reducer reducer, DType dtype, std::int64_t rows, std::int64_t n) {
    Builder b("rows");
    const BufferId a = b.argument("a", dtype, rows * n);
    const BufferId s = b.argument("s", dtype, rows, true);
    const BufferId acc = b.registers("acc", dtype, 8);
    const BufferId one = b.registers("one", dtype, 1);
    const VarId block = b.var("block");
    const VarId lane = b.var("lane");
    const AffineForm k = form(block, 8) + form(lane);
    const auto lanes = [&](VarId var, Body body) {
        return make_loop(var, Bind::vector, 8, std::move(body));
    };
    return b.finish(
        rows,
        {lanes(lane, {make_store(acc, {form(lane)}, identity(reducer, dtype))}),
         make_loop(
             block, Bind::serial, (n + 7) / 8,
             {make_loop(lane, Bind::vector, bound(0), with(bound(8), form(n) - form(block, 8)),
                        {make_store(acc, {form(lane)}, b.load(a, form(b.task, n) + k), reducer)})}),
         make_store(one, {form(0)}, identity(reducer, dtype)),
         lanes(lane, {make_store(one, {form(0)}, b.load(acc, form(lane)), reducer)}),
         make_store(s, {form(b.task)}, b.load(one, form(0)))});
}

TEST_CASE("lanes that combine into one element are folded") {
    for (const Target& target : runnable_targets()) {
        CAPTURE(target.cpu);
        auto a = numbers<double>(3 * 19);
        a[19 + 5] = nan;
        std::vector<double> sum(3);
        std::vector<double> largest(3);
        run(row_reduction(Reducer::sum, DType::f64, 3, 19), target, 3, {a.data(), sum.data()});
        run(row_reduction(Reducer::max, DType::f64, 3, 19), target, 3, {a.data(), largest.data()});
        for (const std::size_t row : {0U, 2U}) {
            double expected = 0;
            double expected_max = -1;
            for (std::size_t k = 0; k < 19; ++k) {
                expected += a[row * 19 + k];
                expected_max = std::max(expected_max, a[row * 19 + k]);
            }
            CHECK(sum[row] == doctest::Approx(expected).epsilon(1e-14));
            CHECK(largest[row] == expected_max);
        }
        CHECK(std::isnan(sum[1]));
        CHECK(std::isnan(largest[1]));
    }
}

/// One task computes a tile C[mr, nv*16] from packed panels A[k][mr], B[k][nv*16], then relu.
Nest micro_kernel(std::int64_t depth, std::int64_t mr, std::int64_t nv, std::int64_t lanes) {
    Builder b("tile");
    const std::int64_t nr = nv * lanes;
    const BufferId left = b.argument("A", DType::f32, depth * mr);
    const BufferId right = b.argument("B", DType::f32, depth * nr);
    const BufferId out = b.argument("C", DType::f32, mr * nr, true);
    const BufferId acc = b.registers("acc", DType::f32, mr * nr);
    const VarId k = b.var("k");
    const VarId r = b.var("r");
    const VarId v = b.var("v");
    const VarId lane = b.var("lane");
    const AffineForm column = form(v, lanes) + form(lane);
    const AffineForm slot = form(r, nr) + column;
    const auto tile = [&](Body body) {
        return make_loop(r, Bind::unroll, mr,
                         {make_loop(v, Bind::unroll, nv,
                                    {make_loop(lane, Bind::vector, lanes, std::move(body))})});
    };
    const Value product = make_operation(
        Op::mul, {b.load(left, form(k, mr) + form(r)), b.load(right, form(k, nr) + column)},
        DType::f32);
    return b.finish(
        1, {tile({make_store(acc, {slot}, make_number(DType::f32, 0))}),
            make_loop(k, Bind::serial, depth,
                      {tile({make_store(acc, {slot}, product, Reducer::sum)})}),
            tile({make_store(out, {slot},
                             make_operation(Op::relu, {b.load(acc, slot)}, DType::f32))})});
}

TEST_CASE("a register tile is a matrix product with an epilogue") {
    for (const Target& target : runnable_targets()) {
        CAPTURE(target.cpu);
        const std::int64_t lanes = target.vector_bytes / 4;
        const std::size_t nr = std::size_t(2 * lanes);
        auto a = numbers<float>(100 * 6, 1);
        auto b = numbers<float>(100 * nr, 2);
        std::vector<float> c(6 * nr);
        run(micro_kernel(100, 6, 2, lanes), target, 1, {a.data(), b.data(), c.data()});
        for (std::size_t r = 0; r < 6; ++r) {
            for (std::size_t j = 0; j < nr; ++j) {
                double sum = 0;
                for (std::size_t k = 0; k < 100; ++k)
                    sum += double(a[k * 6 + r]) * double(b[k * nr + j]);
                CHECK(c[r * nr + j] == doctest::Approx(std::max(sum, 0.0)).epsilon(1e-4));
            }
        }
    }
}

/// y[at(lane)] = value(lane) for one vector of eight lanes.
struct Lanes {
    Builder b;
    VarId lane;
    explicit Lanes(std::string name) : b(std::move(name)), lane(b.var("lane")) {}
    Nest finish(Body body) {
        return b.finish(1, {make_loop(lane, Bind::vector, 8, std::move(body))});
    }
};

TEST_CASE("a condition that varies by lane masks loads and stores") {
    for (const Target& target : runnable_targets()) {
        CAPTURE(target.cpu);
        Lanes n("guard");
        const BufferId x = n.b.argument("x", DType::f32, 8);
        const BufferId y = n.b.argument("y", DType::f32, 8, true);
        const Value is_odd = make_operation(
            Op::eq,
            {make_operation(Op::mod, {make_index(form(n.lane)), make_integer(2)}, DType::i64),
             make_integer(1)},
            DType::boolean);
        const Nest nest = n.finish(
            {Stmt{Guard{is_odd, {make_store(y, {form(n.lane)}, n.b.load(x, form(n.lane)))}}}});
        std::vector<float> in = {0, 1, 2, 3, 4, 5, 6, 7};
        std::vector<float> out(8, -1);
        run(nest, target, 1, {in.data(), out.data()});
        CHECK(out == std::vector<float>{-1, 1, -1, 3, -1, 5, -1, 7});
    }
}

TEST_CASE("a guard that no lane passes reads nothing") {
    Lanes n("nothing");
    const BufferId x = n.b.argument("x", DType::f64, 1);
    const BufferId y = n.b.argument("y", DType::f64, 8, true);
    const Value never =
        make_operation(Op::lt, {make_index(form(n.lane)), make_integer(0)}, DType::boolean);
    const Nest nest =
        n.finish({Stmt{Guard{never, {make_store(y, {form(n.lane)}, n.b.load(x, form(0)))}}}});
    std::vector<double> out(8, -1);
    run(nest, cpu::host_target(), 1, {nullptr, out.data()});
    CHECK(out == std::vector<double>(8, -1));
}

TEST_CASE("lanes may run backwards, with steps, or anywhere") {
    for (const Target& target : runnable_targets()) {
        CAPTURE(target.cpu);
        Lanes n("places");
        const BufferId x = n.b.argument("x", DType::f32, 32);
        const BufferId where = n.b.argument("where", DType::i64, 8);
        const BufferId y = n.b.argument("y", DType::f32, 24, true);
        const AffineForm lane = form(n.lane);
        const Value anywhere =
            make_load(n.b.nest, x, {.affine = form(0), .computed = n.b.load(where, lane)});
        const Nest nest = n.finish({make_store(y, {lane}, n.b.load(x, form(7) - lane)),
                                    make_store(y, {form(22) + -2 * lane}, n.b.load(x, 3 * lane)),
                                    make_store(y, {form(9) + 2 * lane}, anywhere)});
        std::vector<float> in(32);
        for (std::size_t i = 0; i < in.size(); ++i) in[i] = float(i);
        std::vector<std::int64_t> places = {5, 4, 31, 0, 7, 7, 1, 30};
        std::vector<float> out(24);
        run(nest, target, 1, {in.data(), places.data(), out.data()});
        CHECK(out == std::vector<float>{7,  6,  5,  4, 3, 2, 1, 0, 21, 5, 18, 4,
                                        15, 31, 12, 0, 9, 7, 6, 7, 3,  1, 0,  30});
    }
}

/// y[k, l] = x[l, 4 + k] for 12 rows l of 20, in lanes of 16: four do not run.
template <class T>
void check_transposed(DType dtype, const Target& target) {
    CAPTURE(target.cpu);
    CAPTURE(name(dtype));
    Builder b("transpose");
    const BufferId x = b.argument("x", dtype, 240);
    const BufferId y = b.argument("y", dtype, 256, true);
    const VarId u = b.var("u");
    const VarId lane = b.var("lane");
    const Value value = b.load(x, form(4) + form(u) + form(lane, 20));
    const LoopBound upper = with(bound(16), form(12) + form(b.task));
    const Nest nest =
        b.finish(1, {make_loop(u, Bind::unroll, 16,
                               {make_loop(lane, Bind::vector, bound(0), upper,
                                          {make_store(y, {form(u, 16) + form(lane)}, value)})})});
    std::vector<T> in(240);
    std::iota(in.begin(), in.end(), T(1));
    std::vector<T> out(256);
    std::vector<T> expected(256);
    for (std::size_t k = 0; k < 16; ++k) {
        for (std::size_t l = 0; l < 12; ++l) expected[16 * k + l] = in[4 + k + 20 * l];
    }
    run(nest, target, 1, {in.data(), out.data()});
    CHECK(out == expected);
}

TEST_CASE("a square of repetitions and lanes is transposed in registers") {
    for (const Target& target : runnable_targets()) {
        check_transposed<float>(DType::f32, target);
        check_transposed<double>(DType::f64, target);
        check_transposed<std::int16_t>(DType::i16, target);
        check_transposed<std::uint8_t>(DType::u8, target);
    }
}

TEST_CASE("computed places that meet are combined one after the other") {
    for (const Target& target : runnable_targets()) {
        CAPTURE(target.cpu);
        Lanes n("histogram");
        const BufferId where = n.b.argument("where", DType::i64, 8);
        const BufferId y = n.b.argument("y", DType::f32, 3, true);
        const Nest nest =
            n.finish({make_store(y, {.affine = form(0), .computed = n.b.load(where, form(n.lane))},
                                 make_number(DType::f32, 1), Reducer::sum)});
        std::vector<std::int64_t> places = {0, 1, 1, 2, 1, 0, 2, 1};
        std::vector<float> out = {10, 20, 30};
        run(nest, target, 1, {places.data(), out.data()});
        CHECK(out == std::vector<float>{12, 24, 32});
    }
}

TEST_CASE("one parallel range runs over two indices") {
    // y[i, j] = 10 i + j for 3 x 5.
    Builder b("split");
    const BufferId y = b.argument("y", DType::i64, 15, true);
    const VarId i = b.var("i");
    const VarId j = b.var("j");
    const AffineForm number = form(i, 10) + form(j);
    const Nest nest =
        b.finish(15, {make_let_var(i, form(b.task), 5, 0), make_let_var(j, form(b.task), 1, 5),
                      make_store(y, {form(i, 5) + form(j)}, make_index(number))});
    std::vector<std::int64_t> out(15);
    run(nest, cpu::host_target(), 15, {out.data()});
    CHECK(out == std::vector<std::int64_t>{0, 1, 2, 3, 4, 10, 11, 12, 13, 14, 20, 21, 22, 23, 24});
}

TEST_CASE("a let is computed once and seen by what follows") {
    Builder b("let");
    const BufferId x = b.argument("x", DType::f64, 4);
    const BufferId y = b.argument("y", DType::f64, 8, true);
    const VarId lane = b.var("lane");
    const Value square = make_let_value(0, DType::f64);
    const Nest nest = b.finish(
        1, {make_loop(
               lane, Bind::vector, 4,
               {make_let(0, make_operation(Op::mul, {b.load(x, form(lane)), b.load(x, form(lane))},
                                           DType::f64)),
                make_store(y, {form(lane)}, square),
                make_store(y, {form(4) + form(lane)},
                           make_operation(Op::add, {square, square}, DType::f64))})});
    std::vector<double> in = {1, 2, 3, 4};
    std::vector<double> out(8);
    run(nest, cpu::host_target(), 1, {in.data(), out.data()});
    CHECK(out == std::vector<double>{1, 4, 9, 16, 2, 8, 18, 32});
}

TEST_CASE("a bound is found outside of the loops that do not change it") {
    // y[task] = the sum of x[j, k], k <= min(task, 9), over all j.
    Builder b("sums");
    const BufferId x = b.argument("x", DType::f64, 80);
    const BufferId y = b.argument("y", DType::f64, 12, true);
    const VarId j = b.var("j");
    const VarId k = b.var("k");
    const Value sum = make_operation(
        Op::add, {b.load(y, form(b.task)), b.load(x, form(j, 10) + form(k))}, DType::f64);
    const Nest nest = b.finish(
        12,
        {make_store(y, {form(b.task)}, make_number(DType::f64, 0)),
         make_loop(j, Bind::serial, 8,
                   {make_loop(k, Bind::serial, bound(0), with(bound(10), form(b.task) + form(1)),
                              {make_store(y, {form(b.task)}, sum)})})});
    const std::string text = codegen::cpu::emit_text({&nest, 1}, codegen::cpu::host_target());
    const std::size_t found = text.find("call i64 @llvm.smin");
    CHECK(found != std::string::npos);
    CHECK(found < text.find("%j = phi"));

    std::vector<double> from(80, 1);
    for (const Target& target : runnable_targets()) {
        std::vector<double> to(12, 7);
        run(nest, target, 12, {from.data(), to.data()});
        for (int task = 0; task < 12; ++task)
            CHECK(to[std::size_t(task)] == 8 * std::min(task + 1, 10));
    }
}

TEST_CASE("affine bounds cut a triangle") {
    // y[i] = sum of x[k] for i <= k < 6, 2 k < 9.
    Builder b("triangle");
    const BufferId x = b.argument("x", DType::f64, 6);
    const BufferId y = b.argument("y", DType::f64, 6, true);
    const BufferId acc = b.registers("acc", DType::f64, 1);
    const VarId k = b.var("k");
    LoopBound upper = bound(6);
    upper.push_back({.form = form(10), .divisor = 2});
    const Nest nest =
        b.finish(6, {make_store(acc, {form(0)}, make_number(DType::f64, 0)),
                     make_loop(k, Bind::serial, bound(form(b.task)), upper,
                               {make_store(acc, {form(0)}, b.load(x, form(k)), Reducer::sum)}),
                     make_store(y, {form(b.task)}, b.load(acc, form(0)))});
    std::vector<double> in = {1, 2, 4, 8, 16, 32};
    std::vector<double> out(6);
    run(nest, cpu::host_target(), 6, {in.data(), out.data()});
    CHECK(out == std::vector<double>{31, 30, 28, 24, 16, 0});
}

}  // namespace
}  // namespace ricci::tests
