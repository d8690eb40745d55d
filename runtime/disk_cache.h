// runtime/disk_cache.h – compiled kernels and measurements on disk, one file an entry, never
// trusted
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "codegen/image.h"

namespace ricci::runtime {

/// Images on disk. The files hold code that is executed, so the directory must belong to this user
/// and nobody else may write to it; an entry counts only when its length, its checksum and the
/// whole text of its key are right. Whatever is wrong with the directory or an entry is a miss.
class DiskCache {
  public:
    /// Makes the directory (0700) when it is missing. Logs a warning when it cannot be used or
    /// trusted, and then never hits. `limit_bytes` bounds the sum of the entries' sizes.
    DiskCache(const std::string& directory, std::int64_t limit_bytes);
    ~DiskCache();
    DiskCache(const DiskCache&) = delete;
    DiskCache& operator=(const DiskCache&) = delete;

    [[nodiscard]] std::optional<codegen::Image> load(const std::string& key) const;
    /// Publishes the entry whole or not at all. A directory that cannot be written is no error.
    void store(const std::string& key, const codegen::Image& image);
    /// The same for a text.
    [[nodiscard]] std::optional<std::string> load_text(const std::string& key) const;
    void store_text(const std::string& key, std::string_view text);
    /// Deletes the entries not used for longest until the limit holds with a quarter to spare, and
    /// what interrupted writers left behind.
    void sweep() const;
    [[nodiscard]] bool is_usable() const noexcept { return directory_ >= 0; }

  private:
    [[nodiscard]] std::optional<std::string> read(const std::string& key) const;
    void publish(const std::string& key, std::string_view content);

    int directory_ = -1;  ///< descriptor, checked once: files are opened relative to it
    std::int64_t limit_bytes_ = 0;
    std::mutex mutex_;
    std::int64_t unswept_bytes_ = 0;  ///< stored since the last sweep
};

}  // namespace ricci::runtime
