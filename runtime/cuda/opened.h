// runtime/cuda/opened.h – a library's table of functions: opened once, or replaced by a test
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/text.h"
#include "runtime/cuda/shared_library.h"

namespace ricci::cuda {

/// A library once it is open, or once a test stands in for it. What failed is tried again at the
/// next call: a library may be installed, a variable set, meanwhile.
template <class Table>
class Opened {
  public:
    template <class Open>
    const Table& get(Open&& open) {
        const std::lock_guard lock(mutex_);
        if (replacement_ != nullptr) return *replacement_;
        if (!table_) open(table_, path_);
        return *table_;
    }
    /// Where the library is; empty before it was opened and for a replacement.
    std::string path() {
        const std::lock_guard lock(mutex_);
        return replacement_ == nullptr ? path_ : std::string();
    }
    void replace(const Table* table) {
        const std::lock_guard lock(mutex_);
        replacement_ = table;
    }

  private:
    std::mutex mutex_;
    std::optional<Table> table_;
    std::string path_;
    const Table* replacement_ = nullptr;
};

/// Runs `describe`, which returns the text of a usable library or throws what is wrong.
template <class F>
LibraryState state_of(const LibraryName& name, F&& describe) {
    LibraryState state{.name = std::string(name.name)};
    try {
        state.text = describe();
        state.is_usable = true;
    } catch (const Error& error) {
        state.text = error.diagnosis().message;
    }
    return state;
}

/// `13.0, /usr/local/cuda/lib64/libnvrtc.so.13`.
inline std::string with_path(std::string text, const std::string& path) {
    return path.empty() ? text : format("{}, {}", text, path);
}

}  // namespace ricci::cuda
