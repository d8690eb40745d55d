// runtime/cuda/cubin.h – what a cubin says of its kernels
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "codegen/image.h"

namespace ricci::cuda {

/// Instructions by name: `FFMA`, `LDS.128`, `BAR`, …; those that Ricci does not count by a name of
/// their own as `0x…`, their opcode. Padding is left out.
using Opcodes = std::map<std::string, std::int64_t>;

struct CubinKernel {
    std::string name;
    codegen::KernelResources resources;  ///< spills are not told apart from the rest of the stack
    Opcodes opcodes = {};
    Opcodes main_loop = {};  ///< of the innermost loop with the most instructions; empty without
};

/// The kernels of a cubin (ELF, compute capability 7.0 and later); none when the bytes are no
/// cubin.
[[nodiscard]] std::vector<CubinKernel> read_cubin(std::span<const std::byte> cubin);

/// The number of all instructions.
[[nodiscard]] std::int64_t total(const Opcodes& opcodes);
/// The number of those of that name.
[[nodiscard]] std::int64_t count(const Opcodes& opcodes, const std::string& name);

}  // namespace ricci::cuda
