// dsl/typing.h – types of terms: promotion, weak literals, explicit conversions
//
// A term *counts as* the type that promotion gives it (docs/language.md §5) and is *computed in*
// another one where that has too few bits: half precision in f32, integers under a sum or product
// in 64 bits, integers of subscripts in i64.
#pragma once

#include <array>
#include <vector>

#include "dsl/bound.h"
#include "dsl/walk.h"

namespace ricci {

/// What integers are computed in.
enum class Integers : std::uint8_t {
    promoted,    ///< the type they count as
    wide,        ///< i64, or u64 where that type has no sign: under sums and products
    subscripts,  ///< i64, whatever they count as
};

/// Types terms of an equation (docs/language.md §5): every node of the result has a dtype, operands
/// of arithmetic have the node's own, conversions are Cast nodes.
class Typing {
  public:
    /// `program` is canonical with numbers in place of sizes; `tensors` are typed as far as the
    /// equations went.
    Typing(const Program& program, const std::vector<BoundTensor>& tensors);

    struct Typed {
        Expr term;
        DType type = DType::none;  ///< what it counts as; `term` may be computed in another
        bool is_weak = false;      ///< adopts the type it meets: literals, index values, numbers
    };
    /// The statement that errors point at from now on.
    void set_place(Span span) { span_ = span; }
    [[nodiscard]] Span place() const { return span_; }

    /// Throws: `type` where the operands of an operation have no common type, or a number does not
    /// fit the type it adopts.
    [[nodiscard]] Typed type(Expr e, Integers integers = Integers::promoted);
    /// The term converted to the dtype as `i8(…)` does: saturating, literals here and now.
    [[nodiscard]] Expr convert(Expr term, DType dtype);
    /// The value as an element of an array of that type: floating numbers are rounded, integers
    /// keep their low bits. `wraps`: a literal may be a negative number of an unsigned type, as
    /// what `-=` adds is.
    /// Throws: `type` for a literal that does not fit.
    [[nodiscard]] Expr stored(const Typed& value, DType dtype, bool wraps);
    /// The term as a truth value.
    [[nodiscard]] Expr truth(Expr term);

  private:
    /// What operands are converted to: the type they count as and the one they are computed in.
    struct Common {
        DType type;
        DType in;
        bool is_weak;
    };
    enum class Fit : std::uint8_t { exact, modular };
    class Promotion;

    Typed type_node(Expr e, Integers integers);
    Typed apply(const Apply& apply, Expr e, Integers integers);
    Typed logic(const Apply& apply, Integers integers);
    Typed chain(const Apply& apply, Expr e, Integers integers);
    Typed comparison(const Apply& apply, Expr e, Integers integers);
    Expr compare_weak(Op op, const Typed& strong, Expr weak);
    Typed function(const Apply& apply, Expr e, Integers integers);
    Typed complex_function(const Apply& apply, Expr e, const std::vector<Typed>& values,
                           std::vector<Expr> args, const Common& common);

    void add_to(Promotion& promotion, const Typed& operand, Expr e) const;
    [[nodiscard]] Common common(const std::vector<Typed>& operands, Expr e,
                                Integers integers) const;
    [[nodiscard]] Expr adopt(const Typed& operand, DType dtype, Fit fit);
    [[nodiscard]] Typed of(Expr operand, Integers integers) const {
        return known_[std::size_t(integers)].at(operand);
    }
    /// The text of a term for messages, as the user wrote it.
    [[nodiscard]] std::string shown(Expr e) const;
    [[noreturn]] void fail(Expr about, std::string message, std::string hint) const;

    const Program& program_;
    const std::vector<BoundTensor>& tensors_;
    Context& context_;
    std::array<ExprMap<Typed>, 3> known_;  ///< by what integers are computed in
    Span span_;
};

/// The type that values counting as `type` are computed in.
[[nodiscard]] DType computed_in(DType type, Integers integers) noexcept;

/// The type of the result of a reduction of values of `type`: sums and products of integers and
/// bool have 64 bits, positions are i64.
[[nodiscard]] DType result_type(Reducer reducer, DType type) noexcept;

}  // namespace ricci
