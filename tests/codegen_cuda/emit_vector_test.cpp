// tests/codegen_cuda/emit_vector_test.cpp – the text of vector loops
#include <doctest/doctest.h>

#include "tests/codegen_cuda/gpu_builder.h"

namespace ricci::tests {
namespace {

using namespace codegen;

Value f32(Op op, std::vector<Value> args) {
    return make_operation(op, std::move(args), DType::f32);
}
Body one(Stmt stmt) {
    Body body;
    body.push_back(std::move(stmt));
    return body;
}

/// x and y, walked by lanes of four.
struct Lanes : GpuBuilder {
    BufferId x = result("x");
    BufferId y = result("y");
    VarId lane = var("lane");
    AffineForm first = form(block, 256) + form(thread, 4);
    AffineForm at = first + form(lane);

    std::string loop(Body body, std::int64_t lanes = 4) {
        return text(one(make_loop(lane, Bind::vector, lanes, std::move(body))));
    }
    std::string loop_below(const AffineForm& end, Body body) {
        const LoopBound upper = with(bound(4), end - first);
        return text(one(make_loop(lane, Bind::vector, bound(0), upper, std::move(body))));
    }
};

TEST_CASE("neighbours are loaded and stored at once") {
    Lanes copy;
    CHECK(copy.loop(one(make_store(copy.y, {copy.at}, copy.load(copy.x, copy.at)))) == R"(
const rc_vec<float, 4> x_v = rc_load4(x, 256 * block + 4 * thread);
rc_store4(y, 256 * block + 4 * thread, x_v);
)");
    Lanes b;
    const Value x = b.load(b.x, b.at);
    const Value t = make_let_value(1, DType::f32);
    Body body;
    body.push_back(make_let(1, f32(Op::exp, {x})));
    body.push_back(make_store(
        b.y, {b.at}, f32(Op::div, {t, f32(Op::add, {b.load(b.x, b.at), b.load(b.x, form(7))})})));
    CHECK(b.loop(std::move(body)) == R"(
const rc_vec<float, 4> x_v = rc_load4(x, 256 * block + 4 * thread);
rc_vec<float, 4> y_v;
RC_UNROLL for (int lane = 0; lane < 4; ++lane) {
    const float t1 = rc_exp(x_v.v[lane]);
    y_v.v[lane] = t1 / (x_v.v[lane] + x[7]);
}
rc_store4(y, 256 * block + 4 * thread, y_v);
)");
}

TEST_CASE("places that are not known to be aligned are accessed in smaller pieces") {
    Lanes b;
    const AffineForm half = form(b.block, 254) + form(b.thread, 2) + form(b.lane);
    const AffineForm odd = b.at + form(1);
    Body body;
    body.push_back(make_store(b.y, {half}, f32(Op::add, {b.load(b.x, half), b.load(b.x, odd)})));
    CHECK(b.loop(std::move(body)) == R"(
const rc_vec<float, 4> x_v = rc_join(rc_load2(x, 254 * block + 2 * thread), )"
                                     R"(rc_load2(x, 254 * block + 2 * thread + 2));
rc_vec<float, 4> y_v;
RC_UNROLL for (int lane = 0; lane < 4; ++lane) {
    y_v.v[lane] = x_v.v[lane] + x[256 * block + 4 * thread + lane + 1];
}
rc_store2(y, 254 * block + 2 * thread, rc_part<0, 2>(y_v));
rc_store2(y, 254 * block + 2 * thread + 2, rc_part<2, 2>(y_v));
)");
    GpuBuilder unaligned;
    const BufferId x = unaligned.argument("x", DType::f32, 1000, 4);
    const BufferId y = unaligned.result("y", DType::f32, 1000, 4);
    const VarId lane = unaligned.var("lane");
    const AffineForm at = form(unaligned.thread, 4) + form(lane);
    CHECK(unaligned.text(one(make_loop(lane, Bind::vector, 4,
                                       one(make_store(y, {at}, unaligned.load(x, at)))))) == R"(
RC_UNROLL for (int lane = 0; lane < 4; ++lane) y[4 * thread + lane] = x[4 * thread + lane];
)");
}

TEST_CASE("a loop's step tells that places are aligned") {
    Lanes b;
    const VarId k = b.var("k");
    const AffineForm at = form(k) + form(b.lane);
    const Stmt lanes =
        make_loop(b.lane, Bind::vector, 4, one(make_store(b.y, {at}, b.load(b.x, at))));
    CHECK(b.text(one(make_loop(k, Bind::serial, bound(form(b.thread, 4)), bound(1024), one(lanes),
                               256))) == R"(
for (int k = 4 * thread; k < 1024; k += 256) {
    const rc_vec<float, 4> x_v = rc_load4(x, k);
    rc_store4(y, k, x_v);
}
)");
}

TEST_CASE("types of any size are accessed by up to 16 bytes") {
    GpuBuilder b;
    const BufferId x = b.argument("x", DType::f64);
    const BufferId flags = b.result("flags", DType::boolean);
    const VarId lane = b.var("lane");
    const AffineForm at = form(b.thread, 4) + form(lane);
    const Value test =
        make_operation(Op::lt, {b.load(x, at), make_number(DType::f64, 0)}, DType::boolean);
    CHECK(b.text(one(make_loop(lane, Bind::vector, 4, one(make_store(flags, {at}, test))))) == R"(
const rc_vec<double, 4> x_v = rc_join(rc_load2(x, 4 * thread), rc_load2(x, 4 * thread + 2));
rc_vec<bool, 4> flags_v;
RC_UNROLL for (int lane = 0; lane < 4; ++lane) flags_v.v[lane] = x_v.v[lane] < 0.0;
rc_store4(flags, 4 * thread, flags_v);
)");
}

TEST_CASE("a mask that all lanes share is a condition, another one has a text for whole vectors") {
    Lanes all;
    CHECK(all.loop_below(form(1000), one(make_store(all.y, {all.at}, all.load(all.x, all.at)))) ==
          R"(
if (0 < 1000 - 256 * block - 4 * thread) {
    const rc_vec<float, 4> x_v = rc_load4(x, 256 * block + 4 * thread);
    rc_store4(y, 256 * block + 4 * thread, x_v);
}
)");
    Lanes b;
    CHECK(b.loop_below(form(1001), one(make_store(b.y, {b.at}, b.load(b.x, b.at), Reducer::sum))) ==
          R"(
const int active = 1001 - 256 * block - 4 * thread;
if (active >= 4) {
    const rc_vec<float, 4> x_v = rc_load4(x, 256 * block + 4 * thread);
    const rc_vec<float, 4> y_v = rc_load4(y, 256 * block + 4 * thread);
    rc_vec<float, 4> y_v_2;
    RC_UNROLL for (int lane = 0; lane < 4; ++lane) y_v_2.v[lane] = y_v.v[lane] + x_v.v[lane];
    rc_store4(y, 256 * block + 4 * thread, y_v_2);
} else if (active > 0) {
    RC_UNROLL for (int lane = 0; lane < 4; ++lane) {
        if (lane < active) {
            y[256 * block + 4 * thread + lane] += x[256 * block + 4 * thread + lane];
        }
    }
}
)");
    Lanes scattered;
    const AffineForm far = form(scattered.lane, 5);
    CHECK(scattered.loop_below(
              form(1001), one(make_store(scattered.y, {far}, make_number(DType::f32, 0)))) == R"(
const int active = 1001 - 256 * block - 4 * thread;
if (active > 0) {
    RC_UNROLL for (int lane = 0; lane < 4; ++lane) {
        if (lane < active) y[5 * lane] = 0.0f;
    }
}
)");
}

TEST_CASE("lanes that go into one slot are folded by halves") {
    Lanes b;
    const BufferId sum = b.registers("sum", 1);
    const Value x = b.load(b.x, b.at);
    CHECK(b.loop(one(make_store(sum, {form(0)}, f32(Op::abs, {x}), Reducer::max))) ==
          R"(
const rc_vec<float, 4> x_v = rc_load4(x, 256 * block + 4 * thread);
RC_LOCAL(float, sum_each, 4);
RC_UNROLL for (int lane = 0; lane < 4; ++lane) sum_each[lane] = rc_abs(x_v.v[lane]);
sum[0] = rc_max(rc_max(rc_max(sum_each[3], sum_each[1]), rc_max(sum_each[2], sum_each[0])), sum[0]);
)");
    Lanes masked;
    const BufferId total = masked.registers("total", 1);
    CHECK(masked.loop_below(form(999), one(make_store(total, {form(0)},
                                                      masked.load(masked.x, form(masked.lane, 9)),
                                                      Reducer::sum))) == R"(
const int active = 999 - 256 * block - 4 * thread;
if (active > 0) {
    RC_LOCAL(float, total_each, 4);
    RC_UNROLL for (int lane = 0; lane < 4; ++lane) {
        total_each[lane] = -0.0f;
        if (lane < active) total_each[lane] = x[9 * lane];
    }
    total[0] += total_each[0] + total_each[2] + (total_each[1] + total_each[3]);
}
)");
}

TEST_CASE("a guard that differs by lane stands in the loop, with its loads one by one") {
    Lanes b;
    const VarId row = b.var("row");
    Body body;
    body.push_back(make_let_var(row, b.at, 10, 0));
    body.push_back(
        {Guard{make_operation(Op::lt, {make_index(form(row)), make_integer(7)}, DType::boolean),
               one(make_store(b.y, {b.at}, b.load(b.x, b.at)))}});
    CHECK(b.loop(std::move(body)) == R"(
RC_UNROLL for (int lane = 0; lane < 4; ++lane) {
    const int row = (256 * block + 4 * thread + lane) / 10;
    const bool holds = row < 7;
    if (holds) y[256 * block + 4 * thread + lane] = x[256 * block + 4 * thread + lane];
}
)");
}

TEST_CASE("a guard that all lanes share stands around them") {
    Lanes b;
    CHECK(b.loop(one({Guard{
              make_operation(Op::lt, {make_index(form(b.thread)), make_integer(7)}, DType::boolean),
              one(make_store(b.y, {b.at}, b.load(b.x, b.at)))}})) == R"(
if (thread < 7) {
    const rc_vec<float, 4> x_v = rc_load4(x, 256 * block + 4 * thread);
    rc_store4(y, 256 * block + 4 * thread, x_v);
}
)");
}

TEST_CASE("what a statement stored is loaded by the next one in a loop of its own") {
    Lanes b;
    const Value t = make_let_value(1, DType::f32);
    Body body;
    body.push_back(make_let(1, f32(Op::exp, {b.load(b.x, form(b.lane, 3))})));
    body.push_back(make_store(b.y, {form(b.lane)}, t));
    body.push_back(
        make_store(b.x, {form(b.lane)}, f32(Op::add, {t, b.load(b.y, form(3) - form(b.lane))})));
    CHECK(b.loop(std::move(body)) == R"(
rc_vec<float, 4> y_v;
RC_LOCAL(float, t1, 4);
RC_UNROLL for (int lane = 0; lane < 4; ++lane) {
    t1[lane] = rc_exp(x[3 * lane]);
    y_v.v[lane] = t1[lane];
}
rc_store4(y, 0, y_v);
rc_vec<float, 4> x_v;
RC_UNROLL for (int lane = 0; lane < 4; ++lane) x_v.v[lane] = t1[lane] + y[3 - lane];
rc_store4(x, 0, x_v);
)");
}

TEST_CASE("all lanes have loaded before one stores to where another one loads") {
    Lanes b;
    Body body;
    const AffineForm even = form(b.lane, 2);
    body.push_back(make_store(b.x, {even}, b.load(b.x, even + form(2))));
    CHECK(b.loop(std::move(body)) == R"(
RC_LOCAL(float, x_each, 4);
RC_UNROLL for (int lane = 0; lane < 4; ++lane) x_each[lane] = x[2 * lane + 2];
RC_UNROLL for (int lane = 0; lane < 4; ++lane) x[2 * lane] = x_each[lane];
)");
    // The same place is no other lane's.
    Lanes same;
    const AffineForm place = form(same.lane, 2);
    CHECK(same.loop(one(make_store(same.x, {place}, f32(Op::exp, {same.load(same.x, place)})))) ==
          R"(
RC_UNROLL for (int lane = 0; lane < 4; ++lane) x[2 * lane] = rc_exp(x[2 * lane]);
)");
}

TEST_CASE("an unrolled loop in a vector loop has its neighbours at once") {
    Lanes b;
    const BufferId tile = b.registers("tile", 8);
    const VarId row = b.var("row");
    const Stmt rows = make_loop(row, Bind::unroll, 2,
                                one(make_store(tile, {form(row, 4) + form(b.lane)},
                                               b.load(b.x, form(row, 512) + b.at), Reducer::sum)));
    CHECK(b.loop(one(rows)) == R"(
RC_UNROLL for (int row = 0; row < 2; ++row) {
    const rc_vec<float, 4> x_v = rc_load4(x, 256 * block + 4 * thread + 512 * row);
    RC_UNROLL for (int lane = 0; lane < 4; ++lane) tile[lane + 4 * row] += x_v.v[lane];
}
)");
}

TEST_CASE("neighbours are copied without waiting by 4, 8 or 16 bytes") {
    Lanes b;
    const BufferId s = b.shared("s", 512);
    const auto copy = [&](AffineForm to, AffineForm from) {
        return Stmt{Store{s,
                          {std::move(to)},
                          b.load(b.x, std::move(from)),
                          std::nullopt,
                          StoreHint::asynchronous}};
    };
    Body body;
    body.push_back(copy(form(b.thread, 4) + form(b.lane), b.at));
    CHECK(b.loop(std::move(body)) == R"(
rc_copy_async<4>(s, 4 * thread, x, 256 * block + 4 * thread);
)");
    Lanes odd;
    const BufferId t = odd.shared("t", 512);
    Body each;
    each.push_back({Store{t,
                          {form(odd.thread, 2) + form(odd.lane)},
                          odd.load(odd.x, odd.at),
                          std::nullopt,
                          StoreHint::asynchronous}});
    each.push_back({Store{t,
                          {form(odd.thread) + form(odd.lane)},
                          odd.load(odd.x, odd.at),
                          std::nullopt,
                          StoreHint::asynchronous}});
    CHECK(odd.loop(std::move(each)) == R"(
rc_copy_async<2>(t, 2 * thread, x, 256 * block + 4 * thread);
rc_copy_async<2, 2, 2>(t, 2 * thread, x, 256 * block + 4 * thread);
RC_UNROLL for (int lane = 0; lane < 4; ++lane) {
    rc_copy_async<1>(t, thread + lane, x, 256 * block + 4 * thread + lane);
}
)");
}

TEST_CASE("streaming stores are marked") {
    Lanes b;
    CHECK(b.loop(one(
              {Store{b.y, {b.at}, b.load(b.x, b.at), std::nullopt, StoreHint::streaming}})) == R"(
const rc_vec<float, 4> x_v = rc_load4(x, 256 * block + 4 * thread);
rc_store4_stream(y, 256 * block + 4 * thread, x_v);
)");
}

TEST_CASE("a vector of one lane is a scalar") {
    Lanes b;
    CHECK(b.loop(one(make_store(b.y, {b.at}, b.load(b.x, b.at))), 1) ==
          "\ny[256 * block + 4 * thread] = x[256 * block + 4 * thread];\n");
}

}  // namespace
}  // namespace ricci::tests
