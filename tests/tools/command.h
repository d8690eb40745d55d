// tests/tools/command.h – runs the built command and catches what it says
#pragma once

#include <string>
#include <vector>

namespace ricci::tests {

/// What one run of `ricci` left.
struct Outcome {
    int status = -1;  ///< exit status; -1 when it was killed
    std::string out;
    std::string err;
};

/// Runs `ricci` with these words in `folder`, with a kernel cache in `cache`; empty: none on disk.
[[nodiscard]] Outcome ricci_command(const std::string& folder,
                                    const std::vector<std::string>& words,
                                    const std::string& cache = {});

}  // namespace ricci::tests
