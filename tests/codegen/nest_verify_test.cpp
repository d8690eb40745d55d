// tests/codegen/nest_verify_test.cpp – what the verifier refuses, word for word
#include "codegen/nest_verify.h"

#include <doctest/doctest.h>

#include "codegen/nest_build.h"
#include "codegen/tile.h"
#include "tests/support/error_text.h"

using namespace ricci;
using namespace ricci::codegen;
using ricci::tests::error_text;

namespace {

/// `for task: body` over a buffer `A` (read), `B` (written), registers `acc` and a variable `i`.
struct Example {
    Example() {
        nest.name = "example";
        a = nest.add(Buffer{.name = "A", .elements = 64});
        b = nest.add(Buffer{.name = "B", .elements = 64, .is_written = true});
        acc = nest.add(
            Buffer{.name = "acc", .space = Space::registers, .elements = 32, .is_written = true});
        task = nest.add(Var{"task"});
        i = nest.add(Var{"i"});
    }
    std::string error(Body body) {
        nest.body.clear();
        nest.body.push_back(make_loop(task, Bind::parallel, 4, std::move(body)));
        return error_text([&] { verify(nest, "test"); });
    }
    [[nodiscard]] Value load(BufferId buffer, const AffineForm& at) const {
        return make_load(nest, buffer, {at});
    }

    Nest nest;
    BufferId a{}, b{}, acc{};
    VarId task{}, i{};
};

Body one(Stmt stmt) {
    Body body;
    body.push_back(std::move(stmt));
    return body;
}

}  // namespace

TEST_CASE("a nest in order passes") {
    Example example;
    const AffineForm at = form(example.task, 16) + form(example.i);
    CHECK(example.error(one(make_loop(
              example.i, Bind::vector, 16,
              one(make_store(example.b, {at}, example.load(example.a, at)))))) == "no error");
}

TEST_CASE("variables are bound once and used inside their loops") {
    Example example;
    CHECK(
        example.error(one(make_store(example.b, {form(example.i)}, make_number(DType::f32, 0)))) ==
        "internal: kernel `example` after `test`: a variable is used inside its loop: i");
    CHECK(example.error(one(make_loop(
              example.i, Bind::serial, 4,
              one(make_loop(example.i, Bind::serial, 4,
                            one(make_store(example.b, {}, make_number(DType::f32, 0)))))))) ==
          "internal: kernel `example` after `test`: a variable is bound once: i");
}

TEST_CASE("stores have their buffer's type and need a written buffer") {
    Example example;
    CHECK(example.error(one(make_store(example.a, {}, make_number(DType::f32, 0)))) ==
          "internal: kernel `example` after `test`: a store needs a written buffer: A");
    CHECK(example.error(one(make_store(example.b, {}, make_number(DType::f64, 0)))) ==
          "internal: kernel `example` after `test`: a store has its buffer's type: B");
}

TEST_CASE("atomic stores add to arguments on a GPU, and nothing else touches these") {
    const auto error = [](DType dtype, std::optional<Reducer> combine, bool is_read) {
        Nest nest;
        nest.name = "example";
        const BufferId h =
            nest.add(Buffer{.name = "h", .dtype = dtype, .elements = 64, .is_written = true});
        const VarId block = nest.add(Var{"block"});
        const VarId thread = nest.add(Var{"thread"});
        Stmt stmt =
            make_store(h, {}, is_read ? make_load(nest, h, {}) : make_number(dtype, 1), combine);
        std::get<Store>(stmt.node).hint = StoreHint::atomic;
        nest.body = one(make_loop(block, Bind::block, 4,
                                  one(make_loop(thread, Bind::thread, 32, one(std::move(stmt))))));
        return error_text([&] { verify(nest, "test"); });
    };
    CHECK(error(DType::f32, Reducer::sum, false) == "no error");
    CHECK(error(DType::f32, Reducer::sum, true) ==
          "internal: kernel `example` after `test`: what atomic stores add to is not touched "
          "otherwise: h");
    const std::string other =
        "internal: kernel `example` after `test`: an atomic store adds to an argument: h";
    CHECK(error(DType::f32, Reducer::prod, false) == other);
    CHECK(error(DType::f32, std::nullopt, false) == other);
    CHECK(error(DType::f16, Reducer::sum, false) == other);
}

TEST_CASE("operands have one type") {
    Example example;
    const Value sum =
        make_operation(Op::add, {example.load(example.a, {}), make_integer(1)}, DType::f32);
    CHECK(example.error(one(make_store(example.b, {}, sum))) ==
          "internal: kernel `example` after `test`: operands have one type: A[0] + 1");
}

TEST_CASE("slots of registers are vectors, of any lanes, or scalars") {
    const auto error = [](std::int64_t lanes, std::int64_t others) {
        Example example;
        const VarId lane = example.nest.add(Var{"lane"});
        const auto zero = [&](VarId var, std::int64_t count) {
            const AffineForm at = count == 0 ? form(0) : form(var);
            Body store = one(make_store(example.acc, {at}, make_number(DType::f32, 0)));
            return count == 0 ? std::move(store)
                              : one(make_loop(var, Bind::vector, count, std::move(store)));
        };
        Body body = zero(example.i, lanes);
        append(body, zero(lane, others));
        return example.error(std::move(body));
    };
    CHECK(error(8, 8) == "no error");
    CHECK(error(8, 32) == "no error");
    CHECK(error(32, 8) == "no error");
    CHECK(error(8, 0) ==
          "internal: kernel `example` after `test`: slots of a buffer are all scalars or all "
          "vectors: acc");
}

TEST_CASE("registers have constant addresses inside their buffer") {
    Example example;
    const auto store_in = [&](Bind bind, std::int64_t extent, std::int64_t step) {
        return example.error(one(make_loop(
            example.i, bind, extent,
            one(make_store(example.acc, {form(example.i, step)}, make_number(DType::f32, 0))))));
    };
    CHECK(store_in(Bind::unroll, 8, 4) == "no error");
    CHECK(store_in(Bind::serial, 8, 4) ==
          "internal: kernel `example` after `test`: a register has a constant address: acc");
    CHECK(store_in(Bind::unroll, 9, 4) ==
          "internal: kernel `example` after `test`: a register lies in its buffer: acc");
    CHECK(store_in(Bind::vector, 8, 4) ==
          "internal: kernel `example` after `test`: lanes of a register follow each other: acc");
}

TEST_CASE("bounds of unrolled loops are known where those around them are unrolled") {
    Example example;
    const auto inside = [&](Bind bind, LoopBound upper) {
        const VarId j = example.nest.add(Var{"j"});
        Body store = one(make_store(example.acc, {form(j)}, make_number(DType::f32, 0)));
        Body inner = one(make_loop(j, Bind::unroll, bound(0), std::move(upper), std::move(store)));
        return example.error(one(make_loop(example.i, bind, 4, std::move(inner))));
    };
    const LoopBound odd = {{form(2)}, {form(7) - form(example.i, 2)}};
    const std::string refused =
        "internal: kernel `example` after `test`: an unrolled loop has constant bounds: j";
    CHECK(inside(Bind::unroll, odd) == "no error");
    CHECK(inside(Bind::serial, odd) == refused);
    CHECK(inside(Bind::unroll, {odd[1]}) == refused);
    CHECK(inside(Bind::unroll, {{form(2)}, {form(7) - form(example.i, 2), 2}}) == refused);
}

TEST_CASE("spare lanes are of scratch, and of plain stores under no guard") {
    Example example;
    const auto error = [&](Space space, std::optional<Reducer> combine, bool is_guarded) {
        const BufferId column = example.nest.add(Buffer{.name = "column",
                                                        .space = space,
                                                        .elements = 64,
                                                        .is_written = true,
                                                        .has_spare_lanes = true});
        Body body = one(make_store(column, {form(example.i)}, make_number(DType::f32, 0), combine));
        if (is_guarded)
            body = guarded(make_operation(Op::lt, {make_index(form(example.i)), make_integer(3)},
                                          DType::boolean),
                           std::move(body));
        return example.error(one(make_loop(example.i, Bind::vector, 16, std::move(body))));
    };
    CHECK(error(Space::scratch, std::nullopt, false) == "no error");
    CHECK(error(Space::argument, std::nullopt, false) ==
          "internal: kernel `example` after `test`: spare lanes are of scratch: column");
    const std::string other =
        "internal: kernel `example` after `test`: what has spare lanes is stored as it is: column";
    CHECK(error(Space::scratch, Reducer::sum, false) == other);
    CHECK(error(Space::scratch, std::nullopt, true) == other);
}

TEST_CASE("vector loops have a power of two of lanes and hold no loops but unrolled ones") {
    Example example;
    const auto store = [&] {
        return one(make_store(example.b, {form(example.i)}, make_number(DType::f32, 0)));
    };
    CHECK(example.error(one(make_loop(example.i, Bind::vector, 12, store()))) ==
          "internal: kernel `example` after `test`: lanes are a power of two");
    const VarId j = example.nest.add(Var{"j"});
    CHECK(example.error(one(make_loop(example.i, Bind::vector, 8,
                                      one(make_loop(j, Bind::serial, 2, store()))))) ==
          "internal: kernel `example` after `test`: no loop inside a vector loop: j");
}
