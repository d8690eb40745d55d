// runtime/cuda/graph.cpp – capturing runs, and keeping the last used ones
#include "runtime/cuda/graph.h"

#include <algorithm>

#include "runtime/cuda/error.h"

namespace ricci::cuda {
namespace {

// A training step meets a few sets of addresses in turn, as memory is handed out.
constexpr std::size_t max_entries = 16;

}  // namespace

GraphCache::~GraphCache() {
    for (const Entry& entry : entries_)
        if (entry.exec != nullptr) gpu_->destroy_graph(entry.exec);
}

GraphCache::Entry& GraphCache::entry_for(const std::vector<DevicePointer>& addresses,
                                         bool& is_new) {
    const auto found = std::ranges::find(entries_, addresses, &Entry::addresses);
    is_new = found == entries_.end();
    if (!is_new) {
        entries_.splice(entries_.begin(), entries_, found);
        return entries_.front();
    }
    entries_.push_front({.addresses = addresses});
    if (entries_.size() > max_entries) {
        if (entries_.back().exec != nullptr) gpu_->destroy_graph(entries_.back().exec);
        entries_.pop_back();
    }
    return entries_.front();
}

GraphExec GraphCache::captured(const Enqueue& enqueue) const {
    Gpu::Capture capture = gpu_->begin_capture();
    try {
        enqueue(capture.stream);
    } catch (...) {
        gpu_->discard_capture(capture);
        throw;
    }
    return gpu_->instantiate(gpu_->end_capture(capture));
}

void GraphCache::launch(const std::vector<DevicePointer>& addresses, Capture capture,
                        const Enqueue& enqueue) {
    const std::lock_guard lock(mutex_);
    bool is_new = false;
    Entry& entry = entry_for(addresses, is_new);
    if (entry.exec == nullptr) {
        if (is_new && capture == Capture::when_repeated) {
            enqueue(gpu_->compute_stream());
            return;
        }
        entry.exec = captured(enqueue);
    }
    check(gpu_->driver().cuGraphLaunch(entry.exec, gpu_->compute_stream()),
          "launching a graph of kernels");
}

}  // namespace ricci::cuda
