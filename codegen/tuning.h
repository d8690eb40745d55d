// codegen/tuning.h – kernels that may run in several ways, and what was measured of them
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ricci::codegen {

/// What was measured of a kernel.
struct Tuned {
    std::string candidate;     ///< the name of the fastest
    double seconds = 0;        ///< that it takes
    double usual_seconds = 0;  ///< that the cheapest by estimate takes
    std::size_t measured = 0;  ///< candidates
    std::string where = {};    ///< threads and machine

    bool operator==(const Tuned&) const = default;
};

/// What is known of the kernel of that text; nothing where it was not measured. Names of candidates
/// that a plan does not offer count as not known.
using Tunings = std::function<std::optional<Tuned>(const std::string& kernel)>;

/// A kernel of a plan that several candidates compute, with equal bits: whichever is taken, every
/// element of the result is made by the same operations in the same order.
struct Choice {
    std::string kernel;  ///< its text: whatever decides what it computes and on which extents
    std::vector<std::string> candidates =
        {};                  ///< worth measuring; the first: the cheapest by estimate
    std::string taken = {};  ///< the candidate that the plan has
    std::size_t first_step = 0;
    std::size_t last_step = 0;  ///< behind it
};

}  // namespace ricci::codegen
