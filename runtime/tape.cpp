// runtime/tape.cpp – records of calls, and the walk back through them
#include "runtime/tape.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "runtime/elementwise.h"
#include "runtime/tape_record.h"
#include "runtime/timer.h"

namespace ricci {
namespace runtime {
namespace {

const Var::Record& require(const RecordPtr& record) {
    if (!record) tape_error(ErrorKind::name, "an empty variable is used", "param(array)");
    return *record;
}

/// The records that gradients flow through, each before the ones that it depends on. They are held:
/// releasing one lets go of those it was made from.
std::vector<RecordPtr> reverse_order(const RecordPtr& root, const std::vector<RecordPtr>& ends) {
    std::unordered_set<const Var::Record*> stops;
    for (const RecordPtr& end : ends) stops.insert(end.get());
    std::vector<RecordPtr> order;
    std::unordered_set<const Var::Record*> seen;
    // Depth-first with an explicit stack: (record, next argument to visit).
    std::vector<std::pair<RecordPtr, std::size_t>> stack = {{root, 0}};
    seen.insert(root.get());
    while (!stack.empty()) {
        auto& [record, next] = stack.back();
        if (next == record->arguments.size() || stops.contains(record.get())) {
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

/// The given cotangent, or 1 for a scalar.
Array cotangent_of(const Array& value, const Array& given) {
    if (given.is_empty_handle()) {
        if (value.rank() == 0) return Array::full(value.dtype(), {}, 1);
        tape_error(ErrorKind::shape,
                   format("a loss is a scalar, this one has shape {}", str(value.shape())),
                   "sum it first, as in L := sum[i](Y[i]), or give its cotangent: "
                   "backward(y, {.cotangent = dY})");
    }
    if (given.shape() != value.shape())
        tape_error(ErrorKind::shape,
                   format("the cotangent has shape {}, the value {}", str(given.shape()),
                          str(value.shape())),
                   format("give an array of shape {}", str(value.shape())));
    if (given.is_weak()) return given.to(value.dtype());
    if (given.dtype() != value.dtype())
        tape_error(ErrorKind::type,
                   format("the cotangent has type {}, the value {}", name(given.dtype()),
                          name(value.dtype())),
                   format("convert it: cotangent.to(DType::{})", name(value.dtype())));
    return given;
}

}  // namespace

void tape_error(ErrorKind kind, std::string message, std::string hint) {
    throw Error({.kind = kind, .message = std::move(message), .hint = std::move(hint)});
}

TapeMode& tape_mode() noexcept {
    static thread_local TapeMode mode;
    return mode;
}

Var TapeAccess::variable(RecordPtr record) {
    Var result;
    result.record_ = std::move(record);
    return result;
}

std::vector<RecordPtr> records_of(const std::vector<Var>& variables) {
    std::vector<RecordPtr> records;
    for (const Var& variable : variables) {
        (void)require(variable.record());
        records.push_back(variable.record());
    }
    return records;
}

bool is_recorded(const std::vector<RecordPtr>& arguments) {
    const TapeMode& mode = tape_mode();
    bool requires_grad = false;
    for (const RecordPtr& argument : arguments) {
        if (!argument->requires_grad) continue;
        requires_grad = true;
        if (mode.used && std::ranges::find(*mode.used, argument) == mode.used->end())
            mode.used->push_back(argument);
    }
    return requires_grad && mode.is_recording;
}

Var constant(Array value) { return Var(std::move(value)); }

Var recorded(Array value, std::vector<RecordPtr> arguments, std::unique_ptr<const TapeStep> step) {
    auto record = std::make_shared<Var::Record>();
    record->value = std::move(value);
    record->requires_grad = true;
    record->arguments = std::move(arguments);
    record->step = std::move(step);
    return TapeAccess::variable(std::move(record));
}

TapeGradients walk_back(const RecordPtr& root, const Array& cotangent,
                        const std::vector<RecordPtr>& ends) {
    TapeGradients result;
    result.visited = reverse_order(root, ends);
    std::unordered_set<const Var::Record*> stops;
    for (const RecordPtr& end : ends) stops.insert(end.get());
    for (const RecordPtr& record : result.visited) {
        if (!record->is_released || stops.contains(record.get())) continue;
        tape_error(ErrorKind::gradient, "backward was called before on a part of this loss",
                   "compute the loss again, or keep what it was made of: "
                   "backward(loss, {.retain = true})");
    }
    std::unordered_map<const Var::Record*, Array> cotangents;
    cotangents[root.get()] = cotangent;
    for (const RecordPtr& record : result.visited) {
        const auto found = cotangents.find(record.get());
        // A step may give no gradient: then there is nothing to hand on.
        if (found == cotangents.end()) continue;
        const Array own = std::move(found->second);
        cotangents.erase(found);
        if (record->is_leaf() || stops.contains(record.get())) {
            result.ends.emplace_back(record, own);
            continue;
        }
        std::vector<bool> wanted;
        for (const RecordPtr& argument : record->arguments)
            wanted.push_back(argument->requires_grad);
        const std::vector<Array> gradients = record->step->pull_back(record->value, own, wanted);
        for (std::size_t i = 0; i < gradients.size(); ++i) {
            if (!wanted[i] || gradients[i].is_empty_handle()) continue;
            Array& total = cotangents[record->arguments[i].get()];
            total = total.is_empty_handle() ? gradients[i] : sum(total, gradients[i]);
        }
    }
    return result;
}

}  // namespace runtime

using runtime::require;
using runtime::tape_error;

/// Chains of records may be long: they are taken apart one by one instead of by nested destructors.
void Var::Record::release() noexcept {
    std::vector<std::shared_ptr<Record>> pending = std::move(arguments);
    arguments.clear();
    step.reset();
    while (!pending.empty()) {
        const std::shared_ptr<Record> record = std::move(pending.back());
        pending.pop_back();
        if (record.use_count() > 1) continue;
        for (auto& argument : record->arguments) pending.push_back(std::move(argument));
        record->arguments.clear();
    }
}

Var::Var(Array value) : record_(std::make_shared<Record>()) { record_->value = std::move(value); }

const Array& Var::value() const { return require(record_).value; }
const Array& Var::grad() const { return require(record_).grad; }
bool Var::requires_grad() const { return require(record_).requires_grad; }
Var Var::detach() const { return Var(value()); }

void Var::clear_grad() {
    (void)require(record_);
    record_->grad = {};
}

void Var::set_value(Array value) {
    if (!require(record_).is_leaf()) {
        tape_error(ErrorKind::gradient, "the value of a variable that a function made is replaced",
                   "replace the values of parameters only");
    }
    record_->value = std::move(value);
}

Var param(Array value) {
    if (!is_floating(value.dtype())) {
        tape_error(ErrorKind::gradient,
                   format("a parameter of type {} has no gradient", name(value.dtype())),
                   "use f32 or f64");
    }
    Var variable(std::move(value));
    variable.record()->requires_grad = true;
    return variable;
}

NoGrad::NoGrad()
    : was_recording_(runtime::tape_mode().is_recording), was_used_(runtime::tape_mode().used) {
    runtime::tape_mode() = {.is_recording = false, .used = nullptr};
}

NoGrad::~NoGrad() { runtime::tape_mode() = {.is_recording = was_recording_, .used = was_used_}; }

void backward(const Var& value, const BackwardOptions& options) {
    const TimerSection section("backward");
    const Var::Record& root = require(value.record());
    const Array cotangent = runtime::cotangent_of(root.value, options.cotangent);
    if (!root.requires_grad)
        tape_error(ErrorKind::gradient, "the loss does not depend on a parameter", "param(array)");
    runtime::TapeGradients gradients = runtime::walk_back(value.record(), cotangent, {});
    for (auto& [record, gradient] : gradients.ends)
        if (!record->grad.is_empty_handle()) gradient = runtime::sum(record->grad, gradient);
    // All gradients are there: from here on nothing fails.
    for (auto& [record, gradient] : gradients.ends) record->grad = std::move(gradient);
    if (options.retain) return;
    for (const runtime::RecordPtr& record : gradients.visited) {
        if (record->is_leaf()) continue;
        record->is_released = true;
        record->release();
    }
}

}  // namespace ricci
