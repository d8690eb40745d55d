// tests/emulation/example_plans.cpp – plans made by hand: what strategies do, where all can be seen
#include "tests/emulation/example_plans.h"

#include "base/error.h"
#include "codegen/nest_build.h"
#include "codegen/nest_verify.h"
#include "dsl/canonical.h"
#include "tests/emulation/run_plan.h"

namespace ricci::tests {
namespace {

using namespace codegen;

ArgumentSpec array(Shape shape) {
    return {.dtype = DType::f32, .shape = std::move(shape), .strides = {}, .value = {}};
}

/// A nest under construction, with buffers for the first argument and the result of a program.
class Example {
  public:
    Example(std::string text, const Signature& signature)
        : example_{.text = std::move(text), .signature = signature, .program = {}, .plan = {}} {
        example_.program = ricci::bind(canonicalise(parse_program(example_.text)), signature);
        example_.plan = codegen::plan(example_.program, emulated_target());
        nest_.name = "example";
        from = argument(example_.program.arguments.at(0), false);
        to = argument(example_.program.outputs.at(0), true);
        block = nest_.add(Var{"block"});
        thread = nest_.add(Var{"thread"});
    }

    VarId var(std::string name) { return nest_.add(Var{std::move(name)}); }
    BufferId memory(std::string name, Space space, std::int64_t elements) {
        return nest_.add(Buffer{.name = std::move(name),
                                .dtype = DType::f32,
                                .space = space,
                                .elements = elements,
                                .is_written = true,
                                .alignment = 16});
    }
    [[nodiscard]] Value load(BufferId buffer, AffineForm at) const {
        return make_load(nest_, buffer, {std::move(at)});
    }

    /// The plan of one launch.
    ExamplePlan finish(std::int64_t blocks, std::int64_t threads, Body body) {
        Body inner;
        inner.push_back(make_loop(thread, Bind::thread, threads, std::move(body)));
        nest_.body.push_back(make_loop(block, Bind::block, blocks, std::move(inner)));
        verify(nest_, "example");
        example_.plan.nests = {nest_};
        example_.plan.steps = {{.nest = 0, .buffers = places_, .tasks = blocks}};
        return std::move(example_);
    }

    BufferId from{};
    BufferId to{};
    VarId block{};
    VarId thread{};

  private:
    BufferId argument(TensorId tensor, bool is_written) {
        for (std::size_t n = 0; n < example_.plan.buffers.size(); ++n) {
            const PlanBuffer& buffer = example_.plan.buffers[n];
            if (buffer.kind != PlanBuffer::Kind::tensor || buffer.tensor != tensor) continue;
            places_.push_back(n);
            return nest_.add(Buffer{.name = buffer.name,
                                    .dtype = buffer.dtype,
                                    .space = Space::argument,
                                    .elements = buffer.elements,
                                    .is_written = is_written,
                                    .alignment = 16});
        }
        RICCI_ASSERT(false, "an argument or output of the program");
    }

    ExamplePlan example_;
    Nest nest_;
    std::vector<std::size_t> places_;
};

Value is_less(AffineForm a, std::int64_t b) {
    return make_operation(Op::lt, {make_index(std::move(a)), make_integer(b)}, DType::boolean);
}

Stmt guard(Value condition, Stmt stmt) {
    Guard result{.condition = std::move(condition), .body = {}};
    result.body.push_back(std::move(stmt));
    return {std::move(result)};
}

}  // namespace

ExamplePlan pipeline_plan() {
    Example x("y[i] := x[i]", {{"x", array({3 * 512})}});
    const BufferId tile = x.memory("tile", Space::shared, 256);
    // Four neighbours of chunk `chunk`, to a half of the tile.
    const auto copy = [&](const AffineForm& half, const AffineForm& chunk) {
        const VarId lane = x.var("lane");
        Body body;
        Store store{.buffer = tile,
                    .at = {128 * half + form(x.thread, 4) + form(lane)},
                    .value = x.load(
                        x.from, form(x.block, 512) + 128 * chunk + form(x.thread, 4) + form(lane)),
                    .combine = std::nullopt,
                    .hint = StoreHint::asynchronous};
        body.push_back({std::move(store)});
        return make_loop(lane, Bind::vector, 4, std::move(body));
    };
    const VarId k = x.var("k");
    const VarId half = x.var("half");
    const VarId other = x.var("other");
    const VarId part = x.var("part");
    Body chunk;
    chunk.push_back(make_let_var(half, form(k), 1, 2));
    chunk.push_back(make_let_var(other, form(k) + form(1), 1, 2));
    chunk.push_back(guard(is_less(form(k), 3), copy(form(other), form(k) + form(1))));
    chunk.push_back({Commit{}});
    chunk.push_back({Wait{1}});
    chunk.push_back({Barrier{}});
    Body write;
    write.push_back(
        make_store(x.to, {form(x.block, 512) + form(k, 128) + form(part, 32) + form(x.thread)},
                   x.load(tile, form(half, 128) + form(part, 32) + form(x.thread))));
    chunk.push_back(make_loop(part, Bind::unroll, 4, std::move(write)));
    chunk.push_back({Barrier{}});
    Body body;
    body.push_back(copy(form(0), form(0)));
    body.push_back({Commit{}});
    body.push_back(make_loop(k, Bind::serial, 4, std::move(chunk)));
    return x.finish(3, 32, std::move(body));
}

ExamplePlan warp_rows_plan() {
    Example x("y[i] := A[i,k]", {{"A", array({7, 101})}});
    const BufferId acc = x.memory("acc", Space::registers, 1);
    const VarId warp = x.var("warp");
    const VarId lane = x.var("lane");
    const VarId k = x.var("k");
    const AffineForm row = form(x.block, 2) + form(warp);
    Body sum;
    sum.push_back(make_store(acc, {form(0)}, x.load(x.from, 101 * row + form(k)), Reducer::sum));
    Body body;
    body.push_back(make_let_var(warp, form(x.thread), 32, 0));
    body.push_back(make_let_var(lane, form(x.thread), 1, 32));
    body.push_back(make_store(acc, {form(0)}, make_number(DType::f32, 0)));
    body.push_back(guard(is_less(row, 7), make_loop(k, Bind::serial, bound(form(lane)),
                                                    bound(form(101)), std::move(sum), 32)));
    body.push_back({Fold{.number = 1, .value = x.load(acc, form(0))}});
    const Value is_first =
        make_operation(Op::logical_and, {is_less(row, 7), is_less(form(lane), 1)}, DType::boolean);
    body.push_back(guard(is_first, make_store(x.to, {row}, make_let_value(1, DType::f32))));
    return x.finish(4, 64, std::move(body));
}

ExamplePlan block_rows_plan() {
    Example x("y[i] := max[k](A[i,k])", {{"A", array({5, 777})}});
    const BufferId acc = x.memory("acc", Space::registers, 1);
    const BufferId partial = x.memory("partial", Space::shared, 4);
    const VarId warp = x.var("warp");
    const VarId lane = x.var("lane");
    const VarId k = x.var("k");
    const Value least = identity(Reducer::max, DType::f32);
    Body sum;
    sum.push_back(
        make_store(acc, {form(0)}, x.load(x.from, form(x.block, 777) + form(k)), Reducer::max));
    Body body;
    body.push_back(make_let_var(warp, form(x.thread), 32, 0));
    body.push_back(make_let_var(lane, form(x.thread), 1, 32));
    body.push_back(make_store(acc, {form(0)}, least));
    body.push_back(
        make_loop(k, Bind::serial, bound(form(x.thread)), bound(form(777)), std::move(sum), 128));
    body.push_back({Fold{.number = 1, .value = x.load(acc, form(0)), .reducer = Reducer::max}});
    body.push_back(guard(is_less(form(lane), 1),
                         make_store(partial, {form(warp)}, make_let_value(1, DType::f32))));
    body.push_back({Barrier{}});
    body.push_back(make_store(acc, {form(0)}, least));
    body.push_back(guard(is_less(form(x.thread), 4),
                         make_store(acc, {form(0)}, x.load(partial, form(x.thread)))));
    body.push_back(
        {Fold{.number = 2, .value = x.load(acc, form(0)), .reducer = Reducer::max, .width = 4}});
    body.push_back(guard(is_less(form(x.thread), 1),
                         make_store(x.to, {form(x.block)}, make_let_value(2, DType::f32))));
    return x.finish(5, 128, std::move(body));
}

ExamplePlan squares_plan() {
    // Squares of 8 in rows of 8 threads: block b does the squares of its row of squares.
    Example x("Y[j,i] := X[i,j]", {{"X", array({30, 21})}});
    const BufferId tile = x.memory("tile", Space::shared, 8 * 9);
    const VarId square = x.var("square");
    const VarId row = x.var("row");
    const VarId column = x.var("column");
    const VarId part = x.var("part");
    const VarId other = x.var("other");
    const auto rows = [&](VarId n) { return form(row) + form(n, 4); };
    const auto both = [](Value a, Value b) {
        return make_operation(Op::logical_and, {std::move(a), std::move(b)}, DType::boolean);
    };
    const AffineForm i = form(x.block, 8) + rows(part);
    const AffineForm j = form(square, 8) + form(column);
    Body read;
    read.push_back(
        guard(both(is_less(i, 30), is_less(j, 21)),
              make_store(tile, {9 * rows(part) + form(column)}, x.load(x.from, 21 * i + j))));
    const AffineForm to_i = form(x.block, 8) + form(column);
    const AffineForm to_j = form(square, 8) + rows(other);
    Body write;
    write.push_back(
        guard(both(is_less(to_i, 30), is_less(to_j, 21)),
              make_store(x.to, {30 * to_j + to_i}, x.load(tile, form(column, 9) + rows(other)))));
    Body each;
    each.push_back(make_loop(part, Bind::unroll, 2, std::move(read)));
    each.push_back({Barrier{}});
    each.push_back(make_loop(other, Bind::unroll, 2, std::move(write)));
    each.push_back({Barrier{}});
    Body body;
    body.push_back(make_let_var(row, form(x.thread), 8, 0));
    body.push_back(make_let_var(column, form(x.thread), 1, 8));
    body.push_back(make_loop(square, Bind::serial, 3, std::move(each)));
    return x.finish(4, 32, std::move(body));
}

}  // namespace ricci::tests
