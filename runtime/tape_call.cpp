// runtime/tape_call.cpp – calls on the tape: functions, einsum, operations written in C++
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "runtime/einsum.h"
#include "runtime/function_state.h"
#include "runtime/tape.h"
#include "runtime/tape_record.h"
#include "runtime/timer.h"

namespace ricci {
namespace {

using runtime::RecordPtr;
using runtime::tape_error;

/// `[2] of f64`.
std::string shape_and_type(const Array& array) {
    return format("{} of {}", str(array.shape()), name(array.dtype()));
}

bool fits(const Array& gradient, const Array& argument) {
    return gradient.shape() == argument.shape() && gradient.dtype() == argument.dtype();
}

/// A function with the values it was called with, and what its forward run kept.
class Call final : public runtime::TapeStep {
  public:
    Call(Function function, const std::vector<RecordPtr>& arguments,
         std::shared_ptr<const TapePair> pair, std::vector<Array> saved)
        : function_(std::move(function)), pair_(std::move(pair)), saved_(std::move(saved)) {
        for (std::size_t i = 0; i < arguments.size(); ++i)
            forward_.emplace_back(state().argument_names[i], arguments[i]->value);
    }

    [[nodiscard]] std::vector<Array> pull_back(const Array& value, const Array& cotangent,
                                               const std::vector<bool>& wanted) const override {
        std::vector<Array> gradients(forward_.size());
        const std::vector<std::size_t> together = shared_positions(wanted);
        if (!together.empty()) {
            std::vector<std::string> names;
            for (const std::size_t i : together) names.push_back(pair_->gradients.at(i));
            std::vector<Array> found =
                pair_->shared.call(inputs_of(pair_->shared, value, cotangent), names);
            for (std::size_t n = 0; n < together.size(); ++n)
                gradients[together[n]] = std::move(found[n]);
        }
        for (std::size_t i = 0; i < forward_.size(); ++i)
            if (wanted[i] && gradients[i].is_empty_handle())
                gradients[i] = gradient(i, value, cotangent);
        return gradients;
    }

  private:
    [[nodiscard]] const Function::State& state() const { return *function_.state(); }

    /// The arguments whose generated gradients are computed together: none or at least two.
    [[nodiscard]] std::vector<std::size_t> shared_positions(const std::vector<bool>& wanted) const {
        std::vector<std::size_t> positions;
        if (!pair_ || !pair_->shared) return positions;
        for (const auto& [position, name] : pair_->gradients)
            if (wanted[position] && !function_.registered_gradient(forward_[position].first))
                positions.push_back(position);
        if (positions.size() < 2) positions.clear();
        return positions;
    }

    [[nodiscard]] Array gradient(std::size_t position, const Array& value,
                                 const Array& cotangent) const {
        const auto& [name, argument] = forward_[position];
        if (const auto written = function_.registered_gradient(name)) {
            const TimerSection section(format("{}[{}]", state().name, position));
            Arguments arguments = forward_;
            arguments.emplace_back("d" + state().result_name(), cotangent);
            const Array result = written(arguments);
            if (fits(result, argument)) return result;
            tape_error(
                ErrorKind::gradient,
                format("the registered gradient of `{}` for `{}` gave {}, the argument is {}",
                       state().name, name, shape_and_type(result), shape_and_type(argument)));
        }
        if (!pair_ || !pair_->backward.contains(position)) {
            tape_error(ErrorKind::gradient,
                       format("the gradient registered of `{}` for `{}` was taken away after the "
                              "forward run",
                              state().name, name));
        }
        const Function& generated = pair_->backward.at(position);
        return generated(inputs_of(generated, value, cotangent));
    }

    /// Arguments by name for generated gradients: the forward's, what was saved, and the
    /// cotangent, which is the one name left over.
    [[nodiscard]] Arguments inputs_of(const Function& gradient, const Array& value,
                                      const Array& cotangent) const {
        Arguments arguments;
        const auto& outputs = pair_->outputs;
        for (const std::string& name : gradient.state()->argument_names) {
            const auto given = std::ranges::find(forward_, name, &Arguments::value_type::first);
            const auto saved = std::find(outputs.begin() + 1, outputs.end(), name);
            if (name == outputs.front())
                arguments.emplace_back(name, value);
            else if (saved != outputs.end())
                arguments.emplace_back(
                    name, saved_[static_cast<std::size_t>(saved - outputs.begin() - 1)]);
            else if (given != forward_.end())
                arguments.push_back(*given);
            else
                arguments.emplace_back(name, cotangent);
        }
        return arguments;
    }

    Function function_;
    Arguments forward_;
    std::shared_ptr<const TapePair> pair_;
    std::vector<Array> saved_;  ///< what `pair_->outputs` names after the result
};

/// An operation written in C++ with the values it was called with.
class OperationCall final : public runtime::TapeStep {
  public:
    OperationCall(TapeOperation operation, std::vector<Array> arguments)
        : operation_(std::move(operation)), arguments_(std::move(arguments)) {}

    [[nodiscard]] std::vector<Array> pull_back(const Array& value, const Array& cotangent,
                                               const std::vector<bool>& wanted) const override {
        const TimerSection section(operation_.name + "'");
        std::vector<Array> gradients = operation_.gradients(arguments_, value, cotangent);
        if (gradients.size() != arguments_.size())
            tape_error(
                ErrorKind::gradient,
                format("`{}` gave {} for {}", operation_.name, plural(gradients.size(), "gradient"),
                       plural(arguments_.size(), "argument")),
                "give an empty Array for an argument without one");
        for (std::size_t i = 0; i < gradients.size(); ++i) {
            if (!wanted[i] || gradients[i].is_empty_handle() || fits(gradients[i], arguments_[i]))
                continue;
            tape_error(ErrorKind::gradient,
                       format("the gradient of `{}` for argument {} is {}, the argument is {}",
                              operation_.name, i, shape_and_type(gradients[i]),
                              shape_and_type(arguments_[i])));
        }
        return gradients;
    }

  private:
    TapeOperation operation_;
    std::vector<Array> arguments_;
};

/// On the tape an argument that changes would take the value that gradients are made of with it.
void require_unchanged(const Function::State& state) {
    const auto updated = std::ranges::find(state.is_updated, true);
    if (updated == state.is_updated.end()) return;
    const auto position = static_cast<std::size_t>(updated - state.is_updated.begin());
    tape_error(ErrorKind::gradient,
               format("`{}` changes its argument `{}` in place, which the tape cannot undo",
                      state.name, state.argument_names[position]),
               "call it with arrays or under NoGrad, or write the result to a new array with `:=`");
}

}  // namespace

Var apply(const Function& function, const std::vector<Var>& arguments) {
    const TimerSection section("forward");
    const std::vector<RecordPtr> records = runtime::records_of(arguments);
    if (!function.state()) tape_error(ErrorKind::name, "an empty function is used");
    Function::State& state = *function.state();
    state.require_count(records.size());
    const bool is_recorded = runtime::is_recorded(records);
    const runtime::TapeMode& mode = runtime::tape_mode();
    if (mode.is_recording || mode.used != nullptr) require_unchanged(state);
    std::vector<const Array*> values;
    std::vector<std::size_t> wanted;  // generated gradients
    for (std::size_t i = 0; i < records.size(); ++i) {
        values.push_back(&records[i]->value);
        if (is_recorded && records[i]->requires_grad &&
            !function.registered_gradient(state.argument_names[i]))
            wanted.push_back(i);
    }
    if (!is_recorded) return runtime::constant(std::move(state.run(values, {}).front()));
    if (wanted.empty()) {
        Array value = std::move(state.run(values, {}).front());
        auto call = std::make_unique<Call>(function, records, nullptr, std::vector<Array>{});
        return runtime::recorded(std::move(value), records, std::move(call));
    }
    const std::shared_ptr<const TapePair> pair = state.pair(wanted);
    // The forward part may need fewer arguments than the function.
    Function::State& forward = *pair->forward.state();
    std::vector<const Array*> selected;
    for (const std::string& name : forward.argument_names)
        selected.push_back(values[state.position_of(name)]);
    std::vector<Array> saved = forward.run(selected, pair->outputs);
    Array value = std::move(saved.front());
    saved.erase(saved.begin());
    return runtime::recorded(std::move(value), records,
                             std::make_unique<Call>(function, records, pair, std::move(saved)));
}

Var apply(const TapeOperation& operation, const std::vector<Var>& arguments) {
    const TimerSection section("forward");
    const std::vector<RecordPtr> records = runtime::records_of(arguments);
    const bool is_recorded = runtime::is_recorded(records);
    std::vector<Array> values;
    for (const RecordPtr& record : records) values.push_back(record->value);
    Array value = operation.value(values);
    if (!is_recorded) return runtime::constant(std::move(value));
    return runtime::recorded(std::move(value), records,
                             std::make_unique<OperationCall>(operation, std::move(values)));
}

Var apply_einsum(std::string_view subscripts, const std::vector<Var>& operands, Device device) {
    std::vector<Array> values;
    for (const RecordPtr& record : runtime::records_of(operands)) values.push_back(record->value);
    return ricci::apply(einsum_function(subscripts, values, device), operands);
}

}  // namespace ricci
