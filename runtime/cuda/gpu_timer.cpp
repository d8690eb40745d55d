// runtime/cuda/gpu_timer.cpp – a pair of events for each section, read when the table is made
#include "runtime/cuda/gpu_timer.h"

#include <utility>

#include "runtime/timer.h"

namespace ricci::cuda {

/// The events before and behind the work.
class GpuSection::Events : public runtime::LateTime {
  public:
    explicit Events(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}
    ~Events() override {
        if (gpu_->is_closed() || !gpu_->try_make_current()) return;
        for (const Event event : {begin_, end_})
            if (event != nullptr) (void)gpu_->driver().cuEventDestroy_v2(event);
    }
    Events(const Events&) = delete;
    Events& operator=(const Events&) = delete;

    bool begin(Stream stream) { return record(begin_, stream); }
    bool end(Stream stream) { return record(end_, stream); }

    State measure(bool waits, double& seconds) override {
        if (gpu_->is_closed() || !gpu_->try_make_current()) return State::lost;
        const Driver& driver = gpu_->driver();
        const Result result = waits ? driver.cuEventSynchronize(end_) : driver.cuEventQuery(end_);
        if (result == error_not_ready) return State::under_way;
        float milliseconds = 0;
        if (result != success || driver.cuEventElapsedTime(&milliseconds, begin_, end_) != success)
            return State::lost;
        seconds = 1e-3 * static_cast<double>(milliseconds);
        return State::known;
    }

  private:
    bool record(Event& event, Stream stream) {
        const Driver& driver = gpu_->driver();
        return driver.cuEventCreate(&event, 0) == success &&
               driver.cuEventRecord(event, stream) == success;
    }

    std::shared_ptr<Gpu> gpu_;
    Event begin_ = nullptr;
    Event end_ = nullptr;
};

GpuSection::GpuSection(Gpu& gpu, std::string_view name, Stream stream)
    : name_(name), stream_(stream) {
    if (!is_timing()) return;
    events_ = std::make_unique<Events>(gpu.shared_from_this());
    // A measurement is lost; the program that is measured goes on.
    if (!events_->begin(stream_)) events_.reset();
}

GpuSection::~GpuSection() {
    if (events_ && events_->end(stream_)) runtime::add_late_section(name_, std::move(events_));
}

}  // namespace ricci::cuda
