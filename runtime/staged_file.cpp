// runtime/staged_file.cpp – a temporary neighbour, then a rename
#include "runtime/staged_file.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"

namespace ricci::runtime {
namespace {

/// The path that a rename must replace, so that a symbolic link stays one.
std::string resolve(const std::string& path) {
    const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr),
                                                           &std::free);
    return real ? std::string(real.get()) : path;
}

}  // namespace

StagedFile::StagedFile(std::string path) : path_(std::move(path)), final_(resolve(path_)) {
    struct stat status{};
    if (stat(final_.c_str(), &status) == 0) {
        if (!S_ISREG(status.st_mode)) {
            throw Error({.kind = ErrorKind::io,
                         .message = format("cannot write `{}`: it is not a regular file", path_)});
        }
        // Renaming over it needs no permission on the file itself; its owner's wish is respected.
        if (access(final_.c_str(), W_OK) != 0) fail(errno);
    }
    static std::atomic<unsigned> counter = 0;
    for (int attempt = 0; attempt < 100; ++attempt) {
        temporary_ = format("{}.{}-{}.part", final_, getpid(), counter++);
        descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor_ >= 0 || errno != EEXIST) break;
    }
    if (descriptor_ < 0) {
        temporary_.clear();
        fail(errno);
    }
}

StagedFile::StagedFile(StagedFile&& other) noexcept
    : path_(std::move(other.path_)),
      final_(std::move(other.final_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

StagedFile::~StagedFile() {
    if (descriptor_ >= 0) close(descriptor_);
    if (!temporary_.empty()) unlink(temporary_.c_str());
}

void StagedFile::write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) fail(errno);
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
}

void StagedFile::commit() {
    // Some file systems report a full disk only here.
    if (close(std::exchange(descriptor_, -1)) != 0) fail(errno);
    if (rename(temporary_.c_str(), final_.c_str()) != 0) fail(errno);
    temporary_.clear();
}

void StagedFile::fail(int code) const {
    throw Error(
        {.kind = ErrorKind::io,
         .message = format("cannot write `{}`: {}", path_, std::generic_category().message(code))});
}

}  // namespace ricci::runtime
