// tests/dsl/affine_form_test.cpp – integer terms as affine forms, conditions as rows of a system
#include "dsl/affine_form.h"

#include <algorithm>
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

TEST_CASE(
    "what is above the larger of two is above both, what is below the smaller one below both") {
    Terms t;
    const auto texts = [&](Expr conjunct) {
        std::vector<std::string> rows;
        for (const Comparison& comparison : comparisons(conjunct)) {
            Variables variables = three_indices();
            affine::System system;
            REQUIRE(add_comparison(system, comparison, variables));
            for (const auto& row : system.inequalities) rows.push_back(affine::str(row, t.names));
            for (const auto& row : system.equalities)
                rows.push_back(affine::str(row, t.names) + " == 0");
        }
        std::ranges::sort(rows);
        return rows;
    };
    using Rows = std::vector<std::string>;
    const auto two = [&](Op op, Expr a, Expr b) { return t.apply(op, a, b); };
    const Expr larger = two(Op::max, t.j, two(Op::max, t.k, t.number(2)));
    CHECK(texts(two(Op::ge, t.i, larger)) == Rows{"i - 2", "i - j", "i - k"});
    CHECK(texts(two(Op::lt, larger, t.i)) == Rows{"i - 3", "i - j - 1", "i - k - 1"});
    const Expr smaller = two(Op::min, t.j, t.number(5));
    CHECK(texts(two(Op::lt, t.i, smaller)) == Rows{"-i + 4", "-i + j - 1"});
    CHECK(texts(two(Op::ge, smaller, t.i)) == Rows{"-i + 5", "-i + j"});
    CHECK(texts(two(Op::le, t.i, t.j)) == Rows{"-i + j"});
    CHECK(texts(two(Op::eq, t.i, t.j)).size() == 1);
    // The other ways round say nothing of each operand, nor do other terms.
    CHECK(comparisons(two(Op::le, t.i, larger)).front().right == larger);
    CHECK(comparisons(two(Op::ge, t.i, smaller)).front().right == smaller);
    CHECK(comparisons(two(Op::ne, t.i, t.j)).empty());
    CHECK(comparisons(t.i).empty());
    // Shared terms are not written out.
    Expr doubled = larger;
    for (int n = 0; n < 60; ++n) doubled = t.context.intern(Apply{Op::max, {doubled, doubled}});
    CHECK(comparisons(two(Op::ge, t.i, doubled)).size() <= 32);
}

TEST_CASE("numbers out of reach are not affine") {
    Terms t;
    Variables variables = three_indices();
    const Expr huge = t.number(INT64_MAX);
    const Expr scaled = t.context.mul(huge, t.i);
    CHECK(t.form(t.context.intern(Apply{Op::mul, {t.number(2), scaled}}), variables) == "none");
}
