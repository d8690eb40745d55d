// codegen/cpu/runtime_symbols.h – the functions that compiled kernels may call
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "dsl/scalar_function.h"

namespace ricci::codegen::cpu {

/// A function by the name that object files refer to it with: they hold no addresses, so that they
/// can be kept on disk.
struct RuntimeSymbol {
    std::string_view name;
    const void* address;
};

/// All of them: `void ricci_<function>_<type>(T* numbers, int64_t count)`, which replaces numbers
/// by the function's values, and what LLVM itself calls.
[[nodiscard]] std::span<const RuntimeSymbol> runtime_symbols();

/// The name of the function of an operation on f32 or f64.
[[nodiscard]] std::string library_symbol(Op op, bool is_double);

/// The name of a registered function, of doubles.
[[nodiscard]] std::string registered_symbol(const ScalarFunction& function);

}  // namespace ricci::codegen::cpu
