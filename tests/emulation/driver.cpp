// tests/emulation/driver.cpp – the emulated driver: device, memory, kernels

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "tests/emulation/driver_call.h"

namespace ricci::emulation {
namespace {

using cuda::Result;
using cuda::success;

struct ErrorRow {
    Result result;
    const char* name;
    const char* text;
};
constexpr ErrorRow error_rows[] = {
    {success, "CUDA_SUCCESS", "no error"},
    {cuda::error_invalid_value, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {cuda::error_out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {not_initialised, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {no_driver, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {cuda::error_no_device, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {invalid_device, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {invalid_image, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {invalid_context, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {invalid_handle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {cuda::error_not_found, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {cuda::error_not_ready, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {too_many_resources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {capture_unsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {capture_invalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {capture_unmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "the capture was not initiated in this stream"},
    {capture_unjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    {capture_isolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "dependency created on uncaptured work in another stream"},
};

const ErrorRow* find_error(Result result) {
    const auto* found = std::ranges::find(error_rows, result, &ErrorRow::result);
    return found == std::end(error_rows) ? nullptr : found;
}

}  // namespace

cuda::Driver DriverFunctions::driver() {
    cuda::Driver table;
#define RICCI_FILL(name, result, parameters) table.name = &DriverFunctions::name;
    RICCI_CUDA_DRIVER(RICCI_FILL)
#undef RICCI_FILL
    return table;
}

Result DriverFunctions::note(const char* function) {
    if (self == nullptr) return no_driver;
    Device& device = *self;
    const std::lock_guard lock(device.mutex_);
    ++device.calls_[function];
    const auto found = device.failures_.find(std::string_view(function));
    if (found == device.failures_.end() || found->second.after-- > 0) return success;
    const Result result = found->second.result;
    if (--found->second.times <= 0) device.failures_.erase(found);
    return result;
}

Device::StreamState* DriverFunctions::find_stream(cuda::Stream stream) {
    return stream == nullptr ? &self->default_stream_ : find(self->streams_, stream);
}

void DriverFunctions::break_captures() {
    for (const auto& [key, stream] : self->streams_)
        if (stream->capture) stream->capture->is_broken = true;
}

// --- the driver, devices, contexts ---------------------------------------------------------------

Result DriverFunctions::cuInit(unsigned flags) {
    return call("cuInit", Needs::nothing, [&](Device& device) {
        if (flags != 0) return cuda::error_invalid_value;
        device.is_initialised_ = true;
        return success;
    });
}
Result DriverFunctions::cuDriverGetVersion(int* version) {
    return call("cuDriverGetVersion", Needs::nothing, [&](Device&) {
        *version = 13000;
        return success;
    });
}
Result DriverFunctions::cuDeviceGetCount(int* count) {
    return call("cuDeviceGetCount", Needs::initialised, [&](Device&) {
        *count = 1;
        return success;
    });
}
Result DriverFunctions::cuDeviceGet(cuda::DeviceId* id, int ordinal) {
    return call("cuDeviceGet", Needs::initialised, [&](Device&) {
        if (ordinal != 0) return invalid_device;
        *id = 0;
        return success;
    });
}
Result DriverFunctions::cuDeviceGetName(char* name, int size, cuda::DeviceId id) {
    return call("cuDeviceGetName", Needs::initialised, [&](Device& device) {
        if (id != 0 || size <= 0) return cuda::error_invalid_value;
        const std::string text = device.options_.name.substr(0, std::size_t(size) - 1);
        std::memcpy(name, text.c_str(), text.size() + 1);
        return success;
    });
}
Result DriverFunctions::cuDeviceGetAttribute(int* value, int attribute, cuda::DeviceId id) {
    return call("cuDeviceGetAttribute", Needs::initialised, [&](Device& device) {
        if (id != 0) return invalid_device;
        const DeviceOptions& options = device.options_;
        switch (attribute) {
            case cuda::attribute_max_shared_optin: *value = options.shared_bytes; break;
            case cuda::attribute_multiprocessors:  *value = options.multiprocessors; break;
            case cuda::attribute_capability_major: *value = options.capability / 10; break;
            case cuda::attribute_capability_minor: *value = options.capability % 10; break;
            default:                               return cuda::error_invalid_value;
        }
        return success;
    });
}
Result DriverFunctions::cuDeviceTotalMem_v2(std::size_t* bytes, cuda::DeviceId id) {
    return call("cuDeviceTotalMem_v2", Needs::initialised, [&](Device& device) {
        if (id != 0) return invalid_device;
        *bytes = device.options_.memory_bytes;
        return success;
    });
}
Result DriverFunctions::cuDevicePrimaryCtxRetain(cuda::Context* context, cuda::DeviceId id) {
    return call("cuDevicePrimaryCtxRetain", Needs::initialised, [&](Device& device) {
        if (id != 0) return invalid_device;
        ++device.context_count_;
        *context = reinterpret_cast<cuda::Context>(std::uintptr_t(device.context_));
        return success;
    });
}
Result DriverFunctions::cuDevicePrimaryCtxRelease_v2(cuda::DeviceId id) {
    return call("cuDevicePrimaryCtxRelease_v2", Needs::initialised, [&](Device& device) {
        if (id != 0) return invalid_device;
        if (device.context_count_ == 0) return invalid_context;
        if (--device.context_count_ == 0) device.reset_context();
        return success;
    });
}
Result DriverFunctions::cuCtxSetCurrent(cuda::Context context) {
    return call("cuCtxSetCurrent", Needs::initialised, [&](Device& device) {
        const auto number = std::uint64_t(reinterpret_cast<std::uintptr_t>(context));
        if (number != 0 && (device.context_count_ == 0 || number != device.context_))
            return invalid_context;
        current_context = number;
        return success;
    });
}
Result DriverFunctions::cuGetErrorName(Result error, const char** text) {
    const ErrorRow* row = find_error(error);
    *text = row == nullptr ? nullptr : row->name;
    return row == nullptr ? cuda::error_invalid_value : success;
}
Result DriverFunctions::cuGetErrorString(Result error, const char** text) {
    const ErrorRow* row = find_error(error);
    *text = row == nullptr ? nullptr : row->text;
    return row == nullptr ? cuda::error_invalid_value : success;
}

// --- memory --------------------------------------------------------------------------------------

Result DriverFunctions::cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
    return call("cuMemGetInfo_v2", Needs::context, [&](Device& device) {
        *total = device.options_.memory_bytes;
        *free = *total - device.memory_.used_bytes();
        return success;
    });
}
Result DriverFunctions::cuMemAlloc_v2(cuda::DevicePointer* pointer, std::size_t bytes) {
    return call_unsafe("cuMemAlloc_v2", [&](Device& device) {
        if (bytes == 0) return cuda::error_invalid_value;
        if (bytes > device.options_.memory_bytes - device.memory_.used_bytes())
            return cuda::error_out_of_memory;
        *pointer = device.memory_.allocate(bytes);
        return success;
    });
}
Result DriverFunctions::cuMemFree_v2(cuda::DevicePointer pointer) {
    return call_unsafe("cuMemFree_v2", [&](Device& device) {
        device.do_all();
        if (device.sticky_ != 0) return device.sticky_;
        if (std::string damage = device.memory_.damage(); !damage.empty())
            device.fault_ = std::move(damage);
        return device.memory_.release(pointer) ? success : cuda::error_invalid_value;
    });
}
Result DriverFunctions::cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned /*flags*/) {
    return call_unsafe("cuMemHostAlloc", [&](Device& device) {
        if (bytes == 0) return cuda::error_invalid_value;
        Device::Pinned pinned{.memory = std::make_unique<char[]>(bytes), .bytes = bytes};
        *pointer = pinned.memory.get();
        device.pinned_.emplace(pinned.memory.get(), std::move(pinned));
        return success;
    });
}
Result DriverFunctions::cuMemFreeHost(void* pointer) {
    return call_unsafe("cuMemFreeHost", [&](Device& device) {
        device.do_all();
        const bool is_there = device.pinned_.erase(static_cast<const char*>(pointer)) > 0;
        return is_there ? success : cuda::error_invalid_value;
    });
}

Result DriverFunctions::copy_work(Device::StreamState& stream, char* to, const char* from,
                                  std::size_t bytes) {
    return self->give(stream, [to, from, bytes] {
        std::memcpy(to, from, bytes);
        return success;
    });
}

Result DriverFunctions::cuMemcpyHtoDAsync_v2(cuda::DevicePointer to, const void* from,
                                             std::size_t bytes, cuda::Stream stream) {
    return call("cuMemcpyHtoDAsync_v2", Needs::context, [&](Device& device) {
        Device::StreamState* state = find_stream(stream);
        if (state == nullptr) return invalid_handle;
        char* place = device.memory_.at(to, bytes);
        if (place == nullptr) return cuda::error_invalid_value;
        std::size_t pinned = 0;
        if (device.is_pinned(from, pinned)) {
            if (bytes > pinned) return cuda::error_invalid_value;
            return copy_work(*state, place, static_cast<const char*>(from), bytes);
        }
        if (state->capture) {
            break_captures();
            return capture_unsupported;
        }
        // From other memory the driver takes what it needs before it returns.
        auto kept = std::make_shared<std::string>(static_cast<const char*>(from), bytes);
        return device.give(*state, [place, kept] {
            std::memcpy(place, kept->data(), kept->size());
            return success;
        });
    });
}
Result DriverFunctions::cuMemcpyDtoHAsync_v2(void* to, cuda::DevicePointer from, std::size_t bytes,
                                             cuda::Stream stream) {
    return call("cuMemcpyDtoHAsync_v2", Needs::context, [&](Device& device) {
        Device::StreamState* state = find_stream(stream);
        if (state == nullptr) return invalid_handle;
        const char* place = device.memory_.at(from, bytes);
        if (place == nullptr) return cuda::error_invalid_value;
        std::size_t pinned = 0;
        const bool is_pinned = device.is_pinned(to, pinned);
        if (is_pinned && bytes > pinned) return cuda::error_invalid_value;
        if (!is_pinned && state->capture) {
            break_captures();
            return capture_unsupported;
        }
        const Result result = copy_work(*state, static_cast<char*>(to), place, bytes);
        if (is_pinned) return result;
        device.do_until(state->last);
        return device.sticky_;
    });
}
Result DriverFunctions::cuMemcpyDtoDAsync_v2(cuda::DevicePointer to, cuda::DevicePointer from,
                                             std::size_t bytes, cuda::Stream stream) {
    return call("cuMemcpyDtoDAsync_v2", Needs::context, [&](Device& device) {
        Device::StreamState* state = find_stream(stream);
        if (state == nullptr) return invalid_handle;
        char* to_place = device.memory_.at(to, bytes);
        const char* from_place = device.memory_.at(from, bytes);
        if (to_place == nullptr || from_place == nullptr) return cuda::error_invalid_value;
        return copy_work(*state, to_place, from_place, bytes);
    });
}
Result DriverFunctions::cuMemsetD8Async(cuda::DevicePointer to, unsigned char value,
                                        std::size_t count, cuda::Stream stream) {
    return call("cuMemsetD8Async", Needs::context, [&](Device& device) {
        Device::StreamState* state = find_stream(stream);
        if (state == nullptr) return invalid_handle;
        char* place = device.memory_.at(to, count);
        if (place == nullptr) return cuda::error_invalid_value;
        return device.give(*state, [place, value, count] {
            std::memset(place, value, count);
            return success;
        });
    });
}

// --- modules and kernels -------------------------------------------------------------------------

Result DriverFunctions::cuModuleLoadData(cuda::ModuleHandle* module, const void* image) {
    return call_unsafe("cuModuleLoadData", [&](Device& device) {
        const std::string from_ptx = image_of_ptx(static_cast<const char*>(image));
        const std::string_view bytes =
            from_ptx.empty() ? std::string_view(static_cast<const char*>(image), image_bytes(image))
                             : std::string_view(from_ptx);
        if (bytes.empty()) return invalid_image;
        auto state = std::make_unique<Device::ModuleState>();
        try {
            state->module = std::make_unique<Module>(bytes);
        } catch (const Error& error) {
            device.fault_ = error.what();
            return invalid_image;
        }
        *module = handle_of<cuda::ModuleHandle>(state.get());
        device.modules_.emplace(state.get(), std::move(state));
        return success;
    });
}
Result DriverFunctions::cuModuleGetFunction(cuda::FunctionHandle* function,
                                            cuda::ModuleHandle module, const char* name) {
    return call("cuModuleGetFunction", Needs::context, [&](Device& device) {
        Device::ModuleState* state = find(device.modules_, module);
        if (state == nullptr) return invalid_handle;
        const rc_entry* entry = state->module->find(name);
        if (entry == nullptr) return cuda::error_not_found;
        auto made = std::make_unique<Device::FunctionState>();
        made->module = state;
        made->entry = entry;
        *function = handle_of<cuda::FunctionHandle>(made.get());
        device.functions_.emplace(made.get(), std::move(made));
        return success;
    });
}
Result DriverFunctions::cuModuleUnload(cuda::ModuleHandle module) {
    return call_unsafe("cuModuleUnload", [&](Device& device) {
        Device::ModuleState* state = find(device.modules_, module);
        if (state == nullptr) return invalid_handle;
        device.do_all();
        std::erase_if(device.functions_,
                      [&](const auto& each) { return each.second->module == state; });
        device.modules_.erase(state);
        return success;
    });
}
Result DriverFunctions::cuFuncSetAttribute(cuda::FunctionHandle function, int attribute,
                                           int value) {
    return call("cuFuncSetAttribute", Needs::context, [&](Device& device) {
        Device::FunctionState* state = find(device.functions_, function);
        if (state == nullptr) return invalid_handle;
        if (attribute != cuda::function_max_dynamic_shared || value < 0 ||
            value > device.options_.shared_bytes)
            return cuda::error_invalid_value;
        state->dynamic_shared = std::size_t(value);
        return success;
    });
}
Result DriverFunctions::cuLaunchKernel(cuda::FunctionHandle function, unsigned grid_x,
                                       unsigned grid_y, unsigned grid_z, unsigned block_x,
                                       unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                       cuda::Stream stream, void** parameters, void** extra) {
    return call("cuLaunchKernel", Needs::context, [&](Device& device) {
        const Device::FunctionState* state = find(device.functions_, function);
        Device::StreamState* where = find_stream(stream);
        if (state == nullptr || where == nullptr) return invalid_handle;
        const std::uint64_t threads = std::uint64_t(block_x) * block_y * block_z;
        const bool is_possible = grid_x >= 1 && grid_x <= 0x7FFFFFFF && grid_y == 1 &&
                                 grid_z == 1 && block_x >= 1 && block_x <= 1024 && block_y == 1 &&
                                 block_z == 1 && extra == nullptr;
        if (!is_possible || shared_bytes > state->dynamic_shared) return cuda::error_invalid_value;
        if (threads > std::uint64_t(state->entry->most_threads)) return too_many_resources;
        std::vector<Memory::Address> arguments;
        for (int n = 0; n < state->entry->parameters; ++n)
            arguments.push_back(*static_cast<const Memory::Address*>(parameters[n]));
        const Launch shape{.entry = nullptr,
                           .arrays = {},
                           .blocks = grid_x,
                           .threads = int(block_x),
                           .shared_bytes = shared_bytes};
        return device.give(*where, [&device, of = *state, shape, arguments] {
            return device.run_kernel(of, shape, arguments);
        });
    });
}

}  // namespace ricci::emulation
