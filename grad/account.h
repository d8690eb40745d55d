// grad/account.h – how the reads of a forward were inverted, told in words
#pragma once

#include <string>
#include <vector>

#include "dsl/program.h"
#include "grad/gather.h"

namespace ricci::grad {

/// What a derivation tells of its way: some lines for each read that it inverted, in the order of
/// the adjoints. What follows a read's first line is indented.
struct Account {
    std::vector<std::string> lines;
};

/// The relation as it was derived, how each subscript was solved, and what is summed where. `name`
/// is that of the cotangent to which it adds:
///
///     for o, k: dA[o+k] += dC[o]*F[k]
///       t == o+k: o = t-k
///       sum over k where t-k >= 0 && t-k < size(dC,0)
[[nodiscard]] std::vector<std::string> describe(const Program& program, const std::string& name,
                                                const Relation& relation,
                                                const Inversion& inversion);

}  // namespace ricci::grad
