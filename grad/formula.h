// grad/formula.h – terms written as mathematics: what the derivative rules are made of
#pragma once

#include <utility>

#include "dsl/expr.h"

namespace ricci::grad {

/// A term and the context it is built in. Numbers mixed with it are weak literals.
class Formula {
  public:
    Formula(Context& context, Expr e) : context_(&context), e_(e) {}

    [[nodiscard]] Expr expr() const noexcept { return e_; }
    [[nodiscard]] Formula apply(Op op) const { return {*context_, context_->apply(op, {e_})}; }
    [[nodiscard]] Formula apply(Op op, Formula b) const {
        return {*context_, context_->apply(op, {e_, b.e_})};
    }
    [[nodiscard]] Formula literal(double value) const {
        return {*context_, context_->literal(value)};
    }
    [[nodiscard]] Formula integer(int value) const { return {*context_, context_->integer(value)}; }
    /// `*this ? yes : no`.
    [[nodiscard]] Formula choose(Formula yes, Formula no) const {
        return {*context_, context_->apply(Op::select, {e_, yes.e_, no.e_})};
    }

    Formula operator-() const { return apply(Op::neg); }
    friend Formula operator+(Formula a, Formula b) { return a.apply(Op::add, b); }
    friend Formula operator-(Formula a, Formula b) { return a + -b; }
    friend Formula operator*(Formula a, Formula b) { return a.apply(Op::mul, b); }
    friend Formula operator/(Formula a, Formula b) { return a.apply(Op::div, b); }
    friend Formula operator==(Formula a, Formula b) { return a.apply(Op::eq, b); }
    friend Formula operator!=(Formula a, Formula b) { return a.apply(Op::ne, b); }
    friend Formula operator<(Formula a, Formula b) { return a.apply(Op::lt, b); }
    friend Formula operator<=(Formula a, Formula b) { return a.apply(Op::le, b); }
    friend Formula operator>(Formula a, Formula b) { return a.apply(Op::gt, b); }
    friend Formula operator>=(Formula a, Formula b) { return a.apply(Op::ge, b); }
    friend Formula operator&&(Formula a, Formula b) { return a.apply(Op::logical_and, b); }
    friend Formula operator||(Formula a, Formula b) { return a.apply(Op::logical_or, b); }
    Formula operator!() const { return apply(Op::logical_not); }

    friend Formula operator+(Formula a, int b) { return a + a.integer(b); }
    friend Formula operator-(Formula a, int b) { return a + a.integer(-b); }
    friend Formula operator-(int a, Formula b) { return b.integer(a) - b; }
    friend Formula operator*(int a, Formula b) { return b.integer(a) * b; }
    friend Formula operator*(double a, Formula b) { return b.literal(a) * b; }
    friend Formula operator==(Formula a, int b) { return a == a.integer(b); }
    friend Formula operator!=(Formula a, int b) { return a != a.integer(b); }
    friend Formula operator<(Formula a, int b) { return a < a.integer(b); }
    friend Formula operator<=(Formula a, int b) { return a <= a.integer(b); }
    friend Formula operator>(Formula a, int b) { return a > a.integer(b); }
    friend Formula operator>=(Formula a, int b) { return a >= a.integer(b); }

  private:
    Context* context_;
    Expr e_;
};

}  // namespace ricci::grad
