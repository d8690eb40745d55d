// runtime/cuda/shared_library.cpp – the search for NVIDIA's libraries
#include "runtime/cuda/shared_library.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <dlfcn.h>
#include <link.h>

#include "base/env.h"
#include "base/error.h"
#include "base/text.h"

namespace ricci::cuda {
namespace {

namespace fs = std::filesystem;

/// Sorted, so that two runs find the same file.
std::vector<fs::path> entries(const fs::path& directory) {
    std::vector<fs::path> found;
    std::error_code ignored;  // what cannot be read holds nothing
    for (fs::directory_iterator at(directory, ignored), end; at != end; at.increment(ignored))
        found.push_back(at->path());
    std::ranges::sort(found);
    return found;
}

/// `nvidia/<package>/lib` of the Python packages below a prefix (`/usr/local`, a virtual
/// environment, `~/.local`).
void add_pip_directories(const fs::path& prefix, std::vector<fs::path>& directories) {
    for (const fs::path& python : entries(prefix / "lib")) {
        if (!python.filename().string().starts_with("python")) continue;
        for (const char* packages : {"site-packages", "dist-packages"})
            for (const fs::path& package : entries(python / packages / "nvidia"))
                directories.push_back(package / "lib");
    }
}

/// The usual places that the system's linker does not know of.
std::vector<fs::path> toolkit_directories() {
    std::vector<fs::path> directories = {"/usr/local/cuda/lib64"};
    for (const std::string& prefix : env::python_prefixes())
        add_pip_directories(prefix, directories);
    for (const char* prefix : {"/usr/local", "/usr"}) add_pip_directories(prefix, directories);
    return directories;
}

/// Tries files until one is loaded; keeps what the linker says of those that are there but fail.
class Search {
  public:
    explicit Search(const std::vector<std::string>& sonames) : sonames_(sonames) {}

    void* in_process() {
        return first([](const std::string& soname) {
            return dlopen(soname.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
        });
    }
    void* by_linker() {
        return first([this](const std::string& soname) {
            void* handle = dlopen(soname.c_str(), RTLD_NOW | RTLD_LOCAL);
            if (handle == nullptr) keep_problem(soname);
            return handle;
        });
    }
    void* in_directory(const fs::path& directory) {
        return first([&](const std::string& soname) -> void* {
            const fs::path file = directory / soname;
            std::error_code ignored;
            if (!fs::exists(file, ignored)) return nullptr;
            void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
            if (handle == nullptr) keep_problem(soname);
            return handle;
        });
    }
    void* in_usual_places() {
        if (void* handle = in_process()) return handle;
        if (void* handle = by_linker()) return handle;
        for (const fs::path& directory : toolkit_directories())
            if (void* handle = in_directory(directory)) return handle;
        return nullptr;
    }
    /// What the linker said of the first file that is there but cannot be loaded, or nothing.
    [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

  private:
    template <class F>
    void* first(F&& open) {
        for (const std::string& soname : sonames_)
            if (void* handle = open(soname)) return handle;
        return nullptr;
    }
    void keep_problem(const std::string& soname) {
        const char* text = dlerror();
        if (text == nullptr || !problem_.empty()) return;
        // A file that is not there is no news; one that misses another library is.
        const std::string said = text;
        if (!said.starts_with(soname + ": cannot open shared object file")) problem_ = said;
    }

    const std::vector<std::string>& sonames_;
    std::string problem_;
};

void* open(Search& search) {
    const auto path = env::cuda_path();
    if (!path) return search.in_usual_places();
    for (const std::string& directory : *path) {
        void* handle =
            directory.empty() ? search.in_usual_places() : search.in_directory(directory);
        if (handle != nullptr) return handle;
    }
    return nullptr;
}

/// Whether only the directories of RICCI_CUDA_PATH were looked into.
bool is_path_closed() {
    const auto path = env::cuda_path();
    return path && std::ranges::find(*path, std::string()) == path->end();
}

std::string problem_of(const Search& search, const LibraryName& name) {
    if (!search.problem().empty()) return "cannot be loaded: " + search.problem();
    if (!is_path_closed()) return format("({}) is not installed", name.sonames.front());
    return format("({}) is not in RICCI_CUDA_PATH={}", name.sonames.front(),
                  join(*env::cuda_path(), ":"));
}

std::string hint_for(const LibraryName& name) {
    if (!is_path_closed()) return std::string(name.hint);
    return "a `:` at the end of RICCI_CUDA_PATH adds the usual places";
}

std::string path_of(void* handle, const std::string& fallback) {
    const link_map* map = nullptr;
    const bool is_known =
        dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map != nullptr;
    return is_known && map->l_name != nullptr && *map->l_name != '\0' ? map->l_name : fallback;
}

}  // namespace

SharedLibrary::SharedLibrary(LibraryName name) : name_(std::move(name)) {
    Search search(name_.sonames);
    handle_ = open(search);
    if (handle_ == nullptr) {
        throw Error({.kind = ErrorKind::device,
                     .message = format("{} {}", name_.title, problem_of(search, name_)),
                     .hint = hint_for(name_)});
    }
    path_ = path_of(handle_, name_.sonames.front());
}

void* SharedLibrary::find(const char* symbol) const {
    if (void* function = dlsym(handle_, symbol)) return function;
    throw Error({.kind = ErrorKind::device,
                 .message = format("{} in `{}` has no function `{}`", name_.title, path_, symbol),
                 .hint = std::string(name_.other_version)});
}

}  // namespace ricci::cuda
