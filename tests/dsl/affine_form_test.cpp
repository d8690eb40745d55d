// tests/dsl/affine_form_test.cpp – integer terms as affine forms, conditions as rows of a system
#include "dsl/affine_form.h"

#include <string>

#include <doctest/doctest.h>

using namespace ricci;

namespace {

/// Three indices i, j, k and what is built of them.
struct Terms {
    Context context;
    Expr i = context.index(IndexId{0});
    Expr j = context.index(IndexId{1});
    Expr k = context.index(IndexId{2});
    const std::vector<std::string> names = {"i", "j", "k", "q", "r"};

    Expr number(std::int64_t value) { return context.integer(value); }
    Expr apply(Op op, Expr a, Expr b) { return context.apply(op, {a, b}); }
    /// The form as text, or "none".
    std::string form(Expr e, Variables& variables) const {
        const auto found = affine_form(e, variables);
        return found ? affine::str(*found, names) : "none";
    }
};

Variables three_indices(Variables::Atoms atoms = Variables::Atoms::indices) {
    return Variables({IndexId{0}, IndexId{1}, IndexId{2}}, atoms);
}

}  // namespace

TEST_CASE("sums, negations and multiples of indices are affine") {
    Terms t;
    Variables variables = three_indices();
    const Expr e = t.context.sub(t.context.mul(t.number(2), t.context.add(t.i, t.number(3))), t.k);
    CHECK(t.form(e, variables) == "2*i - k + 6");
    CHECK(t.form(t.number(-4), variables) == "-4");
}

TEST_CASE("products of indices, functions and reads are not affine") {
    Terms t;
    Variables variables = three_indices();
    CHECK(t.form(t.context.mul(t.i, t.j), variables) == "none");
    CHECK(t.form(t.apply(Op::max, t.i, t.j), variables) == "none");
    CHECK(t.form(t.context.access(TensorId{0}, {t.i}), variables) == "none");
    CHECK(t.form(t.context.literal(1.0), variables) == "none");
    CHECK(t.form(t.apply(Op::floordiv, t.i, t.number(2)), variables) == "none");
}

TEST_CASE("quotients by a literal are variables of their own, remainders follow from them") {
    Terms t;
    Variables variables = three_indices(Variables::Atoms::quotients);
    CHECK(t.form(t.apply(Op::floordiv, t.i, t.number(3)), variables) == "q");
    CHECK(t.form(t.apply(Op::mod, t.i, t.number(3)), variables) == "i - 3*q");
    CHECK(variables.size() == 4);
    affine::System system;
    system.in_range(0, 0, 12);
    variables.define(system);
    // 0 <= i // 3 < 4, and 0 <= i % 3 < 3
    Variables& v = variables;
    const auto remainder = affine_form(t.apply(Op::mod, t.i, t.number(3)), v).value();
    CHECK(affine::implies(system, remainder));
    CHECK(affine::implies(system, {.constant = 3, .coefficients = {0, 0, 0, -1}}));
    CHECK_FALSE(affine::implies(system, {.constant = 2, .coefficients = {0, 0, 0, -1}}));
}

TEST_CASE("the affine conjuncts of a condition become rows, the others are left") {
    Terms t;
    Variables variables = three_indices();
    affine::System system;
    const Expr read = t.apply(Op::gt, t.context.access(TensorId{0}, {t.i}), t.number(0));
    Expr condition = t.apply(Op::lt, t.i, t.j);
    for (const Expr part : {read, t.apply(Op::ge, t.k, t.i), t.apply(Op::ne, t.i, t.k),
                            t.apply(Op::eq, t.k, t.number(2))}) {
        condition = t.context.logical_and(condition, part);
    }
    const std::vector<Expr> rest = add_condition(system, condition, variables);
    CHECK(rest == std::vector<Expr>{read, t.apply(Op::ne, t.i, t.k)});
    REQUIRE(system.inequalities.size() == 2);
    CHECK(affine::str(system.inequalities[0], t.names) == "-i + j - 1");
    CHECK(affine::str(system.inequalities[1], t.names) == "-i + k");
    REQUIRE(system.equalities.size() == 1);
    CHECK(affine::str(system.equalities[0], t.names) == "k - 2");
}

TEST_CASE("numbers out of reach are not affine") {
    Terms t;
    Variables variables = three_indices();
    const Expr huge = t.number(INT64_MAX);
    const Expr scaled = t.context.mul(huge, t.i);
    CHECK(t.form(t.context.intern(Apply{Op::mul, {t.number(2), scaled}}), variables) == "none");
}
