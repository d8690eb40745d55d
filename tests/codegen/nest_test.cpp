// tests/codegen/nest_test.cpp – forms, building, printing
#include "codegen/nest.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "codegen/nest_build.h"

using namespace ricci;
using namespace ricci::codegen;

TEST_CASE("affine forms keep their terms sorted and drop what cancels") {
    const VarId i{0};
    const VarId j{1};
    const AffineForm sum = form(j, 3) + form(i, 2) + form(5);
    REQUIRE(sum.terms.size() == 2);
    CHECK(sum.terms[0].var == i);
    CHECK(sum.coefficient(j) == 3);
    CHECK((sum - form(i, 2)).coefficient(i) == 0);
    CHECK((sum - sum) == AffineForm{});
    CHECK((-2 * sum).constant == -10);
}

TEST_CASE("an address beyond 64 bits is an internal error") {
    const std::int64_t large = std::int64_t{1} << 40;
    CHECK_THROWS_AS((void)(large * form(VarId{0}, large)), Error);
}

TEST_CASE("values that occur more than once become Lets") {
    Nest nest;
    const BufferId a = nest.add(Buffer{.name = "A", .elements = 1});
    const Value x = make_load(nest, a, {});
    const Value square = make_operation(Op::mul, {x, x}, DType::f32);
    Body body;
    std::uint32_t next = 1;
    const std::vector<Value> shared = share(body, {square}, next);
    REQUIRE(body.size() == 1);
    CHECK(str(nest, shared[0]) == "%1 * %1");
    CHECK(str(nest, std::get<Let>(body[0].node).value) == "A[0]");
    CHECK(next == 2);
}

TEST_CASE("a substitution replaces variables in addresses, index values and bounds") {
    Nest nest;
    const BufferId a = nest.add(Buffer{.name = "A", .elements = 100});
    const VarId i = nest.add(Var{"i"});
    const VarId block = nest.add(Var{"block"});
    const Value term = make_operation(
        Op::add, {make_load(nest, a, {form(i, 2)}), make_convert(make_index(form(i)), DType::f32)},
        DType::f32);
    Substitution to;
    to.replace(i, form(block, 8) + form(1));
    CHECK(str(nest, to(term)) == "A[16*block + 2] + f32(8*block + 1)");
    CHECK(to(bound(form(i)))[0].form == form(block, 8) + form(1));
}

TEST_CASE("a substitution puts data where addresses and values name a variable") {
    Nest nest;
    const BufferId a = nest.add(Buffer{.name = "A", .elements = 100});
    const VarId i = nest.add(Var{"i"});
    const VarId j = nest.add(Var{"j"});
    const Value number = make_let_value(7, DType::i64);
    Substitution to;
    to.replace(i, number);
    to.replace(j, form(3));
    const Value moved = make_load(nest, a, {form(i, 2) + form(j) + form(1), make_index(form(i))});
    CHECK(str(nest, to(moved)) == "A[4 + (%7 * 2) + %7]");
    CHECK(str(nest, to(make_index(form(j)))) == "3");
    CHECK_THROWS_AS((void)to(form(i)), Error);
}

TEST_CASE("identities are the neutral elements of their types") {
    const Nest nest;
    CHECK(str(nest, identity(Reducer::max, DType::f32)) == "-inf");
    CHECK(str(nest, identity(Reducer::min, DType::i32)) == "2147483647");
    CHECK(str(nest, identity(Reducer::max, DType::i64)) == "-9223372036854775808");
    CHECK(str(nest, identity(Reducer::min, DType::boolean)) == "true");
    CHECK(str(nest, identity(Reducer::prod, DType::f64)) == "1.0");
}
