// runtime/npy.h – NumPy's .npy format beyond whole files (see runtime/array.h for those)
#pragma once

#include <string_view>

#include "runtime/array.h"
#include "runtime/staged_file.h"

namespace ricci::runtime {

/// Writes an array into a staged file, so that several files can be committed together.
/// Throws: `io` when the disk is full, `type` for a type that the format has no name for.
void write_npy(StagedFile& file, const Array& array);

/// NumPy's name of a type in a little-endian file: `<f4`, `|b1`; empty when it has none.
[[nodiscard]] std::string_view npy_descr(DType dtype) noexcept;

}  // namespace ricci::runtime
