// runtime/cuda/compile.h – GPU nests to machine code through NVRTC
//
// No device and no driver are needed. Kernels that are long to compile become modules of their own,
// compiled side by side.
#pragma once

#include <span>
#include <string>

#include "base/target.h"
#include "codegen/image.h"
#include "codegen/nest.h"

namespace ricci::cuda {

/// One cubin or PTX text for each part of the image, with the entry points of
/// codegen/cuda/emit.h. PTX when this NVRTC does not know the GPU's architecture.
/// Throws: `device` without NVRTC or for an architecture older than all that it knows, `internal`
/// with the compiler's text for a kernel that it rejects.
[[nodiscard]] codegen::Image compile(std::span<const codegen::Nest> nests, const Target& target);

/// The PTX of all nests as one text, for `explain --stage ptx`.
[[nodiscard]] std::string emit_ptx(std::span<const codegen::Nest> nests, const Target& target);

/// Part of every cache key: this library's code generation version and NVRTC's.
[[nodiscard]] std::string compiler_version();

}  // namespace ricci::cuda
