// codegen/nest_build.cpp – short constructors of forms, values and statements, and substitution
#include "codegen/nest_build.h"

#include <cmath>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/match.h"
#include "codegen/fold_indices.h"
#include "codegen/guarded_reads.h"
#include "codegen/nest_walk.h"

namespace ricci::codegen {

AffineForm form(std::int64_t constant) { return {.constant = constant}; }
AffineForm form(VarId var, std::int64_t coefficient) {
    if (coefficient == 0) return {};
    return {.constant = 0, .terms = {{var, coefficient}}};
}
AffineForm operator-(const AffineForm& a, const AffineForm& b) { return a + (-1) * b; }
LoopBound bound(std::int64_t constant) { return {{form(constant)}}; }
LoopBound bound(AffineForm form) { return {{std::move(form)}}; }
LoopBound with(LoopBound bound, AffineForm form) {
    bound.push_back({std::move(form)});
    return bound;
}

Value make_value(decltype(ValueNode::term) term, DType dtype) {
    return std::make_shared<const ValueNode>(ValueNode{std::move(term), dtype});
}
Value make_number(DType dtype, double value) {
    if (is_floating(dtype)) return make_value(Constant{.real = value}, dtype);
    if (dtype == DType::boolean) return make_value(Constant{.integer = value != 0}, dtype);
    return make_value(Constant{.integer = static_cast<std::int64_t>(value)}, dtype);
}
Value make_integer(std::int64_t value, DType dtype) {
    return make_value(Constant{.integer = value}, dtype);
}
Value make_index(AffineForm form) {
    if (form.is_constant()) return make_integer(form.constant);
    return make_value(VarValue{std::move(form)}, DType::i64);
}
Value make_load(const Nest& nest, BufferId buffer, Address at) {
    return make_value(Load{buffer, std::move(at)}, nest.at(buffer).dtype);
}
Value make_operation(Op op, std::vector<Value> args, DType dtype) {
    return make_value(Operate{op, std::move(args)}, dtype);
}
Value make_convert(Value a, DType dtype, bool wraps) {
    if (a->dtype == dtype) return a;
    // Numbers that every floating type of 32 bits and more holds.
    constexpr std::int64_t largest = 1 << 24;
    const auto* number = std::get_if<Constant>(&a->term);
    if (number != nullptr && is_integer(a->dtype) && (dtype == DType::f32 || dtype == DType::f64) &&
        number->integer >= -largest && number->integer <= largest)
        return make_number(dtype, double(number->integer));
    const bool loses = is_integer(a->dtype) && promote(a->dtype, dtype) != dtype;
    return make_value(Convert{std::move(a), wraps && loses}, dtype);
}
Value make_let_value(std::uint32_t number, DType dtype) {
    return make_value(LetValue{number}, dtype);
}

std::vector<Value> operands(const Value& value) {
    return match(
        value->term, [](const Operate& operate) { return operate.args; },
        [](const Convert& convert) { return std::vector{convert.a}; },
        [](const Load& load) {
            return load.at.computed ? std::vector{load.at.computed} : std::vector<Value>{};
        },
        [](const Constant&) { return std::vector<Value>{}; },
        [](const VarValue&) { return std::vector<Value>{}; },
        [](const LetValue&) { return std::vector<Value>{}; });
}

bool is_operation(const Value& value, Op op) noexcept {
    const auto* operate = std::get_if<Operate>(&value->term);
    return operate != nullptr && operate->op == op;
}
std::vector<Value> conjuncts(const Value& condition) {
    if (!is_operation(condition, Op::logical_and)) return {condition};
    std::vector<Value> all;
    for (const Value& part : operands(condition))
        for (Value& each : conjuncts(part)) all.push_back(std::move(each));
    return all;
}

Stmt make_loop(VarId var, Bind bind, std::int64_t extent, Body body) {
    return make_loop(var, bind, bound(0), bound(extent), std::move(body));
}
Stmt make_loop(VarId var, Bind bind, LoopBound lower, LoopBound upper, Body body,
               std::int64_t step) {
    return {Loop{.var = var,
                 .lower = std::move(lower),
                 .upper = std::move(upper),
                 .step = step,
                 .bind = bind,
                 .body = std::move(body)}};
}
std::optional<std::int64_t> constant_length(const LoopBound& lower, const LoopBound& upper) {
    if (lower.size() != 1 || upper.size() != 1) return std::nullopt;
    if (lower[0].divisor != 1 || upper[0].divisor != 1) return std::nullopt;
    const AffineForm points = upper[0].form - lower[0].form;
    return points.is_constant() ? std::optional(points.constant) : std::nullopt;
}
Body make_turns(Nest& nest, const std::string& name, LoopBound lower, LoopBound upper,
                std::int64_t step, const std::function<Body(const AffineForm& start)>& body) {
    const std::optional<std::int64_t> points = constant_length(lower, upper);
    if (points && *points > 0 && *points <= step) return body(lower[0].form);
    const VarId start = nest.add(Var{name});
    Body turns;
    turns.push_back(make_loop(start, Bind::serial, std::move(lower), std::move(upper),
                              body(form(start)), step));
    return turns;
}
Stmt make_store(BufferId buffer, Address at, Value value, std::optional<Reducer> combine) {
    return {Store{
        .buffer = buffer, .at = std::move(at), .value = std::move(value), .combine = combine}};
}
Stmt make_let(std::uint32_t number, Value value) { return {Let{number, std::move(value)}}; }
Stmt make_let_var(VarId var, AffineForm form, std::int64_t divisor, std::int64_t modulus) {
    return {LetVar{var, std::move(form), divisor, modulus}};
}
void append(Body& body, Body more) {
    for (Stmt& stmt : more) body.push_back(std::move(stmt));
}

namespace {

std::int64_t least_integer(DType dtype) {
    if (!is_signed(dtype)) return 0;
    return std::numeric_limits<std::int64_t>::min() >> (64 - 8 * size_bytes(dtype));
}
std::int64_t greatest_integer(DType dtype) {
    if (dtype == DType::boolean) return 1;
    // u64's greatest value is held as its bit pattern.
    if (!is_signed(dtype)) return dtype == DType::u64 ? -1 : (1LL << (8 * size_bytes(dtype))) - 1;
    return ~least_integer(dtype);
}

}  // namespace

Value identity(Reducer reducer, DType dtype) {
    switch (reducer) {
        case Reducer::sum:  return make_number(dtype, 0);
        case Reducer::prod: return make_number(dtype, 1);
        case Reducer::max:
        case Reducer::argmax:
            if (is_floating(dtype)) return make_number(dtype, -HUGE_VAL);
            return make_integer(least_integer(dtype), dtype);
        case Reducer::min:
        case Reducer::argmin:
            if (is_floating(dtype)) return make_number(dtype, HUGE_VAL);
            return make_integer(greatest_integer(dtype), dtype);
        case Reducer::mean:
        case Reducer::any:
        case Reducer::all:
        case Reducer::count:
        case Reducer::logsumexp:
        case Reducer::norm:      break;
    }
    RICCI_ASSERT(false, "a reducer that is not canonical");
}

Op combining_op(Reducer reducer, DType dtype) {
    const bool is_bool = dtype == DType::boolean;
    switch (reducer) {
        case Reducer::sum:       return is_bool ? Op::logical_or : Op::add;
        case Reducer::prod:      return is_bool ? Op::logical_and : Op::mul;
        case Reducer::max:
        case Reducer::argmax:    return is_bool ? Op::logical_or : Op::max;
        case Reducer::min:
        case Reducer::argmin:    return is_bool ? Op::logical_and : Op::min;
        case Reducer::mean:
        case Reducer::any:
        case Reducer::all:
        case Reducer::count:
        case Reducer::logsumexp:
        case Reducer::norm:      break;
    }
    RICCI_ASSERT(false, "a reducer that is not canonical");
}

namespace {

BufferId add_local(Nest& nest, Space space, std::string name, DType dtype, std::int64_t elements) {
    return nest.add(Buffer{.name = std::move(name),
                           .dtype = dtype,
                           .space = space,
                           .elements = elements,
                           .is_written = true});
}

}  // namespace

BufferId add_registers(Nest& nest, std::string name, DType dtype, std::int64_t elements) {
    return add_local(nest, Space::registers, std::move(name), dtype, elements);
}
BufferId add_scratch(Nest& nest, std::string name, DType dtype, std::int64_t elements) {
    return add_local(nest, Space::scratch, std::move(name), dtype, elements);
}

Substitution& Substitution::replace(VarId var, AffineForm to) {
    forms_.insert_or_assign(std::uint32_t(var), std::move(to));
    return *this;
}

Substitution& Substitution::replace(VarId var, Value to) {
    data_.insert_or_assign(std::uint32_t(var), std::move(to));
    return *this;
}

Substitution& Substitution::replace_let(std::uint32_t number, Value to) {
    lets_.insert_or_assign(number, std::move(to));
    return *this;
}

Substitution& Substitution::replace(const Value& node, Value to) {
    kept_.push_back(node);
    memo_.insert_or_assign(node.get(), std::move(to));
    return *this;
}

AffineForm Substitution::operator()(const AffineForm& form) const {
    AffineForm result{.constant = form.constant};
    for (const AffineForm::Term& term : form.terms) {
        RICCI_ASSERT(!data_.contains(std::uint32_t(term.var)), "data in a form");
        const auto found = forms_.find(std::uint32_t(term.var));
        result = result + (found == forms_.end() ? codegen::form(term.var, term.coefficient)
                                                 : term.coefficient * found->second);
    }
    return result;
}

LoopBound Substitution::operator()(const LoopBound& bound) const {
    LoopBound result = bound;
    for (BoundTerm& term : result) term.form = (*this)(term.form);
    return result;
}

Address Substitution::split(const AffineForm& form) const {
    if (data_.empty()) return {(*this)(form)};
    AffineForm affine{.constant = form.constant};
    Value sum;
    for (const AffineForm::Term& term : form.terms) {
        const auto found = data_.find(std::uint32_t(term.var));
        if (found == data_.end()) {
            affine.terms.push_back(term);
            continue;
        }
        Value data = found->second;
        if (term.coefficient != 1)
            data = make_operation(Op::mul, {data, make_integer(term.coefficient)}, DType::i64);
        sum = sum ? make_operation(Op::add, {sum, data}, DType::i64) : data;
    }
    return {(*this)(affine), sum};
}

Address Substitution::operator()(const Address& address) {
    Address result = split(address.affine);
    if (!address.computed) return result;
    const Value computed = (*this)(address.computed);
    result.computed = result.computed
                          ? make_operation(Op::add, {result.computed, computed}, DType::i64)
                          : computed;
    return result;
}

Value Substitution::operator()(const Value& value) {
    if (const auto found = memo_.find(value.get()); found != memo_.end()) return found->second;
    Value result = match(
        value->term, [&](const Constant&) { return value; },
        [&](const LetValue& let) {
            const auto found = lets_.find(let.number);
            return found == lets_.end() ? value : found->second;
        },
        [&](const VarValue& var) {
            const auto [affine, data] = split(var.form);
            if (!data) return make_index(affine);
            if (affine == form(0)) return data;
            return make_operation(Op::add, {make_index(affine), data}, DType::i64);
        },
        [&](const Load& load) {
            return make_value(Load{load.buffer, (*this)(load.at)}, value->dtype);
        },
        [&](const Convert& convert) {
            return make_value(Convert{(*this)(convert.a), convert.wraps}, value->dtype);
        },
        [&](const Operate& operate) {
            std::vector<Value> args;
            args.reserve(operate.args.size());
            for (const Value& arg : operate.args) args.push_back((*this)(arg));
            return make_value(Operate{operate.op, std::move(args)}, value->dtype);
        });
    replace(value, result);
    return result;
}

namespace {

/// Counts uses of each node, and lists the nodes so that operands come first.
class Uses {
  public:
    void visit(const Value& value) {
        if (++count_[value.get()] > 1) return;
        for (const Value& operand : operands(value)) visit(operand);
        order_.push_back(value);
        if (const auto read = guarded_read(value)) {
            keep(read->load);
            for (const Value& condition : read->conditions)
                if (affine_test(condition)) keep(condition);
        }
    }
    [[nodiscard]] bool is_shared(const Value& value) const {
        return count_.at(value.get()) > 1 && !is_of_place_.contains(value.get());
    }
    [[nodiscard]] const std::vector<Value>& order() const { return order_; }

  private:
    /// What says that a guarded read is at an affine place has to stay in it.
    void keep(const Value& root) {
        for_each_node({root}, [&](const Value& node) { is_of_place_.insert(node.get()); });
    }

    std::unordered_map<const ValueNode*, int> count_;
    std::unordered_set<const ValueNode*> is_of_place_;
    std::vector<Value> order_;
};

/// Terms that are as cheap as the name of a Let.
bool is_atom(const Value& value) {
    return std::holds_alternative<Constant>(value->term) ||
           std::holds_alternative<VarValue>(value->term) ||
           std::holds_alternative<LetValue>(value->term);
}

}  // namespace

std::vector<Value> share(Body& body, std::vector<Value> values, std::uint32_t& next) {
    Uses uses;
    for (const Value& value : values) uses.visit(value);
    Substitution named;
    for (const Value& value : uses.order()) {
        if (!uses.is_shared(value) || is_atom(value)) continue;
        body.push_back(make_let(next, named(value)));
        named.replace(value, make_let_value(next, value->dtype));
        ++next;
    }
    for (Value& value : values) value = named(value);
    return values;
}

}  // namespace ricci::codegen
