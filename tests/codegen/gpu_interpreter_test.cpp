// tests/codegen/gpu_interpreter_test.cpp – what the interpreter of nests finds in blocks of threads
#include <doctest/doctest.h>

#include "codegen/gpu/threads.h"
#include "codegen/nest_verify.h"
#include "tests/support/error_text.h"
#include "tests/support/nest_machine.h"

using namespace ricci;
using namespace ricci::codegen;
using ricci::tests::error_text;

namespace {

/// Two blocks of 64 threads over `A` (read), `B` (written) and `tile` (shared), 128 elements each.
struct Example {
    Example() {
        nest.name = "example";
        a = nest.add(Buffer{.name = "A", .elements = 128});
        b = nest.add(Buffer{.name = "B", .elements = 128, .is_written = true});
        tile = gpu::add_shared(nest, "tile", DType::f32, 128);
    }
    using Make = std::function<Body(VarId block, VarId thread)>;

    /// The least of what three orders say: an error in any of them counts.
    std::string error(const Make& make) {
        nest.body = gpu::launch(nest, 2, 64, make);
        verify(nest, "test");
        for (const std::uint64_t order : {0, 1, 2}) {
            const std::string text = error_text([&] { run(order); });
            if (text != "no error") return text;
        }
        return "no error";
    }
    void run(std::uint64_t order) {
        in.assign(128, {});
        out.assign(128, {});
        for (std::size_t i = 0; i < in.size(); ++i)
            in[i].value = runtime::Scalar{.real = double(i)};
        tests::execute(nest, {&in, &out}, order);
    }

    [[nodiscard]] Value load(BufferId buffer, const AffineForm& at) const {
        return make_load(nest, buffer, {at});
    }
    /// tile[thread] = A[64*block + thread].
    [[nodiscard]] Stmt fill(VarId block, VarId thread, StoreHint hint = StoreHint::normal) const {
        Stmt stmt = make_store(tile, {form(thread)}, load(a, form(block, 64) + form(thread)));
        std::get<Store>(stmt.node).hint = hint;
        return stmt;
    }
    /// B[64*block + thread] = tile[63 - thread].
    [[nodiscard]] Stmt reverse(VarId block, VarId thread) const {
        return make_store(b, {form(block, 64) + form(thread)}, load(tile, form(63) - form(thread)));
    }

    Nest nest;
    BufferId a{}, b{}, tile{};
    tests::Memory in, out;
};

Body body_of(std::vector<Stmt> stmts) {
    Body body;
    for (Stmt& stmt : stmts) body.push_back(std::move(stmt));
    return body;
}

}  // namespace

TEST_CASE("a block reverses its part through shared memory") {
    Example example;
    CHECK(example.error([&](VarId block, VarId thread) {
        return body_of({example.fill(block, thread), {Barrier{}}, example.reverse(block, thread)});
    }) == "no error");
    CHECK(example.out[0].value->real == 63);
    CHECK(example.out[127].value->real == 64);
}

TEST_CASE("a missing barrier is found in every order") {
    Example example;
    CHECK(example.error([&](VarId block, VarId thread) {
        return body_of({example.fill(block, thread), example.reverse(block, thread)});
    }) == "internal: kernel example: tile[63] is read and not written");
    CHECK(example.error([&](VarId block, VarId thread) {
        const VarId round = example.nest.add(Var{"round"});
        Body twice;
        twice.push_back(make_loop(
            round, Bind::serial, 2,
            body_of({example.fill(block, thread), {Barrier{}}, example.reverse(block, thread)})));
        return twice;
    }) == "internal: kernel example: two threads meet in tile");
}

TEST_CASE("two blocks that write one element are found") {
    Example example;
    CHECK(example.error([&](VarId, VarId thread) {
        return body_of({make_store(example.b, {form(thread)}, example.load(example.a, {}))});
    }) == "internal: kernel example: two tasks meet in B");
}

TEST_CASE("an asynchronous store is there after its wait and a barrier") {
    Example example;
    const auto with_wait = [&](std::int64_t pending) {
        return example.error([&example, pending](VarId block, VarId thread) {
            return body_of({example.fill(block, thread, StoreHint::asynchronous),
                            {Commit{}},
                            {Wait{pending}},
                            {Barrier{}},
                            example.reverse(block, thread)});
        });
    };
    CHECK(with_wait(0) == "no error");
    CHECK(with_wait(1) == "internal: kernel example: tile[63] is read before it has arrived");
    CHECK(example.error([&](VarId block, VarId thread) {
        return body_of({example.fill(block, thread, StoreHint::asynchronous),
                        {Commit{}},
                        {Wait{0}},
                        example.reverse(block, thread)});
    }) == "internal: kernel example: two threads meet in tile");
}

TEST_CASE("a fold gives all threads of a group the value combined") {
    Example example;
    CHECK(example.error([&](VarId block, VarId thread) {
        const AffineForm at = form(block, 64) + form(thread);
        return body_of({{Fold{.number = 1, .value = example.load(example.a, at), .width = 8}},
                        make_store(example.b, {at}, make_let_value(1, DType::f32))});
    }) == "no error");
    CHECK(example.out[0].value->real == 28);
    CHECK(example.out[7].value->real == 28);
    CHECK(example.out[8].value->real == 92);
}

TEST_CASE("a fold with places keeps the smaller place of equal values") {
    Example example;
    CHECK(example.error([&](VarId block, VarId thread) {
        const AffineForm at = form(block, 64) + form(thread);
        return body_of(
            {{Fold{.number = 1,
                   .value = make_number(DType::f32, 5),
                   .reducer = Reducer::max,
                   .width = 32,
                   .place_number = 2,
                   .place = make_index(form(200) - form(thread))}},
             make_store(example.b, {at}, make_convert(make_let_value(2, DType::i64), DType::f32))});
    }) == "no error");
    CHECK(example.out[0].value->real == 169);
    CHECK(example.out[63].value->real == 137);
}

TEST_CASE("a register that nothing has written is found") {
    Example example;
    const BufferId slot = add_registers(example.nest, "slot", DType::f32, 2);
    CHECK(example.error([&](VarId block, VarId thread) {
        return body_of(
            {make_store(slot, {}, make_number(DType::f32, 1)),
             make_store(example.b, {form(block, 64) + form(thread)}, example.load(slot, form(1)))});
    }) == "internal: kernel example: slot[1] is read and not written");
}
