// runtime/cuda/error.cpp – the driver's words for its results, and what can be done
#include "runtime/cuda/error.h"

#include "base/error.h"

namespace ricci::cuda {
namespace {

// CUDA_ERROR_ILLEGAL_ADDRESS and those after it that a kernel's fault leaves behind.
bool is_context_lost(Result result) noexcept {
    return result == 700 || (result >= 714 && result <= 719);
}

std::string hint_for(Result result) {
    if (result == error_out_of_memory)
        return "work on smaller pieces, or let go of arrays no longer needed";
    if (is_context_lost(result))
        return "the GPU's state is lost, start the program anew; with compute-sanitizer it shows "
               "the access at fault. Please report it";
    return {};
}

}  // namespace

void fail(Result result, const std::string& tried) {
    const Driver& table = driver();
    const char* name = nullptr;
    const char* text = nullptr;
    if (table.cuGetErrorName(result, &name) != success || name == nullptr) name = "unknown";
    if (table.cuGetErrorString(result, &text) != success || text == nullptr) text = "no text";
    throw Error({.kind = ErrorKind::device,
                 .message = format("{} failed: {} ({}, {})", tried, text, name, result),
                 .hint = hint_for(result)});
}

}  // namespace ricci::cuda
