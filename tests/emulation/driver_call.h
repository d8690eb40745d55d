// tests/emulation/driver_call.h – what the functions of the emulated driver have in common
#pragma once

#include <algorithm>
#include <mutex>

#include "tests/emulation/driver.h"

namespace ricci::emulation {

// The driver's errors (cuda.h).
inline constexpr cuda::Result not_initialised = 3;
inline constexpr cuda::Result no_driver = 4;
inline constexpr cuda::Result invalid_device = 101;
inline constexpr cuda::Result invalid_image = 200;
inline constexpr cuda::Result invalid_context = 201;
inline constexpr cuda::Result invalid_handle = 400;
inline constexpr cuda::Result too_many_resources = 701;
inline constexpr cuda::Result capture_unsupported = 900;
inline constexpr cuda::Result capture_invalidated = 901;
inline constexpr cuda::Result capture_unmatched = 903;
inline constexpr cuda::Result capture_unjoined = 904;
inline constexpr cuda::Result capture_isolation = 905;

/// The context that is current in this thread, by its number; 0: none.
inline thread_local std::uint64_t current_context = 0;

template <class Handle, class State>
Handle handle_of(State* state) {
    return reinterpret_cast<Handle>(state);
}

template <class F>
DriverFunctions::Result DriverFunctions::call(const char* function, Needs needs, F&& f) {
    if (const Result failure = note(function); failure != cuda::success) return failure;
    Device& device = *self;
    const std::lock_guard lock(device.mutex_);
    if (needs != Needs::nothing && !device.is_initialised_) return not_initialised;
    if (needs == Needs::context) {
        if (device.context_count_ == 0 || current_context != device.context_)
            return invalid_context;
        if (device.sticky_ != 0) return device.sticky_;
    }
    return f(device);
}

template <class F>
DriverFunctions::Result DriverFunctions::call_unsafe(const char* function, F&& f) {
    return call(function, Needs::context, [&](Device& device) {
        const bool is_captured = std::ranges::any_of(
            device.streams_, [](const auto& each) { return each.second->capture != nullptr; });
        if (is_captured) {
            break_captures();
            return capture_unsupported;
        }
        return Result(f(device));
    });
}

template <class State, class Handle>
State* DriverFunctions::find(std::map<State*, std::unique_ptr<State>>& states, Handle handle) {
    const auto found = states.find(reinterpret_cast<State*>(handle));
    return found == states.end() ? nullptr : found->second.get();
}

}  // namespace ricci::emulation
