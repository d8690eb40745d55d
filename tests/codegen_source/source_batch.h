// tests/codegen_source/source_batch.h – programs emitted as one C++ file, run and compared
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/source/emit.h"
#include "dsl/bound.h"
#include "runtime/array.h"

namespace ricci::tests {

/// Values of arguments by name, in place of random ones.
using GivenArrays = std::vector<std::pair<std::string, Array>>;

/// An array of a signature.
[[nodiscard]] ArgumentSpec array_spec(Shape shape, DType dtype = DType::f32);
/// A number that the program's ranges depend on.
[[nodiscard]] ArgumentSpec number_spec(std::int64_t value);

/// Many programs, compiled together: that takes a fraction of the time.
class SourceBatch {
  public:
    /// The program, with all its outputs. What is said of it when it fails begins with the label.
    void add(const std::string& label, const Program& program, const Signature& signature,
             std::uint64_t seed = 7, GivenArrays given = {});
    void add(const std::string& text, const Signature& signature, GivenArrays given = {});
    /// The gradients for all arguments named, separated by commas.
    void add_gradients(const std::string& text, const std::string& wrt, const Signature& signature,
                       GivenArrays given = {});

    /// Compiles and runs all of them: what is wrong, empty where all is well. Wrong is what leaves
    /// the reference's bound, and an argument that changed when data was refused.
    [[nodiscard]] std::string difference() const;
    [[nodiscard]] std::vector<codegen::source::SourceProgram> sources() const;
    [[nodiscard]] std::size_t size() const noexcept { return cases_.size(); }

  private:
    struct Case {
        std::string label;
        codegen::source::SourceProgram source;
        Signature signature;
        std::uint64_t seed;
        GivenArrays given;
    };

    std::vector<Case> cases_;
};

}  // namespace ricci::tests
