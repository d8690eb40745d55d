// codegen/rows_of_lanes.cpp – the pass `rows`: far lanes whose elements stand side by side
//
// Of lanes that are far from each other each element would be gathered or scattered by itself.
// Where loops read or write several of them that stand side by side,
//
//     vector l in 0..16:  d[l] = A[9*l]*A[9*l + 4] - A[9*l + 1]*A[9*l + 3]
//
// they become rows, which emitters read and write as they stand in memory and transpose:
//
//     unroll q in 0..5
//       vector l in 0..16:  row[16*q + l] = A[9*l + q]
//     vector l in 0..16:  d[l] = row[l]*row[l + 64] - row[l + 16]*row[l + 48]
#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include "codegen/lane_steps.h"
#include "codegen/nest_build.h"
#include "codegen/nest_walk.h"
#include "codegen/passes.h"

namespace ricci::codegen {

namespace {

bool are_equal(const LoopBound& a, const LoopBound& b) {
    return std::ranges::equal(a, b, [](const BoundTerm& x, const BoundTerm& y) {
        return x.form == y.form && x.divisor == y.divisor;
    });
}

bool is_constant(const LoopBound& bound, std::int64_t number) {
    return bound.size() == 1 && bound[0].form == form(number);
}

bool counts_from_zero(const Loop& loop) {
    return loop.step == 1 && is_constant(loop.lower, 0) && loop.upper.size() == 1 &&
           loop.upper[0].form.is_constant() && loop.upper[0].divisor == 1;
}

/// What some lanes of one array touch: elements `at + offset + step * lane` for each offset.
struct Rows {
    BufferId buffer{};
    AffineForm at;  ///< without a constant
    std::int64_t step = 0;
    LoopBound lanes;
    std::set<std::int64_t> offsets = {};
    std::size_t touched = 0;  ///< counts an offset each time
    StoreHint hint = StoreHint::normal;
    BufferId registers{};

    [[nodiscard]] std::int64_t lane_count() const { return lanes[0].form.constant; }
    [[nodiscard]] std::int64_t first() const { return *offsets.begin(); }
    [[nodiscard]] std::int64_t columns() const { return *offsets.rbegin() + 1 - first(); }
};

/// A loop that is written out, around a place.
struct Repetition {
    VarId var{};
    std::int64_t count = 0;
};

/// Consecutive statements in which nothing decides whether a lane runs but its bound.
class Region {
  public:
    Region(Nest& nest, Body& body, std::size_t begin, std::size_t end)
        : nest_(nest), body_(body), begin_(begin), end_(end) {}

    /// Statements that were added.
    std::size_t run() {
        for (std::size_t s = begin_; s < end_; ++s) collect(body_[s]);
        std::erase_if(reads_, [&](const Rows& rows) { return !may_load_rows(rows); });
        std::erase_if(writes_, [&](const Rows& rows) { return !may_store_rows(rows); });
        if (!knows_all_ || (reads_.empty() && writes_.empty())) return 0;
        Body before;
        Body after;
        for (Rows& rows : reads_) {
            rows.registers = registers_for(rows);
            before.push_back(copies(rows, false));
        }
        for (Rows& rows : writes_) {
            rows.registers = registers_for(rows);
            after.push_back(copies(rows, true));
        }
        for (std::size_t s = begin_; s < end_; ++s) replace(body_[s]);
        const std::size_t added = before.size() + after.size();
        const auto at = [&](std::size_t s) { return body_.begin() + std::ptrdiff_t(s); };
        body_.insert(at(end_), after.begin(), after.end());
        body_.insert(at(begin_), before.begin(), before.end());
        return added;
    }

  private:
    // What is touched.

    void collect(Stmt& statement) {
        auto* loop = std::get_if<Loop>(&statement.node);
        if (loop == nullptr) {
            if (const auto* store = std::get_if<Store>(&statement.node)) touch_alone(*store);
            if (const auto* let = std::get_if<Let>(&statement.node)) touch_alone(let->value);
            if (const auto* name = std::get_if<LetVar>(&statement.node)) named_.insert(name->var);
            return;
        }
        if (loop->bind == Bind::unroll) {
            knows_all_ &= counts_from_zero(*loop);
            repetitions_.push_back({loop->var, loop->upper[0].form.constant});
            for (Stmt& each : loop->body) collect(each);
            repetitions_.pop_back();
            return;
        }
        lane_ = loop;
        for (Stmt& each : loop->body) collect_in_lanes(each);
        lane_ = nullptr;
    }
    void collect_in_lanes(const Stmt& statement) {
        if (const auto* let = std::get_if<Let>(&statement.node)) {
            read(let->value);
        } else if (const auto* store = std::get_if<Store>(&statement.node)) {
            read(store->value);
            if (store->at.computed) touch_alone(store->at.computed);
            if (store->combine)
                touch_alone(*store);
            else
                write(*store);
        } else {
            knows_all_ &= !std::holds_alternative<LetVar>(statement.node);
            Body one{statement};
            for_each_value(one, [&](const Value& value) { touch_alone(value); });
            for_each_store(one, [&](const Store& inner) { touch_alone(inner); });
        }
    }
    /// Loads that are done whatever the data are: those in a choice may lie outside.
    void read(const Value& value) {
        if (const auto* load = std::get_if<Load>(&value->term)) {
            loaded_.insert(load->buffer);
            add(reads_, load->buffer, load->at, StoreHint::normal);
            if (load->at.computed) touch_alone(load->at.computed);
            return;
        }
        const auto* operate = std::get_if<Operate>(&value->term);
        const bool chooses =
            operate != nullptr && (operate->op == Op::select || operate->op == Op::logical_and ||
                                   operate->op == Op::logical_or);
        if (chooses) {
            read(operate->args[0]);
            for (std::size_t n = 1; n < operate->args.size(); ++n) touch_alone(operate->args[n]);
            return;
        }
        for (const Value& operand : operands(value)) read(operand);
    }
    void write(const Store& store) {
        if (!add(writes_, store.buffer, store.at, store.hint)) touch_alone(store);
    }
    void touch_alone(const Value& value) {
        for_each_node({value}, [&](const Value& node) {
            if (const auto* load = std::get_if<Load>(&node->term)) loaded_.insert(load->buffer);
        });
    }
    void touch_alone(const Store& store) {
        touch_alone(store.value);
        if (store.at.computed) touch_alone(store.at.computed);
        stored_alone_.insert(store.buffer);
    }

    /// Notes the offsets of a place in the lanes that run; false where these are not far.
    bool add(std::vector<Rows>& all, BufferId buffer, const Address& at, StoreHint hint) {
        if (at.computed || nest_.at(buffer).space != Space::argument ||
            !is_constant(lane_->lower, 0) || lane_->step != 1 ||
            !lane_->upper[0].form.is_constant() || lane_->upper[0].divisor != 1 ||
            at.affine.coefficient(lane_->var) <= longest_short_step || is_square(at.affine))
            return false;
        Rows rows;
        rows.buffer = buffer;
        rows.step = at.affine.coefficient(lane_->var);
        rows.lanes = lane_->upper;
        rows.hint = hint;
        if (rows.lane_count() < least_square) return false;
        const std::optional<std::vector<std::int64_t>> offsets = offsets_of(at.affine);
        if (!offsets) return false;
        rows.at = outside(at.affine);
        auto found = std::ranges::find_if(all, [&](const Rows& other) {
            return other.buffer == buffer && other.at == rows.at && other.step == rows.step &&
                   other.hint == hint && are_equal(other.lanes, rows.lanes);
        });
        if (found == all.end()) found = all.insert(all.end(), std::move(rows));
        found->offsets.insert(offsets->begin(), offsets->end());
        found->touched += offsets->size();
        return true;
    }
    /// Whether emitters take the loop around the lanes for rows as it is.
    [[nodiscard]] bool is_square(const AffineForm& at) const {
        if (repetitions_.empty() || repetitions_.back().count < least_columns) return false;
        const std::int64_t step = at.coefficient(repetitions_.back().var);
        const bool is_full = repetitions_.back().count % lane_->upper[0].form.constant == 0;
        return step >= 1 && step <= (is_full ? longest_short_step : 1);
    }
    [[nodiscard]] const Repetition* repetition(VarId var) const {
        const auto found = std::ranges::find(repetitions_, var, &Repetition::var);
        return found == repetitions_.end() ? nullptr : &*found;
    }
    /// Of all repetitions around the place; nothing where these are many, or bounds move with them.
    [[nodiscard]] std::optional<std::vector<std::int64_t>> offsets_of(const AffineForm& at) const {
        if (!knows_all_) return std::nullopt;
        for (const BoundTerm& term : lane_->upper)
            for (const AffineForm::Term& each : term.form.terms)
                if (repetition(each.var) != nullptr || named_.contains(each.var))
                    return std::nullopt;
        std::vector<std::int64_t> offsets{at.constant};
        for (const AffineForm::Term& term : at.terms) {
            if (named_.contains(term.var)) return std::nullopt;
            const Repetition* around = repetition(term.var);
            if (around == nullptr) continue;
            if (std::ssize(offsets) * around->count > most_columns_of_rows) return std::nullopt;
            std::vector<std::int64_t> all;
            for (const std::int64_t offset : offsets)
                for (std::int64_t n = 0; n < around->count; ++n)
                    all.push_back(offset + n * term.coefficient);
            offsets = std::move(all);
        }
        return offsets;
    }
    /// The part of the place that is the same in the whole region.
    [[nodiscard]] AffineForm outside(AffineForm at) const {
        at.constant = 0;
        std::erase_if(at.terms, [&](const AffineForm::Term& term) {
            return term.var == lane_->var || repetition(term.var) != nullptr;
        });
        return at;
    }

    // What pays.

    [[nodiscard]] static bool are_rows(const Rows& rows) {
        return rows.columns() <= most_columns_of_rows && rows.columns() <= rows.step;
    }
    /// Whether there are enough columns, and of others between them not more.
    [[nodiscard]] bool may_load_rows(const Rows& rows) const {
        return are_rows(rows) && std::ssize(rows.offsets) > least_columns &&
               rows.columns() <= 2 * std::ssize(rows.offsets) && !nest_.at(rows.buffer).is_written;
    }
    /// Whether each element of the rows is written once, and nothing else of the array touched.
    [[nodiscard]] bool may_store_rows(const Rows& rows) const {
        return are_rows(rows) && std::ssize(rows.offsets) >= least_columns &&
               rows.columns() == std::ssize(rows.offsets) && rows.touched == rows.offsets.size() &&
               !loaded_.contains(rows.buffer) && !stored_alone_.contains(rows.buffer) &&
               std::ranges::count(writes_, rows.buffer, &Rows::buffer) == 1;
    }

    // What becomes of it.

    BufferId registers_for(const Rows& rows) {
        return add_registers(nest_, "row", nest_.at(rows.buffer).dtype,
                             rows.columns() * rows.lane_count());
    }
    /// All columns of the rows, from memory or to it.
    Stmt copies(const Rows& rows, bool to_memory) {
        const VarId column = nest_.add(Var{"q"});
        const VarId lane = nest_.add(Var{"l"});
        const Address memory{rows.at + form(rows.first()) + form(column) + form(lane, rows.step)};
        const Address slot{form(column, rows.lane_count()) + form(lane)};
        Body body;
        body.push_back(
            to_memory ? make_store(rows.buffer, memory, make_load(nest_, rows.registers, slot))
                      : make_store(rows.registers, slot, make_load(nest_, rows.buffer, memory)));
        if (to_memory) std::get<Store>(body[0].node).hint = rows.hint;
        Body lanes;
        lanes.push_back(make_loop(lane, Bind::vector, bound(0), rows.lanes, std::move(body)));
        return make_loop(column, Bind::unroll, rows.columns(), std::move(lanes));
    }
    void replace(Stmt& statement) {
        auto* loop = std::get_if<Loop>(&statement.node);
        if (loop == nullptr) return;
        if (loop->bind == Bind::unroll) {
            repetitions_.push_back({loop->var, loop->upper[0].form.constant});
            for (Stmt& each : loop->body) replace(each);
            repetitions_.pop_back();
            return;
        }
        lane_ = loop;
        rewrite_values(loop->body, [&](const Value& value) { return with_rows(value); });
        for (Stmt& each : loop->body)
            if (auto* store = std::get_if<Store>(&each.node))
                if (const Rows* rows = rows_at(writes_, store->buffer, store->at);
                    rows != nullptr) {
                    store->at = slot(*rows, store->at.affine);
                    store->buffer = rows->registers;
                    store->hint = StoreHint::normal;
                }
        lane_ = nullptr;
    }
    Value with_rows(const Value& root) {
        Substitution to;
        for_each_node({root}, [&](const Value& node) {
            const auto* load = std::get_if<Load>(&node->term);
            if (load == nullptr) return;
            if (const Rows* rows = rows_at(reads_, load->buffer, load->at); rows != nullptr)
                to.replace(node, make_load(nest_, rows->registers, slot(*rows, load->at.affine)));
        });
        return to(root);
    }
    [[nodiscard]] const Rows* rows_at(const std::vector<Rows>& all, BufferId buffer,
                                      const Address& at) const {
        if (at.computed || is_square(at.affine)) return nullptr;
        const std::optional<std::vector<std::int64_t>> offsets = offsets_of(at.affine);
        const AffineForm place = outside(at.affine);
        for (const Rows& rows : all) {
            const auto is_inside = [&](std::int64_t offset) {
                return offset >= rows.first() && offset < rows.first() + rows.columns();
            };
            if (offsets && rows.buffer == buffer && rows.at == place &&
                rows.step == at.affine.coefficient(lane_->var) &&
                are_equal(rows.lanes, lane_->upper) && std::ranges::all_of(*offsets, is_inside))
                return &rows;
        }
        return nullptr;
    }
    Address slot(const Rows& rows, const AffineForm& at) const {
        AffineForm place =
            form(lane_->var) + form((at.constant - rows.first()) * rows.lane_count());
        for (const AffineForm::Term& term : at.terms)
            if (repetition(term.var) != nullptr)
                place = place + form(term.var, term.coefficient * rows.lane_count());
        return {place};
    }

    Nest& nest_;
    Body& body_;
    std::size_t begin_;
    std::size_t end_;
    Loop* lane_ = nullptr;
    std::vector<Repetition> repetitions_;
    bool knows_all_ = true;
    std::set<VarId> named_;
    std::vector<Rows> reads_;
    std::vector<Rows> writes_;
    std::set<BufferId> loaded_;
    std::set<BufferId> stored_alone_;
};

/// Whether loops in the statement are written out or lanes, and nothing but lanes decides what
/// runs.
bool is_straight(const Stmt& statement) {
    if (const auto* loop = std::get_if<Loop>(&statement.node)) {
        if (loop->bind == Bind::vector) return true;
        return loop->bind == Bind::unroll && std::ranges::all_of(loop->body, is_straight);
    }
    return std::holds_alternative<Let>(statement.node) ||
           std::holds_alternative<LetVar>(statement.node) ||
           std::holds_alternative<Store>(statement.node) ||
           std::holds_alternative<Prefetch>(statement.node);
}

void make_rows(Nest& nest, Body& body) {
    for (std::size_t s = 0; s < body.size(); ++s) {
        if (auto* guard = std::get_if<Guard>(&body[s].node)) make_rows(nest, guard->body);
        if (!is_straight(body[s])) {
            if (auto* loop = std::get_if<Loop>(&body[s].node)) make_rows(nest, loop->body);
            continue;
        }
        std::size_t end = s + 1;
        while (end < body.size() && is_straight(body[end])) ++end;
        s = end + Region(nest, body, s, end).run() - 1;
    }
}

}  // namespace

Nest rows_of_lanes(Nest nest, const Target& target) {
    if (target.is_gpu() || target.is_plain || !has_masked_stores(target)) return nest;
    Body body = std::move(nest.body);
    make_rows(nest, body);
    nest.body = std::move(body);
    return nest;
}

}  // namespace ricci::codegen
