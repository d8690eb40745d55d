// runtime/storage.cpp – bringing data to where it is needed
#include "runtime/storage.h"

#include <utility>

#include "base/error.h"
#include "runtime/cuda/gpu.h"

namespace ricci::runtime {

Storage::Storage(std::size_t size_bytes)
    : where_(on_host),
      has_host_(true),
      size_bytes_(size_bytes),
      own_(host_pool().take(size_bytes)) {
    host_ = static_cast<std::byte*>(own_.get());
}

Storage::Storage(void* begin, std::size_t size_bytes) noexcept
    : where_(on_host),
      has_host_(true),
      is_users_(true),
      host_(static_cast<std::byte*>(begin)),
      size_bytes_(size_bytes) {}

Storage::Storage(std::shared_ptr<cuda::Block> block, std::size_t size_bytes) noexcept
    : where_(on_gpu), has_host_(false), size_bytes_(size_bytes), block_(std::move(block)) {
    note_new_gpu_data();
}

Storage::~Storage() = default;

/// The GPU was given up: what the host has is all there is.
void Storage::drop_lost_block() {
    if (!block_ || !block_->is_lost()) return;
    if (!is_on_host()) {
        throw Error({.kind = ErrorKind::device,
                     .message = "the data of an array was on a GPU that was given up",
                     .hint = "read it, or move it with to(Device::cpu), before"});
    }
    block_.reset();
    where_.store(on_host, std::memory_order_release);
}

std::byte* Storage::bring_to_host() {
    const std::lock_guard lock(mutex_);
    if (is_on_host()) return host_;
    drop_lost_block();
    if (host_ == nullptr) {
        own_ = host_pool().take(size_bytes_);
        host_ = static_cast<std::byte*>(own_.get());
        has_host_.store(true, std::memory_order_release);
    }
    if (size_bytes_ > 0) cuda::Gpu::current()->download(host_, block_->pointer(), size_bytes_);
    where_.store(on_host | on_gpu, std::memory_order_release);
    return host_;
}

std::byte* Storage::take_to_host() {
    std::byte* const host = read();
    // The block is kept: whoever writes in a loop between calls uses one.
    where_.store(on_host, std::memory_order_release);
    return host;
}

std::shared_ptr<cuda::Block> Storage::read_on_gpu(cuda::Gpu& gpu) {
    const std::lock_guard lock(mutex_);
    drop_lost_block();
    if (is_on_gpu()) return block_;
    if (block_)
        gpu.upload(*block_, host_, size_bytes_);
    else
        block_ = gpu.upload(host_, size_bytes_);
    note_new_gpu_data();
    if (!is_users_) where_.store(on_host | on_gpu, std::memory_order_release);
    return block_;
}

void Storage::note_new_gpu_data() noexcept {
    static std::atomic<std::uint64_t> last = 0;
    gpu_version_.store(++last, std::memory_order_release);
}

void Storage::note_written_on_gpu() noexcept {
    note_new_gpu_data();
    if (!is_users_) where_.store(on_gpu, std::memory_order_release);
}

void Storage::forget_gpu() noexcept { where_.store(on_host, std::memory_order_release); }

std::shared_ptr<cuda::Block> Storage::gpu_block() const {
    const std::lock_guard lock(mutex_);
    return block_;
}

}  // namespace ricci::runtime
