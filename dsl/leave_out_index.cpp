// dsl/leave_out_index.cpp – conditions that an index of their own stands in, without it
#include "dsl/leave_out_index.h"

#include <algorithm>
#include <vector>

#include "affine/polyhedron.h"
#include "dsl/affine_form.h"
#include "dsl/prove.h"
#include "dsl/walk.h"

namespace ricci {
namespace {

/// Pairs of bounds that are compared: a condition of many would become longer than what it saves.
constexpr std::size_t most_pairs = 9;

class Elimination {
  public:
    Elimination(const BoundProgram& program, IndexId index)
        : program_(program), variables_({index}), index_(index) {}

    std::optional<Expr> run(Expr condition) {
        for (const Expr part : conjuncts(condition)) {
            if (!has_index(free_indices(part), index_))
                keep(part);
            else if (!add(part))
                return std::nullopt;
        }
        const BoundIndex& range = program_.at(index_);
        system_.in_range(0, range.lower, range.upper);
        std::vector<affine::Form> lower;
        std::vector<affine::Form> upper;
        for (const affine::Form& form : system_.inequalities) {
            if (form.at(0) != 1 && form.at(0) != -1) return std::nullopt;
            (form.at(0) > 0 ? lower : upper).push_back(form);
        }
        if (!system_.equalities.empty() || lower.size() * upper.size() > most_pairs)
            return std::nullopt;
        for (const affine::Form& low : lower)
            for (const affine::Form& high : upper) keep_if_open(affine::combine(1, low, 1, high));
        return kept_;
    }

  private:
    /// Whether all that the part says are comparisons of forms.
    bool add(Expr part) {
        const std::vector<Comparison> all = comparisons(part);
        return !all.empty() && std::ranges::all_of(all, [&](const Comparison& each) {
            return add_comparison(system_, each, variables_);
        });
    }
    void keep(Expr part) {
        Context& context = *program_.context;
        kept_ = kept_ ? context.apply(Op::logical_and, {kept_, part}, DType::boolean) : part;
    }
    /// Keeps that the form is at least zero, unless it always is.
    void keep_if_open(const affine::Form& form) {
        Context& context = *program_.context;
        Expr value = context.literal(form.constant, DType::i64);
        for (std::size_t v = 1; v < variables_.size(); ++v) {
            if (form.at(v) == 0) continue;
            const Expr index = context.intern(IndexValue{*variables_.index(v)}, DType::i64);
            const Expr factor = context.literal(form.at(v), DType::i64);
            const Expr term = context.apply(Op::mul, {factor, index}, DType::i64);
            value = context.apply(Op::add, {value, term}, DType::i64);
        }
        const auto range = integer_range(program_.indices, value);
        if (range && range->low >= 0) return;
        keep(context.apply(Op::ge, {value, context.literal(std::int64_t{0}, DType::i64)},
                           DType::boolean));
    }

    const BoundProgram& program_;
    Variables variables_;  ///< indices alone; the first is the one that is left out
    IndexId index_;
    affine::System system_;
    Expr kept_;
};

}  // namespace

std::optional<Expr> leave_out_index(const BoundProgram& program, Expr condition, IndexId index) {
    try {
        return Elimination(program, index).run(condition);
    } catch (const affine::GaveUp&) {  // a sum leaves 64 bits
        return std::nullopt;
    }
}

}  // namespace ricci
