// runtime/staged_file.h – files that appear whole or not at all
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace ricci::runtime {

/// A file written beside its final place and moved there by `commit`. Without a commit nothing is
/// left behind and what stood there before is untouched.
class StagedFile {
  public:
    /// Throws: `io` when the folder cannot be written, or `path` names something that is not a
    /// file.
    explicit StagedFile(std::string path);
    ~StagedFile();
    StagedFile(StagedFile&& other) noexcept;
    StagedFile& operator=(StagedFile&&) = delete;

    /// Throws: `io` when the disk is full.
    void write(std::span<const std::byte> bytes);
    /// Writes are on their way to the disk; moves the file into place. Throws: `io`.
    void commit();

  private:
    [[noreturn]] void fail(int code) const;

    std::string path_;       ///< as the caller wrote it, for errors
    std::string final_;      ///< with symbolic links resolved
    std::string temporary_;  ///< empty once committed
    int descriptor_ = -1;
};

}  // namespace ricci::runtime
