// runtime/cuda/staging.cpp – filling one pinned buffer while the other is on its way
#include "runtime/cuda/staging.h"

#include <algorithm>
#include <cstring>

#include "runtime/cuda/error.h"

namespace ricci::cuda {
namespace {

// Pieces begin where the device copies fastest.
constexpr std::size_t piece_alignment = 256;

}  // namespace

Staging::Staging(const Driver& driver, std::size_t buffer_bytes)
    : driver_(driver), buffer_bytes_(buffer_bytes) {}

void Staging::require_buffers() {
    for (Buffer& buffer : buffers_) {
        if (buffer.done == nullptr)
            check(driver_.cuEventCreate(&buffer.done, event_disable_timing), "making an event");
        if (buffer.memory != nullptr) continue;
        void* memory = nullptr;
        check(driver_.cuMemHostAlloc(&memory, buffer_bytes_, 0),
              "allocating {} bytes of pinned memory", buffer_bytes_);
        buffer.memory = static_cast<char*>(memory);
    }
}

/// The copies enqueued so far are the buffer's last: it is used again when they are done.
void Staging::start(Buffer& buffer, Stream stream) {
    check(driver_.cuEventRecord(buffer.done, stream), "recording an event");
    buffer.is_under_way = true;
}

void Staging::wait_for(Buffer& buffer) {
    if (buffer.is_under_way) check(driver_.cuEventSynchronize(buffer.done), "waiting for a copy");
    buffer.is_under_way = false;
}

void Staging::upload(DevicePointer to, const void* from, std::size_t bytes, Stream stream) {
    const std::lock_guard lock(mutex_);
    require_buffers();
    const char* source = static_cast<const char*>(from);
    while (bytes > 0) {
        Buffer* buffer = &buffers_[current_];
        if (buffer->used_bytes >= buffer_bytes_) {
            start(*buffer, stream);
            current_ = 1 - current_;
            buffer = &buffers_[current_];
            wait_for(*buffer);
            buffer->used_bytes = 0;
        }
        const std::size_t piece = std::min(bytes, buffer_bytes_ - buffer->used_bytes);
        char* const staged = buffer->memory + buffer->used_bytes;
        std::memcpy(staged, source, piece);
        // Used from here on, whether the copy starts or not.
        buffer->used_bytes += (piece + piece_alignment - 1) / piece_alignment * piece_alignment;
        check(driver_.cuMemcpyHtoDAsync_v2(to, staged, piece, stream),
              "copying {} bytes to the GPU", piece);
        to += piece;
        source += piece;
        bytes -= piece;
    }
}

void Staging::download(void* to, DevicePointer from, std::size_t bytes, Stream stream) {
    const std::lock_guard lock(mutex_);
    require_buffers();
    char* target = static_cast<char*>(to);
    const auto fetch = [&](std::size_t at) {
        Buffer& buffer = buffers_[at / buffer_bytes_ % 2];
        wait_for(buffer);
        const std::size_t piece = std::min(bytes - at, buffer_bytes_);
        check(driver_.cuMemcpyDtoHAsync_v2(buffer.memory, from + at, piece, stream),
              "copying {} bytes from the GPU", piece);
        start(buffer, stream);
    };
    if (bytes > 0) fetch(0);
    for (std::size_t at = 0; at < bytes; at += buffer_bytes_) {
        if (at + buffer_bytes_ < bytes) fetch(at + buffer_bytes_);
        Buffer& buffer = buffers_[at / buffer_bytes_ % 2];
        wait_for(buffer);
        std::memcpy(target + at, buffer.memory, std::min(bytes - at, buffer_bytes_));
    }
}

void Staging::close() noexcept {
    const std::lock_guard lock(mutex_);
    for (Buffer& buffer : buffers_) {
        if (buffer.done != nullptr) (void)driver_.cuEventDestroy_v2(buffer.done);
        if (buffer.memory != nullptr) (void)driver_.cuMemFreeHost(buffer.memory);
        buffer = {};
    }
    current_ = 0;
}

}  // namespace ricci::cuda
