// tools/ricci/outputs.h – -o: results into files, all or none; else onto the terminal
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/array.h"

namespace ricci::tool {

/// One `-o`: `FILE.npy`, or `NAME=FILE.npy`.
struct OutputRequest {
    std::string name;  ///< empty: the result
    std::string path;
};

/// Reads the words after `-o`. Throws: UsageError for a name that is not followed by a file, and
/// for a file or an output that stands twice.
[[nodiscard]] std::vector<OutputRequest> parse_outputs(const std::vector<std::string>& words);

/// Results by name, in the order asked for.
using NamedResults = std::vector<std::pair<std::string, Array>>;

/// Writes every file, or none when one of them cannot be written. Throws: `io`.
void write_files(const std::vector<OutputRequest>& requests, const NamedResults& results);
/// Prints one result as it is, several under their names.
void print_results(const NamedResults& results);

}  // namespace ricci::tool
