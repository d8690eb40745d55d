// tests/emulation/device_test.cpp – the emulated driver and NVRTC by their tables
#include "tests/emulation/device.h"

#include <cstring>

#include <doctest/doctest.h>

#include "base/text.h"
#include "codegen/cuda/emit.h"

namespace ricci::tests {
namespace {

using emulation::Device;
using emulation::DeviceOptions;
using emulation::Streams;

constexpr std::string_view kernels = R"(
RC_KERNEL(64) add_one(RC_IN(float) x, RC_OUT(float) y) {
    const rc_i32 i = RC_BLOCK * 64 + RC_THREAD;
    if (i < 100) y[i] = x[i] + 1.0f;
}
RC_ENTRY(add_one)
RC_KERNEL(32) beyond(RC_OUT(float) y) { y[100 + RC_THREAD] = 0; }
RC_ENTRY(beyond)
RC_KERNEL(32) wide(RC_OUT(float) y) {
    RC_SHARED(float, tile, 0, 15000);
    tile[RC_THREAD] = 1;
    y[RC_THREAD] = tile[RC_THREAD];
}
RC_ENTRY(wide)
)";

/// A device with a context, a stream, and the kernels.
struct Session {
    explicit Session(DeviceOptions options = {})
        : device(std::move(options)), cuda(device.driver()) {
        REQUIRE(cuda.cuInit(0) == 0);
        cuda::Context context = nullptr;
        REQUIRE(cuda.cuDevicePrimaryCtxRetain(&context, 0) == 0);
        REQUIRE(cuda.cuCtxSetCurrent(context) == 0);
        REQUIRE(cuda.cuStreamCreate(&stream, cuda::stream_non_blocking) == 0);
        REQUIRE(cuda.cuModuleLoadData(&module, image().data()) == 0);
    }
    /// Compiled once.
    static const std::string& image() {
        static const std::string bytes = emulation::compile(kernels).image;
        REQUIRE(!bytes.empty());
        return bytes;
    }
    cuda::FunctionHandle function(const char* name) {
        cuda::FunctionHandle found = nullptr;
        REQUIRE(cuda.cuModuleGetFunction(&found, module, name) == 0);
        return found;
    }
    cuda::DevicePointer allocate(std::size_t count) {
        cuda::DevicePointer pointer = 0;
        REQUIRE(cuda.cuMemAlloc_v2(&pointer, count * sizeof(float)) == 0);
        return pointer;
    }
    int launch(cuda::FunctionHandle function, std::vector<cuda::DevicePointer> arguments,
               unsigned blocks = 2, unsigned threads = 64, unsigned shared = 0,
               cuda::Stream on = nullptr) {
        std::vector<void*> parameters;
        for (cuda::DevicePointer& each : arguments) parameters.push_back(&each);
        return cuda.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, shared,
                                   on == nullptr ? stream : on, parameters.data(), nullptr);
    }
    void upload(cuda::DevicePointer to, const std::vector<float>& values) {
        REQUIRE(cuda.cuMemcpyHtoDAsync_v2(to, values.data(), values.size() * sizeof(float),
                                          stream) == 0);
    }
    std::vector<float> download(cuda::DevicePointer from, std::size_t count = 100) {
        std::vector<float> values(count);
        REQUIRE(cuda.cuMemcpyDtoHAsync_v2(values.data(), from, count * sizeof(float), stream) == 0);
        return values;
    }

    Device device;
    const cuda::Driver& cuda;
    cuda::Stream stream = nullptr;
    cuda::ModuleHandle module = nullptr;
};

const std::vector<float> zeros(100, 0.0F);

}  // namespace

TEST_CASE("a program runs through the driver's table") {
    for (const Streams streams : {Streams::at_once, Streams::deferred}) {
        Session session({.streams = streams});
        const auto x = session.allocate(100);
        const auto y = session.allocate(100);
        session.upload(x, zeros);
        CHECK(session.launch(session.function("add_one"), {x, y}) == 0);
        CHECK(session.launch(session.function("add_one"), {y, x}) == 0);
        CHECK(session.download(x) == std::vector<float>(100, 2.0F));
        CHECK(session.device.fault() == "");
        CHECK(session.device.leaks() == "2 allocations, 1 stream, 1 module");
    }
}

TEST_CASE("nothing works before the driver is initialised and a context is current") {
    Device device;
    const cuda::Driver& cuda = device.driver();
    int count = 0;
    CHECK(cuda.cuDeviceGetCount(&count) == 3);
    CHECK(cuda.cuInit(0) == 0);
    CHECK(cuda.cuDeviceGetCount(&count) == 0);
    CHECK(count == 1);
    cuda::DevicePointer pointer = 0;
    CHECK(cuda.cuMemAlloc_v2(&pointer, 4) == 201);
    cuda::Context context = nullptr;
    CHECK(cuda.cuDevicePrimaryCtxRetain(&context, 0) == 0);
    CHECK(cuda.cuCtxSetCurrent(context) == 0);
    CHECK(cuda.cuMemAlloc_v2(&pointer, 4) == 0);
    CHECK(cuda.cuDevicePrimaryCtxRelease_v2(0) == 0);
    CHECK(device.leaks() == "");
    CHECK(cuda.cuMemAlloc_v2(&pointer, 4) == 201);
}

TEST_CASE("a kernel that fails makes all that follows fail, until the context is gone") {
    Session session;
    const auto y = session.allocate(100);
    const auto add_one = session.function("add_one");
    CHECK(session.launch(session.function("beyond"), {y}, 1, 32) == 0);
    CHECK(session.launch(add_one, {y, y}) == 700);
    CHECK(session.cuda.cuStreamSynchronize(session.stream) == 700);
    cuda::DevicePointer pointer = 0;
    CHECK(session.cuda.cuMemAlloc_v2(&pointer, 4) == 700);
    CHECK(session.device.fault() ==
          "beyond, block 0, thread 0 writes element 100 of y, which has 100");
    CHECK(session.cuda.cuDevicePrimaryCtxRelease_v2(0) == 0);
    cuda::Context context = nullptr;
    CHECK(session.cuda.cuDevicePrimaryCtxRetain(&context, 0) == 0);
    CHECK(session.cuda.cuCtxSetCurrent(context) == 0);
    CHECK(session.cuda.cuMemAlloc_v2(&pointer, 4) == 0);
}

TEST_CASE("launches have the limits of a device") {
    Session session;
    const auto x = session.allocate(100);
    const auto add_one = session.function("add_one");
    CHECK(session.launch(add_one, {x, x}, 0) == 1);
    CHECK(session.launch(add_one, {x, x}, 1, 0) == 1);
    CHECK(session.launch(add_one, {x, x}, 1, 2048) == 1);
    CHECK(session.launch(add_one, {x, x}, 1, 96) == 701);
    const auto wide = session.function("wide");
    CHECK(session.launch(wide, {x}, 1, 32, 60000) == 1);
    CHECK(session.cuda.cuFuncSetAttribute(wide, cuda::function_max_dynamic_shared, 300000) == 1);
    CHECK(session.cuda.cuFuncSetAttribute(wide, cuda::function_max_dynamic_shared, 60000) == 0);
    CHECK(session.launch(wide, {x}, 1, 32, 60000) == 0);
    CHECK(session.download(x, 32) == std::vector<float>(32, 1.0F));
    cuda::FunctionHandle none = nullptr;
    CHECK(session.cuda.cuModuleGetFunction(&none, session.module, "none") == 500);
}

TEST_CASE("copies stay within one allocation, and addresses are not the host's") {
    Session session;
    const auto x = session.allocate(100);
    std::vector<float> host(200);
    const auto copy = [&](cuda::DevicePointer to, std::size_t count) {
        return session.cuda.cuMemcpyHtoDAsync_v2(to, host.data(), count * sizeof(float),
                                                 session.stream);
    };
    CHECK(copy(x, 100) == 0);
    CHECK(copy(x, 101) == 1);
    CHECK(copy(x + 4, 99) == 0);
    CHECK(copy(x + 4, 100) == 1);
    CHECK(copy(reinterpret_cast<cuda::DevicePointer>(host.data()), 1) == 1);
    CHECK(session.cuda.cuMemsetD8Async(x, 0, 401, session.stream) == 1);
    CHECK(session.cuda.cuMemFree_v2(x + 4) == 1);
    CHECK(session.cuda.cuMemFree_v2(x) == 0);
    CHECK(session.cuda.cuMemFree_v2(x) == 1);
    CHECK(copy(x, 1) == 1);
}

TEST_CASE("new memory is no number, and there is only so much of it") {
    Session session({.memory_bytes = 1 << 20});
    const auto x = session.allocate(100);
    for (const float value : session.download(x)) CHECK(std::isnan(value));
    cuda::DevicePointer pointer = 0;
    CHECK(session.cuda.cuMemAlloc_v2(&pointer, 1 << 20) == 2);
    std::size_t free = 0;
    std::size_t total = 0;
    CHECK(session.cuda.cuMemGetInfo_v2(&free, &total) == 0);
    CHECK(free == (1 << 20) - 400);
    CHECK(session.cuda.cuMemAlloc_v2(&pointer, free) == 0);
}

TEST_CASE("a test says which call fails") {
    Session session;
    session.device.fail("cuMemAlloc_v2", 2, 2);
    cuda::DevicePointer pointer = 0;
    CHECK(session.cuda.cuMemAlloc_v2(&pointer, 4) == 0);
    CHECK(session.cuda.cuMemAlloc_v2(&pointer, 4) == 2);
    CHECK(session.cuda.cuMemAlloc_v2(&pointer, 4) == 0);
    CHECK(session.device.calls("cuMemAlloc_v2") == 3);
}

TEST_CASE("deferred streams go in any order that events allow") {
    int early = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        Session session({.manner = {.seed = seed}, .streams = Streams::deferred});
        cuda::Stream other = nullptr;
        cuda::Event event = nullptr;
        REQUIRE(session.cuda.cuStreamCreate(&other, cuda::stream_non_blocking) == 0);
        REQUIRE(session.cuda.cuEventCreate(&event, 0) == 0);
        const auto x = session.allocate(100);
        const auto y = session.allocate(100);
        const auto z = session.allocate(100);
        const auto add_one = session.function("add_one");
        session.upload(x, zeros);
        // Nothing orders this copy of x and the upload.
        REQUIRE(session.cuda.cuMemcpyDtoDAsync_v2(z, x, 400, other) == 0);
        REQUIRE(session.cuda.cuEventRecord(event, session.stream) == 0);
        REQUIRE(session.cuda.cuStreamWaitEvent(other, event, 0) == 0);
        REQUIRE(session.launch(add_one, {x, y}, 2, 64, 0, other) == 0);
        REQUIRE(session.cuda.cuEventRecord(event, other) == 0);
        REQUIRE(session.cuda.cuStreamWaitEvent(session.stream, event, 0) == 0);
        CHECK(session.download(y) == std::vector<float>(100, 1.0F));
        early += std::isnan(session.download(z)[0]) ? 1 : 0;
    }
    CHECK(early > 2);
    CHECK(early < 18);
}

TEST_CASE("what is copied from pinned memory is what is there when it is copied") {
    Session session({.streams = Streams::deferred});
    void* memory = nullptr;
    REQUIRE(session.cuda.cuMemHostAlloc(&memory, 400, 0) == 0);
    auto* pinned = static_cast<float*>(memory);
    std::fill_n(pinned, 100, 1.0F);
    const auto x = session.allocate(100);
    REQUIRE(session.cuda.cuMemcpyHtoDAsync_v2(x, pinned, 400, session.stream) == 0);
    std::fill_n(pinned, 100, 2.0F);
    CHECK(session.download(x)[0] == 2);
    std::vector<float> pageable(100, 3.0F);
    session.upload(x, pageable);
    std::fill_n(pageable.data(), 100, 4.0F);
    CHECK(session.download(x)[0] == 3);
    CHECK(session.cuda.cuMemFreeHost(pinned) == 0);
    CHECK(session.cuda.cuMemFreeHost(pinned) == 1);
}

TEST_CASE("events have times once they have passed") {
    Session session({.streams = Streams::deferred});
    cuda::Event begin = nullptr;
    cuda::Event end = nullptr;
    cuda::Event untimed = nullptr;
    REQUIRE(session.cuda.cuEventCreate(&begin, 0) == 0);
    REQUIRE(session.cuda.cuEventCreate(&end, 0) == 0);
    REQUIRE(session.cuda.cuEventCreate(&untimed, cuda::event_disable_timing) == 0);
    float time = -1;
    CHECK(session.cuda.cuEventElapsedTime(&time, begin, end) == 400);
    const auto x = session.allocate(100);
    REQUIRE(session.cuda.cuEventRecord(begin, session.stream) == 0);
    session.launch(session.function("add_one"), {x, x});
    REQUIRE(session.cuda.cuEventRecord(end, session.stream) == 0);
    REQUIRE(session.cuda.cuEventRecord(untimed, session.stream) == 0);
    CHECK(session.cuda.cuEventQuery(end) == cuda::error_not_ready);
    CHECK(session.cuda.cuEventElapsedTime(&time, begin, end) == cuda::error_not_ready);
    CHECK(session.cuda.cuEventSynchronize(untimed) == 0);
    CHECK(session.cuda.cuEventQuery(end) == 0);
    CHECK(session.cuda.cuEventElapsedTime(&time, begin, end) == 0);
    CHECK(time >= 0);
    CHECK(session.cuda.cuEventElapsedTime(&time, begin, untimed) == 400);
}

TEST_CASE("a captured stream does nothing until its graph is launched") {
    for (const Streams streams : {Streams::at_once, Streams::deferred}) {
        Session session({.streams = streams});
        const cuda::Driver& cuda = session.cuda;
        const auto x = session.allocate(100);
        session.upload(x, zeros);
        REQUIRE(cuda.cuStreamBeginCapture_v2(session.stream, cuda::capture_thread_local) == 0);
        for (int n = 0; n < 3; ++n) CHECK(session.launch(session.function("add_one"), {x, x}) == 0);
        cuda::Graph graph = nullptr;
        REQUIRE(cuda.cuStreamEndCapture(session.stream, &graph) == 0);
        CHECK(session.download(x)[0] == 0);
        cuda::GraphExec exec = nullptr;
        REQUIRE(cuda.cuGraphInstantiateWithFlags(&exec, graph, 0) == 0);
        CHECK(cuda.cuGraphDestroy(graph) == 0);
        CHECK(cuda.cuGraphLaunch(exec, session.stream) == 0);
        CHECK(cuda.cuGraphLaunch(exec, session.stream) == 0);
        CHECK(session.download(x)[0] == 6);
        CHECK(cuda.cuGraphExecDestroy(exec) == 0);
        CHECK(session.device.leaks() == "1 allocation, 1 stream, 1 module");
    }
}

TEST_CASE("streams join a capture by events and have to come back") {
    Session session({.streams = Streams::deferred});
    const cuda::Driver& cuda = session.cuda;
    cuda::Stream other = nullptr;
    cuda::Event event = nullptr;
    cuda::Graph graph = nullptr;
    REQUIRE(cuda.cuStreamCreate(&other, cuda::stream_non_blocking) == 0);
    REQUIRE(cuda.cuEventCreate(&event, 0) == 0);
    const auto x = session.allocate(100);
    session.upload(x, zeros);
    const auto capture = [&](bool comes_back) {
        REQUIRE(cuda.cuStreamBeginCapture_v2(session.stream, cuda::capture_thread_local) == 0);
        REQUIRE(cuda.cuEventRecord(event, session.stream) == 0);
        REQUIRE(cuda.cuStreamWaitEvent(other, event, 0) == 0);
        CHECK(session.launch(session.function("add_one"), {x, x}, 2, 64, 0, other) == 0);
        if (comes_back) {
            REQUIRE(cuda.cuEventRecord(event, other) == 0);
            REQUIRE(cuda.cuStreamWaitEvent(session.stream, event, 0) == 0);
        }
        return cuda.cuStreamEndCapture(session.stream, &graph);
    };
    CHECK(capture(false) == 904);
    CHECK(capture(true) == 0);
    CHECK(session.download(x)[0] == 0);
}

TEST_CASE("what may wait for the device spoils a capture") {
    Session session;
    const cuda::Driver& cuda = session.cuda;
    cuda::Graph graph = nullptr;
    cuda::DevicePointer pointer = 0;
    REQUIRE(cuda.cuStreamBeginCapture_v2(session.stream, cuda::capture_thread_local) == 0);
    CHECK(cuda.cuMemAlloc_v2(&pointer, 4) == 900);
    CHECK(cuda.cuStreamEndCapture(session.stream, &graph) == 901);
    REQUIRE(cuda.cuStreamBeginCapture_v2(session.stream, cuda::capture_thread_local) == 0);
    CHECK(cuda.cuStreamSynchronize(session.stream) == 900);
    CHECK(cuda.cuStreamEndCapture(session.stream, &graph) == 901);
    CHECK(cuda.cuMemAlloc_v2(&pointer, 4) == 0);
}

TEST_CASE("NVRTC compiles the kernels after the prelude, and keeps the log") {
    Device device;
    const cuda::Nvrtc& nvrtc = device.nvrtc();
    const auto compile = [&](const std::string& text, const char* option) {
        cuda::NvrtcProgram program = nullptr;
        REQUIRE(nvrtc.nvrtcCreateProgram(&program, text.c_str(), "k.cu", 0, nullptr, nullptr) == 0);
        const int result = nvrtc.nvrtcCompileProgram(program, 1, &option);
        std::size_t cubin = 0;
        std::size_t ptx = 0;
        std::size_t log = 0;
        nvrtc.nvrtcGetCUBINSize(program, &cubin);
        nvrtc.nvrtcGetPTXSize(program, &ptx);
        nvrtc.nvrtcGetProgramLogSize(program, &log);
        std::string messages(log, ' ');
        nvrtc.nvrtcGetProgramLog(program, messages.data());
        std::string bytes(ptx, ' ');
        nvrtc.nvrtcGetPTX(program, bytes.data());
        CHECK(nvrtc.nvrtcDestroyProgram(&program) == 0);
        return std::make_tuple(result, cubin, bytes, messages);
    };
    const std::string good = format("{}\n{}", codegen::cuda::prelude(), kernels);
    const auto [result, cubin, ptx, log] = compile(good, "--gpu-architecture=sm_90");
    CHECK(result == 0);
    CHECK(cubin > 1000);
    const auto [virtual_result, no_cubin, virtual_ptx, no_log] =
        compile(good, "--gpu-architecture=compute_80");
    CHECK(virtual_result == 0);
    CHECK(no_cubin == 0);
    const cuda::Driver& cuda = device.driver();
    cuda::Context context = nullptr;
    cuda::ModuleHandle module = nullptr;
    REQUIRE(cuda.cuInit(0) == 0);
    REQUIRE(cuda.cuDevicePrimaryCtxRetain(&context, 0) == 0);
    REQUIRE(cuda.cuCtxSetCurrent(context) == 0);
    CHECK(cuda.cuModuleLoadData(&module, virtual_ptx.c_str()) == 0);
    CHECK(cuda.cuModuleUnload(module) == 0);
    CHECK(cuda.cuModuleLoadData(&module, "no image") == 200);
    const auto [wrong, none, nothing, messages] =
        compile(good + "RC_KERNEL(32) wrong() { a = 1; }", "--gpu-architecture=sm_90");
    CHECK(wrong == 6);
    CHECK(messages.find("error: 'a' was not declared") != std::string::npos);
    CHECK(std::string(nvrtc.nvrtcGetErrorString(wrong)) == "NVRTC_ERROR_COMPILATION");
}

}  // namespace ricci::tests
