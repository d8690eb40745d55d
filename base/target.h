// base/target.h – the machine that code is generated for
#pragma once

#include <cstdint>
#include <string>

namespace ricci {

/// A CPU as code generation sees it. Part of every kernel's key.
struct Target {
    std::string cpu;        ///< LLVM's name: `znver5`, `x86-64-v3`, ...
    std::string features;   ///< LLVM's feature string
    int vector_bytes = 16;  ///< width of a vector register: 64 AVX-512, 32 AVX2, 16 SSE2
    int vector_registers = 16;
    bool has_fma = false;
    std::int64_t l1_bytes = 32 << 10;
    std::int64_t l2_bytes = 1 << 20;

    bool operator==(const Target&) const = default;
};

/// `znver5 512-bit fma`.
[[nodiscard]] std::string str(const Target& target);

}  // namespace ricci
