// tests/emulation/nvrtc.cpp – the emulated compiler of kernels: the C++ compiler
#include <cstring>
#include <mutex>

#include "base/text.h"
#include "codegen/cuda/emit.h"
#include "tests/emulation/driver.h"

// The handle's type is only a name everywhere else.
struct _nvrtcProgram {
    std::string text;
    std::string log;
    std::string cubin;
    std::string ptx;
};

namespace ricci::emulation {
namespace {

constexpr int invalid_input = 3;
constexpr int invalid_program = 4;
constexpr int compilation_failed = 6;
constexpr std::string_view ptx_begin = "//\n// Emulated PTX: an image in hexadecimal digits\n//\n";
constexpr std::string_view digits = "0123456789abcdef";

std::string ptx_of(std::string_view image) {
    std::string text(ptx_begin);
    for (std::size_t n = 0; n < image.size(); ++n) {
        const auto byte = static_cast<unsigned char>(image[n]);
        text += digits[byte / 16];
        text += digits[byte % 16];
        if (n % 48 == 47) text += '\n';
    }
    return text;
}

/// The kernels: what follows the prelude.
std::string_view kernels_of(std::string_view text) {
    const std::string_view prelude = codegen::cuda::prelude();
    const std::size_t found = text.find(prelude);
    return found == std::string_view::npos ? text : text.substr(found + prelude.size());
}

int give(const std::string& from, char* to, std::size_t bytes) {
    std::memcpy(to, from.c_str(), bytes);
    return 0;
}

}  // namespace

std::string image_of_ptx(std::string_view text) {
    if (!text.starts_with(ptx_begin)) return {};
    std::string image;
    int high = -1;
    for (const char c : text.substr(ptx_begin.size())) {
        const std::size_t digit = digits.find(c);
        if (digit == std::string_view::npos) continue;
        if (high >= 0) image += static_cast<char>(high * 16 + int(digit));
        high = high >= 0 ? -1 : int(digit);
    }
    return image;
}

cuda::Nvrtc DriverFunctions::nvrtc() {
    cuda::Nvrtc table;
#define RICCI_FILL(name, result, parameters) table.name = &DriverFunctions::name;
    RICCI_NVRTC(RICCI_FILL)
#undef RICCI_FILL
    return table;
}

template <class F>
int DriverFunctions::call_nvrtc(const char* function, F&& f) {
    // Programs are compiled side by side: the lock is not held meanwhile.
    const Result failure = note(function);
    return failure != 0 ? failure : f();
}

int DriverFunctions::nvrtcVersion(int* major, int* minor) {
    return call_nvrtc("nvrtcVersion", [&] {
        *major = 13;
        *minor = 0;
        return 0;
    });
}
const char* DriverFunctions::nvrtcGetErrorString(int result) {
    return result == 0                    ? "NVRTC_SUCCESS"
           : result == invalid_input      ? "NVRTC_ERROR_INVALID_INPUT"
           : result == invalid_program    ? "NVRTC_ERROR_INVALID_PROGRAM"
           : result == compilation_failed ? "NVRTC_ERROR_COMPILATION"
                                          : "NVRTC_ERROR unknown";
}
int DriverFunctions::nvrtcCreateProgram(cuda::NvrtcProgram* program, const char* text,
                                        const char* /*name*/, int header_count,
                                        const char* const* /*headers*/,
                                        const char* const* /*header_names*/) {
    return call_nvrtc("nvrtcCreateProgram", [&] {
        if (program == nullptr || text == nullptr || header_count != 0) return invalid_input;
        *program = new _nvrtcProgram{.text = text, .log = {}, .cubin = {}, .ptx = {}};
        return 0;
    });
}
int DriverFunctions::nvrtcDestroyProgram(cuda::NvrtcProgram* program) {
    return call_nvrtc("nvrtcDestroyProgram", [&] {
        if (program == nullptr || *program == nullptr) return invalid_program;
        delete *program;
        *program = nullptr;
        return 0;
    });
}
int DriverFunctions::nvrtcCompileProgram(cuda::NvrtcProgram program, int option_count,
                                         const char* const* options) {
    return call_nvrtc("nvrtcCompileProgram", [&] {
        bool is_virtual = false;  // for an architecture that there may be: PTX alone
        for (int n = 0; n < option_count; ++n)
            is_virtual |= std::strstr(options[n], "compute_") != nullptr;
        Compiled compiled = compile(kernels_of(program->text));
        program->log = std::move(compiled.log);
        if (!compiled.is_good) return compilation_failed;
        program->ptx = ptx_of(compiled.image);
        if (!is_virtual) program->cubin = std::move(compiled.image);
        return 0;
    });
}
int DriverFunctions::nvrtcGetPTXSize(cuda::NvrtcProgram program, std::size_t* bytes) {
    return call_nvrtc("nvrtcGetPTXSize", [&] {
        *bytes = program->ptx.size() + 1;
        return 0;
    });
}
int DriverFunctions::nvrtcGetPTX(cuda::NvrtcProgram program, char* ptx) {
    return call_nvrtc("nvrtcGetPTX",
                      [&] { return give(program->ptx, ptx, program->ptx.size() + 1); });
}
int DriverFunctions::nvrtcGetCUBINSize(cuda::NvrtcProgram program, std::size_t* bytes) {
    return call_nvrtc("nvrtcGetCUBINSize", [&] {
        *bytes = program->cubin.size();
        return 0;
    });
}
int DriverFunctions::nvrtcGetCUBIN(cuda::NvrtcProgram program, char* cubin) {
    return call_nvrtc("nvrtcGetCUBIN",
                      [&] { return give(program->cubin, cubin, program->cubin.size()); });
}
int DriverFunctions::nvrtcGetProgramLogSize(cuda::NvrtcProgram program, std::size_t* bytes) {
    return call_nvrtc("nvrtcGetProgramLogSize", [&] {
        *bytes = program->log.size() + 1;
        return 0;
    });
}
int DriverFunctions::nvrtcGetProgramLog(cuda::NvrtcProgram program, char* log) {
    return call_nvrtc("nvrtcGetProgramLog",
                      [&] { return give(program->log, log, program->log.size() + 1); });
}

}  // namespace ricci::emulation
