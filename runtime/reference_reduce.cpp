// runtime/reference_reduce.cpp – combines the terms of one reduction, for the reference evaluator
#include "runtime/reference_reduce.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace ricci::runtime {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

void CompensatedSum::add(double x) noexcept {
    const double next = sum_ + x;
    if (std::isfinite(next))
        lost_ += std::abs(sum_) >= std::abs(x) ? (sum_ - next) + x : (x - next) + sum_;
    sum_ = next;
}

double CompensatedSum::value() const noexcept { return std::isfinite(sum_) ? sum_ + lost_ : sum_; }

Accumulator::Accumulator(Reducer reducer, DType type, DType term_type, bool with_bounds)
    : reducer_(reducer),
      type_(type),
      term_type_(term_type),
      with_bounds_(with_bounds),
      value_(identity()) {}

Scalar Accumulator::identity() const {
    switch (reducer_) {
        case Reducer::sum:       return {};
        case Reducer::prod:      return {1, 1};
        case Reducer::max:       return extreme(-infinity);
        case Reducer::min:       return extreme(infinity);
        case Reducer::argmax:
        case Reducer::argmin:    return {0, std::numeric_limits<std::int64_t>::max()};
        case Reducer::mean:
        case Reducer::any:
        case Reducer::all:
        case Reducer::count:
        case Reducer::logsumexp:
        case Reducer::norm:      break;
    }
    RICCI_ASSERT(false, "a reducer of the canonical form");
    return {};
}

/// The lowest or the highest value of the type.
Scalar Accumulator::extreme(double value) const {
    if (type_ == DType::boolean) return {0, value > 0 ? 1 : 0};
    return convert_scalar({value, 0}, DType::f64, type_);
}

void Accumulator::add(const Scalar& term, std::int64_t index) {
    if (reducer_ == Reducer::sum) add_to_sum(term);
    if (reducer_ == Reducer::prod) combine(Op::mul, term);
    if (reducer_ == Reducer::max) combine(Op::max, term);
    if (reducer_ == Reducer::min) combine(Op::min, term);
    if (reducer_ == Reducer::argmax || reducer_ == Reducer::argmin) compete(term, index);
    ++count_;
}

void Accumulator::add_to_sum(const Scalar& term) {
    if (is_floating(type_)) {
        sum_.add(term.real);
        magnitudes_ += std::abs(term.real);
    } else {
        value_.integer = operate(Op::add, type_, type_, std::array{value_, term}).integer;
    }
    value_.bound += term.bound;
}

void Accumulator::combine(Op op, const Scalar& term) {
    const std::array both{value_, term};
    value_ =
        with_bounds_ ? operate_with_bound(op, type_, type_, both) : operate(op, type_, type_, both);
}

void Accumulator::compete(const Scalar& term, std::int64_t index) {
    if (count_ == 0 || is_better(term, candidates_[best_])) {
        best_ = candidates_.size();
        value_.integer = index;
    }
    candidates_.push_back(term);
}

/// The first of equal values stays; a NaN beats every number.
bool Accumulator::is_better(const Scalar& term, const Scalar& best) const {
    if (is_floating(term_type_) && (std::isnan(best.real) || std::isnan(term.real)))
        return !std::isnan(best.real);
    const Op better = reducer_ == Reducer::argmax ? Op::gt : Op::lt;
    return operate(better, term_type_, DType::boolean, std::array{term, best}).integer != 0;
}

Scalar Accumulator::result() const {
    Scalar result = value_;
    if (reducer_ == Reducer::sum && is_floating(type_)) {
        result.real = sum_.value();
        // One rounding a term at worst; with the lanes and blocks of real code about the root.
        const auto terms = static_cast<double>(count_);
        const double roundings = std::min(terms, 16 + 4 * std::sqrt(terms));
        result.bound += roundings * unit_roundoff(type_) * magnitudes_;
    }
    if (with_bounds_ && is_close_call()) result.bound = infinity;
    return round_to(type_, result);
}

/// Whether another candidate may be the best one within the bounds.
bool Accumulator::is_close_call() const {
    for (std::size_t n = 0; n < candidates_.size(); ++n) {
        const double slack = candidates_[n].bound + candidates_[best_].bound;
        const double gap = std::abs(candidates_[n].real - candidates_[best_].real);
        if (n != best_ && slack > 0 && !(gap > slack)) return true;
    }
    return false;
}

}  // namespace ricci::runtime
