// codegen/keyed.cpp – sums over the points of a key, computed from the points
#include "codegen/keyed.h"

#include <algorithm>
#include <optional>
#include <ranges>

#include "codegen/equation_maker.h"
#include "codegen/group.h"
#include "codegen/keyed_intervals.h"
#include "codegen/keyed_parts.h"
#include "codegen/keyed_values.h"
#include "codegen/keyed_windows.h"
#include "codegen/latest_versions.h"
#include "codegen/nest.h"
#include "codegen/unread.h"
#include "dsl/affine_form.h"
#include "dsl/neutral.h"
#include "dsl/prove.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

/// Up to so many values of a key are looked for at all points: that runs in lanes.
constexpr double few_keys = 8;

class KeyedUpdates {
  public:
    KeyedUpdates(BoundProgram program, const Target& target, std::optional<KeyedWay> way)
        : program_(std::move(program)),
          context_(*program_.context),
          target_(target),
          way_(way),
          make_(program_),
          inverse_(make_) {}

    BoundProgram run() {
        std::vector<BoundEquation> equations = std::move(program_.equations);
        program_.equations.clear();
        for (BoundEquation& equation : equations) {
            latest_.rename(program_, equation);
            if (!rewrite(equation)) program_.equations.push_back(std::move(equation));
        }
        // Such as the order of points that are only counted.
        return without_unread(std::move(program_));
    }

  private:
    bool rewrite(const BoundEquation& written) {
        if (has_no_points(written)) return false;
        const bool is_sum = written.op == Assign::define && written.reduction;
        if (!is_sum)
            return target_.is_gpu() || way_ ? rewrite_update(written) : push_in_parts(written);
        const BoundEquation equation =
            with_windows_as_keys(make_, make_.with_choice_taken(written), written.indices);
        const Reduction& reduction = *equation.reduction;
        if (!reduction.condition || !update_of(reduction.reducer)) return false;
        std::vector<Keyed> keys;
        std::vector<Expr> rest;
        for (Expr conjunct : conjuncts(reduction.condition)) {
            const auto keyed = keyed_index(conjunct, equation);
            const bool is_new = keyed && std::ranges::none_of(keys, [&](const Keyed& other) {
                                    return other.index == keyed->index;
                                });
            if (is_new)
                keys.push_back(*keyed);
            else
                rest.push_back(conjunct);
        }
        if (!is_safe_everywhere(equation, keys)) return false;
        if (keys.empty()) return update_intervals(equation, rest);
        switch (way_of_sum(equation, keys)) {
            case KeyedWay::search: return false;
            case KeyedWay::in_order:
            case KeyedWay::at_once:
                write_out(equation, keys, rest, points_of(keys, reduction));
                break;
            case KeyedWay::inverse_index: sum_by_key(make_, inverse_, equation, keys, rest); break;
        }
        return true;
    }

    /// Whether loops run over the points of intervals alone (the pass `bounds`).
    [[nodiscard]] bool has_bounds_of_data() const {
        return !target_.is_gpu() && !target_.is_plain && !way_;
    }
    /// Whether each point updates the elements in its interval.
    bool update_intervals(const BoundEquation& equation, const std::vector<Expr>& rest) {
        if (!has_bounds_of_data()) return false;
        const std::vector<IndexId> points = points_of_intervals(program_, equation);
        if (points.empty()) return false;
        write_out(equation, {}, rest, points);
        return true;
    }
    /// The indices of the sum that choose keys, after those that move intervals of these.
    [[nodiscard]] std::vector<IndexId> points_of(const std::vector<Keyed>& keys,
                                                 const Reduction& reduction) const {
        std::vector<IndexId> points;
        std::vector<IndexId> others;
        for (const IndexId id : reduction.indices) {
            const bool chooses = std::ranges::any_of(
                keys, [&](const Keyed& keyed) { return mentions(keyed.key, id); });
            (chooses ? points : others).push_back(id);
        }
        if (!has_bounds_of_data()) return points;
        std::vector<IndexId> all = moving_intervals(program_, others, reduction.condition, points);
        all.insert(all.end(), points.begin(), points.end());
        return all;
    }

    [[nodiscard]] KeyedWay way_of_sum(const BoundEquation& equation,
                                      const std::vector<Keyed>& keys) const {
        if (way_) return *way_;
        double values = 1;
        for (const Keyed& keyed : keys) values *= extent(keyed.index);
        if (!target_.is_gpu()) return values > few_keys ? KeyedWay::in_order : KeyedWay::search;
        KeyedWork work{.segments = values};
        const auto is_of_key = [&](IndexId id) {
            return std::ranges::any_of(keys, [&](const Keyed& keyed) {
                return keyed.index == id || mentions(keyed.key, id);
            });
        };
        for (const IndexId id : equation.indices) {
            work.elements *= extent(id);
            if (!is_of_key(id)) work.row *= extent(id);
        }
        for (const IndexId id : equation.reduction->indices) {
            work.searched *= extent(id);
            if (is_of_key(id)) work.points *= extent(id);
        }
        work.points *= work.elements / work.row / work.segments;
        work.segments = work.elements / work.row;
        std::vector<KeyedWay> ways = {KeyedWay::search, KeyedWay::in_order,
                                      KeyedWay::inverse_index};
        const Reduction& reduction = *equation.reduction;
        if (has_atomic_updates(*update_of(reduction.reducer), reduction.accumulator))
            ways.push_back(KeyedWay::at_once);
        return cheapest(work, ways);
    }

    bool push_in_parts(const BoundEquation& update) {
        return !target_.is_plain && !updates_intervals(program_, update) &&
               update_in_parts(make_, update, target_);
    }

    /// Updates whose points may meet, and definitions of which the last stays.
    bool rewrite_update(const BoundEquation& equation) {
        if (equation.is_injective || equation.op == Assign::set) return false;
        const BoundTensor& target = program_.at(equation.target);
        if (equation.op == Assign::define && !target.is_partial) return false;
        const Meeting found = meeting(equation);
        if (found.points.empty()) return false;
        KeyedWork work;
        for (const IndexId id : found.row) work.row *= extent(id);
        for (const IndexId id : found.points) work.points *= extent(id);
        for (const std::size_t d : found.keyed) work.segments *= double(target.shape[d]);
        work.elements = work.segments * work.row;
        std::vector<KeyedWay> ways = {KeyedWay::in_order, KeyedWay::inverse_index};
        if (has_atomic_updates(equation.op, target.dtype) && !reads_target(equation))
            ways.push_back(KeyedWay::at_once);
        const KeyedWay way = way_ ? *way_ : cheapest(work, ways);
        if (way != KeyedWay::inverse_index) return false;
        update_by_key(make_, inverse_, equation);
        return true;
    }

    /// Whether such updates become atomic stores (gpu/atomic_sums.h).
    [[nodiscard]] bool has_atomic_updates(Assign op, DType type) const {
        return target_.gpu.has_fast_gathers && op == Assign::add && has_atomic_sum(type);
    }
    /// Whether points read the array that they update.
    [[nodiscard]] bool reads_target(const BoundEquation& equation) const {
        std::vector<Expr> roots = equation.at;
        roots.push_back(equation.value);
        if (equation.reduction && equation.reduction->condition)
            roots.push_back(equation.reduction->condition);
        return std::ranges::any_of(roots, [&](Expr root) {
            return std::ranges::any_of(tensors_read(root), [&](TensorId read) {
                return storage(program_, read) == storage(program_, equation.target);
            });
        });
    }

    [[nodiscard]] double extent(IndexId id) const { return double(program_.at(id).extent()); }

    [[nodiscard]] KeyedWay cheapest(const KeyedWork& work,
                                    const std::vector<KeyedWay>& ways) const {
        return *std::ranges::min_element(ways, [&](KeyedWay a, KeyedWay b) {
            return microseconds(a, work, target_) < microseconds(b, work, target_);
        });
    }

    [[nodiscard]] bool has_no_points(const BoundEquation& equation) const {
        const auto is_empty = [&](IndexId id) { return program_.at(id).extent() == 0; };
        return std::ranges::any_of(equation.indices, is_empty) ||
               (equation.reduction && std::ranges::any_of(equation.reduction->indices, is_empty));
    }

    /// `t == key`, either way round, where the target has t as a subscript and the key is data.
    std::optional<Keyed> keyed_index(Expr conjunct, const BoundEquation& equation) {
        if (!is_apply(conjunct, Op::eq)) return std::nullopt;
        const auto& args = std::get<Apply>(conjunct->term).args;
        for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
            const auto index = index_of(args[side]);
            const Expr key = args[1 - side];
            if (!index || !is_integer(key->dtype) || !is_plain_subscript(*index, equation))
                continue;
            const std::vector<IndexId> inside = free_indices(key);
            const bool mentions = std::ranges::find(inside, *index) != inside.end();
            if (mentions || tensors_read(key).empty()) continue;
            return Keyed{*index, key->dtype == DType::i64 ? key : context_.cast(key, DType::i64)};
        }
        return std::nullopt;
    }
    /// The index that the side is, converted to a type that holds all its values.
    [[nodiscard]] std::optional<IndexId> index_of(Expr side) const {
        const auto* cast = std::get_if<Cast>(&side->term);
        const auto* value = std::get_if<IndexValue>(&(cast ? cast->a : side)->term);
        if (!value) return std::nullopt;
        if (!cast) return value->index;
        const auto range = integer_range(program_.indices, cast->a);
        const auto converted = integer_range(program_.indices, side);
        const bool keeps = is_integer(side->dtype) && range && converted &&
                           range->low == converted->low && range->high == converted->high;
        return keeps ? std::optional(value->index) : std::nullopt;
    }
    static bool is_plain_subscript(IndexId index, const BoundEquation& equation) {
        int plain = 0;
        int other = 0;
        for (Expr subscript : equation.at) {
            const auto* value = std::get_if<IndexValue>(&subscript->term);
            if (value && value->index == index)
                ++plain;
            else if (mentions(subscript, index))
                ++other;
        }
        return plain == 1 && other == 0;
    }

    /// Whether what is summed may be evaluated at every point, whatever the condition says.
    [[nodiscard]] bool is_safe_everywhere(const BoundEquation& equation,
                                          const std::vector<Keyed>& keys) const {
        std::vector<IndexId> domain = equation.indices;
        domain.insert(domain.end(), equation.reduction->indices.begin(),
                      equation.reduction->indices.end());
        std::vector<Expr> roots{equation.value};
        for (const Keyed& keyed : keys) roots.push_back(keyed.key);
        for (Expr e : postorder(roots)) {
            const auto* access = std::get_if<Access>(&e->term);
            if (!access) continue;
            const Shape& shape = program_.at(access->tensor).shape;
            for (std::size_t d = 0; d < access->at.size(); ++d) {
                if (!tensors_read(access->at[d]).empty()) continue;
                if (!prove_in_bounds(program_.indices, domain, Expr(), access->at[d], shape[d])
                         .in_bounds)
                    return false;
            }
        }
        return true;
    }

    /// The neutral values, then the updates by `points`, indices of the sum; through a temporary
    /// where these have another type.
    void write_out(const BoundEquation& equation, const std::vector<Keyed>& keys,
                   const std::vector<Expr>& rest, const std::vector<IndexId>& points) {
        const Reduction& reduction = *equation.reduction;
        const DType type = reduction.accumulator;
        const bool is_apart = program_.at(equation.target).dtype != type;
        BoundEquation start = equation;
        start.reduction.reset();
        if (is_apart) start.target = add_version(equation.target, type, std::nullopt);
        start.value = identity(context_, reduction.reducer, type);
        const TensorId updated = add_version(equation.target, type, start.target);
        BoundEquation update = updates(equation, keys, rest, points);
        update.target = updated;
        program_.equations.push_back(start);
        if (target_.is_gpu() || way_ || !push_in_parts(update))
            program_.equations.push_back(std::move(update));
        if (!is_apart) {
            latest_.replace(equation.target, updated);
            return;
        }
        BoundEquation result = equation;
        result.reduction.reset();
        result.value = context_.cast(context_.access(updated, equation.at, type),
                                     program_.at(equation.target).dtype, true);
        program_.equations.push_back(std::move(result));
    }

    TensorId add_version(TensorId of, DType type, std::optional<TensorId> previous) {
        BoundTensor tensor = program_.at(of);
        tensor.dtype = type;
        tensor.role = Role::temporary;
        tensor.previous = previous;
        tensor.strides = row_major_strides(tensor.shape);
        program_.tensors.push_back(std::move(tensor));
        return TensorId{static_cast<std::uint32_t>(program_.tensors.size() - 1)};
    }

    /// Each point updates the element of its key. Points whose key is no value of the index update
    /// the first element by nothing.
    BoundEquation updates(const BoundEquation& equation, const std::vector<Keyed>& keys,
                          const std::vector<Expr>& rest, const std::vector<IndexId>& points) {
        const Reduction& reduction = *equation.reduction;
        // What is summed at each point of the others.
        std::vector<IndexId> inner = reduction.indices;
        std::erase_if(inner, [&](IndexId id) { return std::ranges::count(points, id) > 0; });
        Expr guard;
        Expr condition;
        for (const Keyed& keyed : keys)
            guard = make_.both(guard, make_.is_value_of(keyed.index, keyed.key));
        const Expr is_found = guard;
        for (Expr conjunct : rest) {
            const bool is_inner =
                std::ranges::any_of(inner, [&](IndexId id) { return mentions(conjunct, id); });
            Expr& place = is_inner ? condition : guard;
            place = context_.logical_and(place, conjunct);
        }
        EquationMaker::Numbers found;
        for (const Keyed& keyed : keys)
            found.emplace(
                std::uint32_t(keyed.index),
                make_.choose(is_found, keyed.key, make_.integer(program_.at(keyed.index).lower)));
        const auto now = [&](Expr e) { return make_.with(e, found); };
        BoundEquation update = equation;
        update.op = *update_of(reduction.reducer);
        update.is_injective = false;
        update.indices = outer_indices(equation, keys, points);
        for (Expr& subscript : update.at) subscript = now(subscript);
        update.value = now(equation.value);
        if (inner.empty()) {
            update.reduction.reset();
            update.value =
                make_.choose(now(guard), update.value,
                             identity(context_, reduction.reducer, reduction.accumulator));
        } else {
            update.reduction->indices = inner;
            update.reduction->condition = context_.logical_and(now(guard), now(condition));
        }
        return update;
    }

    /// The free indices, the points' in place of those that their keys stand for, or before all.
    static std::vector<IndexId> outer_indices(const BoundEquation& equation,
                                              const std::vector<Keyed>& keys,
                                              std::vector<IndexId> points) {
        std::vector<IndexId> result;
        const auto add_points = [&] {
            result.insert(result.end(), points.begin(), points.end());
            points.clear();
        };
        if (keys.empty()) add_points();
        for (const IndexId id : equation.indices)
            if (std::ranges::any_of(keys, [&](const Keyed& keyed) { return keyed.index == id; }))
                add_points();
            else
                result.push_back(id);
        return result;
    }

    BoundProgram program_;
    Context& context_;
    const Target& target_;
    std::optional<KeyedWay> way_;
    EquationMaker make_;
    InverseIndices inverse_;
    LatestVersions latest_;
};

}  // namespace

BoundProgram with_keyed_updates(BoundProgram program, const Target& target,
                                std::optional<KeyedWay> way) {
    return KeyedUpdates(std::move(program), target, way).run();
}

}  // namespace ricci::codegen
