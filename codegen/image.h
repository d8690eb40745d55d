// codegen/image.h – compiled kernels as bytes: what caches keep and loaders load
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ricci::codegen {

/// What a kernel takes of a GPU, as its compiler reports it.
struct KernelResources {
    std::int64_t registers = 0;     ///< of a thread; 0: not known (PTX)
    std::int64_t spill_bytes = 0;   ///< stored and loaded for want of registers
    std::int64_t stack_bytes = 0;   ///< of a thread, in local memory
    std::int64_t shared_bytes = 0;  ///< of a block

    bool operator==(const KernelResources&) const = default;
};

/// The machine code of all kernels of one plan.
struct Image {
    enum class Format : unsigned char { elf_object, cubin, ptx };
    /// An object file, or a module of a GPU, among several.
    struct Part {
        std::size_t bytes_end = 0;    ///< in `bytes`
        std::size_t symbols_end = 0;  ///< GPU: in `symbols`
    };

    Format format = Format::elf_object;
    std::vector<std::string> symbols;  ///< entry points, one for each nest of the plan, in order;
                                       ///< equal nests may share one
    std::vector<std::byte> bytes;      ///< PTX ends with a 0
    std::vector<Part> parts = {};      ///< one after the other; of a GPU, in the symbols' order
    std::vector<KernelResources> resources = {};  ///< GPU: one for each symbol
    std::string log = {};                         ///< GPU: what the compiler said
};

}  // namespace ricci::codegen
