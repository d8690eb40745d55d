// tools/ricci/outputs.cpp – files staged together, arrays on the terminal
#include "tools/ricci/outputs.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "base/error.h"
#include "base/text.h"
#include "runtime/npy.h"
#include "runtime/staged_file.h"

#include "tools/ricci/arguments.h"

namespace ricci::tool {
namespace {

/// Whether both paths name one file, which need not exist.
bool same_file(const std::string& a, const std::string& b) {
    std::error_code none;  // a path that cannot be followed is compared as it is written
    const auto resolved = [&](const std::string& path) {
        return std::filesystem::weakly_canonical(std::filesystem::absolute(path, none), none);
    };
    return a == b || (!resolved(a).empty() && resolved(a) == resolved(b));
}

}  // namespace

std::vector<OutputRequest> parse_outputs(const std::vector<std::string>& words) {
    std::vector<OutputRequest> requests;
    for (const std::string& word : words) {
        const std::size_t equals = word.find('=');
        OutputRequest request;
        if (equals != std::string::npos) request.name = word.substr(0, equals);
        request.path = equals == std::string::npos ? word : word.substr(equals + 1);
        if (request.path.empty() || equals == 0)
            throw UsageError{format("-o {}: not FILE.npy or NAME=FILE.npy", word)};
        if (!request.path.ends_with(".npy"))
            throw UsageError{format("-o {}: only .npy files are written", word)};
        const auto is_same = [&](const OutputRequest& other) {
            return same_file(other.path, request.path);
        };
        if (std::ranges::any_of(requests, is_same))
            throw UsageError{format("-o {}: two outputs to one file", word)};
        const auto twin = std::ranges::find(requests, request.name, &OutputRequest::name);
        if (twin != requests.end())
            throw UsageError{format(
                "-o {}: {} is written to `{}` already", word,
                request.name.empty() ? "the result" : format("`{}`", request.name), twin->path)};
        requests.push_back(std::move(request));
    }
    return requests;
}

void write_files(const std::vector<OutputRequest>& requests, const NamedResults& results) {
    std::vector<runtime::StagedFile> files;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        files.emplace_back(requests[i].path);
        runtime::write_npy(files.back(), results[i].second);
    }
    for (runtime::StagedFile& file : files) file.commit();
}

void print_results(const NamedResults& results) {
    std::string text;
    for (const auto& [name, array] : results) {
        if (results.size() > 1) text += format("{} =\n", name);
        text += str(array) + "\n";
    }
    std::cout << text << std::flush;
    if (!std::cout)
        throw Error({.kind = ErrorKind::io, .message = "cannot write to standard output"});
}

}  // namespace ricci::tool
