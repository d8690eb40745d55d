// codegen/fold_indices.cpp – index arithmetic that the ranges of a kernel's axes decide
#include "codegen/fold_indices.h"

#include <algorithm>
#include <cmath>

#include "base/integer.h"
#include "codegen/nest_build.h"

namespace ricci::codegen {

namespace {

/// Forms of larger values are left alone: no sum of two of them overflows.
constexpr std::int64_t limit = std::int64_t{1} << 61;

std::optional<bool> truth(const Value& value) {
    const auto* constant = std::get_if<Constant>(&value->term);
    if (!constant || value->dtype != DType::boolean) return std::nullopt;
    return constant->integer != 0;
}

Value make_truth(bool value) { return make_number(DType::boolean, value ? 1 : 0); }

bool is_comparison(Op op) { return info(op).precedence == Precedence::comparison; }

void add_addends(std::vector<Value>& parts, const Value& sum) {
    if (!is_operation(sum, Op::add)) return parts.push_back(sum);
    for (const Value& part : operands(sum)) add_addends(parts, part);
}

/// A part of a sum, as a multiple of a term.
struct Multiple {
    Value term;
    std::int64_t times = 1;
};

Multiple multiple(const Value& part) {
    if (!is_operation(part, Op::mul)) return {part};
    const std::vector<Value> factors = operands(part);
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}}) {
        const auto times = affine(factors[n]);
        if (factors.size() == 2 && times && times->is_constant())
            return {factors[1 - n], times->constant};
    }
    return {part};
}

/// Of `64*(e//64)` and `e%64`, which are e in sum: e. Nothing of other parts.
Value joined(const Multiple& quotient, const Multiple& remainder) {
    if (!is_operation(quotient.term, Op::floordiv) || !is_operation(remainder.term, Op::mod))
        return nullptr;
    const std::vector<Value> a = operands(quotient.term);
    const std::vector<Value> b = operands(remainder.term);
    const auto divisor = affine(a[1]);
    const auto modulus = affine(b[1]);
    std::int64_t times = 0;
    if (!divisor || divisor != modulus || !divisor->is_constant() || divisor->constant <= 0 ||
        __builtin_mul_overflow(remainder.times, divisor->constant, &times) ||
        times != quotient.times)
        return nullptr;
    const auto e = affine(a[0]);
    if (a[0] != b[0] && (!e || e != affine(b[0]))) return nullptr;
    if (e) return make_index(remainder.times * *e);
    if (remainder.times == 1) return a[0];
    return make_operation(Op::mul, {a[0], make_integer(remainder.times)}, DType::i64);
}

/// The parts of a sum with quotients and remainders by one number as what they were made of.
std::vector<Value> join_quotients(std::vector<Value> parts) {
    for (std::size_t i = 0; i < parts.size(); ++i)
        for (std::size_t j = 0; j < parts.size(); ++j) {
            if (i == j) continue;
            const Value whole = joined(multiple(parts[i]), multiple(parts[j]));
            if (!whole) continue;
            parts[i] = whole;
            parts.erase(parts.begin() + std::ptrdiff_t(j));
            return join_quotients(std::move(parts));
        }
    return parts;
}

/// Rewrites values bottom-up, each node once.
class Folder {
  public:
    /// What nothing decides stays, or becomes a choice between two turns.
    enum class Open : std::uint8_t { stays, chooses };
    explicit Folder(const Kernel& kernel, Open open = Open::stays)
        : ranges_(kernel), chooses_(open == Open::chooses) {}

    Value operator()(const Value& value) {
        if (!value) return value;
        if (const auto found = memo_.find(value.get()); found != memo_.end()) return found->second;
        const Value result = fold(value);
        kept_.push_back(value);
        return memo_[value.get()] = result;
    }

    /// What is affine in the computed part of an address joins its affine part.
    Address operator()(const Address& address) {
        Address result{address.affine, nullptr};
        if (!address.computed) return result;
        const Value computed = (*this)(address.computed);
        std::vector<Value> rest;
        std::vector<Value> parts;
        add_addends(parts, computed);
        for (const Value& part : join_quotients(std::move(parts))) {
            const auto form = affine(part);
            if (const auto near = form ? near_multiple(1, *form) : std::nullopt)
                result.affine = result.affine + *near;
            else
                rest.push_back(part);
        }
        if (rest.size() == 1) result.computed = rest.front();
        if (rest.size() > 1) result.computed = make_operation(Op::add, rest, DType::i64);
        return result;
    }

    [[nodiscard]] std::vector<Decision> open() && { return std::move(open_); }

  private:
    Value fold(const Value& value) {
        if (const auto* load = std::get_if<Load>(&value->term)) {
            if (!load->at.computed) return value;
            return make_value(Load{load->buffer, (*this)(load->at)}, value->dtype);
        }
        if (const auto* convert = std::get_if<Convert>(&value->term)) {
            const Value a = (*this)(convert->a);
            return a == convert->a ? value : make_convert(a, value->dtype, convert->wraps);
        }
        const auto* operate = std::get_if<Operate>(&value->term);
        if (!operate) return value;
        if (operate->op == Op::select) return choice(*operate, value);
        std::vector<Value> args;
        bool is_changed = false;
        for (const Value& arg : operate->args) {
            args.push_back((*this)(arg));
            is_changed |= args.back() != arg;
        }
        if (const Value folded = operation(operate->op, args, value->dtype)) return folded;
        return is_changed ? make_operation(operate->op, std::move(args), value->dtype) : value;
    }

    /// The branch that is never taken is not looked at: it decides nothing.
    Value choice(const Operate& select, const Value& value) {
        const Value condition = (*this)(select.args[0]);
        if (const auto decided = truth(condition)) return (*this)(select.args[*decided ? 1 : 2]);
        return make_operation(Op::select,
                              {condition, (*this)(select.args[1]), (*this)(select.args[2])},
                              value->dtype);
    }

    /// Nothing where the operation stays.
    Value operation(Op op, const std::vector<Value>& args, DType dtype) {
        if (op == Op::logical_and || op == Op::logical_or) return junction(op, args);
        if (op == Op::logical_not) {
            const auto decided = truth(args[0]);
            return decided ? make_truth(!*decided) : nullptr;
        }
        std::vector<AffineForm> forms;
        for (const Value& arg : args) {
            const auto form = affine(arg);
            if (!form) return nullptr;
            forms.push_back(*form);
        }
        if (ranges_.magnitude(forms, op == Op::mul) > double(limit)) return nullptr;
        if (is_comparison(op)) return comparison(op, forms[0] - forms[1]);
        if (dtype != DType::i64) return nullptr;
        return arithmetic(op, forms);
    }

    static Value junction(Op op, const std::vector<Value>& args) {
        const bool is_and = op == Op::logical_and;
        for (const std::size_t n : {std::size_t{0}, std::size_t{1}})
            if (const auto decided = truth(args[n]))
                return *decided == is_and ? args[1 - n] : make_truth(!is_and);
        return nullptr;
    }

    /// Whether `difference op 0` always or never holds.
    Value comparison(Op op, const AffineForm& difference) {
        const auto range = ranges_.of(difference);
        if (!range) return nullptr;
        const auto& [low, high] = *range;
        const auto decide = [&](bool always, bool never) {
            return always ? make_truth(true) : never ? make_truth(false) : nullptr;
        };
        Value decided;
        if (op == Op::ge) decided = decide(low >= 0, high < 0);
        if (op == Op::gt) decided = decide(low > 0, high <= 0);
        if (op == Op::le) decided = decide(high <= 0, low > 0);
        if (op == Op::lt) decided = decide(high < 0, low >= 0);
        if (op == Op::eq) decided = decide(low == 0 && high == 0, low > 0 || high < 0);
        if (op == Op::ne) decided = decide(low > 0 || high < 0, low == 0 && high == 0);
        if (decided || op == Op::eq || op == Op::ne) return decided;
        // The side on which more of the values lie is the core.
        const std::int64_t first_above = op == Op::gt || op == Op::le ? 1 : 0;
        const bool is_above = high - first_above >= first_above - 1 - low;
        note(difference,
             is_above ? IndexRange{first_above, high} : IndexRange{low, first_above - 1});
        return nullptr;
    }

    Value arithmetic(Op op, const std::vector<AffineForm>& forms) {
        if (op == Op::add) {
            AffineForm sum;
            for (const AffineForm& each : forms) sum = sum + each;
            return make_index(std::move(sum));
        }
        if (op == Op::neg) return make_index(-1 * forms[0]);
        if (op == Op::mul) return product(forms);
        if (op == Op::min || op == Op::max) return extreme(op, forms[0], forms[1]);
        if (op == Op::clamp) return clamped(forms);
        if (op == Op::floordiv || op == Op::mod) return quotient(op, forms[0], forms[1]);
        if (op == Op::abs) return magnitude(forms[0]);
        return nullptr;
    }

    static Value product(const std::vector<AffineForm>& forms) {
        AffineForm total = form(1);
        for (const AffineForm& factor : forms) {
            if (factor.is_constant())
                total = factor.constant * total;
            else if (total.is_constant())
                total = total.constant * factor;
            else
                return nullptr;
        }
        return make_index(std::move(total));
    }

    Value extreme(Op op, const AffineForm& a, const AffineForm& b) {
        const AffineForm difference = a - b;
        const auto range = ranges_.of(difference);
        if (!range) return nullptr;
        if (range->low >= 0) return make_index(op == Op::max ? a : b);
        if (range->high <= 0) return make_index(op == Op::max ? b : a);
        note(difference,
             range->high >= -range->low ? IndexRange{0, range->high} : IndexRange{range->low, 0});
        return nullptr;
    }

    /// `clamp(e, low, high)` with constants.
    Value clamped(const std::vector<AffineForm>& forms) {
        const auto range = ranges_.of(forms[0]);
        if (!range || !forms[1].is_constant() || !forms[2].is_constant()) return nullptr;
        const std::int64_t low = forms[1].constant;
        const std::int64_t high = forms[2].constant;
        if (low > high) return nullptr;
        if (range->low >= low && range->high <= high) return make_index(forms[0]);
        if (range->high <= low) return make_integer(low);
        if (range->low >= high) return make_integer(high);
        note(forms[0], {std::max(low, range->low), std::min(high, range->high)});
        // The other end is never passed.
        const auto end = [&](Op op, std::int64_t value) {
            return make_operation(op, {make_index(forms[0]), make_integer(value)}, DType::i64);
        };
        if (range->high <= high) return end(Op::max, low);
        if (range->low >= low) return end(Op::min, high);
        return nullptr;
    }

    Value quotient(Op op, const AffineForm& e, const AffineForm& divisor) {
        const auto range = ranges_.of(e);
        if (!range || !divisor.is_constant() || divisor.constant <= 0) return nullptr;
        const std::int64_t by = divisor.constant;
        const std::int64_t first = floor_div(range->low, by);
        const std::int64_t last = floor_div(range->high, by);
        if (first == last)
            return op == Op::mod ? make_index(e - form(first * by)) : make_integer(first);
        if (const Value value = without_multiples(op, e, by)) return value;
        if (chooses_) return first + 1 == last ? between_turns(op, e, by, last) : nullptr;
        // The turn of which most is seen.
        IndexRange core{0, -1};
        for (const std::int64_t turn : {first, first + 1, last}) {
            const IndexRange seen{std::max(range->low, turn * by),
                                  std::min(range->high, turn * by + by - 1)};
            if (seen.high - seen.low > core.high - core.low) core = seen;
        }
        note(e, core);
        return nullptr;
    }

    /// Of `64*q + r` where r never leaves [0, 64): q or r.
    Value without_multiples(Op op, const AffineForm& e, std::int64_t divisor) {
        AffineForm quotient = form(floor_div(e.constant, divisor));
        for (const AffineForm::Term& term : e.terms)
            if (term.coefficient % divisor == 0)
                quotient = quotient + term.coefficient / divisor * form(term.var);
        const AffineForm rest = e - divisor * quotient;
        const auto range = ranges_.of(rest);
        if (!range || range->low < 0 || range->high >= divisor) return nullptr;
        return make_index(op == Op::mod ? rest : quotient);
    }

    static Value between_turns(Op op, const AffineForm& e, std::int64_t divisor,
                               std::int64_t last) {
        const auto in_turn = [&](std::int64_t turn) {
            return op == Op::mod ? make_index(e - form(turn * divisor)) : make_integer(turn);
        };
        const Value is_last =
            make_operation(Op::ge, {make_index(e), make_integer(last * divisor)}, DType::boolean);
        return make_operation(Op::select, {is_last, in_turn(last), in_turn(last - 1)}, DType::i64);
    }

    Value magnitude(const AffineForm& e) {
        const auto range = ranges_.of(e);
        if (!range) return nullptr;
        if (range->low >= 0) return make_index(e);
        if (range->high <= 0) return make_index(-1 * e);
        note(e,
             range->high >= -range->low ? IndexRange{0, range->high} : IndexRange{range->low, 0});
        return nullptr;
    }

    void note(const AffineForm& form, IndexRange core) {
        const bool is_known = std::ranges::any_of(open_, [&](const Decision& other) {
            return other.form == form && other.core.low == core.low && other.core.high == core.high;
        });
        if (!is_known) open_.push_back({form, core});
    }

    AxisRanges ranges_;
    bool chooses_;
    std::unordered_map<const ValueNode*, Value> memo_;
    std::vector<Value> kept_;
    std::vector<Decision> open_;
};

}  // namespace

std::optional<AffineForm> affine(const Value& value) {
    if (value->dtype != DType::i64) return std::nullopt;
    if (const auto* var = std::get_if<VarValue>(&value->term)) return var->form;
    if (const auto* constant = std::get_if<Constant>(&value->term)) return form(constant->integer);
    return std::nullopt;
}

AxisRanges::AxisRanges(const Kernel& kernel) {
    for (const std::vector<Axis>* axes : {&kernel.slices, &kernel.free, &kernel.reduced})
        for (const Axis& axis : *axes) extents_[std::uint32_t(axis.var)] = axis.extent;
}

std::optional<IndexRange> AxisRanges::of(const AffineForm& form) const {
    IndexRange range{form.constant, form.constant};
    for (const AffineForm::Term& term : form.terms) {
        const auto found = extents_.find(std::uint32_t(term.var));
        if (found == extents_.end() || found->second <= 0) return std::nullopt;
        std::int64_t reach = 0;
        if (__builtin_mul_overflow(term.coefficient, found->second - 1, &reach) || reach > limit ||
            reach < -limit)
            return std::nullopt;
        (reach > 0 ? range.high : range.low) += reach;
        if (range.low < -limit || range.high > limit) return std::nullopt;
    }
    if (range.low < -limit || range.high > limit) return std::nullopt;
    return range;
}

std::optional<AffineTest> affine_test(const Value& condition) {
    const auto* compare = std::get_if<Operate>(&condition->term);
    if (compare == nullptr || compare->args.size() != 2) return std::nullopt;
    const auto a = affine(compare->args[0]);
    const auto b = affine(compare->args[1]);
    if (!a || !b) return std::nullopt;
    const Op op = compare->op;
    if (op == Op::eq) return AffineTest{*a - *b, true};
    if (op == Op::ge || op == Op::gt) return AffineTest{*a - *b - form(op == Op::gt ? 1 : 0)};
    if (op == Op::le || op == Op::lt) return AffineTest{*b - *a - form(op == Op::lt ? 1 : 0)};
    return std::nullopt;
}

double AxisRanges::magnitude(const std::vector<AffineForm>& forms, bool is_product) const {
    double total = is_product ? 1 : 0;
    for (const AffineForm& form : forms) {
        double size = std::abs(double(form.constant));
        for (const AffineForm::Term& term : form.terms) {
            const auto found = extents_.find(std::uint32_t(term.var));
            const double extent = found == extents_.end() ? 0 : double(found->second);
            size += std::abs(double(term.coefficient)) * std::max(extent, 1.0);
        }
        total = is_product ? total * std::max(size, 1.0) : total + size;
    }
    return total;
}

std::optional<IndexRange> AxisRanges::without(const AffineForm& form, VarId var) const {
    AffineForm rest = form;
    std::erase_if(rest.terms, [&](const AffineForm::Term& term) { return term.var == var; });
    return of(rest);
}

namespace {

/// Comparisons of forms become bounds of loops.
void take_affine_parts(Conditions& conditions) {
    if (!conditions.rest) return;
    Value rest;
    for (const Value& part : conjuncts(conditions.rest)) {
        if (const std::optional<AffineTest> test = affine_test(part))
            (test->is_equality ? conditions.equal_zero : conditions.at_least_zero)
                .push_back(test->form);
        else
            rest = rest ? make_operation(Op::logical_and, {rest, part}, DType::boolean) : part;
    }
    conditions.rest = rest;
}

void fold_all(Kernel& kernel, Folder& fold) {
    if (kernel.body) kernel.body = fold(kernel.body);
    if (kernel.carry) kernel.carry = fold(kernel.carry);
    if (kernel.conditions.rest) {
        kernel.conditions.rest = fold(kernel.conditions.rest);
        if (truth(kernel.conditions.rest) == true) kernel.conditions.rest = nullptr;
        take_affine_parts(kernel.conditions);
    }
    if (kernel.arg_place) kernel.arg_place = fold(kernel.arg_place);
    for (Store& write : kernel.writes) {
        write.at = fold(write.at);
        write.value = fold(write.value);
    }
}

}  // namespace

std::vector<Decision> fold_indices(Kernel& kernel) {
    Folder fold(kernel);
    fold_all(kernel, fold);
    return std::move(fold).open();
}

void choose_between_turns(Kernel& kernel) {
    Folder fold(kernel, Folder::Open::chooses);
    fold_all(kernel, fold);
}

}  // namespace ricci::codegen
