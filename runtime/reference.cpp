// runtime/reference.cpp – evaluates bound programs slowly and obviously: the oracle of every test
#include "runtime/reference.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/error.h"
#include "base/match.h"
#include "base/text.h"
#include "dsl/affine_form.h"
#include "dsl/domain_limits.h"
#include "dsl/walk.h"
#include "runtime/complex_parts.h"
#include "runtime/element.h"
#include "runtime/reference_ops.h"
#include "runtime/reference_reduce.h"
#include "runtime/strided.h"

namespace ricci::runtime {
namespace {

/// The elements of a tensor, row-major.
struct Values {
    DType dtype = DType::none;
    Shape shape;
    std::vector<Scalar> elements;
};

/// The value of each index, by number.
using Point = std::vector<std::int64_t>;

Scalar literal_value(const Number& number, DType dtype) {
    Scalar result;
    match(
        number, [&](bool v) { result = convert_scalar({0, v ? 1 : 0}, DType::boolean, dtype); },
        // Of u64 by its bits.
        [&](std::int64_t v) {
            result = convert_scalar({0, v}, DType::i64, dtype, Narrowing::wraps);
        },
        [&](double v) { result = convert_scalar({v, 0}, DType::f64, dtype); },
        [&](const std::complex<double>&) {
            throw Error(
                {.kind = ErrorKind::type, .message = "complex values are not supported yet"});
        });
    return result;
}

class Evaluator {
  public:
    Evaluator(const BoundProgram& program, bool with_bounds)
        : program_(program),
          with_bounds_(with_bounds),
          tensors_(program.tensors.size()),
          point_(program.indices.size(), 0) {}

    void load(TensorId id, const Array& array);
    void run() {
        for (const BoundEquation& equation : program_.equations) {
            evaluate(equation);
            for (const BoundCheck& check : program_.checks)
                if (check.verdict == equation.target &&
                    values(check.verdict).elements.front().integer < 0)
                    raise(check);
        }
    }
    [[noreturn]] void raise(const BoundCheck& check);
    [[nodiscard]] const Values& values(TensorId id) const { return tensors_[position(id)]; }

  private:
    /// Terms in the order in which they are evaluated, each after its operands.
    struct Terms {
        std::vector<Expr> roots;
        std::vector<Expr> nodes;
        std::vector<std::vector<std::size_t>> operands;  ///< of each node, as places in `nodes`
        std::vector<Scalar> values;
        ExprMap<std::size_t> places;

        [[nodiscard]] const Scalar& operator[](Expr e) const { return values[places.at(e)]; }
    };
    [[nodiscard]] static Terms make_terms(const std::vector<Expr>& roots);
    void compute(Terms& terms) const;
    [[nodiscard]] Scalar value(Expr e, const std::vector<Scalar>& args) const;
    [[nodiscard]] Scalar apply(Op op, DType operand_type, DType type,
                               const std::vector<Scalar>& args) const {
        return with_bounds_ ? operate_with_bound(op, operand_type, type, args)
                            : operate(op, operand_type, type, args);
    }
    [[nodiscard]] Scalar convert_to(DType to, const Scalar& value, DType from,
                                    Narrowing narrowing = Narrowing::saturates) const {
        return with_bounds_ ? convert_with_bound(value, from, to, narrowing)
                            : convert_scalar(value, from, to, narrowing);
    }
    [[nodiscard]] std::size_t offset(TensorId id, const std::vector<Scalar>& at) const;

    /// The condition of a reduction.
    struct Condition {
        Terms terms;
        /// The parts that compare integers alone, which no rounding makes doubtful, by how many of
        /// the reduced indices they need (none: they ask for those of the result):
        /// tested before the other indices are set, so that `sum[i,j,k | t == i && u == j && v ==
        /// k]` takes the sum of three ranges, not their product.
        std::vector<Terms> early;
    };
    [[nodiscard]] static Condition make_condition(const Reduction& reduction);

    void evaluate(const BoundEquation& equation);
    [[nodiscard]] Scalar reduce(const Reduction& reduction, Expr body, Condition& condition,
                                Terms& terms);
    [[nodiscard]] static bool gives_position(const Reduction& reduction) {
        return reduction.reducer == Reducer::argmax || reduction.reducer == Reducer::argmin;
    }
    /// Positions are i64 whatever the type of the values compared.
    [[nodiscard]] static DType result_type(const Reduction& reduction) {
        return gives_position(reduction) ? DType::i64 : reduction.accumulator;
    }
    void store(const BoundEquation& equation, std::size_t at, Scalar value);
    template <class Enters, class Body>
    void for_each_point(const std::vector<IndexId>& indices, std::size_t depth,
                        const Enters& enters, const Body& body);
    template <class Body>
    void for_each_point(const std::vector<IndexId>& indices, const Body& body) {
        for_each_point(indices, 0, [](std::size_t) { return true; }, body);
    }
    [[noreturn]] void raise_outside(const BoundCheck& check, const Terms& at) const;
    [[noreturn]] void raise_repeated(const BoundCheck& check, const Point& first) const;
    [[noreturn]] void raise_without_points(const BoundCheck& check) const;
    [[noreturn]] static void raise(const BoundCheck& check, std::string message, std::string hint);
    [[nodiscard]] std::string circumstances(const BoundCheck& check, const Terms& at) const;
    [[nodiscard]] std::string point_text(const BoundCheck& check, const Point& point) const;

    const BoundProgram& program_;
    bool with_bounds_;
    std::vector<Values> tensors_;
    Point point_;
};

void Evaluator::load(TensorId id, const Array& array) {
    const BoundTensor& tensor = program_.at(id);
    RICCI_ASSERT(array.shape() == tensor.shape, "arguments have the shapes that were bound");
    Values& values = tensors_[position(id)];
    values = {tensor.dtype, tensor.shape, {}};
    with_element(array.dtype(), [&]<class T>(Element<T>) {
        const T* data = static_cast<const T*>(array.data());
        for_each_row(
            array.shape(), array.strides(),
            [&](std::int64_t start, std::int64_t, std::int64_t length, std::int64_t step) {
                for (std::int64_t i = 0; i < length; ++i) {
                    const T element = data[start + i * step];
                    Scalar scalar;
                    if constexpr (std::is_floating_point_v<T> || is_half<T>)
                        scalar.real = static_cast<double>(element);
                    else  // NOLINTNEXTLINE(bugprone-signed-char-misuse): an i8 is a number
                        scalar.integer = static_cast<std::int64_t>(element);
                    values.elements.push_back(convert_scalar(scalar, array.dtype(), tensor.dtype));
                }
            });
    });
}

/// The body for every point of the ranges, the last index fastest. Points whose first `n` indices
/// have values for which `enters(n)` is false are left out.
template <class Enters, class Body>
void Evaluator::for_each_point(const std::vector<IndexId>& indices, std::size_t depth,
                               const Enters& enters, const Body& body) {
    if (!enters(depth)) return;
    if (depth == indices.size()) return body();
    const BoundIndex& index = program_.at(indices[depth]);
    for (std::int64_t v = index.lower; v < index.upper; ++v) {
        point_[position(indices[depth])] = v;
        for_each_point(indices, depth + 1, enters, body);
    }
}

void Evaluator::evaluate(const BoundEquation& equation) {
    const BoundTensor& target = program_.at(equation.target);
    Values& result = tensors_[position(equation.target)];
    if (target.previous) {
        result = tensors_[position(*target.previous)];
    } else {
        result = {target.dtype, target.shape, {}};
        result.elements.assign(static_cast<std::size_t>(element_count(target.shape)), Scalar{});
    }
    const auto& reduction = equation.reduction;
    Terms at = make_terms(equation.at);
    Condition condition = reduction ? make_condition(*reduction) : Condition{};
    Terms body = make_terms({equation.value});
    for_each_point(equation.indices, [&] {
        compute(at);
        std::vector<Scalar> place;
        for (Expr e : equation.at) place.push_back(at[e]);
        Scalar value;
        if (reduction) {
            value = convert_to(target.dtype, reduce(*reduction, equation.value, condition, body),
                               result_type(*reduction), Narrowing::wraps);
        } else {
            compute(body);
            value = body[equation.value];
        }
        store(equation, offset(equation.target, place), value);
    });
}

Evaluator::Condition Evaluator::make_condition(const Reduction& reduction) {
    Condition condition;
    if (!reduction.condition) return condition;
    condition.terms = make_terms({reduction.condition});
    std::vector<std::vector<Expr>> early(reduction.indices.size() + 1);
    const auto is_inexact = [](Expr e) {
        return std::holds_alternative<Access>(e->term) || is_floating(e->dtype);
    };
    for (Expr part : conjuncts(reduction.condition)) {
        if (contains(part, is_inexact)) continue;
        const std::vector<IndexId> read = free_indices(part);
        std::size_t needed = reduction.indices.size();
        while (needed > 0 && !has_index(read, reduction.indices[needed - 1])) --needed;
        early[needed].push_back(part);
    }
    for (const std::vector<Expr>& parts : early) condition.early.push_back(make_terms(parts));
    return condition;
}

Scalar Evaluator::reduce(const Reduction& reduction, Expr body, Condition& condition,
                         Terms& terms) {
    Accumulator accumulator(reduction.reducer, result_type(reduction), body->dtype, with_bounds_);
    const bool is_position = gives_position(reduction);
    bool is_doubtful = false;
    const auto enters = [&](std::size_t depth) {
        if (!reduction.condition) return true;
        Terms& parts = condition.early[depth];
        compute(parts);
        return std::ranges::all_of(parts.roots, [&](Expr e) { return parts[e].integer != 0; });
    };
    for_each_point(reduction.indices, 0, enters, [&] {
        if (reduction.condition) {
            compute(condition.terms);
            const Scalar& holds = condition.terms[reduction.condition];
            is_doubtful |= holds.bound > 0;
            if (holds.integer == 0) return;
        }
        compute(terms);
        const Scalar term =
            is_position ? terms[body] : convert_to(reduction.accumulator, terms[body], body->dtype);
        accumulator.add(term, point_[position(reduction.indices.front())]);
    });
    Scalar result = accumulator.result();
    if (is_doubtful) result.bound = std::numeric_limits<double>::infinity();
    return result;
}

void Evaluator::store(const BoundEquation& equation, std::size_t at, Scalar value) {
    Scalar& element = tensors_[position(equation.target)].elements[at];
    const DType type = program_.at(equation.target).dtype;
    const auto combined = [&](Op op) { return apply(op, type, type, {element, value}); };
    switch (equation.op) {
        case Assign::define:
        case Assign::set:    element = value; break;
        case Assign::add:    element = combined(Op::add); break;
        case Assign::mul:    element = combined(Op::mul); break;
        case Assign::max:    element = combined(Op::max); break;
        case Assign::min:    element = combined(Op::min); break;
        case Assign::sub:    RICCI_ASSERT(false, "`-=` is `+=` in canonical form");
    }
}

// --- terms ---------------------------------------------------------------------------------------

Evaluator::Terms Evaluator::make_terms(const std::vector<Expr>& roots) {
    Terms terms;
    terms.roots = roots;
    terms.nodes = postorder(roots);
    for (Expr e : terms.nodes) {
        terms.places.emplace(e, terms.places.size());
        std::vector<std::size_t> places;
        for (Expr operand : ricci::operands(e)) places.push_back(terms.places.at(operand));
        terms.operands.push_back(std::move(places));
    }
    terms.values.resize(terms.nodes.size());
    return terms;
}

void Evaluator::compute(Terms& terms) const {
    std::vector<Scalar> args;
    for (std::size_t n = 0; n < terms.nodes.size(); ++n) {
        args.clear();
        for (std::size_t place : terms.operands[n]) args.push_back(terms.values[place]);
        terms.values[n] = value(terms.nodes[n], args);
    }
}

Scalar Evaluator::value(Expr e, const std::vector<Scalar>& args) const {
    return match(
        e->term, [&](const Literal& t) { return literal_value(t.value, e->dtype); },
        [&](const IndexValue& t) { return Scalar{0, point_[position(t.index)]}; },
        [&](const Access& t) {
            return tensors_[position(t.tensor)].elements[offset(t.tensor, args)];
        },
        [&](const Apply& t) { return apply(t.op, t.args.back()->dtype, e->dtype, args); },
        [&](const Cast& t) {
            return convert_to(e->dtype, args.front(), t.a->dtype,
                              t.wraps ? Narrowing::wraps : Narrowing::saturates);
        },
        [&](const Size&) -> Scalar {
            RICCI_ASSERT(false, "bound terms have no sizes");
            return {};
        },
        [&](const Reduce&) -> Scalar {
            RICCI_ASSERT(false, "bound terms have no reductions");
            return {};
        },
        [&](const Modified&) -> Scalar {
            RICCI_ASSERT(false, "bound terms have no modified subscripts");
            return {};
        });
}

/// The row-major place of an element.
std::size_t Evaluator::offset(TensorId id, const std::vector<Scalar>& at) const {
    const Shape& shape = program_.at(id).shape;
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
        RICCI_ASSERT(at[d].integer >= 0 && at[d].integer < shape[d],
                     "subscripts are proved in bounds");
        offset = offset * shape[d] + at[d].integer;
    }
    return static_cast<std::size_t>(offset);
}

// --- checks --------------------------------------------------------------------------------------

void Evaluator::raise(const BoundCheck& check) {
    Terms condition =
        make_terms(check.condition ? std::vector{check.condition} : std::vector<Expr>{});
    Terms at = make_terms(check.at);
    std::map<std::vector<std::int64_t>, Point> seen;
    for_each_point(check.indices, [&] {
        if (check.condition) {
            compute(condition);
            if (condition[check.condition].integer == 0) return;
        }
        compute(at);
        if (check.kind == BoundCheck::Kind::inside) {
            const std::int64_t value = at[check.at.front()].integer;
            if (value < check.low || value >= check.high) raise_outside(check, at);
            return;
        }
        if (check.kind == BoundCheck::Kind::has_points) {
            if (at[check.at.front()].integer < 0) raise_without_points(check);
            return;
        }
        std::vector<std::int64_t> place;
        for (Expr e : check.at) place.push_back(at[e].integer);
        const auto [found, is_new] = seen.emplace(std::move(place), point_);
        if (!is_new) raise_repeated(check, found->second);
    });
    raise(check,
          format("a gathered subscript of `{}` leaves 64 bits", program_.at(check.tensor).name),
          "give smaller numbers");
}

void Evaluator::raise_outside(const BoundCheck& check, const Terms& at) const {
    const BoundTensor& tensor = program_.at(check.tensor);
    const std::int64_t extent = tensor.shape.at(check.dimension);
    std::string room = format("whose extent is {}", extent);
    if (check.low != 0 || check.high != extent)
        room += format(" with {} before and {} behind", -check.low, check.high - extent);
    raise(check,
          format("`{}` is {} at {} in dimension {}, {}: {}", tensor.name,
                 check.is_write ? "written" : "read", at[check.at.front()].integer, check.dimension,
                 room, circumstances(check, at)),
          check.is_write
              ? "give places that exist, or leave others out with `pad(…)`"
              : "exclude such points with a condition, or use `pad(…)`, `clamp(…)` or `wrap(…)`");
}

void Evaluator::raise_repeated(const BoundCheck& check, const Point& first) const {
    const std::string& name = program_.at(check.tensor).name;
    const std::string points =
        format("where {}, and where {}", point_text(check, first), point_text(check, point_));
    const auto update = std::ranges::find(program_.equations, check.tensor, &BoundEquation::target);
    if (update != program_.equations.end() && update->op != Assign::set)
        raise(check,
              format("`{}` is read, and two points update one element of it: {}", name, points),
              format("make a copy of `{}` first, and read that", name));
    raise(check, format("`=` gives an element of `{}` two values: {}", name, points),
          "use `+=` to add them up");
}

void Evaluator::raise_without_points(const BoundCheck& check) const {
    std::vector<std::string> facts;
    for (IndexId id : check.indices)
        facts.push_back(format("`{}` = {}", program_.at(id).name, point_[position(id)]));
    const std::string where = facts.empty() ? "" : " for " + join(facts, ", ");
    raise(check, check.otherwise.message + where, check.otherwise.hint);
}

void Evaluator::raise(const BoundCheck& check, std::string message, std::string hint) {
    Diagnosis diagnosis = check.otherwise;
    diagnosis.message = std::move(message);
    diagnosis.hint = std::move(hint);
    throw Error(std::move(diagnosis));
}

/// `J[2] is 7`, and the indices that stand beside data: `J[2] is 7, i is 0`.
std::string Evaluator::circumstances(const BoundCheck& check, const Terms& at) const {
    std::vector<std::string> facts;
    std::vector<std::string> indices;
    std::vector<Expr> stack{check.at.front()};
    std::set<const Node*> seen;
    while (!stack.empty()) {
        const Expr e = stack.back();
        stack.pop_back();
        if (!seen.insert(&*e).second) continue;
        if (const auto* access = std::get_if<Access>(&e->term)) {
            std::vector<std::string> place;
            for (Expr subscript : access->at)
                place.push_back(std::to_string(at[subscript].integer));
            const std::string& name = program_.at(access->tensor).name;
            facts.push_back(format("{} is {}",
                                   place.empty() ? name : format("{}[{}]", name, join(place, ",")),
                                   at[e].integer));
            continue;
        }
        if (const auto* index = std::get_if<IndexValue>(&e->term))
            indices.push_back(format("{} is {}", program_.at(index->index).name, at[e].integer));
        const std::vector<Expr> below = ricci::operands(e);
        stack.insert(stack.end(), below.rbegin(), below.rend());
    }
    facts.insert(facts.end(), indices.begin(), indices.end());
    return join(facts, ", ");
}

std::string Evaluator::point_text(const BoundCheck& check, const Point& point) const {
    std::vector<std::string> facts;
    for (IndexId id : check.indices)
        facts.push_back(format("{} is {}", program_.at(id).name, point[position(id)]));
    return join(facts, ", ");
}

// --- results -------------------------------------------------------------------------------------

Array to_array(const Values& values) {
    // Parts of complex numbers are one more dimension than arrays of users have.
    Array array(row_major_layout(values.shape), values.dtype);
    with_element(values.dtype, [&]<class T>(Element<T>) {
        T* out = static_cast<T*>(array.data());
        for (const Scalar& scalar : values.elements) {
            if constexpr (std::is_floating_point_v<T> || is_half<T>)
                *out++ = static_cast<T>(scalar.real);
            else
                *out++ = static_cast<T>(scalar.integer);
        }
    });
    return array;
}

Array bounds_array(const Values& values) {
    Array array(row_major_layout(values.shape), DType::f64);
    std::ranges::transform(values.elements, static_cast<double*>(array.data()),
                           [](const Scalar& s) { return s.bound; });
    return array;
}

Evaluator evaluated(const BoundProgram& program, const std::vector<Array>& arguments,
                    bool with_bounds) {
    RICCI_ASSERT(arguments.size() == program.arguments.size(), "every argument is given");
    check_points(program);
    Evaluator evaluator(program, with_bounds);
    for (std::size_t n = 0; n < arguments.size(); ++n)
        evaluator.load(program.arguments[n], arguments[n]);
    evaluator.run();
    return evaluator;
}

std::vector<const Array*> pointers(const std::vector<Array>& arrays) {
    std::vector<const Array*> result;
    for (const Array& array : arrays) result.push_back(&array);
    return result;
}

/// The larger bound of the two parts.
std::vector<Estimate> estimate_complex(const BoundProgram& program,
                                       const std::vector<Array>& arguments) {
    const SplitProgram split = with_joined_outputs(split_complex(program));
    const ComplexParts parts(program, split);
    std::vector<Estimate> result =
        evaluate_with_bounds(split.program, parts.split(pointers(arguments)));
    for (std::size_t n = 0; n < result.size(); ++n) {
        if (!split.is_complex_output[n]) continue;
        result[n].value = result[n].value.view_as_complex();
        const auto of_parts = result[n].bound.span<const double>();
        Array bound(DType::f64, result[n].value.shape());
        const auto larger = bound.span<double>();
        for (std::size_t i = 0; i < larger.size(); ++i)
            larger[i] = std::max(of_parts[2 * i], of_parts[2 * i + 1]);
        result[n].bound = std::move(bound);
    }
    return result;
}

}  // namespace

void raise_failed_check(const BoundProgram& program, const BoundCheck& check,
                        const std::vector<std::pair<TensorId, Array>>& values) {
    Evaluator evaluator(program, false);
    for (const auto& [tensor, array] : values) evaluator.load(tensor, array);
    evaluator.raise(check);
}

std::vector<Array> evaluate(const BoundProgram& program, const std::vector<Array>& arguments) {
    if (has_complex(program)) {
        const SplitProgram split = with_joined_outputs(split_complex(program));
        const ComplexParts parts(program, split);
        return parts.join({}, evaluate(split.program, parts.split(pointers(arguments))));
    }
    const Evaluator evaluator = evaluated(program, arguments, false);
    std::vector<Array> outputs;
    for (TensorId id : program.outputs) outputs.push_back(to_array(evaluator.values(id)));
    return outputs;
}

std::vector<Estimate> evaluate_with_bounds(const BoundProgram& program,
                                           const std::vector<Array>& arguments) {
    if (has_complex(program)) return estimate_complex(program, arguments);
    const Evaluator evaluator = evaluated(program, arguments, true);
    std::vector<Estimate> outputs;
    for (TensorId id : program.outputs)
        outputs.push_back({to_array(evaluator.values(id)), bounds_array(evaluator.values(id))});
    return outputs;
}

}  // namespace ricci::runtime
