// codegen/equal_values.h – equal values as one node
#pragma once

#include <unordered_map>

#include "codegen/nest_build.h"

namespace ricci::codegen {

/// Gives equal values the same node, whichever nests' terms they come from: buffers, variables and
/// Lets are compared by number.
class EqualValues {
  public:
    /// The first node that was equal to this one. Its operands have to be such first nodes.
    Value operator()(const Value& value);

  private:
    std::unordered_multimap<std::size_t, Value> known_;
};

}  // namespace ricci::codegen
