// codegen/gpu/numbering.cpp – axes of a group run over by one number
#include "codegen/gpu/numbering.h"

#include <algorithm>
#include <unordered_set>

#include "base/error.h"

namespace ricci::codegen::gpu {

namespace {

/// The affine part of every address in the terms, and the variables that occur elsewhere.
class Walk {
  public:
    explicit Walk(const std::vector<Value>& terms) {
        for (const Value& term : terms)
            if (term) visit(term);
    }
    [[nodiscard]] bool walks_as_one(const Axis& outer, const Axis& inner) const {
        const auto is_pinned = [&](const Axis& axis) {
            return std::ranges::any_of(
                values_, [&](const AffineForm& form) { return form.coefficient(axis.var) != 0; });
        };
        if (is_pinned(outer) || is_pinned(inner)) return false;
        return std::ranges::all_of(addresses_, [&](const AffineForm& address) {
            return address.coefficient(outer.var) == inner.extent * address.coefficient(inner.var);
        });
    }

  private:
    void visit(const Value& value) {
        if (!seen_.insert(value.get()).second) return;
        if (const auto* var = std::get_if<VarValue>(&value->term)) values_.push_back(var->form);
        if (const auto* load = std::get_if<Load>(&value->term))
            addresses_.push_back(load->at.affine);
        for (const Value& operand : operands(value)) visit(operand);
    }

    std::vector<AffineForm> addresses_;
    std::vector<AffineForm> values_;
    std::unordered_set<const ValueNode*> seen_;
};

}  // namespace

std::vector<Axis> joined(const std::vector<Value>& terms, const std::vector<Axis>& axes) {
    const Walk walk(terms);
    std::vector<Axis> still;
    std::vector<Axis> moving;  // innermost first
    for (std::size_t i = axes.size(); i-- > 0;) {
        Axis axis = axes[i];
        if (axis.extent != 1 && !moving.empty() && walk.walks_as_one(axis, moving.back())) {
            moving.back().extent *= axis.extent;
            axis.extent = 1;
        }
        (axis.extent == 1 ? still : moving).push_back(axis);
    }
    still.insert(still.end(), moving.rbegin(), moving.rend());
    return still;
}

AffineForm row_major(const std::vector<Axis>& axes) {
    AffineForm place;
    std::int64_t stride = 1;
    for (std::size_t i = axes.size(); i-- > 0;) {
        place = place + form(axes[i].var, stride);
        stride *= axes[i].extent;
    }
    return place;
}

void name_point(Nest& nest, const std::vector<Axis>& axes, const Point& point, Body& names,
                Substitution& to) {
    std::vector<Axis> moving;
    for (const Axis& axis : axes) {
        if (axis.extent == 1)
            to.replace(axis.var, form(0));
        else
            moving.push_back(axis);
    }
    if (moving.empty()) return;
    std::int64_t divisor = 1;
    for (std::size_t i = moving.size(); i-- > 0;) {
        const Axis& axis = moving[i];
        const bool is_innermost = i + 1 == moving.size();
        const std::int64_t extent = is_innermost ? axis.extent / point.lanes : axis.extent;
        RICCI_ASSERT(!is_innermost || axis.extent % point.lanes == 0, "lanes cross an axis");
        AffineForm place = point.number;
        // The outermost needs no remainder where the number ends with it.
        const std::int64_t modulus = i == 0 && !point.wraps ? 0 : extent;
        if (divisor != 1 || modulus != 0) {
            const VarId var = nest.add(Var{nest.at(axis.var).name});
            names.push_back(make_let_var(var, point.number, divisor, modulus));
            place = form(var);
        }
        if (is_innermost) place = point.lanes * place + point.lane;
        to.replace(axis.var, std::move(place));
        divisor *= extent;
    }
}

}  // namespace ricci::codegen::gpu
