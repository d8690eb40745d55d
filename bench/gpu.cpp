// bench/gpu.cpp – how near are programs on a GPU to its limits and to NVIDIA's libraries?
// Expected: reductions at the bandwidth of copies, generated products of matrices at 0.8 of
// cuBLASLt
//
// Every workload is timed forward and for each gradient: with generated kernels, and as `auto` runs
// it (cuBLASLt and cuDNN where the plan names them). Times are those of the device, by events
// around many calls. Limits of the same run: a copy on the device, and FMA slots times the clock.
#include "runtime/cuda/gpu.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "codegen/plan.h"
#include "dsl/bound.h"
#include "dsl/canonical.h"
#include "dsl/work.h"
#include "runtime/function_state.h"

#include "bench/gpu_workloads.h"
#include "bench/harness.h"
#include "ricci/ricci.h"

namespace {

using namespace ricci;

constexpr int attribute_clock_khz = 13;  // CU_DEVICE_ATTRIBUTE_CLOCK_RATE

void check(cuda::Result result, const char* what) {
    if (result == cuda::success) return;
    std::fputs(format("{}: CUDA error {}\n", what, result).c_str(), stderr);
    std::exit(1);
}

/// Events around work on the compute stream.
class Stopwatch {
  public:
    explicit Stopwatch(cuda::Gpu& gpu) : gpu_(gpu) {
        check(gpu.driver().cuEventCreate(&begin_, 0), "cuEventCreate");
        check(gpu.driver().cuEventCreate(&end_, 0), "cuEventCreate");
    }
    ~Stopwatch() {
        (void)gpu_.driver().cuEventDestroy_v2(begin_);
        (void)gpu_.driver().cuEventDestroy_v2(end_);
    }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

    /// Seconds on the device of `count` runs.
    double time(const std::function<void()>& run, int count) {
        check(gpu_.driver().cuEventRecord(begin_, gpu_.compute_stream()), "cuEventRecord");
        for (int i = 0; i < count; ++i) run();
        check(gpu_.driver().cuEventRecord(end_, gpu_.compute_stream()), "cuEventRecord");
        check(gpu_.driver().cuEventSynchronize(end_), "cuEventSynchronize");
        float milliseconds = 0;
        check(gpu_.driver().cuEventElapsedTime(&milliseconds, begin_, end_), "cuEventElapsedTime");
        return static_cast<double>(milliseconds) / 1000;
    }

  private:
    cuda::Gpu& gpu_;
    cuda::Event begin_ = nullptr;
    cuda::Event end_ = nullptr;
};

/// The median of several samples of some 20 ms each.
double measure(cuda::Gpu& gpu, const std::function<void()>& run) {
    Stopwatch watch(gpu);
    run();
    run();
    const double once = std::max(watch.time(run, 3) / 3, 1e-7);
    const int count = static_cast<int>(std::clamp(0.02 / once, 1.0, 2000.0));
    std::vector<double> samples;
    for (int i = 0; i < 7; ++i) samples.push_back(watch.time(run, count) / count);
    std::ranges::sort(samples);
    return samples[samples.size() / 2];
}

struct Limits {
    double bytes_per_second = 0;
    double flops = 0;  ///< f32 multiply-adds outside the tensor cores
};

Limits measure_limits(cuda::Gpu& gpu) {
    const std::size_t bytes = std::size_t(1) << 30;
    const cuda::BlockPtr from = gpu.allocate(bytes);
    const cuda::BlockPtr to = gpu.allocate(bytes);
    const double seconds = measure(gpu, [&] { gpu.copy(to->pointer(), from->pointer(), bytes); });
    const double clock = 1000.0 * gpu.attribute(attribute_clock_khz);
    const double lanes = 128.0 * gpu.attribute(cuda::attribute_multiprocessors);
    return {.bytes_per_second = 2 * static_cast<double>(bytes) / seconds,
            .flops = 2 * lanes * clock};
}

BoundProgram bound(const Function& function, const Arguments& arguments) {
    Signature signature;
    for (const auto& [name, array] : arguments)
        if (function.program().argument(name))
            signature.emplace(name, runtime::spec_of(array, array.rank() == 0));
    return ricci::bind(canonicalise(function.program()), signature);
}

class Runner {
  public:
    Runner(cuda::Gpu& gpu, Limits limits) : gpu_(gpu), limits_(limits) {}

    /// Seconds by choice of kernels: `generated`, then `auto`. What a library takes
    /// for what is recognised, if it has a way, is in the row too.
    std::vector<double> row(const std::string& name, const std::function<Function()>& make,
                            const Arguments& arguments) {
        bench::Row row(name);
        std::vector<double> seconds;
        for (const char* choice : {"generated", "auto"}) {
            const double time = time_of(choice, make, arguments);
            const Work work = ricci::work_of(bound(make(), arguments));
            seconds.push_back(time);
            row.number(format("{}_us", choice), 1e6 * time);
            row.number(format("{}_tflops", choice), 1e-12 * work.operations / time);
            row.number(format("{}_of_fma_limit", choice), work.operations / time / limits_.flops);
            row.number(format("{}_of_copy_limit", choice),
                       work.bytes / time / limits_.bytes_per_second);
        }
        if (is_recognised(make(), arguments)) {
            try {
                row.number("library_us", 1e6 * time_of("library", make, arguments));
            } catch (const Error& error) {
                if (!error.diagnosis().message.starts_with("no library")) throw;
            }
        }
        row.print();
        return seconds;
    }

    [[nodiscard]] bool is_recognised(const Function& function, const Arguments& arguments) const {
        return !codegen::plan(bound(function, arguments), gpu_.target()).library_calls.empty();
    }

    double time_of(const char* choice, const std::function<Function()>& make,
                   const Arguments& arguments) {
        ::setenv("RICCI_CUDA_LIBRARIES", choice, 1);
        const Function function = make();
        return measure(gpu_, [&] { (void)function(arguments); });
    }

    void run(const bench::GpuWorkload& workload) {
        Arguments arguments;
        for (const auto& [name, array] : workload.arguments)
            arguments.emplace_back(name, array.to(Device::cuda));
        const auto forward = [&] { return compile(workload.text, {}, Device::cuda); };
        const std::vector<double> first = row(workload.name + " forward", forward, arguments);
        const Function function = forward();
        const Array result = function(arguments);
        Arguments with_cotangent = arguments;
        with_cotangent.emplace_back(
            "d" + function.program().at(function.program().result()).name,
            Array::randn(result.dtype(), result.shape(), 9).to(Device::cuda));
        std::vector<double> total = {0, 0};
        for (const std::string& argument : workload.wrt) {
            const std::vector<double> seconds = row(
                format("{} d{}", workload.name, argument), [&] { return forward().grad(argument); },
                with_cotangent);
            for (std::size_t i = 0; i < seconds.size(); ++i) total[i] += seconds[i];
        }
        bench::Row(workload.name + " gradients over forward")
            .number("generated", total[0] / first[0])
            .number("auto", total[1] / first[1])
            .print();
    }

  private:
    cuda::Gpu& gpu_;
    Limits limits_;
};

}  // namespace

int main(int argc, char** argv) {
    try {
        const std::shared_ptr<cuda::Gpu> gpu = cuda::Gpu::current();
        gpu->make_current();
        const Limits limits = measure_limits(*gpu);
        bench::Row("machine")
            .text("gpu", gpu->name())
            .text("target", gpu->target().cpu)
            .number("copy_gb_per_s", 1e-9 * limits.bytes_per_second)
            .number("fma_tflops", 1e-12 * limits.flops)
            .print();
        Runner runner(*gpu, limits);
        for (const bench::GpuWorkload& workload : bench::gpu_workloads()) {
            if (argc > 1 && !workload.name.starts_with(argv[1])) continue;
            runner.run(workload);
        }
        return 0;
    } catch (const Error& error) {
        std::fputs((std::string(error.what()) + "\n").c_str(), stderr);
        return 1;
    }
}
