// runtime/cuda/shared_library.h – NVIDIA's libraries, opened where they are first needed
//
// A library is looked for in the directories of RICCI_CUDA_PATH where that is set (an empty entry
// stands for the usual places), else in the usual places: what the process has loaded already, what
// the system's linker finds, /usr/local/cuda/lib64, and the packages that pip installs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ricci::cuda {

/// A library as it is named, for the search and for messages.
struct LibraryName {
    std::string_view name;                ///< `nvrtc`: in `ricci info`
    std::string_view title;               ///< `NVRTC`: in messages
    std::vector<std::string> sonames;     ///< `libnvrtc.so.13`, ...: the best first
    std::string_view hint;                ///< what to do where there is none
    std::string_view other_version = {};  ///< what to do where it lacks a function
};

/// An open library. It stays loaded until the process ends: NVIDIA's libraries do not bear closing.
class SharedLibrary {
  public:
    /// Throws: `device` when it is not found or cannot be loaded, with the linker's own words.
    explicit SharedLibrary(LibraryName name);

    /// The function of that name. Throws: `device` naming it when the library has none.
    template <class F>
    void take(F*& function, const char* symbol) const {
        function = reinterpret_cast<F*>(find(symbol));
    }
    /// The file, as the linker found it.
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

  private:
    [[nodiscard]] void* find(const char* symbol) const;

    LibraryName name_;
    void* handle_ = nullptr;
    std::string path_;
};

/// What `ricci info` says of a library: where it was found and its version, or what is missing.
struct LibraryState {
    std::string name = {};  ///< `driver`, `nvrtc`, `cublasLt`, `cudnn`
    bool is_usable = false;
    std::string text = {};  ///< `13.0, /usr/local/cuda/lib64/libnvrtc.so.13`, or the problem
};

}  // namespace ricci::cuda
