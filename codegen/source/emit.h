// codegen/source/emit.h – bound programs as source files that need nothing of Ricci
//
// Each program becomes an entry point of plain pointers to row-major arrays:
//
//     extern "C" const char* ricci_Y(const float* W, const float* X, float* Y);
//
// first its arguments, in the program's order, then the outputs that are no updated arguments; of a
// complex array the real parts, then the imaginary ones. It gives null, or what is wrong with the
// data, as `run` would say it; then no argument is changed.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/target.h"
#include "codegen/plan.h"
#include "dsl/bound.h"

namespace ricci::codegen::source {

/// A program of a file.
struct SourceProgram {
    std::string name;    ///< of the entry point, behind `ricci_`: an identifier, once in a file
    std::string text;    ///< the program in the language, for people
    BoundProgram bound;  ///< without complex types; arguments are row-major
    /// Scalars whose values the bound program depends on.
    std::vector<std::pair<std::string, std::int64_t>> fixed = {};
};

/// The machine that readable C++ is planned for: loops one after the other.
[[nodiscard]] Target plain_target();

/// One C++17 file: a function for each kernel, an entry point for each program.
[[nodiscard]] std::string emit_cpp(std::span<const SourceProgram> programs);

/// One CUDA C++ file: the kernels as they run, the part of the prelude that they need, and an entry
/// point for each program on pointers to device memory, with a last parameter `cudaStream_t
/// stream`. Its temporaries are taken and given back in the order of the stream.
[[nodiscard]] std::string emit_cuda(std::span<const SourceProgram> programs, const Target& target);

/// One module in LLVM IR: the kernels as they run. A comment says in which order, and on what
/// memory, they make up each program. Throws: `device` in a build without LLVM.
[[nodiscard]] std::string emit_llvm(std::span<const SourceProgram> programs, const Target& target);

/// The program as a file has it: complex arrays as two arrays, all of them row-major.
[[nodiscard]] BoundProgram in_plain_arrays(BoundProgram program);

}  // namespace ricci::codegen::source
