// tests/emulation/device.cpp – the work of the emulated device: streams, kernels, graphs
#include "tests/emulation/device.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "tests/emulation/driver.h"

namespace ricci::emulation {
namespace {

constexpr cuda::Result illegal_address = 700;

std::uint64_t next_context() {
    static std::uint64_t count = 0;
    return ++count;
}

}  // namespace

Device::Device(DeviceOptions options)
    : options_(std::move(options)), manner_(options_.manner), context_(next_context()) {
    RICCI_ASSERT(DriverFunctions::self == nullptr, "one emulated device at a time");
    random_.seed(manner_.seed);
    driver_ = DriverFunctions::driver();
    nvrtc_ = DriverFunctions::nvrtc();
    DriverFunctions::self = this;
}

Device::~Device() { DriverFunctions::self = nullptr; }

void Device::fail(std::string_view function, int n, int result, int times) {
    const std::lock_guard lock(mutex_);
    failures_[std::string(function)] = {.after = n - 1, .times = times, .result = result};
}

std::int64_t Device::calls(std::string_view function) const {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(function);
    return found == calls_.end() ? 0 : found->second;
}

std::string Device::fault() const {
    const std::lock_guard lock(mutex_);
    return fault_.empty() ? memory_.damage() : fault_;
}

std::string Device::leaks() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> kinds;
    const auto add = [&](std::size_t count, std::string_view what) {
        if (count > 0) kinds.push_back(plural(count, what));
    };
    add(memory_.count(), "allocation");
    add(pinned_.size(), "pinned allocation");
    add(streams_.size(), "stream");
    add(events_.size(), "event");
    add(graphs_.size(), "graph");
    add(execs_.size(), "executable graph");
    add(modules_.size(), "module");
    return join(kinds, ", ");
}

// --- streams -------------------------------------------------------------------------------------

/// Work of a stream: recorded where the stream is captured, otherwise in the queue.
Device::Result Device::give(StreamState& stream, std::function<Result()> run) {
    if (stream.capture) {
        Work node{.run = std::move(run), .after = std::exchange(stream.captured_waits, {})};
        if (stream.captured_last != 0) node.after.push_back(stream.captured_last);
        stream.capture->nodes.push_back(std::move(node));
        stream.captured_last = stream.capture->nodes.size();
        return cuda::success;
    }
    (void)enqueue(stream, std::move(run));
    return cuda::success;
}

char* Device::memory_at(cuda::DevicePointer address, std::size_t bytes) const {
    const std::lock_guard lock(mutex_);
    return memory_.at(address, bytes);
}

int Device::give_work(cuda::Stream stream, std::function<int()> work) {
    const std::lock_guard lock(mutex_);
    const auto found = streams_.find(reinterpret_cast<StreamState*>(stream));
    if (found == streams_.end()) return cuda::error_invalid_value;
    return give(*found->second, std::move(work));
}

Device::WorkId Device::enqueue(StreamState& stream, std::function<Result()> run) {
    Work work{.run = std::move(run), .after = std::exchange(stream.waits, {})};
    if (stream.last != 0) work.after.push_back(stream.last);
    // The default stream and those not made otherwise wait for each other.
    if (&stream == &default_stream_) {
        for (const auto& [key, other] : streams_)
            if (other->flags != cuda::stream_non_blocking) work.after.push_back(other->last);
    } else if (stream.flags != cuda::stream_non_blocking) {
        work.after.push_back(default_stream_.last);
    }
    const WorkId id = ++last_work_;
    pending_.emplace(id, std::move(work));
    stream.last = id;
    if (options_.streams == Streams::at_once) do_all();
    return id;
}

void Device::do_one(WorkId id) {
    Work work = std::move(pending_.at(id));
    if (sticky_ == 0) sticky_ = work.run();
    pending_.erase(id);
}

void Device::do_any() {
    std::vector<WorkId> ready;
    for (const auto& [id, work] : pending_)
        if (std::ranges::all_of(work.after, [&](WorkId before) { return is_done(before); }))
            ready.push_back(id);
    RICCI_ASSERT(!ready.empty(), "work that can be done");
    do_one(ready[random_() % ready.size()]);
}

void Device::do_until(WorkId id) {
    while (!is_done(id)) do_any();
}

void Device::do_all() {
    while (!pending_.empty()) do_any();
}

Device::Result Device::run_graph(const GraphState& graph) {
    std::vector<bool> is_node_done(graph.nodes.size());
    for (std::size_t count = 0; count < graph.nodes.size(); ++count) {
        std::vector<std::size_t> ready;
        for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
            const bool can_be_done = std::ranges::all_of(
                graph.nodes[n].after, [&](WorkId before) { return is_node_done[before - 1]; });
            if (!is_node_done[n] && can_be_done) ready.push_back(n);
        }
        const bool in_order = options_.streams == Streams::at_once;
        const std::size_t node = ready[in_order ? 0 : random_() % ready.size()];
        if (const Result result = graph.nodes[node].run(); result != 0) return result;
        is_node_done[node] = true;
    }
    return cuda::success;
}

// --- what is done --------------------------------------------------------------------------------

Device::Result Device::run_kernel(const FunctionState& function, const Launch& shape,
                                  const std::vector<Memory::Address>& arguments) {
    const auto cells = checks_of_this_program() == Checks::arrays ? Memory::Cells::per_element
                                                                  : Memory::Cells::none;
    const std::vector<std::string>& names = function.module->module->parameters(function.entry);
    Launch launch = shape;
    launch.entry = function.entry;
    // Twice: only then are the cells those that fit all.
    for (int round = 0; round < 2; ++round) {
        launch.arrays.clear();
        for (std::size_t n = 0; n < arguments.size(); ++n)
            launch.arrays.push_back(memory_.array(arguments[n], function.entry->element_bytes[n],
                                                  names[n].c_str(), cells));
    }
    Manner manner = manner_;
    manner.seed = random_() / 2 * 2 + manner_.seed % 2;
    std::optional<Fault> fault = Processor::instance().run(launch, manner);
    if (!fault && checks_of_this_program() != Checks::arrays)
        if (std::string damage = memory_.damage(); !damage.empty())
            fault = Fault{illegal_address, format("{}: {}", function.entry->name, damage)};
    if (!fault) return cuda::success;
    fault_ = std::move(fault->text);
    return fault->result;
}

bool Device::is_pinned(const void* pointer, std::size_t& bytes) const {
    const auto* at = static_cast<const char*>(pointer);
    auto after = pinned_.upper_bound(at);
    if (after == pinned_.begin()) return false;
    const auto& [begin, pinned] = *std::prev(after);
    if (at >= begin + pinned.bytes) return false;
    bytes = pinned.bytes - std::size_t(at - begin);
    return true;
}

void Device::reset_context() {
    do_all();
    functions_.clear();
    modules_.clear();
    execs_.clear();
    graphs_.clear();
    events_.clear();
    streams_.clear();
    pinned_.clear();
    memory_ = Memory();
    default_stream_ = {};
    sticky_ = 0;
    context_ = next_context();
}

}  // namespace ricci::emulation
