// runtime/tape.cpp – records of calls, and the walk back through them
#include "runtime/tape.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "runtime/elementwise.h"
#include "runtime/function_state.h"
#include "runtime/timer.h"

namespace ricci {

/// One value of the tape, and the call that made it.
struct Var::Record {
    Array value;
    Array grad;  ///< of a parameter
    bool requires_grad = false;

    // Empty for leaves, and once `backward` has been here.
    Function function;
    std::vector<std::shared_ptr<Record>> arguments;
    std::shared_ptr<const TapePair> pair;
    std::vector<Array> saved;  ///< what `pair->outputs` names after the result
    bool is_released = false;

    Record() = default;
    Record(const Record&) = delete;
    Record& operator=(const Record&) = delete;
    ~Record() { release(); }

    [[nodiscard]] bool is_leaf() const noexcept { return !function && !is_released; }

    /// Lets go of what made this value. Chains of records may be long: they are taken apart one by
    /// one instead of by nested destructors.
    void release() noexcept {
        std::vector<std::shared_ptr<Record>> pending = std::move(arguments);
        arguments.clear();
        saved.clear();
        pair.reset();
        function = {};
        while (!pending.empty()) {
            const std::shared_ptr<Record> record = std::move(pending.back());
            pending.pop_back();
            if (record.use_count() > 1) continue;
            for (auto& argument : record->arguments) pending.push_back(std::move(argument));
            record->arguments.clear();
        }
    }
};

namespace {

using RecordPtr = std::shared_ptr<Var::Record>;

[[noreturn]] void fail(ErrorKind kind, std::string message, std::string hint = {}) {
    throw Error({.kind = kind, .message = std::move(message), .hint = std::move(hint)});
}

const Var::Record& require(const RecordPtr& record) {
    if (!record) fail(ErrorKind::name, "an empty variable is used", "make it with param(array)");
    return *record;
}

/// The records that gradients flow through, each before the ones that it depends on. They are held:
/// releasing one lets go of those it was made from.
std::vector<RecordPtr> reverse_order(const RecordPtr& loss) {
    std::vector<RecordPtr> order;
    std::unordered_set<const Var::Record*> seen;
    // Depth-first with an explicit stack: (record, next argument to visit).
    std::vector<std::pair<RecordPtr, std::size_t>> stack = {{loss, 0}};
    seen.insert(loss.get());
    while (!stack.empty()) {
        auto& [record, next] = stack.back();
        if (next == record->arguments.size()) {
            order.push_back(std::move(record));
            stack.pop_back();
            continue;
        }
        const RecordPtr& argument = record->arguments[next++];
        if (argument->requires_grad && seen.insert(argument.get()).second)
            stack.emplace_back(RecordPtr(argument), 0);
    }
    std::ranges::reverse(order);
    return order;
}

/// The gradients of one call.
class CallGradients {
  public:
    CallGradients(const Var::Record& record, const Array& cotangent)
        : record_(record), state_(*record.function.state()), cotangent_(cotangent) {
        for (std::size_t i = 0; i < record.arguments.size(); ++i)
            forward_.emplace_back(state_.argument_names[i], record.arguments[i]->value);
    }

    /// With respect to the argument at this position.
    [[nodiscard]] Array of(std::size_t position) const {
        const std::string& name = state_.argument_names[position];
        Array result;
        if (const auto written = record_.function.registered_gradient(name)) {
            const TimerSection section(format("{}[{}]", state_.name, position));
            Arguments arguments = forward_;
            arguments.emplace_back("d" + state_.result_name(), cotangent_);
            result = written(arguments);
            check(name, result, record_.arguments[position]->value);
        } else {
            if (!record_.pair || !record_.pair->backward.contains(position)) {
                fail(ErrorKind::gradient,
                     format("the gradient registered of `{}` for `{}` was taken away after the "
                            "forward run",
                            state_.name, name));
            }
            result = generated(record_.pair->backward.at(position));
        }
        return result;
    }

  private:
    /// Arguments by name for a generated gradient: the forward's, what was saved, and the
    /// cotangent, which is the one name left over.
    [[nodiscard]] Array generated(const Function& gradient) const {
        Arguments arguments;
        for (const std::string& name : gradient.state()->argument_names) {
            const auto given = std::ranges::find(forward_, name, &Arguments::value_type::first);
            const auto& outputs = record_.pair->outputs;
            const auto saved = std::find(outputs.begin() + 1, outputs.end(), name);
            if (name == outputs.front())
                arguments.emplace_back(name, record_.value);
            else if (saved != outputs.end())
                arguments.emplace_back(
                    name, record_.saved[static_cast<std::size_t>(saved - outputs.begin() - 1)]);
            else if (given != forward_.end())
                arguments.push_back(*given);
            else
                arguments.emplace_back(name, cotangent_);
        }
        return gradient(arguments);
    }

    void check(const std::string& name, const Array& result, const Array& value) const {
        if (result.shape() != value.shape() || result.dtype() != value.dtype()) {
            fail(
                ErrorKind::gradient,
                format("the registered gradient of `{}` for `{}` gave {} of {}, the argument is {} "
                       "of {}",
                       state_.name, name, str(result.shape()), ricci::name(result.dtype()),
                       str(value.shape()), ricci::name(value.dtype())));
        }
    }

    const Var::Record& record_;
    const Function::State& state_;
    const Array& cotangent_;
    Arguments forward_;
};

}  // namespace

Var::Var(Array value) : record_(std::make_shared<Record>()) { record_->value = std::move(value); }

const Array& Var::value() const { return require(record_).value; }
const Array& Var::grad() const { return require(record_).grad; }
bool Var::requires_grad() const { return require(record_).requires_grad; }

void Var::clear_grad() {
    (void)require(record_);
    record_->grad = {};
}

void Var::set_value(Array value) {
    if (!require(record_).is_leaf()) {
        fail(ErrorKind::gradient, "the value of a variable that a function made is replaced",
             "replace the values of parameters only");
    }
    record_->value = std::move(value);
}

Var param(Array value) {
    if (!is_floating(value.dtype())) {
        fail(ErrorKind::gradient,
             format("a parameter of type {} has no gradient", name(value.dtype())),
             "use f32 or f64");
    }
    Var variable(std::move(value));
    variable.record_->requires_grad = true;
    return variable;
}

Var apply(const Function& function, const std::vector<Var>& arguments) {
    const TimerSection section("forward");
    std::vector<const Array*> values;
    for (const Var& argument : arguments) values.push_back(&require(argument.record()).value);
    if (!function.state()) fail(ErrorKind::name, "an empty function is used");
    Function::State& state = *function.state();
    state.require_count(values.size());
    if (const auto updated = std::ranges::find(state.is_updated, true);
        updated != state.is_updated.end()) {
        const auto position = static_cast<std::size_t>(updated - state.is_updated.begin());
        fail(ErrorKind::gradient,
             format("`{}` changes its argument `{}` in place, which the tape cannot undo",
                    state.name, state.argument_names[position]),
             "call it with arrays, or write the result to a new array with `:=`");
    }
    std::vector<std::size_t> wanted;  // generated gradients
    bool requires_grad = false;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (!arguments[i].requires_grad()) continue;
        requires_grad = true;
        if (!function.registered_gradient(state.argument_names[i])) wanted.push_back(i);
    }
    Var result;
    result.record_ = std::make_shared<Var::Record>();
    Var::Record& record = *result.record_;
    if (wanted.empty()) {
        record.value = std::move(state.run(values, {}).front());
    } else {
        record.pair = state.pair(wanted);
        // The forward part may need fewer arguments than the function.
        Function::State& forward = *record.pair->forward.state();
        std::vector<const Array*> selected;
        for (const std::string& name : forward.argument_names)
            selected.push_back(values[state.position_of(name)]);
        record.saved = forward.run(selected, record.pair->outputs);
        record.value = std::move(record.saved.front());
        record.saved.erase(record.saved.begin());
    }
    if (!requires_grad) return result;
    record.requires_grad = true;
    record.function = function;
    for (const Var& argument : arguments) record.arguments.push_back(argument.record());
    return result;
}

void backward(const Var& loss) {
    const TimerSection section("backward");
    const Var::Record& root = require(loss.record());
    if (root.value.rank() != 0) {
        fail(ErrorKind::shape,
             format("a loss is a scalar, this one has shape {}", str(root.value.shape())),
             "sum it first, as in L := sum[i](Y[i])");
    }
    if (!root.requires_grad)
        fail(ErrorKind::gradient, "the loss does not depend on a parameter", "param(array)");
    const std::vector<RecordPtr> order = reverse_order(loss.record());
    for (const RecordPtr& record : order) {
        if (record->is_released) {
            fail(ErrorKind::gradient, "backward was called before on a part of this loss",
                 "compute the loss again");
        }
    }
    std::unordered_map<const Var::Record*, Array> cotangents;
    const auto add = [&](const RecordPtr& record, const Array& gradient) {
        Array& total = cotangents[record.get()];
        total = total.is_empty_handle() ? gradient : runtime::sum(total, gradient);
    };
    add(loss.record(), Array::full(root.value.dtype(), {}, 1));
    std::vector<std::pair<RecordPtr, Array>> leaves;
    for (const RecordPtr& record : order) {
        const Array cotangent = std::move(cotangents.at(record.get()));
        cotangents.erase(record.get());
        if (record->is_leaf()) {
            leaves.emplace_back(record, cotangent);
            continue;
        }
        const CallGradients gradients(*record, cotangent);
        for (std::size_t i = 0; i < record->arguments.size(); ++i)
            if (record->arguments[i]->requires_grad) add(record->arguments[i], gradients.of(i));
    }
    for (auto& [record, gradient] : leaves)
        if (!record->grad.is_empty_handle()) gradient = runtime::sum(record->grad, gradient);
    // All gradients are there: from here on nothing fails.
    for (auto& [record, gradient] : leaves) record->grad = std::move(gradient);
    for (const RecordPtr& record : order) {
        if (record->is_leaf()) continue;
        record->is_released = true;
        record->release();
    }
}

}  // namespace ricci
