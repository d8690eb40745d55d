// codegen/shared_operands.cpp – padded and wrapped operands of contractions, evaluated once an
// element
//
// A subterm of the body depends on its indices only through sums such as y + r: every subscript and
// every condition in it is a function of one of them. Over the sums it has far fewer points than
// over the indices.
#include "codegen/shared_operands.h"

#include <algorithm>
#include <map>
#include <set>

#include "codegen/equation_maker.h"
#include "dsl/extent.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

constexpr double most_elements = 1 << 27;
/// Longer bodies stay: each of their subterms would be read as a whole.
constexpr std::size_t most_nodes = 256;

/// The indices of a linear form and their coefficients, the first one positive.
using Direction = std::vector<std::pair<std::uint32_t, std::int64_t>>;

/// An operand as a function of directions.
struct Operand {
    Expr term;
    std::vector<Direction> directions;  ///< those of the innermost subscripts last
    std::vector<Expr> forms;            ///< the integer terms that are linear in one direction
};

bool is_i64(Expr e) { return e->dtype == DType::i64; }

/// The form over index values alone, if the term is one and depends on an index.
std::optional<LinearForm> index_form(Expr e) {
    if (!is_i64(e)) return std::nullopt;
    std::optional<LinearForm> form = linear_form(e);
    if (!form || form->parts.empty()) return std::nullopt;
    const bool is_linear = std::ranges::all_of(form->parts, [](const LinearForm::Part& part) {
        return std::holds_alternative<IndexValue>(part.atom->term);
    });
    return is_linear ? form : std::nullopt;
}

/// A form as a multiple, 1 or -1, of its direction.
struct Directed {
    Direction direction;
    std::int64_t sign = 1;
};
Directed directed(const LinearForm& form) {
    Directed result;
    for (const LinearForm::Part& part : form.parts) {
        const IndexId index = std::get<IndexValue>(part.atom->term).index;
        result.direction.emplace_back(std::uint32_t(index), part.coefficient);
    }
    std::ranges::sort(result.direction);
    if (result.direction.front().second > 0) return result;
    result.sign = -1;
    for (auto& [index, coefficient] : result.direction) coefficient = -coefficient;
    return result;
}

/// Reads a subterm; `is_good` unless it depends on data or on an index in two ways.
class Reader {
  public:
    explicit Reader(Expr root) {
        operand_.term = root;
        // Subscripts first: they give the order of the dimensions.
        for (const Expr e : postorder({root}))
            if (const auto* access = std::get_if<Access>(&e->term)) {
                is_read_ = true;
                for (const Expr subscript : access->at) read(subscript, true);
            }
        read(root, false);
    }
    /// Nothing when the term is no function of directions, or a plain read.
    std::optional<Operand> operand() && {
        if (!is_good_ || !is_read_ || is_plain_) return std::nullopt;
        return std::move(operand_);
    }

  private:
    void read(Expr e, bool is_subscript) {
        if (!is_good_ || !seen_[is_subscript ? 1 : 0].emplace(e, true).second) return;
        if (const std::optional<LinearForm> form = index_form(e)) {
            add(e, directed(*form).direction);
            return;
        }
        if (const auto* apply = std::get_if<Apply>(&e->term)) {
            // What a padded or wrapped subscript is made of.
            if (is_subscript) is_plain_ = false;
            for (const Expr arg : apply->args) read(arg, is_subscript);
        } else if (const auto* cast = std::get_if<Cast>(&e->term)) {
            read(cast->a, is_subscript);
        } else if (const auto* access = std::get_if<Access>(&e->term)) {
            // Data decides the place: it depends on more than the form of a subscript.
            if (is_subscript) is_good_ = false;
            for (const Expr subscript : access->at) read(subscript, true);
        } else if (!std::holds_alternative<Literal>(e->term)) {
            is_good_ = false;
        }
    }
    void add(Expr form, const Direction& direction) {
        for (const auto& [index, coefficient] : direction) {
            const auto [found, is_new] = direction_of_.emplace(index, direction);
            if (!is_new && found->second != direction) is_good_ = false;
        }
        operand_.forms.push_back(form);
        if (std::ranges::find(operand_.directions, direction) == operand_.directions.end())
            operand_.directions.push_back(direction);
    }

    Operand operand_;
    std::map<std::uint32_t, Direction> direction_of_;
    ExprMap<bool> seen_[2];  ///< inside a subscript, and not
    bool is_good_ = true;
    bool is_read_ = false;
    bool is_plain_ = true;
};

/// Whether every value of an f32 term is a number of bf16: one that is only chosen, or 0.
bool is_of_bf16(Expr e) {
    if (const auto* cast = std::get_if<Cast>(&e->term))
        return e->dtype == DType::f32 && cast->a->dtype == DType::bf16;
    const auto* apply = std::get_if<Apply>(&e->term);
    if (apply == nullptr || apply->op != Op::select) return false;
    const auto is_stored = [](Expr value) { return is_literal(value, 0) || is_of_bf16(value); };
    return is_stored(apply->args[1]) && is_stored(apply->args[2]);
}

/// Whether the term is an element of an array that is padded and nothing else (what
/// codegen/guarded_reads finds again).
bool is_padded(Expr e) {
    const auto* apply = std::get_if<Apply>(&e->term);
    if (apply == nullptr || apply->op != Op::select || !is_literal(apply->args[2])) return false;
    const auto* access = std::get_if<Access>(&apply->args[1]->term);
    if (access == nullptr) return is_padded(apply->args[1]);
    return std::ranges::all_of(access->at, [](Expr subscript) {
        const auto* clamp = std::get_if<Apply>(&subscript->term);
        return index_form(subscript) || is_literal(subscript) ||
               (clamp != nullptr && clamp->op == Op::clamp && index_form(clamp->args[0]));
    });
}

class SharedOperands {
  public:
    SharedOperands(BoundProgram& program, const SharedOperandLimits& limits)
        : program_(program), make_(program), limits_(limits) {}

    void run() {
        std::vector<BoundEquation> equations = std::move(program_.equations);
        program_.equations.clear();
        for (BoundEquation& equation : equations) {
            done_.clear();
            if (is_candidate(equation)) equation.value = shared(equation, equation.value);
            program_.equations.push_back(std::move(equation));
        }
    }

  private:
    [[nodiscard]] double extent(std::uint32_t index) const {
        return double(program_.at(IndexId{index}).extent());
    }
    [[nodiscard]] double points(const std::vector<IndexId>& indices) const {
        double points = 1;
        for (const IndexId index : indices) points *= double(program_.at(index).extent());
        return points;
    }
    /// A condition may keep accesses in bounds, which would not hold for the array.
    [[nodiscard]] bool is_candidate(const BoundEquation& equation) const {
        return equation.reduction && !equation.reduction->condition &&
               points(equation.indices) * points(equation.reduction->indices) >= limits_.points &&
               postorder({equation.value}).size() <= most_nodes;
    }

    /// The term with the largest subterms that are worth it read from arrays.
    Expr shared(const BoundEquation& equation, Expr e) {
        if (const auto found = done_.find(e); found != done_.end()) return found->second;
        const Expr result = shared_anew(equation, e);
        done_.emplace(e, result);
        return result;
    }
    Expr shared_anew(const BoundEquation& equation, Expr e) {
        if (e->dtype == DType::f32 || e->dtype == DType::f64) {
            const std::optional<Operand> operand = Reader(e).operand();
            if (operand && pays(equation, *operand)) return array_of(*operand);
            if (operand && is_masked(e)) return e;
        }
        const auto* apply = std::get_if<Apply>(&e->term);
        if (apply == nullptr) return e;
        std::vector<Expr> args = apply->args;
        bool is_changed = false;
        for (Expr& arg : args) {
            const Expr before = arg;
            arg = shared(equation, arg);
            is_changed |= arg != before;
        }
        return is_changed ? make_.context().apply(apply->op, std::move(args), e->dtype) : e;
    }

    /// The least value of a direction and the number of its values.
    struct Span {
        std::int64_t low = 0;
        std::int64_t extent = 1;
    };
    [[nodiscard]] Span span(const Direction& direction) const {
        std::int64_t low = 0;
        std::int64_t high = 0;
        for (const auto& [index, coefficient] : direction) {
            const BoundIndex& range = program_.at(IndexId{index});
            low += coefficient * (coefficient > 0 ? range.lower : range.upper - 1);
            high += coefficient * (coefficient > 0 ? range.upper - 1 : range.lower);
        }
        return {low, high - low + 1};
    }

    [[nodiscard]] bool is_masked(Expr e) const { return limits_.masks_padding && is_padded(e); }
    [[nodiscard]] bool pays(const BoundEquation& equation, const Operand& operand) const {
        double evaluations = 1;
        double elements = 1;
        std::set<std::uint32_t> indices;
        for (const Direction& direction : operand.directions) {
            elements *= double(span(direction).extent);
            for (const auto& [index, coefficient] : direction) {
                evaluations *= extent(index);
                indices.insert(index);
            }
        }
        double users = 1;
        for (const IndexId index : equation.indices)
            if (!indices.contains(std::uint32_t(index))) users *= extent(std::uint32_t(index));
        return evaluations >= limits_.reuse * elements &&
               (users >= limits_.users ||
                (evaluations >= limits_.much_reuse * elements && !is_masked(operand.term))) &&
               elements <= most_elements;
    }

    /// Defines the array of the operand; the operand as an element of it.
    Expr array_of(const Operand& operand) {
        std::vector<IndexId> indices;
        Shape shape;
        for (const Direction& direction : operand.directions) {
            shape.push_back(span(direction).extent);
            indices.push_back(make_.index("u", shape.back()));
        }
        ExprMap<Expr> here;
        std::vector<Expr> at(indices.size());
        for (const Expr term : operand.forms) {
            const LinearForm form = *linear_form(term);
            const Directed found = directed(form);
            const auto d = std::size_t(std::ranges::find(operand.directions, found.direction) -
                                       operand.directions.begin());
            const std::int64_t low = span(found.direction).low;
            // term = sign * value + constant, value = u + low.
            here[term] = make_.add(make_.times(make_.value(indices[d]), found.sign),
                                   make_.integer(found.sign * low + form.constant));
            at[d] = make_.add(make_.times(term, found.sign),
                              make_.integer(-found.sign * form.constant - low));
        }
        const DType dtype = operand.term->dtype;
        const DType stored = limits_.keeps_bf16 && is_of_bf16(operand.term) ? DType::bf16 : dtype;
        const TensorId array = make_.array("shared", stored, std::move(shape));
        make_.define(array, indices, substitute(make_.context(), operand.term, here));
        const Expr element = make_.context().access(array, std::move(at), stored);
        return stored == dtype ? element : make_.context().cast(element, dtype);
    }

    BoundProgram& program_;
    EquationMaker make_;
    const SharedOperandLimits& limits_;
    ExprMap<Expr> done_;  ///< of the equation at hand
};

}  // namespace

BoundProgram with_shared_operands(BoundProgram program, const SharedOperandLimits& limits) {
    SharedOperands(program, limits).run();
    return program;
}

}  // namespace ricci::codegen
