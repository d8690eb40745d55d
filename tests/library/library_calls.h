// tests/library/library_calls.h – library calls of programs, and what they mean, element by element
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/kernel.h"
#include "codegen/library.h"
#include "dsl/bound.h"
#include "runtime/array.h"

namespace ricci::tests {

/// The memory of a plan's buffers, whatever their type.
using Buffers = std::vector<std::vector<double>>;

/// Does the call as its declaration reads. Throws: `internal` for an element outside its buffer.
void execute(const codegen::LibraryCall& call, Buffers& buffers);

/// A program of one kernel, with its buffers filled: random arguments, NaN in what is to be made.
struct Planned {
    BoundProgram program;
    std::vector<Array> arguments;
    codegen::Plan plan;  ///< buffers only
    codegen::Kernel kernel;
    Buffers buffers;
};
/// Nothing when the program makes another number of kernels than one.
[[nodiscard]] std::optional<Planned> planned(const BoundProgram& program,
                                             const Signature& signature, std::uint64_t seed);
[[nodiscard]] std::optional<codegen::LibraryCall> recognised(const Planned& planned);

/// Where the program's result in `buffers` leaves the bound of the reference; empty when nowhere.
[[nodiscard]] std::string difference(const Planned& planned, const Buffers& buffers);

/// Binds the text, executes the call that is recognised and compares. The call, or nothing; checks
/// by doctest that it computes what the program does.
[[nodiscard]] std::optional<codegen::LibraryCall> checked_call(const BoundProgram& program,
                                                               const Signature& signature,
                                                               std::uint64_t seed = 1);
[[nodiscard]] std::optional<codegen::LibraryCall> checked_call(const std::string& text,
                                                               const Signature& signature,
                                                               std::uint64_t seed = 1);

/// The bound program of a text; the signature may have more than it needs.
[[nodiscard]] BoundProgram bound(const std::string& text, const Signature& signature);
/// An array argument: row-major, or with the strides given.
[[nodiscard]] ArgumentSpec array(Shape shape, DType dtype = DType::f32, Strides strides = {});

}  // namespace ricci::tests
