// tests/codegen_cuda/emit_test.cpp – the text of every statement
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "tests/codegen_cuda/gpu_builder.h"

namespace ricci::tests {
namespace {

using namespace codegen;

Value test(Op op, Value a, Value b) {
    return make_operation(op, {std::move(a), std::move(b)}, DType::boolean);
}
Value f32(Op op, std::vector<Value> args) {
    return make_operation(op, std::move(args), DType::f32);
}
Body one(Stmt stmt) {
    Body body;
    body.push_back(std::move(stmt));
    return body;
}

// --- kernels -------------------------------------------------------------------------------------

TEST_CASE("a kernel has its buffers as parameters and in memory") {
    GpuBuilder b("row sum");
    const BufferId x = b.argument("x");
    const BufferId y = b.result("y", DType::f64);
    b.shared("tile", 100);
    b.shared("places", 8, DType::i64);
    b.registers("sums", 4);
    const Nest nest = b.finish(
        one(make_store(y, {form(b.thread)}, make_convert(b.load(x, form(b.block)), DType::f64))));
    CHECK(cuda::symbol(nest, 3) == "ricci_3_row_sum");
    CHECK(cuda::emit_kernels({&nest, 1}, 3) ==
          R"(// row sum: 16 blocks of 64 threads, 464 bytes of shared memory
RC_KERNEL(64) ricci_3_row_sum(RC_IN(float) x, RC_OUT(double) y) {
    RC_SHARED(float, tile, 0, 100);
    RC_SHARED(rc_i64, places, 400, 8);
    RC_LOCAL(float, sums, 4);
    const int block = RC_BLOCK;
    const int thread = RC_THREAD;
    y[thread] = double(x[block]);
}
RC_ENTRY(ricci_3_row_sum)
)");
}

TEST_CASE("the whole text is the prelude, then the kernels") {
    GpuBuilder b;
    const BufferId y = b.result("y");
    const Nest nest = b.finish(one(make_store(y, {form(b.thread)}, make_number(DType::f32, 1))));
    const std::string text = cuda::emit_text({&nest, 1});
    CHECK(text.starts_with(cuda::prelude()));
    CHECK(text.ends_with(cuda::emit_kernels({&nest, 1})));
    CHECK(cuda::prelude().find(cuda::operations()) != std::string_view::npos);
}

TEST_CASE("names are made identifiers that do not meet") {
    GpuBuilder b;
    const BufferId keyword = b.argument("float");
    const BufferId other = b.argument("a'b");
    const BufferId same = b.argument("a b");
    const BufferId reserved = b.argument("rc_exp");
    const BufferId thread = b.result("thread");
    const Value sum = f32(Op::add, {b.load(keyword, form(0)), b.load(other, form(1)),
                                    b.load(same, form(2)), b.load(reserved, form(3))});
    CHECK(b.finish(one(make_store(thread, {form(b.thread)}, sum))).buffers.size() == 5);
    const std::string text = cuda::emit_kernels({&b.nest, 1});
    for (const char* parameter : {" my_float,", " a_b,", " a_b_2,", " my_rc_exp,", " thread)"})
        CHECK(text.find(parameter) != std::string::npos);
    CHECK(text.find("const int thread_2 = RC_THREAD;\n"
                    "    thread[thread_2] = my_float[0] + a_b[1] + a_b_2[2] + my_rc_exp[3];") !=
          std::string::npos);
}

// --- loops ---------------------------------------------------------------------------------------

TEST_CASE("a serial loop runs from the greatest lower to the smallest upper bound") {
    GpuBuilder b;
    const BufferId y = b.result("y");
    const VarId k = b.var("k");
    const LoopBound lower = {{form(b.block) - form(40), 3}, {form(b.thread), 2}};
    const LoopBound upper = {{form(100), 1}, {form(b.block, 7) - form(9), 4}};
    CHECK(b.text(one(make_loop(k, Bind::serial, lower, upper,
                               one(make_store(y, {form(k)}, make_number(DType::f32, 0))), 2))) ==
          R"(
for (int k = rc_most<int>(rc_ceil_by<int>(block - 40, 3), (thread + 1) / 2); )"
          R"(k < rc_least<int>(100, rc_floor_by<int>(7 * block - 9, 4)); k += 2) {
    y[k] = 0.0f;
}
)");
}

TEST_CASE("a loop that runs once at most is a condition or a block") {
    GpuBuilder b;
    const BufferId y = b.result("y");
    const VarId i = b.var("i");
    const VarId j = b.var("j");
    const AffineForm item = form(b.block, 64) + form(b.thread);
    const auto store = [&](VarId var) {
        return one(make_store(y, {form(var)}, make_number(DType::f32, 1)));
    };
    Body body;
    body.push_back(make_loop(i, Bind::serial, bound(item), bound(1000), store(i), 1024));
    body.push_back(make_loop(j, Bind::serial, bound(item), bound(1024), store(j), 1024));
    CHECK(b.text(std::move(body)) == R"(
if (const int i = 64 * block + thread; i < 1000) y[i] = 1.0f;
{
    const int j = 64 * block + thread;
    y[j] = 1.0f;
}
)");
}

TEST_CASE("indices are of 64 bits where 32 may not hold them") {
    GpuBuilder b;
    const BufferId y = b.result("y", DType::f32, std::int64_t{1} << 40);
    const VarId i = b.var("i");
    const AffineForm at = form(b.block, 1'000'000'000) + form(i, 2);
    CHECK(b.text(one(make_loop(i, Bind::serial, bound(form(b.block)), bound(std::int64_t{1} << 33),
                               one(make_store(y, {at}, make_number(DType::f32, 0)))))) == R"(
for (rc_i64 i = block; i < 8589934592LL; ++i) y[1000000000LL * rc_i64(block) + 2LL * i] = 0.0f;
)");
}

TEST_CASE("quotients are plain where they cannot be negative") {
    GpuBuilder b;
    const BufferId y = b.result("y");
    const VarId vars[] = {b.var("q"), b.var("r"), b.var("s"), b.var("m")};
    Body body;
    body.push_back(make_let_var(vars[0], form(b.block, 64) + form(b.thread), 10, 0));
    body.push_back(make_let_var(vars[1], form(b.block, 64) + form(b.thread), 10, 5));
    body.push_back(make_let_var(vars[2], form(b.thread) + form(3), 2, 7));
    body.push_back(make_let_var(vars[3], form(b.thread), 1, 64));
    AffineForm sum = form(0);
    for (const VarId var : vars) sum = sum + form(var);
    body.push_back(make_store(y, {sum}, make_number(DType::f32, 0)));
    CHECK(b.text(std::move(body)) == R"(
const int q = (64 * block + thread) / 10;
const int r = (64 * block + thread) / 10 % 5;
const int s = (thread + 3) / 2 % 7;
const int m = thread;
y[q + r + s + m] = 0.0f;
)");
}

TEST_CASE("what is known of indices is not computed or asked") {
    GpuBuilder b;
    const BufferId y = b.result("y");
    const VarId group = b.var("group");
    const Value thread = make_index(form(b.thread));
    const Value is_large = test(Op::ge, thread, make_integer(32));
    const auto store = [&] {
        return one(make_store(y, {form(group, 5) + form(b.thread)}, make_number(DType::f32, 0)));
    };
    Body body;
    body.push_back(make_let_var(group, form(b.thread), 64, 0));
    body.push_back({Guard{test(Op::lt, thread, make_integer(64)), store()}});
    body.push_back({Guard{test(Op::eq, thread, make_integer(64)), store()}});
    body.push_back(
        {Guard{make_operation(Op::logical_and, {test(Op::ne, thread, make_integer(-1)), is_large},
                              DType::boolean),
               store()}});
    CHECK(b.text(std::move(body)) == R"(
y[thread] = 0.0f;
if (thread >= 32) y[thread] = 0.0f;
)");
}

TEST_CASE("an unrolled loop stays a loop, marked") {
    GpuBuilder b;
    const BufferId r = b.registers("r", 8);
    const VarId u = b.var("u");
    CHECK(b.text(one(make_loop(u, Bind::unroll, bound(2), bound(8),
                               one(make_store(r, {form(u)}, make_number(DType::f32, 0))), 3))) ==
          "\nRC_UNROLL for (int u = 2; u < 8; u += 3) r[u] = 0.0f;\n");
}

// --- stores --------------------------------------------------------------------------------------

TEST_CASE("a store combines, streams or copies without waiting") {
    GpuBuilder b;
    const BufferId x = b.argument("x");
    const BufferId y = b.result("y");
    const BufferId n = b.result("n", DType::i64);
    const BufferId c = b.result("c", DType::boolean);
    const BufferId s = b.shared("s", 64);
    const BufferId bytes = b.shared("bytes", 64, DType::u8);
    const BufferId small = b.argument("small", DType::u8);
    const AffineForm at = form(b.thread);
    const Value v = b.load(x, at);
    Body body;
    body.push_back(make_store(y, {at}, v, Reducer::sum));
    body.push_back(make_store(y, {at}, f32(Op::neg, {v}), Reducer::sum));
    body.push_back(make_store(y, {at}, v, Reducer::prod));
    body.push_back(make_store(y, {at}, v, Reducer::min));
    body.push_back(make_store(n, {at}, make_index(form(b.block)), Reducer::sum));
    body.push_back(make_store(c, {at}, test(Op::lt, v, make_number(DType::f32, 0)), Reducer::max));
    body.push_back({Store{y, {at}, v, std::nullopt, StoreHint::streaming}});
    body.push_back({Store{s, {at}, v, std::nullopt, StoreHint::asynchronous}});
    body.push_back({Store{bytes, {at}, b.load(small, at), std::nullopt, StoreHint::asynchronous}});
    body.push_back({Commit{}});
    body.push_back({Wait{2}});
    body.push_back({Barrier{}});
    CHECK(b.text(std::move(body)) == R"(
y[thread] += x[thread];
y[thread] -= x[thread];
y[thread] *= x[thread];
y[thread] = rc_min(x[thread], y[thread]);
n[thread] = rc_add<rc_i64>(n[thread], block);
c[thread] = x[thread] < 0.0f || c[thread];
rc_store_stream(y, thread, x[thread]);
rc_copy_async<1>(s, thread, x, thread);
bytes[thread] = small[thread];
rc_copy_commit();
rc_copy_wait<2>();
RC_BARRIER();
)");
}

TEST_CASE("a fold goes through the threads of a warp by halves") {
    GpuBuilder b;
    const BufferId y = b.result("y");
    const BufferId n = b.result("n", DType::i64);
    const BufferId c = b.result("c", DType::boolean);
    const Value v = b.load(b.argument("x"), form(b.thread));
    const Value flag = test(Op::lt, v, make_number(DType::f32, 0));
    Body body;
    body.push_back({Fold{.number = 1, .value = v, .reducer = Reducer::max, .width = 32}});
    body.push_back({Fold{.number = 2,
                         .value = v,
                         .reducer = Reducer::min,
                         .width = 8,
                         .place_number = 3,
                         .place = make_index(form(b.thread))}});
    body.push_back({Fold{.number = 4, .value = flag, .reducer = Reducer::prod, .width = 2}});
    body.push_back({Fold{.number = 5, .value = v, .reducer = Reducer::sum, .width = 1}});
    const auto let = [](std::uint32_t number) { return make_let_value(number, DType::f32); };
    body.push_back(make_store(y, {form(b.thread)}, f32(Op::add, {let(1), let(2), let(5)})));
    body.push_back(make_store(n, {form(b.thread)}, make_let_value(3, DType::i64)));
    body.push_back(make_store(c, {form(b.thread)}, make_let_value(4, DType::boolean)));
    CHECK(b.text(std::move(body)) == R"(
float t1 = x[thread];
RC_UNROLL for (int mask = 16; mask > 0; mask /= 2) t1 = rc_max(rc_shuffle_xor(t1, mask), t1);
float t2 = x[thread];
rc_i64 t3 = thread;
RC_UNROLL for (int mask = 4; mask > 0; mask /= 2) {
    const float other = rc_shuffle_xor(t2, mask);
    const rc_i64 other_place = rc_shuffle_xor(t3, mask);
    if (rc_is_below<float>(other, other_place, t2, t3)) {
        t2 = other;
        t3 = other_place;
    }
}
bool t4 = x[thread] < 0.0f;
RC_UNROLL for (int mask = 1; mask > 0; mask /= 2) {
    t4 = t4 && bool(rc_shuffle_xor(int(t4), mask));
}
float t5 = x[thread];
y[thread] = t1 + t2 + t5;
n[thread] = t3;
c[thread] = t4;
)");
}

TEST_CASE("what occurs twice in a statement is computed once") {
    GpuBuilder b;
    const BufferId y = b.result("y");
    const Value e = f32(Op::exp, {b.load(b.argument("x"), form(b.thread))});
    CHECK(b.text(one(make_store(y, {form(b.thread)}, f32(Op::mul, {e, e})))) == R"(
const float t0 = rc_exp(x[thread]);
y[thread] = t0 * t0;
)");
}

TEST_CASE("a computed place is added to the rest of the address") {
    GpuBuilder b;
    const BufferId y = b.result("y");
    const BufferId x = b.argument("x");
    const Value place = b.load(b.argument("place", DType::i64), form(b.thread));
    const Value moved = make_operation(
        Op::floordiv, {make_index(form(b.thread) - form(9)), make_integer(2)}, DType::i64);
    Body body;
    body.push_back(
        make_store(y, {form(b.block, 3), place}, make_load(b.nest, x, {form(0), place})));
    body.push_back(make_store(y, {form(b.block, 3), moved}, make_number(DType::f32, 0)));
    CHECK(b.text(std::move(body)) == R"(
const rc_i64 t0 = place[thread];
y[3 * block + t0] = x[t0];
y[3 * block + rc_floor_by(thread - 9, 2)] = 0.0f;
)");
}

// --- values --------------------------------------------------------------------------------------

/// The text of one value of the f32 numbers t1 and t2.
std::string value_text(const std::function<Value(Value x, Value y)>& make) {
    GpuBuilder b;
    const BufferId x = b.argument("x");
    const auto let = [](std::uint32_t number) { return make_let_value(number, DType::f32); };
    const Value value = make(let(1), let(2));
    const BufferId z = b.result("z", value->dtype);
    Body body;
    body.push_back(make_let(1, b.load(x, form(b.thread))));
    body.push_back(make_let(2, b.load(x, form(b.block))));
    body.push_back(make_store(z, {form(b.thread)}, value));
    const std::string text = b.text(std::move(body));
    const std::string target = "z[thread] = ";
    const std::size_t begin = text.find(target) + target.size();
    return text.substr(begin, text.size() - begin - 2);
}

TEST_CASE("operators have the parentheses that they need") {
    CHECK(value_text([](Value x, Value y) {
              const Value two = make_number(DType::f32, 2);
              return f32(Op::mul, {f32(Op::add, {x, f32(Op::neg, {y})}),
                                   f32(Op::div, {x, f32(Op::mul, {y, two})})});
          }) == "(t1 - t2) * (t1 / (t2 * 2.0f))");
    CHECK(value_text([](Value x, Value y) {
              return f32(Op::add,
                         {f32(Op::neg, {f32(Op::neg, {x})}), f32(Op::neg, {f32(Op::add, {x, y})}),
                          f32(Op::add, {x, make_number(DType::f32, -2)})});
          }) == "-(-t1) - (t1 + t2) + (t1 - 2.0f)");
    const auto logic = [](Op op, Value a, Value b) {
        return make_operation(op, {std::move(a), std::move(b)}, DType::boolean);
    };
    CHECK(value_text([&](Value x, Value y) {
              const auto less = [&] { return test(Op::lt, x, y); };
              const Value both = logic(Op::logical_and, less(), less());
              const Value same = test(Op::eq, less(), less());
              return logic(Op::logical_or, logic(Op::logical_or, less(), both),
                           logic(Op::logical_or, same, less()));
          }) == "t1 < t2 || (t1 < t2 && t1 < t2) || ((t1 < t2) == (t1 < t2) || t1 < t2)");
    CHECK(value_text([&](Value x, Value y) {
              const Value both = logic(Op::logical_and, test(Op::lt, x, y), test(Op::ne, x, y));
              const Value neither = make_operation(Op::logical_not, {both}, DType::boolean);
              return f32(Op::select, {neither, x, f32(Op::max, {x, y})});
          }) == "!(t1 < t2 && t1 != t2) ? t1 : rc_max(t1, t2)");
}

TEST_CASE("powers with small whole exponents are products") {
    const auto power = [](double exponent) {
        return value_text(
            [&](Value x, Value) { return f32(Op::pow, {x, make_number(DType::f32, exponent)}); });
    };
    CHECK(power(2) == "rc_power<2>(t1)");
    CHECK(power(-3) == "rc_power<-3>(t1)");
    CHECK(power(0.5) == "rc_root(t1)");
    CHECK(power(-1.5) == "rc_half_power<-3>(t1)");
    CHECK(power(1.25) == "rc_pow(t1, 1.25f)");
    CHECK(power(9) == "rc_pow(t1, 9.0f)");
}

TEST_CASE("constants are written with their type") {
    const auto constant = [](DType dtype, double real, std::int64_t integer = 0) {
        return value_text([&](Value, Value) {
            return make_value(Constant{.real = real, .integer = integer}, dtype);
        });
    };
    constexpr auto least = std::numeric_limits<std::int64_t>::min();
    CHECK(constant(DType::f32, 0.1) == "0.1f");
    CHECK(constant(DType::f32, 1e30) == "1e+30f");
    CHECK(constant(DType::f32, -0.0) == "-0.0f");
    CHECK(constant(DType::f64, 0.1) == "0.1");
    CHECK(constant(DType::f64, 3) == "3.0");
    CHECK(constant(DType::f32, -HUGE_VAL) == "-rc_inf<float>()");
    CHECK(constant(DType::f64, std::nan("")) == "rc_nan<double>()");
    CHECK(constant(DType::i64, 0, 5) == "5");
    CHECK(constant(DType::i64, 0, -5'000'000'000) == "-5000000000LL");
    CHECK(constant(DType::i64, 0, least) == "-9223372036854775807LL - 1");
    CHECK(constant(DType::u64, 0, -1) == "18446744073709551615ULL");
    CHECK(constant(DType::i32, 0, -2147483648) == "-2147483647 - 1");
    CHECK(constant(DType::boolean, 0, 1) == "true");
}

TEST_CASE("values of indices are computed in 32 bits where they fit") {
    GpuBuilder b;
    const BufferId y = b.result("y", DType::i64);
    const BufferId z = b.result("z", DType::f32);
    const Value t = make_index(form(b.thread));
    const auto integer = [](Op op, std::vector<Value> args) {
        return make_operation(op, std::move(args), DType::i64);
    };
    const Value large = make_integer(std::int64_t{1} << 33);
    const AffineForm at = form(b.thread);
    Body body;
    body.push_back(make_store(
        y, {at}, integer(Op::mod, {integer(Op::add, {t, make_integer(1)}), make_integer(3)})));
    body.push_back(make_store(y, {at}, integer(Op::floordiv, {t, make_integer(-3)})));
    body.push_back(make_store(y, {at}, integer(Op::mul, {t, large})));
    body.push_back(make_store(z, {at}, make_convert(make_index(form(b.thread, 2)), DType::f32)));
    body.push_back({Guard{test(Op::lt, t, make_index(form(b.block))),
                          one(make_store(y, {at}, integer(Op::max, {t, make_integer(7)})))}});
    CHECK(b.text(std::move(body)) == R"(
y[thread] = (thread + 1) % 3;
y[thread] = rc_floordiv<rc_i64>(thread, -3);
y[thread] = rc_mul<rc_i64>(thread, 8589934592LL);
z[thread] = float(2 * thread);
if (thread < block) y[thread] = rc_most(thread, 7);
)");
}

TEST_CASE("every operation has a text for f32, f64, integers and bool where they have it") {
    for (const OpInfo& row : all_ops()) {
        CAPTURE(row.name);
        for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64, DType::boolean}) {
            const bool is_logic = row.precedence == Precedence::logical_and ||
                                  row.precedence == Precedence::logical_or ||
                                  row.op == Op::logical_not;
            if (is_logic != (dtype == DType::boolean)) continue;
            if (!is_floating(dtype) && !is_logic && row.type == TypeRule::floating) continue;
            GpuBuilder b;
            const AffineForm at = form(b.thread);
            std::vector<Value> args(std::size_t(row.min_arity), b.load(b.argument("x", dtype), at));
            if (row.op == Op::select) args[0] = make_integer(1, DType::boolean);
            const DType type = row.type == TypeRule::boolean ? DType::boolean : dtype;
            const BufferId y = b.result("y", type);
            CHECK(b.text(one(make_store(y, {at}, make_operation(row.op, args, type)))).size() > 10);
        }
    }
}

}  // namespace
}  // namespace ricci::tests
