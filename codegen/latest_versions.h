// codegen/latest_versions.h – reads of tensors whose values later equations complete
#pragma once

#include <map>

#include "dsl/bound.h"

namespace ricci::codegen {

/// When one equation of a program becomes several, the tensor that it defined is complete only in
/// its last version: what follows has to read that.
class LatestVersions {
  public:
    /// From now on `last` is read in place of `tensor`.
    void replace(TensorId tensor, TensorId last) { latest_.insert_or_assign(tensor, last); }
    /// Renames what an equation reads and the version that it updates.
    void rename(BoundProgram& program, BoundEquation& equation) const;

  private:
    std::map<TensorId, TensorId> latest_;
};

}  // namespace ricci::codegen
