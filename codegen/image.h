// codegen/image.h – compiled kernels as bytes: what caches keep and loaders load
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace ricci::codegen {

/// The machine code of all kernels of one plan.
struct Image {
    enum class Format : unsigned char { elf_object, cubin, ptx };
    Format format = Format::elf_object;
    std::vector<std::string> symbols;  ///< entry points, one for each nest of the plan, in order
    std::vector<std::byte> bytes;
};

}  // namespace ricci::codegen
