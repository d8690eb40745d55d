// tests/emulation/driver_streams.cpp – the emulated driver: streams, events, graphs
#include <utility>

#include "tests/emulation/driver_call.h"

namespace ricci::emulation {

using cuda::Result;
using cuda::success;

// --- streams, events, graphs ---------------------------------------------------------------------

Result DriverFunctions::cuStreamCreate(cuda::Stream* stream, unsigned flags) {
    return call_unsafe("cuStreamCreate", [&](Device& device) {
        if (flags > cuda::stream_non_blocking) return cuda::error_invalid_value;
        auto state = std::make_unique<Device::StreamState>();
        state->flags = flags;
        *stream = handle_of<cuda::Stream>(state.get());
        device.streams_.emplace(state.get(), std::move(state));
        return success;
    });
}
Result DriverFunctions::cuStreamDestroy_v2(cuda::Stream stream) {
    return call("cuStreamDestroy_v2", Needs::context, [&](Device& device) {
        Device::StreamState* state = find(device.streams_, stream);
        if (state == nullptr) return invalid_handle;
        if (state->capture) break_captures();
        device.streams_.erase(state);
        return success;
    });
}
Result DriverFunctions::cuStreamSynchronize(cuda::Stream stream) {
    return call("cuStreamSynchronize", Needs::context, [&](Device& device) {
        Device::StreamState* state = find_stream(stream);
        if (state == nullptr) return invalid_handle;
        if (state->capture) {
            break_captures();
            return capture_unsupported;
        }
        device.do_until(state->last);
        return device.sticky_;
    });
}
Result DriverFunctions::cuStreamWaitEvent(cuda::Stream stream, cuda::Event event,
                                          unsigned /*flags*/) {
    return call("cuStreamWaitEvent", Needs::context, [&](Device& device) {
        Device::StreamState* state = find_stream(stream);
        const Device::EventState* waited = find(device.events_, event);
        if (state == nullptr || waited == nullptr) return invalid_handle;
        if (waited->capture) {
            if (state->capture && state->capture != waited->capture) {
                break_captures();
                return capture_isolation;
            }
            state->capture = waited->capture;
            state->captured_waits.push_back(waited->captured_work);
            return success;
        }
        if (state->capture) {
            if (waited->work == 0) return success;
            break_captures();
            return capture_isolation;
        }
        state->waits.push_back(waited->work);
        return success;
    });
}
Result DriverFunctions::cuStreamBeginCapture_v2(cuda::Stream stream, int mode) {
    return call("cuStreamBeginCapture_v2", Needs::context, [&](Device& device) {
        Device::StreamState* state = find(device.streams_, stream);
        if (stream == nullptr) return capture_unsupported;
        if (state == nullptr) return invalid_handle;
        if (mode < 0 || mode > 2 || state->capture) return cuda::error_invalid_value;
        state->capture = std::make_shared<Device::Capture>();
        state->capture->origin = state;
        state->captured_last = 0;
        state->captured_waits.clear();
        return success;
    });
}

/// Whether all nodes come before that one, or are it.
bool DriverFunctions::is_joined(const Device::Capture& capture, Device::WorkId last) {
    std::vector<bool> is_before(capture.nodes.size() + 1);
    is_before[last] = true;
    for (std::size_t n = capture.nodes.size(); n > 0; --n)
        if (is_before[n])
            for (const Device::WorkId before : capture.nodes[n - 1].after) is_before[before] = true;
    return std::all_of(is_before.begin() + 1, is_before.end(), [](bool b) { return b; });
}

Result DriverFunctions::cuStreamEndCapture(cuda::Stream stream, cuda::Graph* graph) {
    return call("cuStreamEndCapture", Needs::context, [&](Device& device) {
        Device::StreamState* state = find(device.streams_, stream);
        if (state == nullptr) return invalid_handle;
        *graph = nullptr;
        if (!state->capture) return cuda::error_invalid_value;
        if (state->capture->origin != state) return capture_unmatched;
        // What the origin waits for last needs a node of its own.
        if (!state->captured_waits.empty()) (void)device.give(*state, [] { return success; });
        const std::shared_ptr<Device::Capture> capture = state->capture;
        const Device::WorkId last = state->captured_last;
        for (const auto& [key, each] : device.streams_) {
            if (each->capture != capture) continue;
            each->capture = nullptr;
            each->captured_last = 0;
            each->captured_waits.clear();
        }
        for (const auto& [key, event] : device.events_)
            if (event->capture == capture) event->capture = nullptr;
        if (capture->is_broken) return capture_invalidated;
        if (!is_joined(*capture, last)) return capture_unjoined;
        auto made = std::make_unique<Device::GraphState>();
        made->nodes = std::move(capture->nodes);
        *graph = handle_of<cuda::Graph>(made.get());
        device.graphs_.emplace(made.get(), std::move(made));
        return success;
    });
}
Result DriverFunctions::cuGraphInstantiateWithFlags(cuda::GraphExec* exec, cuda::Graph graph,
                                                    unsigned long long /*flags*/) {
    return call("cuGraphInstantiateWithFlags", Needs::context, [&](Device& device) {
        const Device::GraphState* state = find(device.graphs_, graph);
        if (state == nullptr) return invalid_handle;
        auto made = std::make_shared<Device::GraphState>(*state);
        *exec = handle_of<cuda::GraphExec>(made.get());
        device.execs_.emplace(made.get(), made);
        return success;
    });
}
Result DriverFunctions::cuGraphLaunch(cuda::GraphExec exec, cuda::Stream stream) {
    return call("cuGraphLaunch", Needs::context, [&](Device& device) {
        const auto found = device.execs_.find(reinterpret_cast<Device::GraphState*>(exec));
        Device::StreamState* state = find_stream(stream);
        if (found == device.execs_.end() || state == nullptr) return invalid_handle;
        return device.give(*state,
                           [&device, graph = found->second] { return device.run_graph(*graph); });
    });
}
Result DriverFunctions::cuGraphExecDestroy(cuda::GraphExec exec) {
    return call("cuGraphExecDestroy", Needs::context, [&](Device& device) {
        const bool is_there = device.execs_.erase(reinterpret_cast<Device::GraphState*>(exec)) > 0;
        return is_there ? success : invalid_handle;
    });
}
Result DriverFunctions::cuGraphDestroy(cuda::Graph graph) {
    return call("cuGraphDestroy", Needs::context, [&](Device& device) {
        const bool is_there =
            device.graphs_.erase(reinterpret_cast<Device::GraphState*>(graph)) > 0;
        return is_there ? success : invalid_handle;
    });
}
Result DriverFunctions::cuEventCreate(cuda::Event* event, unsigned flags) {
    return call("cuEventCreate", Needs::context, [&](Device& device) {
        auto state = std::make_unique<Device::EventState>();
        state->flags = flags;
        *event = handle_of<cuda::Event>(state.get());
        device.events_.emplace(state.get(), std::move(state));
        return success;
    });
}
Result DriverFunctions::cuEventRecord(cuda::Event event, cuda::Stream stream) {
    return call("cuEventRecord", Needs::context, [&](Device& device) {
        Device::EventState* state = find(device.events_, event);
        Device::StreamState* recorded = find_stream(stream);
        if (state == nullptr || recorded == nullptr) return invalid_handle;
        if (recorded->capture) {
            (void)device.give(*recorded, [] { return success; });
            state->capture = recorded->capture;
            state->captured_work = recorded->captured_last;
            return success;
        }
        state->capture = nullptr;
        state->time = std::make_shared<Device::Clock::time_point>();
        state->work = device.enqueue(*recorded, [time = state->time] {
            *time = Device::Clock::now();
            return success;
        });
        return success;
    });
}
Result DriverFunctions::cuEventQuery(cuda::Event event) {
    return call("cuEventQuery", Needs::context, [&](Device& device) {
        const Device::EventState* state = find(device.events_, event);
        if (state == nullptr) return invalid_handle;
        if (state->capture) {
            break_captures();
            return capture_unsupported;
        }
        if (device.is_done(state->work)) return success;
        device.do_any();  // who asks again and again sees the end
        return device.sticky_ != 0 ? device.sticky_ : cuda::error_not_ready;
    });
}
Result DriverFunctions::cuEventSynchronize(cuda::Event event) {
    return call("cuEventSynchronize", Needs::context, [&](Device& device) {
        const Device::EventState* state = find(device.events_, event);
        if (state == nullptr) return invalid_handle;
        if (state->capture) {
            break_captures();
            return capture_unsupported;
        }
        device.do_until(state->work);
        return device.sticky_;
    });
}
Result DriverFunctions::cuEventElapsedTime(float* milliseconds, cuda::Event begin,
                                           cuda::Event end) {
    return call("cuEventElapsedTime", Needs::context, [&](Device& device) {
        const Device::EventState* first = find(device.events_, begin);
        const Device::EventState* second = find(device.events_, end);
        if (first == nullptr || second == nullptr) return invalid_handle;
        const auto is_timed = [](const Device::EventState& event) {
            return event.work != 0 && (event.flags & cuda::event_disable_timing) == 0;
        };
        if (!is_timed(*first) || !is_timed(*second)) return invalid_handle;
        if (!device.is_done(first->work) || !device.is_done(second->work))
            return cuda::error_not_ready;
        const std::chrono::duration<float, std::milli> time = *second->time - *first->time;
        *milliseconds = time.count();
        return success;
    });
}
Result DriverFunctions::cuEventDestroy_v2(cuda::Event event) {
    return call("cuEventDestroy_v2", Needs::context, [&](Device& device) {
        Device::EventState* state = find(device.events_, event);
        if (state == nullptr) return invalid_handle;
        device.events_.erase(state);
        return success;
    });
}

}  // namespace ricci::emulation
