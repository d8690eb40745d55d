// examples/mnist_data.h – images of digits: MNIST from IDX files, or drawn by the program
#pragma once

#include <cstdint>
#include <string>

#include "ricci/ricci.h"

namespace mnist {

/// Images as rows of 784 values in [0, 1], labels as numbers 0 … 9.
struct Set {
    ricci::Array images;  ///< f32 [count, 784]
    ricci::Array labels;  ///< f32 [count]
    [[nodiscard]] std::int64_t count() const { return images.extent(0); }
};

struct Data {
    Set training;
    Set test;
    std::string origin;  ///< where it comes from, for people
};

/// MNIST from `directory`, else from the first of $RICCI_DATA and `data/` (or their folder `mnist`)
/// that has its four IDX files; else drawn digits.
/// Throws: ricci::Error of kind `io` when `directory` is given and lacks a file, or a file is bad.
Data load(const std::string& directory);

}  // namespace mnist
