// dsl/some_point.cpp – whether a condition of indices leaves something to reduce
#include "dsl/some_point.h"

#include <algorithm>

#include "base/match.h"
#include "base/text.h"
#include "dsl/walk.h"

namespace ricci {
namespace {

std::int64_t wrapped(std::uint64_t value) { return static_cast<std::int64_t>(value); }
std::uint64_t bits(std::int64_t value) { return static_cast<std::uint64_t>(value); }

struct Quotient {
    std::int64_t quotient;
    std::int64_t rest;
};
/// Rounded down; by zero both are 0.
Quotient divide(std::int64_t a, std::int64_t b) {
    if (b == 0) return {0, 0};
    if (b == -1) return {wrapped(0 - bits(a)), 0};
    const bool is_above = a % b != 0 && (a < 0) != (b < 0);
    return is_above ? Quotient{a / b - 1, a % b + b} : Quotient{a / b, a % b};
}

/// The operation on whole numbers and truth values, or nothing for one that conditions of indices
/// seldom have.
std::optional<std::int64_t> value_of(Op op, const std::vector<std::int64_t>& x) {
    const auto folded = [&](auto&& step) {
        std::int64_t result = x[0];
        for (std::size_t n = 1; n < x.size(); ++n) result = step(result, x[n]);
        return result;
    };
    if (op == Op::add) return folded([](auto a, auto b) { return wrapped(bits(a) + bits(b)); });
    if (op == Op::mul) return folded([](auto a, auto b) { return wrapped(bits(a) * bits(b)); });
    if (op == Op::neg) return wrapped(0 - bits(x[0]));
    if (op == Op::floordiv) return divide(x[0], x[1]).quotient;
    if (op == Op::mod) return divide(x[0], x[1]).rest;
    if (op == Op::min) return std::min(x[0], x[1]);
    if (op == Op::max) return std::max(x[0], x[1]);
    if (op == Op::abs) return x[0] < 0 ? wrapped(0 - bits(x[0])) : x[0];
    if (op == Op::eq) return x[0] == x[1];
    if (op == Op::ne) return x[0] != x[1];
    if (op == Op::lt) return x[0] < x[1];
    if (op == Op::le) return x[0] <= x[1];
    if (op == Op::gt) return x[0] > x[1];
    if (op == Op::ge) return x[0] >= x[1];
    if (op == Op::logical_and) return x[0] != 0 && x[1] != 0;
    if (op == Op::logical_or) return x[0] != 0 || x[1] != 0;
    if (op == Op::logical_not) return x[0] == 0;
    if (op == Op::select) return x[0] != 0 ? x[1] : x[2];
    return std::nullopt;
}

/// A condition that is evaluated for many points.
class Condition {
  public:
    explicit Condition(Expr root) : nodes_(postorder({root})) {
        for (std::size_t n = 0; n < nodes_.size(); ++n) {
            places_.emplace(nodes_[n], n);
            operands_.emplace_back();
            for (Expr operand : operands(nodes_[n])) operands_[n].push_back(places_.at(operand));
        }
        values_.resize(nodes_.size());
    }

    /// Whether it holds; nothing where a part cannot be evaluated.
    std::optional<bool> holds(const std::vector<IndexId>& indices,
                              const std::vector<std::int64_t>& point) {
        for (std::size_t n = 0; n < nodes_.size(); ++n) {
            const auto value = value_at(n, indices, point);
            if (!value) return std::nullopt;
            values_[n] = *value;
        }
        return values_.back() != 0;
    }

    [[nodiscard]] std::int64_t size() const { return std::ssize(nodes_); }

  private:
    std::optional<std::int64_t> value_at(std::size_t n, const std::vector<IndexId>& indices,
                                         const std::vector<std::int64_t>& point) {
        if (const auto* index = std::get_if<IndexValue>(&nodes_[n]->term)) {
            const auto found = std::ranges::find(indices, index->index);
            return point[static_cast<std::size_t>(found - indices.begin())];
        }
        if (const auto* literal = std::get_if<Literal>(&nodes_[n]->term)) {
            if (const auto* truth = std::get_if<bool>(&literal->value)) return *truth;
            if (const auto* whole = std::get_if<std::int64_t>(&literal->value)) return *whole;
            return std::nullopt;
        }
        const auto* apply = std::get_if<Apply>(&nodes_[n]->term);
        if (apply == nullptr) return std::nullopt;
        args_.clear();
        for (const std::size_t operand : operands_[n]) args_.push_back(values_[operand]);
        return value_of(apply->op, args_);
    }

    std::vector<Expr> nodes_;
    ExprMap<std::size_t> places_;
    std::vector<std::vector<std::size_t>> operands_;
    std::vector<std::int64_t> values_;
    std::vector<std::int64_t> args_;
};

/// The next point of the box in row-major order, over dimensions from `first` on; false at its end.
bool advance(std::vector<std::int64_t>& point, const std::vector<BoundIndex>& box,
             std::size_t first, std::size_t end) {
    for (std::size_t d = end; d-- > first;) {
        if (++point[d] < box[d].upper) return true;
        point[d] = box[d].lower;
    }
    return false;
}

bool reads_data(Expr condition) {
    return contains(condition, [](Expr e) {
        return std::holds_alternative<Access>(e->term) || std::holds_alternative<Reduce>(e->term);
    });
}

}  // namespace

PointSearch search_points(const Program& program, Expr condition,
                          const std::vector<IndexId>& around,
                          const std::function<BoundIndex(IndexId)>& range_of, std::int64_t& work) {
    if (reads_data(condition)) return {};
    // Those around first.
    std::vector<IndexId> indices = free_indices(condition);
    const auto is_around = [&](IndexId id) {
        return std::ranges::find(around, id) != around.end();
    };
    const auto inner = std::ranges::stable_partition(indices, is_around);
    const auto outer = static_cast<std::size_t>(inner.begin() - indices.begin());
    std::vector<BoundIndex> box;
    std::vector<std::int64_t> point;
    for (IndexId id : indices) {
        box.push_back(range_of(id));
        point.push_back(box.back().lower);
    }
    const auto is_empty = [](const BoundIndex& range) { return range.extent() == 0; };
    const auto inner_box = box.begin() + std::ptrdiff_t(outer);
    if (std::any_of(box.begin(), inner_box, is_empty)) return {PointSearch::Result::some, {}};
    if (std::any_of(inner_box, box.end(), is_empty)) return {};
    Condition test(condition);
    do {
        bool is_found = false;
        do {
            const std::optional<bool> holds = test.holds(indices, point);
            work -= test.size();
            if (!holds || work < 0) return {};
            is_found = *holds;
        } while (!is_found && advance(point, box, outer, box.size()));
        if (!is_found) {
            std::vector<std::string> parts;
            for (std::size_t d = 0; d < outer; ++d)
                parts.push_back(format("`{}` = {}", program.at(indices[d]).name, point[d]));
            return {PointSearch::Result::none, join(parts, ", ")};
        }
        for (std::size_t d = outer; d < box.size(); ++d) point[d] = box[d].lower;
    } while (advance(point, box, 0, outer));
    return {PointSearch::Result::some, {}};
}

}  // namespace ricci
