// codegen/repeated_broadcasts.h – broadcasts as operands of the operations that take them
//
// What all lanes take is read and broadcast once for several vectors, or for each of them anew, as
// an operand of AVX-512 that costs nothing beside its operation. Where units take two turns for a
// vector (Zen 4), a broadcast of its own takes those of additions: squared distances of 4x4 vectors
// take 1.25 turns a vector with them, 1.04 without; multiply-adds 1.00 either way. 1024x784 by
// 784x1024: 15.0 ms, not 19.5.
#pragma once

#include <vector>

#include "base/target.h"
#include "codegen/kernel.h"

namespace ricci::codegen {

/// A body, and which of the values that all lanes share it takes by operands.
struct RepeatedBroadcasts {
    Value body;
    std::vector<Value> values;

    [[nodiscard]] bool has(const Value& value) const;
};
/// `shared` are the values of the body that all lanes share; they and those of `kept` stay the
/// nodes they are. Differences are turned where that changes nothing but the sign of a zero that is
/// added up, since an operand in memory is always subtracted.
[[nodiscard]] RepeatedBroadcasts repeat_broadcasts(const Kernel& kernel, const Value& body,
                                                   const std::vector<Value>& shared,
                                                   const std::vector<Value>& kept,
                                                   const Target& target);
/// Has emitters read an element of the load for each operation that takes it.
void broadcast_anew(Nest& nest, const Value& load);

}  // namespace ricci::codegen
