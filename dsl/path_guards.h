// dsl/path_guards.h – what must hold for the reductions of a term to be evaluated
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "dsl/walk.h"

namespace ricci {

/// Which reductions of a term: all, or those that stand in no other. A term that stands both in one
/// and beside it has guards that speak of other indices in there.
enum class Nesting : std::uint8_t { any, outermost };

/// For each reduction of a term: what `?:`, `&&`, `||` and the conditions of reducers around it
/// exclude, and the indices bound around it.
class PathGuards {
  public:
    /// `indices` are bound around the term.
    PathGuards(Context& context, Expr root, const std::vector<IndexId>& indices, Nesting nesting);

    /// What must hold for the reduction to be evaluated; empty where it always is.
    [[nodiscard]] Expr of(Expr reduction) const { return found_.at(reduction).guard; }
    /// The indices that have a value where it is evaluated, outermost first.
    [[nodiscard]] const std::vector<IndexId>& around(Expr reduction) const {
        return found_.at(reduction).around;
    }
    [[nodiscard]] const std::vector<Expr>& reductions() const { return order_; }

  private:
    struct Place {
        Expr e;
        Expr guard;
        std::vector<IndexId> around;
    };
    struct Found {
        Expr guard;
        std::vector<IndexId> around;
    };

    void note(const Place& place);
    void push_operands(std::vector<Place>& stack, const Place& place);

    Context& context_;
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen_;
    ExprMap<Found> found_;
    std::vector<Expr> order_;
};

}  // namespace ricci
