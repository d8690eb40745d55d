// codegen/guarded_reads.cpp – reads of padded arrays: an element where conditions hold, else a
// number
#include "codegen/guarded_reads.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <unordered_map>

#include "codegen/fold_indices.h"
#include "codegen/nest_walk.h"

namespace ricci::codegen {

namespace {

/// What affine conditions say: forms that are at least zero.
class Facts {
  public:
    explicit Facts(const std::vector<Value>& conditions) {
        for (const Value& condition : conditions) {
            const std::optional<AffineTest> test = affine_test(condition);
            if (test && !test->is_equality) known_.push_back(test->form);
        }
    }

    /// The value as a form, where the conditions hold.
    [[nodiscard]] std::optional<AffineForm> operator()(const Value& value) const {
        if (const auto plain = affine(value)) return plain;
        const auto* operate = std::get_if<Operate>(&value->term);
        if (operate == nullptr || value->dtype != DType::i64) return std::nullopt;
        std::vector<AffineForm> forms;
        for (const Value& arg : operate->args) {
            const auto each = (*this)(arg);
            if (!each) return std::nullopt;
            forms.push_back(*each);
        }
        return combined(operate->op, forms);
    }

  private:
    [[nodiscard]] std::optional<AffineForm> combined(Op op,
                                                     const std::vector<AffineForm>& forms) const {
        const auto if_holds = [&](bool holds) {
            return holds ? std::optional(forms[0]) : std::nullopt;
        };
        if (op == Op::add) {
            AffineForm sum;
            for (const AffineForm& each : forms) sum = sum + each;
            return sum;
        }
        if (op == Op::mul && forms.size() == 2) {
            if (forms[1].is_constant()) return forms[1].constant * forms[0];
            if (forms[0].is_constant()) return forms[0].constant * forms[1];
        }
        if (op == Op::max) return if_holds(holds(forms[0] - forms[1]));
        if (op == Op::min) return if_holds(holds(forms[1] - forms[0]));
        if (op == Op::clamp)
            return if_holds(holds(forms[0] - forms[1]) && holds(forms[2] - forms[0]));
        return std::nullopt;
    }
    [[nodiscard]] bool holds(const AffineForm& at_least_zero) const {
        return std::ranges::any_of(known_, [&](const AffineForm& known) {
            const AffineForm more = at_least_zero - known;
            return more.is_constant() && more.constant >= 0;
        });
    }

    std::vector<AffineForm> known_;
};

bool is_equal_constant(const Value& a, const Value& b) {
    const auto* left = std::get_if<Constant>(&a->term);
    const auto* right = std::get_if<Constant>(&b->term);
    return left != nullptr && right != nullptr && *left == *right;
}

/// The kernel with each guarded read as `make` has it.
Kernel with_reads(const Kernel& kernel, const std::function<Value(const GuardedRead&)>& make) {
    Substitution to;
    bool is_any = false;
    std::vector<Value> values = {kernel.body};
    for (const Store& write : kernel.writes) {
        values.push_back(write.value);
        values.push_back(write.at.computed);
    }
    for_each_node(values, [&](const Value& value) {
        const auto read = guarded_read(value);
        if (!read) return;
        is_any = true;
        to.replace(value, make(*read));
    });
    Kernel result = kernel;
    if (is_any) substitute(result, to);
    return result;
}

/// The loads of a value under the conditions of the choices around them.
class ReadGuard {
  public:
    Value operator()(const Value& value) {
        if (const auto found = made_.find(value.get()); found != made_.end()) return found->second;
        return made_[value.get()] = guarded(value);
    }

  private:
    Value guarded(const Value& value) {
        if (const auto read = guarded_read(value))
            return with_other_conditions(
                value, [&](const Value& condition) { return under(read->conditions, condition); });
        if (is_operation(value, Op::select)) return choice(value);
        if (const auto* load = std::get_if<Load>(&value->term)) return of_load(value, *load);
        Substitution to;
        bool is_any = false;
        for (const Value& operand : operands(value)) {
            const Value made = (*this)(operand);
            is_any |= made != operand;
            to.replace(operand, made);
        }
        return is_any ? to(value) : value;
    }
    /// The value where further conditions hold, too. What says nothing of places changes nothing:
    /// nested choices by data look at what they share once.
    Value under(const std::vector<Value>& conditions, const Value& value) {
        std::vector<Value> further;
        for (const Value& each : conditions)
            if (affine_test(each) && std::ranges::find(conditions_, each) == conditions_.end())
                further.push_back(each);
        if (further.empty() || conditions_.size() + further.size() > most_conditions)
            return (*this)(value);
        const auto [inside, is_new] = inside_.try_emplace(further);
        if (is_new) {
            inside->second = std::make_unique<ReadGuard>();
            inside->second->conditions_ = conditions_;
            std::ranges::copy(further, std::back_inserter(inside->second->conditions_));
        }
        return (*inside->second)(value);
    }
    Value choice(const Value& value) {
        const std::vector<Value> args = operands(value);
        const std::vector<Value> made{(*this)(args[0]), under(conjuncts(args[0]), args[1]),
                                      (*this)(args[2])};
        return made == args ? value : make_operation(Op::select, made, value->dtype);
    }
    Value of_load(const Value& value, const Load& load) const {
        if (!load.at.computed || !Facts(conditions_)(load.at.computed)) return value;
        std::vector<Value> needed = conditions_;
        for (std::size_t n = needed.size(); n-- > 0;) {
            std::vector<Value> fewer = needed;
            fewer.erase(fewer.begin() + std::ptrdiff_t(n));
            if (Facts(fewer)(load.at.computed)) needed = std::move(fewer);
        }
        if (needed.empty()) return value;
        Value all = needed.front();
        for (std::size_t n = 1; n < needed.size(); ++n)
            all = make_operation(Op::logical_and, {all, needed[n]}, DType::boolean);
        return make_operation(Op::select, {all, value, make_number(value->dtype, 0)}, value->dtype);
    }

    /// More of them are no border of an array.
    static constexpr std::size_t most_conditions = 8;

    std::vector<Value> conditions_;
    std::unordered_map<const ValueNode*, Value> made_;
    std::map<std::vector<Value>, std::unique_ptr<ReadGuard>> inside_;  ///< by further conditions
};

}  // namespace

Value with_other_conditions(const Value& read, const std::function<Value(const Value&)>& rewrite) {
    const std::function<Value(const Value&)> condition = [&](const Value& value) {
        if (affine_test(value)) return value;
        if (!is_operation(value, Op::logical_and)) return rewrite(value);
        std::vector<Value> args = operands(value);
        for (Value& arg : args) arg = condition(arg);
        return args == operands(value) ? value
                                       : make_operation(Op::logical_and, args, value->dtype);
    };
    if (!is_operation(read, Op::select)) return read;
    const std::vector<Value> args = operands(read);
    const std::vector<Value> made{condition(args[0]), with_other_conditions(args[1], rewrite),
                                  args[2]};
    return made == args ? read : make_operation(Op::select, made, read->dtype);
}

void guard_reads(Kernel& kernel) {
    ReadGuard guard;
    if (kernel.body) kernel.body = guard(kernel.body);
    for (Store& write : kernel.writes) write.value = guard(write.value);
}

std::optional<GuardedRead> guarded_read(const Value& value) {
    GuardedRead read;
    read.load = value;
    while (is_operation(read.load, Op::select)) {
        const std::vector<Value> args = operands(read.load);
        if (read.otherwise && !is_equal_constant(read.otherwise, args[2])) return std::nullopt;
        read.otherwise = args[2];
        std::ranges::copy(conjuncts(args[0]), std::back_inserter(read.conditions));
        read.load = args[1];
    }
    const auto* load = std::get_if<Load>(&read.load->term);
    if (load == nullptr || !read.otherwise || !load->at.computed ||
        !std::holds_alternative<Constant>(read.otherwise->term))
        return std::nullopt;
    const auto place = Facts(read.conditions)(load->at.computed);
    if (!place) return std::nullopt;
    read.at = load->at.affine + *place;
    return read;
}

bool has_masks(const Value& value, VarId lane, std::optional<VarId> other) {
    bool has = false;
    for_each_node({value}, [&](const Value& node) {
        if (const auto read = guarded_read(node))
            has |= std::ranges::any_of(read->conditions, [&](const Value& condition) {
                return depends_on(condition, lane) && (!other || depends_on(condition, *other));
            });
    });
    return has;
}

Kernel with_plain_reads(const Kernel& kernel) {
    return with_reads(kernel, [&](const GuardedRead& read) {
        const auto& load = std::get<Load>(read.load->term);
        return make_value(Load{load.buffer, {read.at}}, read.load->dtype);
    });
}

Kernel without_guarded_reads(const Kernel& kernel) {
    return with_reads(kernel, [](const GuardedRead& read) { return read.otherwise; });
}

Value without_guarded_reads(const Value& value) {
    Substitution to;
    for_each_node({value}, [&](const Value& node) {
        if (const auto read = guarded_read(node)) to.replace(node, read->otherwise);
    });
    return to(value);
}

}  // namespace ricci::codegen
