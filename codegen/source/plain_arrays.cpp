// codegen/source/plain_arrays.cpp – complex arrays as two, all of them row-major
#include "base/shape.h"
#include "codegen/source/emit.h"
#include "dsl/split_complex.h"

namespace ricci::codegen::source {

BoundProgram in_plain_arrays(BoundProgram program) {
    if (has_complex(program)) program = split_complex(std::move(program)).program;
    for (BoundTensor& tensor : program.tensors) tensor.strides = row_major_strides(tensor.shape);
    return program;
}

}  // namespace ricci::codegen::source
