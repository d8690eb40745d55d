// codegen/named_values.h – values that are the same at many points, computed before their loops
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "codegen/kernel.h"
#include "codegen/nest_build.h"

namespace ricci::codegen {

/// The largest values of a kernel that are chosen, and their names.
class NamedValues {
  public:
    /// Names further ones, of the body and the writes: no constants and indices.
    [[nodiscard]] Body add(Kernel& kernel, const std::function<bool(const Value&)>& is_chosen);
    /// A substitution puts their names in place of them, too.
    void replace_in(Substitution& here) const;

  private:
    std::vector<std::pair<Value, Value>> named_;
};

/// Whether a value is the same at all points, and can be computed without any.
[[nodiscard]] bool is_even(const Kernel& kernel, const Value& root);
/// The same of all points along some axes.
[[nodiscard]] bool is_even_along(const Kernel& kernel, const Value& root,
                                 const std::vector<VarId>& axes);

}  // namespace ricci::codegen
