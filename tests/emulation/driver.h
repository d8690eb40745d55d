// tests/emulation/driver.h – the functions of the emulated driver and NVRTC
#pragma once

#include "tests/emulation/device.h"

namespace ricci::emulation {

/// The image that an emulated PTX stands for; empty when the text is none.
[[nodiscard]] std::string image_of_ptx(std::string_view text);

/// The functions of the tables, each of the name that it has there.
struct DriverFunctions {
    static inline Device* self = nullptr;  ///< the device that they work on

    [[nodiscard]] static cuda::Driver driver();
    [[nodiscard]] static cuda::Nvrtc nvrtc();

    using Result = cuda::Result;
    using DeviceId = cuda::DeviceId;
    using DevicePointer = cuda::DevicePointer;
    using Context = cuda::Context;
    using ModuleHandle = cuda::ModuleHandle;
    using FunctionHandle = cuda::FunctionHandle;
    using Stream = cuda::Stream;
    using Event = cuda::Event;
    using Graph = cuda::Graph;
    using GraphExec = cuda::GraphExec;
    using NvrtcProgram = cuda::NvrtcProgram;

#define RICCI_DECLARE(name, result, parameters) static result name parameters;
    RICCI_CUDA_DRIVER(RICCI_DECLARE)
    RICCI_NVRTC(RICCI_DECLARE)
#undef RICCI_DECLARE

  private:
    enum class Needs : std::uint8_t { nothing, initialised, context };
    /// Counts a call; a result other than 0 when it is to fail.
    static Result note(const char* function);
    template <class F>
    static Result call(const char* function, Needs needs, F&& f);
    template <class F>
    static int call_nvrtc(const char* function, F&& f);
    /// What may not happen while a stream of this thread is captured.
    template <class F>
    static Result call_unsafe(const char* function, F&& f);

    template <class State, class Handle>
    static State* find(std::map<State*, std::unique_ptr<State>>& states, Handle handle);
    static Device::StreamState* find_stream(cuda::Stream stream);
    static void break_captures();
    static Result copy_work(Device::StreamState& stream, char* to, const char* from,
                            std::size_t bytes);
    static bool is_joined(const Device::Capture& capture, Device::WorkId last);
};

}  // namespace ricci::emulation
