// dsl/lower_access.h – accesses as they are evaluated: modifiers written out, gathers made safe
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "dsl/bound.h"
#include "dsl/walk.h"

namespace ricci {

/// A gathered subscript: data, which must be found in [low, high) before anything relies on it.
struct GatherSite {
    TensorId tensor{};
    std::size_t dimension = 0;
    bool is_write = false;
    Expr written;    ///< as it stands in the program, modifier included
    Expr subscript;  ///< its value, wherever `guard` holds
    Expr guard;      ///< empty: everywhere
    std::int64_t low = 0;
    std::int64_t high = 0;
};

/// A dimension without elements that something is to be found in: an error unless nothing is read.
struct EmptyDimension {
    TensorId tensor{};
    std::size_t dimension = 0;
    Outside outside = Outside::clamp;
};

/// Rewrites terms with numbers in place of sizes so that no subscript is modified and every one is
/// in bounds wherever the term is evaluated, also where its value is not used: what `?:`, `&&`,
/// `||` or a reducer's condition excludes reads element 0 instead of what data says. `tensors` are
/// typed as far as the equations went.
class AccessLowering {
  public:
    /// `labels` gives the places in the source of gathered subscripts as they are written.
    AccessLowering(const Program& program, const std::vector<BoundTensor>& tensors,
                   const ExprMap<Diagnosis>& labels)
        : program_(program), context_(*program.context), tensors_(tensors), labels_(labels) {}

    /// The term, evaluated where `guard` holds (empty: everywhere).
    [[nodiscard]] Expr term(Expr root, Expr guard);

    struct Target {
        std::vector<Expr> at;
        Expr inside;  ///< where the target is written at all; empty: everywhere
    };
    [[nodiscard]] Target target(TensorId tensor, const std::vector<Expr>& at);

    /// What was met since the last call.
    [[nodiscard]] std::vector<GatherSite> take_sites() { return std::exchange(sites_, {}); }
    [[nodiscard]] std::vector<EmptyDimension> take_empty() { return std::exchange(empty_, {}); }

  private:
    /// A term and what holds where it is evaluated.
    using Place = std::pair<Expr, Expr>;
    struct PlaceOrder {
        bool operator()(const Place& a, const Place& b) const { return key(a) < key(b); }
        static std::pair<std::uint32_t, std::uint32_t> key(const Place& place) {
            return {place.first->id, place.second ? place.second->id + 1 : 0};
        }
    };
    struct Lowered {
        Expr at;
        Expr inside;  ///< of a padded subscript: where it is in the array
        Expr value;   ///< what is read elsewhere
    };

    void mark(Expr root);
    [[nodiscard]] std::vector<Place> needed(const Place& place) const;
    [[nodiscard]] const Expr* known(const Place& place) const;
    Expr make(const Place& place);
    Expr access(const Access& access, Expr guard);
    Lowered subscript(TensorId tensor, std::size_t dimension, Expr written, Expr raw, Expr guard,
                      bool is_write);
    Expr find(Outside outside, Expr raw, std::int64_t extent);
    Expr as_index(Expr e, Expr written);
    [[noreturn]] void no_integers(const BoundTensor& tensor, Expr written) const;
    Expr no_element(TensorId tensor);

    const Program& program_;
    Context& context_;
    const std::vector<BoundTensor>& tensors_;
    const ExprMap<Diagnosis>& labels_;
    ExprMap<bool> concerned_;  ///< nodes with a gathered or modified subscript below them
    std::map<Place, Expr, PlaceOrder> done_;
    std::vector<GatherSite> sites_;
    std::vector<EmptyDimension> empty_;
};

}  // namespace ricci
