// grad/names.h – names that do not clash
#pragma once

#include <set>
#include <string>

#include "dsl/program.h"

namespace ricci::grad {

/// The names in use in a program under construction.
class Names {
  public:
    explicit Names(const Program& program);

    /// The name itself, or with as many `_` behind it as make it new. It is in use from then on.
    std::string unique(std::string name);
    /// A name for a temporary: `t1`, `t2`, ….
    std::string temporary();
    /// The n-th letter for an index that no array, scalar or index of the program has.
    [[nodiscard]] std::string index(std::size_t n) const { return letters_.at(n); }

  private:
    std::set<std::string> used_;
    std::vector<std::string> letters_;
    std::size_t temporaries_ = 0;
};

}  // namespace ricci::grad
