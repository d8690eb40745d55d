// tools/ricci/info.cpp – ricci info: version, machine, cache, environment
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>

#include "base/env.h"
#include "base/error.h"
#include "base/text.h"
#include "codegen/cpu/compile.h"
#include "runtime/cuda/api.h"
#include "runtime/cuda/gpu.h"
#include "runtime/cuda/library_call.h"

#include "ricci/ricci.h"
#include "tools/ricci/commands.h"

namespace ricci::tool {
namespace {

std::string cache_text() {
    const auto directory = env::cache_directory();
    if (!directory) return "off";
    std::uintmax_t bytes = 0;
    std::size_t entries = 0;
    std::error_code missing;
    for (const auto& file : std::filesystem::directory_iterator(*directory, missing)) {
        if (file.path().extension() != ".kernel") continue;
        ++entries;
        bytes += file.file_size(missing);
    }
    return format("{}: {}, {} KiB of at most {} MiB", *directory, plural(entries, "plan"),
                  bytes / 1024, env::cache_size_bytes() >> 20);
}

/// A device, or why it cannot be used.
template <class F>
std::string device_text(F&& describe) {
    try {
        return describe();
    } catch (const Error& error) {
        return "no: " + error.diagnosis().message;
    }
}

std::string gpu_text() {
    const auto gpu = cuda::Gpu::current();
    return format("{} ({}), {} multiprocessors, {} MiB", gpu->name(), gpu->target().cpu,
                  gpu->target().gpu.multiprocessors, gpu->memory_bytes() >> 20);
}

std::string cpu_text() {
    const Target target = codegen::cpu::host_target();
    return format("{}, {} bytes of L1, {} of L2, {} of L3 cache; {}", str(target), target.l1_bytes,
                  target.l2_bytes, target.l3_bytes, codegen::cpu::compiler_version());
}

int run() {
    std::string text = format("ricci {}\n", RICCI_VERSION);
    text += format("cpu          {}\n", device_text(cpu_text));
    text += format("cuda         {}\n", device_text(gpu_text));
    for (const cuda::LibraryState& library :
         {cuda::driver_state(), cuda::nvrtc_state(), cuda::cublaslt_state(), cuda::cudnn_state()})
        text +=
            format("  {:<10} {}{}\n", library.name, library.is_usable ? "" : "no: ", library.text);
    text += "reference    slow and obvious evaluation on the CPU\n";
    text += format("threads      {}\n", num_threads());
    text += format("kernel cache {}\n", cache_text());
    text += "types        bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 c64 c128\n";
    text += "\nEnvironment:\n";
    std::size_t width = 0;
    for (const env::Variable& variable : env::all_variables())
        width = std::max(width, variable.name.size());
    for (const env::Variable& variable : env::all_variables()) {
        const auto value = env::text(variable.name);
        text +=
            format("  {:<{}}  {} ({})\n", variable.name, width, variable.meaning,
                   value ? format("now `{}`", *value) : format("not set: {}", variable.fallback));
    }
    std::cout << text << std::flush;
    return 0;
}

}  // namespace

void add_info(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand("info", "Version, machine, cache, environment");
    command->footer("Example:\n  ricci info");
    command->callback([&chosen] { chosen = [] { return run(); }; });
}

}  // namespace ricci::tool
