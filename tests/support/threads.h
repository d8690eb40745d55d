// tests/support/threads.h – another number of threads for the length of a scope
#pragma once

#include "runtime/parallel.h"

namespace ricci::tests {

/// Kernels use `count` threads until the end of the scope.
class Threads {
  public:
    explicit Threads(int count) : before_(num_threads()) { set_num_threads(count); }
    ~Threads() { set_num_threads(before_); }
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;

  private:
    int before_;
};

}  // namespace ricci::tests
