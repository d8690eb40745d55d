// codegen/cuda/emit.h – GPU nests to CUDA C++
//
// The text uses names of the prelude (codegen/cuda/prelude.h) and nothing else: no CUDA header, no
// built-in variable. Tests compile the very same text with a prelude of their own, in which threads
// are fibres of the CPU.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/nest.h"

namespace ricci::codegen::cuda {

/// The name of a nest's entry point in the text: the nest's name made an identifier, unique in the
/// text by the number in front.
[[nodiscard]] std::string symbol(const Nest& nest, std::size_t number);

/// One kernel for each nest, in order, without the prelude. The parameters of a kernel are its
/// argument buffers, in order.
[[nodiscard]] std::string emit_kernels(std::span<const Nest> nests);

/// What the kernels are compiled with: CUDA C++ without headers, for NVRTC.
[[nodiscard]] std::string_view prelude();

/// The whole translation unit: prelude, then kernels.
[[nodiscard]] std::string emit_text(std::span<const Nest> nests);

}  // namespace ricci::codegen::cuda
