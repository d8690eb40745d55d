// codegen/kernel.cpp – what strategies ask of a kernel: axes, addresses, bounds, cost
#include "codegen/kernel.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>

#include "affine/system.h"
#include "base/error.h"
#include "base/match.h"
#include "codegen/nest_build.h"
#include "codegen/nest_walk.h"

namespace ricci::codegen {

bool Kernel::collides(VarId axis) const {
    return std::ranges::find(colliding, axis) != colliding.end();
}

bool Kernel::has_meeting_writes() const {
    return !colliding.empty() || std::ranges::any_of(writes, [](const Store& write) {
        return write.hint == StoreHint::atomic;
    });
}

Kernel Kernel::step_beside(const std::string& name) const {
    Kernel step;
    step.nest = nest;
    step.nest.name = name;
    step.places = places;
    step.next_let = next_let;
    step.least_tasks = least_tasks;
    step.most_tasks = most_tasks;
    return step;
}

BufferId Kernel::argument(const Plan& plan, std::size_t place, bool is_written) {
    const auto found = std::ranges::find(places, place);
    if (found != places.end()) {
        const auto position = std::size_t(found - places.begin());
        nest.buffers[position].is_written |= is_written;
        return BufferId(position);
    }
    RICCI_ASSERT(nest.buffers.size() == places.size(), "arguments come before other buffers");
    const PlanBuffer& buffer = plan.buffers.at(place);
    places.push_back(place);
    // Arrays may be views of the user's memory, aligned to their elements only; temporaries are
    // ours.
    const bool is_ours = buffer.kind == PlanBuffer::Kind::temporary;
    if (is_ours && is_written) touched_later.insert(place);
    const auto element_bytes = static_cast<std::int64_t>(size_bytes(buffer.dtype));
    return nest.add(
        Buffer{.name = buffer.name,
               .dtype = buffer.dtype,
               .space = Space::argument,
               .elements = buffer.elements,
               .first = buffer.first,
               .is_written = is_written,
               .alignment = is_ours ? 64 : std::max(plan.argument_alignment, element_bytes)});
}

std::vector<Value> written_values(const Kernel& kernel) {
    std::vector<Value> values;
    for (const Store& write : kernel.writes) {
        values.push_back(write.value);
        values.push_back(write.at.computed);
    }
    std::erase(values, nullptr);
    return values;
}

namespace {

void add_loads(std::vector<Touch>& touches, const std::vector<Value>& values, bool is_reduced) {
    for_each_node(values, [&](const Value& value) {
        if (const auto* load = std::get_if<Load>(&value->term))
            touches.push_back({load->buffer, load->at.affine, load->at.computed != nullptr, false,
                               is_reduced, load->at.computed});
    });
}

/// Variables that occur other than in addresses: their axes cannot be joined or dropped.
std::set<VarId> pinned(const Kernel& kernel) {
    std::set<VarId> found;
    const auto add = [&](const AffineForm& form) {
        for (const AffineForm::Term& term : form.terms) found.insert(term.var);
    };
    std::vector<Value> values = written_values(kernel);
    values.push_back(kernel.body);
    values.push_back(kernel.carry);
    values.push_back(kernel.conditions.rest);
    values.push_back(kernel.arg_place);
    for_each_node(values, [&](const Value& value) {
        if (const auto* var = std::get_if<VarValue>(&value->term)) add(var->form);
    });
    found.insert(kernel.colliding.begin(), kernel.colliding.end());
    for (const AffineForm& form : kernel.conditions.at_least_zero) add(form);
    for (const AffineForm& form : kernel.conditions.equal_zero) add(form);
    for (const AffineForm& form : kernel.needed_where) add(form);
    if (!kernel.is_arg_reduction()) return found;
    for (const Axis& axis : kernel.reduced) found.insert(axis.var);
    add(kernel.arg_index);
    return found;
}

/// Finds neighbours whose every address moves as over one longer axis.
bool join_neighbours(Kernel& kernel, std::vector<Axis>& axes, const std::set<VarId>& fixed) {
    const std::vector<Touch> all = touches(kernel);
    for (std::size_t i = 0; i + 1 < axes.size(); ++i) {
        const Axis outer = axes[i];
        const Axis inner = axes[i + 1];
        if (fixed.contains(outer.var) || fixed.contains(inner.var)) continue;
        const bool walk_as_one = std::ranges::all_of(all, [&](const Touch& touch) {
            return touch.address.coefficient(outer.var) ==
                   inner.extent * touch.address.coefficient(inner.var);
        });
        if (!walk_as_one) continue;
        axes[i + 1].extent *= outer.extent;
        axes.erase(axes.begin() + std::ptrdiff_t(i));
        Substitution to;
        substitute(kernel, to.replace(outer.var, form(0)));
        return true;
    }
    return false;
}

void drop_single(Kernel& kernel, std::vector<Axis>& axes, std::size_t keep,
                 const std::set<VarId>& fixed) {
    for (std::size_t i = 0; i < axes.size() && axes.size() > keep;) {
        if (axes[i].extent != 1 || fixed.contains(axes[i].var)) {
            ++i;
            continue;
        }
        Substitution to;
        substitute(kernel, to.replace(axes[i].var, form(0)));
        axes.erase(axes.begin() + std::ptrdiff_t(i));
    }
}

double op_cost(Op op, DType dtype) {
    const bool is_division = op == Op::div || op == Op::sqrt || op == Op::rsqrt;
    if (is_division) return dtype == DType::f64 ? 16 : 8;
    if (op == Op::floordiv || op == Op::mod) return 25;
    const bool is_simple = !info(op).is_function || op == Op::relu || op == Op::abs ||
                           op == Op::abs2 || op == Op::min || op == Op::max || op == Op::select ||
                           op == Op::sign || op == Op::clamp || op == Op::fma || op == Op::floor ||
                           op == Op::ceil;
    return is_simple ? 1 : 20;
}

}  // namespace

void substitute(Kernel& kernel, Substitution& to) {
    if (kernel.body) kernel.body = to(kernel.body);
    if (kernel.carry) kernel.carry = to(kernel.carry);
    kernel.arg_index = to(kernel.arg_index);
    if (kernel.arg_place) kernel.arg_place = to(kernel.arg_place);
    for (AffineForm& row : kernel.conditions.at_least_zero) row = to(row);
    for (AffineForm& row : kernel.conditions.equal_zero) row = to(row);
    if (kernel.conditions.rest) kernel.conditions.rest = to(kernel.conditions.rest);
    for (AffineForm& row : kernel.needed_where) row = to(row);
    for (Store& write : kernel.writes) {
        write.at = to(write.at);
        write.value = to(write.value);
    }
}

std::vector<Touch> touches(const Kernel& kernel) {
    std::vector<Touch> found;
    if (kernel.body)
        add_loads(found, {kernel.body, kernel.carry, kernel.conditions.rest, kernel.arg_place},
                  true);
    add_loads(found, written_values(kernel), false);
    for (const Store& write : kernel.writes)
        found.push_back({write.buffer, write.at.affine, write.at.computed != nullptr, true, false,
                         write.at.computed});
    return found;
}

bool depends_on(const Value& root, VarId var) {
    bool found = false;
    for_each_node({root}, [&](const Value& value) {
        if (const auto* index = std::get_if<VarValue>(&value->term))
            found |= index->form.coefficient(var) != 0;
        if (const auto* load = std::get_if<Load>(&value->term))
            found |= load->at.affine.coefficient(var) != 0;
    });
    return found;
}

std::vector<Axis> axes_of(const Kernel& kernel, const Value& root) {
    std::vector<Axis> axes;
    for (const std::vector<Axis>* all : {&kernel.free, &kernel.reduced})
        std::ranges::copy_if(*all, std::back_inserter(axes),
                             [&](const Axis& axis) { return depends_on(root, axis.var); });
    return axes;
}

std::pair<std::int64_t, std::int64_t> value_range(const Kernel& kernel, const AffineForm& form) {
    std::pair<std::int64_t, std::int64_t> range{form.constant, form.constant};
    for (const std::vector<Axis>* axes : {&kernel.slices, &kernel.free, &kernel.reduced})
        for (const Axis& axis : *axes) {
            const std::int64_t reach = form.coefficient(axis.var) * (axis.extent - 1);
            (reach < 0 ? range.first : range.second) += reach;
        }
    return range;
}

bool is_inside_everywhere(const Kernel& kernel, const Value& root) {
    bool is_inside = true;
    for_each_node({root}, [&](const Value& value) {
        const auto* load = std::get_if<Load>(&value->term);
        if (load == nullptr) return;
        const auto [low, high] = value_range(kernel, load->at.affine);
        const Buffer& buffer = kernel.nest.at(load->buffer);
        is_inside &= !load->at.computed && low >= buffer.first && high < buffer.elements;
    });
    return is_inside;
}

bool is_contiguous(const Value& root, VarId var, std::int64_t most_step) {
    bool moves = false;
    bool are_near = true;
    for_each_node({root}, [&](const Value& value) {
        const auto* load = std::get_if<Load>(&value->term);
        if (load == nullptr) return;
        const std::int64_t step = load->at.affine.coefficient(var);
        moves |= step != 0;
        are_near &= step >= 0 && step <= most_step;
        are_near &= !load->at.computed || !depends_on(load->at.computed, var);
    });
    return moves && are_near;
}

void merge_axes(Kernel& kernel) {
    const std::set<VarId> fixed = pinned(kernel);
    drop_single(kernel, kernel.free, 0, fixed);
    drop_single(kernel, kernel.reduced, 1, fixed);
    while (join_neighbours(kernel, kernel.free, fixed)) {
    }
    while (join_neighbours(kernel, kernel.reduced, fixed)) {
    }
}

double cost(const std::vector<Value>& values) {
    double total = 0;
    for_each_node(values, [&](const Value& value) {
        if (const auto* operate = std::get_if<Operate>(&value->term))
            total += op_cost(operate->op, value->dtype);
        else if (std::holds_alternative<Load>(value->term))
            total += 1;
    });
    return total;
}
double body_cost(const Kernel& kernel) {
    if (!kernel.body) return 0;
    return (kernel.carry ? 2 : 1) + cost({kernel.body, kernel.carry, kernel.conditions.rest});
}
double write_cost(const Kernel& kernel) {
    return double(kernel.writes.size()) + cost(written_values(kernel));
}

std::int64_t points(const std::vector<Axis>& axes) {
    std::int64_t product = 1;
    bool overflows = false;
    for (const Axis& axis : axes) {
        if (axis.extent == 0) return 0;
        overflows |= __builtin_mul_overflow(product, axis.extent, &product);
    }
    return overflows ? std::numeric_limits<std::int64_t>::max() : product;
}

namespace {

/// Numbers axes as variables of an affine system.
class Numbering {
  public:
    explicit Numbering(std::vector<Axis> axes) : axes_(std::move(axes)) {}

    [[nodiscard]] affine::Form number(const AffineForm& form) const {
        affine::Form result{.constant = form.constant,
                            .coefficients = std::vector<std::int64_t>(axes_.size())};
        for (const AffineForm::Term& term : form.terms)
            for (std::size_t i = 0; i < axes_.size(); ++i)
                if (axes_[i].var == term.var) result.coefficients[i] = term.coefficient;
        return result;
    }
    [[nodiscard]] AffineForm name(const affine::Form& numbered) const {
        AffineForm result = form(numbered.constant);
        for (std::size_t i = 0; i < axes_.size(); ++i)
            result = result + form(axes_[i].var, numbered.at(i));
        return result;
    }

  private:
    std::vector<Axis> axes_;
};

Value conjunction(const Value& a, const Value& b) {
    if (!a) return b;
    if (!b) return a;
    return make_operation(Op::logical_and, {a, b}, DType::boolean);
}
Value comparison(Op op, const AffineForm& form) {
    return make_operation(op, {make_index(form), make_integer(0)}, DType::boolean);
}

/// Whole ranges, with every condition tested.
ReducedLoops tested_loops(const Kernel& kernel, const std::vector<Axis>& order) {
    ReducedLoops result{.loops = {}, .test = kernel.conditions.rest};
    for (const Axis& axis : order) result.loops.push_back({axis, bound(0), bound(axis.extent)});
    for (const AffineForm& form : kernel.conditions.equal_zero)
        result.test = conjunction(comparison(Op::eq, form), result.test);
    for (const AffineForm& form : kernel.conditions.at_least_zero)
        result.test = conjunction(comparison(Op::ge, form), result.test);
    return result;
}

}  // namespace

ReducedLoops reduced_loops(const Kernel& kernel, const std::vector<Axis>& order) {
    const bool is_box =
        kernel.conditions.at_least_zero.empty() && kernel.conditions.equal_zero.empty();
    if (is_box || points(kernel.free) == 0 || points(order) == 0)
        return tested_loops(kernel, order);
    std::vector<Axis> axes = kernel.slices;
    axes.insert(axes.end(), kernel.free.begin(), kernel.free.end());
    const std::size_t outer = axes.size();
    axes.insert(axes.end(), order.begin(), order.end());
    const Numbering numbering(axes);
    affine::System system{.variables = axes.size()};
    std::vector<std::size_t> scan_order;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        system.in_range(i, 0, axes[i].extent);
        scan_order.push_back(i);
    }
    for (const AffineForm& form : kernel.conditions.at_least_zero)
        system.at_least_zero(numbering.number(form));
    for (const AffineForm& form : kernel.conditions.equal_zero)
        system.equal_zero(numbering.number(form));
    const std::optional<affine::Scan> scan = affine::scan(system, scan_order, outer);
    if (!scan) return tested_loops(kernel, order);
    ReducedLoops result{.loops = {}, .test = kernel.conditions.rest};
    for (const affine::ScanLoop& loop : scan->loops) {
        if (loop.variable < outer) continue;
        ReducedLoop reduced{axes[loop.variable], {}, {}};
        for (const affine::Quotient& lower : loop.lower)
            reduced.lower.push_back({numbering.name(lower.form), lower.divisor});
        // A scan's upper bounds are inclusive.
        for (const affine::Quotient& upper : loop.upper)
            reduced.upper.push_back(
                {numbering.name(upper.form) + form(upper.divisor), upper.divisor});
        result.loops.push_back(std::move(reduced));
    }
    for (const affine::Form& check : scan->checks)
        result.test = conjunction(comparison(Op::ge, numbering.name(check)), result.test);
    return result;
}

ReducedLoops reduced_loops_along(const Kernel& kernel, const Axis& innermost) {
    std::vector<Axis> order = kernel.reduced;
    std::erase(order, innermost);
    order.push_back(innermost);
    return reduced_loops(kernel, order);
}

bool moves_with(const ReducedLoops& loops, VarId var) {
    const auto moves = [&](const LoopBound& bound) {
        return std::ranges::any_of(
            bound, [&](const BoundTerm& term) { return term.form.coefficient(var) != 0; });
    };
    return std::ranges::any_of(loops.loops, [&](const ReducedLoop& loop) {
        return moves(loop.lower) || moves(loop.upper);
    });
}

std::int64_t lanes(const Kernel& kernel, const Target& target) {
    std::size_t widest = 0;
    std::size_t widest_integer = 0;
    // What is done to a result that is reduced in 32 bits is done once.
    const bool is_narrow = kernel.body && kernel.body->dtype == DType::i32;
    if (is_narrow) widest = size_bytes(DType::i32);
    const auto consider = [&](DType dtype) {
        std::size_t& side = is_floating(dtype) ? widest : widest_integer;
        side = std::max(side, size_bytes(dtype));
    };
    std::vector<Value> values;
    if (!is_narrow) {
        for (const Store& write : kernel.writes) consider(write.value->dtype);
        values = written_values(kernel);
    }
    values.push_back(kernel.body);
    values.push_back(kernel.carry);
    const auto moves = [&](const Value& value) {
        const auto along = [&](const Axis& axis) { return depends_on(value, axis.var); };
        return std::ranges::any_of(kernel.free, along) ||
               std::ranges::any_of(kernel.reduced, along);
    };
    for_each_node(values, [&](const Value& value) {
        const bool is_number = std::holds_alternative<VarValue>(value->term) ||
                               std::holds_alternative<Constant>(value->term);
        // What is the same at all points is computed once, in no lanes.
        const bool is_wider = size_bytes(value->dtype) > std::max(widest, widest_integer);
        if (!is_number && (!is_wider || moves(value))) consider(value->dtype);
    });
    // Beside floating values integers are conditions and positions: these take several registers.
    if (widest == 0) widest = widest_integer;
    if (widest == 0) widest = 8;
    if (kernel.is_arg_reduction()) widest = std::max<std::size_t>(widest, 4);
    return std::max<std::int64_t>(1, target.vector_bytes / std::int64_t(widest));
}

}  // namespace ricci::codegen
