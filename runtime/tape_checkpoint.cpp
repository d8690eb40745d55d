// runtime/tape_checkpoint.cpp – parts of the tape that are computed again instead of kept
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "runtime/tape.h"
#include "runtime/tape_record.h"
#include "runtime/timer.h"

namespace ricci {
namespace {

using runtime::RecordPtr;
using runtime::tape_error;
using runtime::TapeModeScope;

bool is_same_memory(const Array& a, const Array& b) {
    return a.storage() == b.storage() && a.offset_bytes() == b.offset_bytes();
}

/// The composition, and the variables it used that require gradients: the record's arguments.
class Checkpoint final : public runtime::TapeStep {
  public:
    Checkpoint(Composition f, std::vector<Var> arguments, std::vector<RecordPtr> used)
        : f_(std::move(f)), arguments_(std::move(arguments)), used_(std::move(used)) {
        inputs_ = used_;
        for (const Var& argument : arguments_) inputs_.push_back(argument.record());
        for (const RecordPtr& record : inputs_) values_.push_back(record->value);
    }

    [[nodiscard]] std::vector<Array> pull_back(const Array& value, const Array& cotangent,
                                               const std::vector<bool>& /*wanted*/) const override {
        for (std::size_t i = 0; i < inputs_.size(); ++i)
            if (!is_same_memory(inputs_[i]->value, values_[i]))
                tape_error(ErrorKind::gradient,
                           "the value of a variable that a checkpoint used was replaced",
                           "call backward before set_value");
        const TimerSection section("recompute");
        Var result;
        {
            const TapeModeScope scope({.is_recording = true, .used = nullptr});
            result = f_(arguments_);
        }
        const Array& again = result.value();
        if (again.shape() != value.shape() || again.dtype() != value.dtype())
            tape_error(ErrorKind::gradient,
                       format("a checkpoint gave {} of {}, and {} of {} when it was computed again",
                              str(value.shape()), name(value.dtype()), str(again.shape()),
                              name(again.dtype())),
                       "let it do the same each time");
        const auto gradients = runtime::walk_back(result.record(), cotangent, used_);
        std::vector<Array> by_argument(used_.size());
        for (const auto& [record, gradient] : gradients.ends) {
            const auto found = std::ranges::find(used_, record);
            if (found == used_.end())
                tape_error(ErrorKind::gradient,
                           "a checkpoint used other variables when it was computed again",
                           "make parameters outside of it, and let it do the same each time");
            by_argument[static_cast<std::size_t>(found - used_.begin())] = gradient;
        }
        return by_argument;
    }

  private:
    Composition f_;
    std::vector<Var> arguments_;
    std::vector<RecordPtr> used_;
    std::vector<RecordPtr> inputs_;  ///< those, then the arguments
    std::vector<Array> values_;      ///< of the inputs, when it was computed first
};

}  // namespace

Var checkpoint(Composition f, const std::vector<Var>& arguments) {
    (void)runtime::records_of(arguments);
    std::vector<RecordPtr> used;
    Var inside;
    {
        const TapeModeScope scope({.is_recording = false, .used = &used});
        inside = f(arguments);
        // What is handed through is used too.
        (void)runtime::is_recorded(runtime::records_of({inside}));
    }
    if (!runtime::is_recorded(used)) return runtime::constant(inside.value());
    auto step = std::make_unique<Checkpoint>(std::move(f), arguments, used);
    return runtime::recorded(inside.value(), std::move(used), std::move(step));
}

Var checkpoint(const Function& f, const std::vector<Var>& arguments) {
    return checkpoint([f](const std::vector<Var>& given) { return ricci::apply(f, given); },
                      arguments);
}

}  // namespace ricci
