// runtime/cuda/gpu_timer.h – how long work on a GPU takes, by events
#pragma once

#include <memory>
#include <string_view>

#include "runtime/cuda/api.h"
#include "runtime/cuda/gpu.h"

namespace ricci::cuda {

/// A section of the table of times (runtime/timer.h) for what is enqueued on a stream while the
/// object lives, inside the section that this thread has open. Its time is the GPU's, known only
/// when the work is done. Nothing is measured unless times are asked for.
class GpuSection {
  public:
    GpuSection(Gpu& gpu, std::string_view name, Stream stream);
    ~GpuSection();
    GpuSection(const GpuSection&) = delete;
    GpuSection& operator=(const GpuSection&) = delete;

  private:
    class Events;
    std::string_view name_;
    Stream stream_;
    std::unique_ptr<Events> events_;
};

}  // namespace ricci::cuda
