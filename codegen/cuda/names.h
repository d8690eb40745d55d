// codegen/cuda/names.h – identifiers that do not meet
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace ricci::codegen::cuda {

/// Every character that an identifier cannot have becomes `_`.
[[nodiscard]] std::string identifier(std::string_view wanted);

/// The names in use where text is being written. A copy taken at the begin of a block, put back at
/// its end, frees the block's names.
class Names {
  public:
    /// The name wanted, made an identifier, with a number behind when it is in use.
    [[nodiscard]] std::string take(std::string_view wanted);
    /// A name that is not in use any more.
    void give_back(const std::string& name) { taken_.erase(name); }

  private:
    std::set<std::string, std::less<>> taken_;
};

}  // namespace ricci::codegen::cuda
