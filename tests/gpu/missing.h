// tests/gpu/missing.h – whether there is a GPU to test on
#pragma once

#include <iostream>
#include <string>

#include "base/error.h"
#include "runtime/cuda/gpu.h"

namespace ricci::tests {

/// Whether there is no GPU that programs can run on; says why, once.
inline bool is_missing() {
    static const std::string problem = [] {
        try {
            (void)cuda::Gpu::current();
            return std::string();
        } catch (const Error& error) {
            std::cout << "SKIPPED: " << error.diagnosis().message << "\n";
            return error.diagnosis().message;
        }
    }();
    return !problem.empty();
}

}  // namespace ricci::tests
