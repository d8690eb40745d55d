// runtime/disk_cache.cpp – entries of the kernel cache: layout, checks, publication, sweeping
//
// An entry, all numbers little-endian and 64 bits wide:
//   magic | digest of the rest (2) | length of the key | key | content
// Of an image the content is
//   format | number of symbols |
//   for each symbol its length and text | number of parts | for each part its two ends |
//   number of resources | for each its four numbers | length of the log | log |
//   length of the code | code
#include "runtime/disk_cache.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"

namespace ricci::runtime {
namespace {

using codegen::Image;

constexpr std::string_view magic = "RICCI-K2";
constexpr std::string_view suffix = ".kernel";
constexpr std::string_view part_suffix = ".part";
constexpr std::size_t head_bytes = magic.size() + sizeof(Digest);
// No plan comes near; a larger file is not an entry.
constexpr std::int64_t max_entry_bytes = std::int64_t{256} << 20;
constexpr std::time_t abandoned_after_seconds = 3600;

/// A descriptor that is closed at the end.
class File {
  public:
    explicit File(int descriptor) : descriptor_(descriptor) {}
    ~File() {
        if (descriptor_ >= 0) close(descriptor_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    [[nodiscard]] int get() const noexcept { return descriptor_; }
    [[nodiscard]] explicit operator bool() const noexcept { return descriptor_ >= 0; }
    /// Closes it now; false when the system could not keep what was written.
    [[nodiscard]] bool finish() noexcept { return close(std::exchange(descriptor_, -1)) == 0; }

  private:
    int descriptor_;
};

void put(std::string& out, std::uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(number >> shift);
}

void put(std::string& out, std::string_view text) {
    put(out, text.size());
    out += text;
}

/// Takes an entry apart; every length is checked against what is left.
class Cursor {
  public:
    explicit Cursor(std::string_view text) : left_(text) {}

    std::optional<std::uint64_t> number() {
        if (left_.size() < 8) return std::nullopt;
        std::uint64_t value = 0;
        for (std::size_t i = 8; i-- > 0;) value = value << 8 | static_cast<unsigned char>(left_[i]);
        left_.remove_prefix(8);
        return value;
    }
    std::optional<std::string_view> text() {
        const auto length = number();
        if (!length || *length > left_.size()) return std::nullopt;
        const std::string_view result = left_.substr(0, *length);
        left_.remove_prefix(*length);
        return result;
    }
    [[nodiscard]] bool is_at_end() const noexcept { return left_.empty(); }
    [[nodiscard]] std::string_view rest() const noexcept { return left_; }

  private:
    std::string_view left_;
};

std::string encode(const Image& image) {
    std::string body;
    put(body, static_cast<std::uint64_t>(image.format));
    put(body, image.symbols.size());
    for (const std::string& symbol : image.symbols) put(body, symbol);
    put(body, image.parts.size());
    for (const Image::Part& part : image.parts) {
        put(body, part.bytes_end);
        put(body, part.symbols_end);
    }
    put(body, image.resources.size());
    for (const codegen::KernelResources& used : image.resources)
        for (const std::int64_t number :
             {used.registers, used.spill_bytes, used.stack_bytes, used.shared_bytes})
            put(body, static_cast<std::uint64_t>(number));
    put(body, image.log);
    put(body,
        std::string_view(reinterpret_cast<const char*>(image.bytes.data()), image.bytes.size()));
    return body;
}

std::string entry_of(const std::string& key, std::string_view content) {
    std::string body;
    put(body, key);
    body += content;
    const Digest digest = digest_of(body);
    std::string entry(magic);
    put(entry, digest.high);
    put(entry, digest.low);
    return entry + body;
}

/// Parts, resources and log of an image; false when the entry is not whole.
bool decode_gpu_fields(Cursor& cursor, Image& image) {
    const auto parts = cursor.number();
    for (std::uint64_t i = 0; parts && i < *parts; ++i) {
        const auto bytes_end = cursor.number();
        const auto symbols_end = cursor.number();
        if (!bytes_end || !symbols_end) return false;
        image.parts.push_back({.bytes_end = *bytes_end, .symbols_end = *symbols_end});
    }
    const auto resources = cursor.number();
    for (std::uint64_t i = 0; resources && i < *resources; ++i) {
        std::array<std::int64_t, 4> numbers{};
        for (std::int64_t& number : numbers) {
            const auto read = cursor.number();
            if (!read) return false;
            number = static_cast<std::int64_t>(*read);
        }
        image.resources.push_back({.registers = numbers[0],
                                   .spill_bytes = numbers[1],
                                   .stack_bytes = numbers[2],
                                   .shared_bytes = numbers[3]});
    }
    const auto log = cursor.text();
    if (log) image.log = *log;
    return parts && resources && log;
}

/// The content of an entry of that key.
std::optional<std::string> content_of(std::string_view entry, const std::string& key) {
    if (entry.size() < head_bytes || !entry.starts_with(magic)) return std::nullopt;
    Cursor head(entry.substr(magic.size(), sizeof(Digest)));
    const Digest digest = {.high = *head.number(), .low = *head.number()};
    const std::string_view body = entry.substr(head_bytes);
    if (digest_of(body) != digest) return std::nullopt;
    Cursor cursor(body);
    const auto stored_key = cursor.text();
    if (!stored_key || *stored_key != key) return std::nullopt;
    return std::string(cursor.rest());
}

std::optional<Image> decode(std::string_view content) {
    Cursor cursor(content);
    Image image;
    const auto format_number = cursor.number();
    if (!format_number || *format_number > static_cast<std::uint64_t>(Image::Format::ptx))
        return std::nullopt;
    image.format = static_cast<Image::Format>(*format_number);
    const auto symbols = cursor.number();
    for (std::uint64_t i = 0; symbols && i < *symbols; ++i) {
        const auto symbol = cursor.text();
        if (!symbol) return std::nullopt;
        image.symbols.emplace_back(*symbol);
    }
    if (!decode_gpu_fields(cursor, image)) return std::nullopt;
    const auto code = cursor.text();
    if (!code || !cursor.is_at_end()) return std::nullopt;
    const auto* bytes = reinterpret_cast<const std::byte*>(code->data());
    image.bytes.assign(bytes, bytes + code->size());
    return image;
}

std::string file_name(const std::string& key) { return str(digest_of(key)) + std::string(suffix); }

/// Whether nobody but this user can have written it.
bool is_private(const struct stat& status) noexcept {
    return status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

int open_directory(const std::string& path) {
    std::error_code ignored;  // an existing directory is fine, any failure shows at open
    const std::filesystem::path parent = std::filesystem::path(path).parent_path();
    if (!parent.empty()) std::filesystem::create_directories(parent, ignored);
    mkdir(path.c_str(), 0700);
    const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status{};
    std::string problem;
    if (fd < 0)
        problem = std::generic_category().message(errno);
    else if (fstat(fd, &status) != 0 || !is_private(status))
        problem = "it does not belong to this user alone";
    if (problem.empty()) return fd;
    if (fd >= 0) close(fd);
    log_format(LogLevel::warn, "kernels are not kept in `{}`: {}", path, problem);
    return -1;
}

bool write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = write(fd, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

bool read_all(int fd, std::string& text) {
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t got = read(fd, text.data() + done, text.size() - done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        done += static_cast<std::size_t>(got);
    }
    return true;
}

}  // namespace

DiskCache::DiskCache(const std::string& directory, std::int64_t limit_bytes)
    : directory_(open_directory(directory)), limit_bytes_(limit_bytes) {
    // The first store sweeps: other processes may have filled the directory.
    unswept_bytes_ = limit_bytes_;
}

DiskCache::~DiskCache() {
    if (is_usable()) close(directory_);
}

std::optional<Image> DiskCache::load(const std::string& key) const {
    const std::optional<std::string> content = read(key);
    return content ? decode(*content) : std::nullopt;
}

std::optional<std::string> DiskCache::load_text(const std::string& key) const { return read(key); }

void DiskCache::store(const std::string& key, const Image& image) { publish(key, encode(image)); }

void DiskCache::store_text(const std::string& key, std::string_view text) { publish(key, text); }

std::optional<std::string> DiskCache::read(const std::string& key) const {
    if (!is_usable()) return std::nullopt;
    const std::string name = file_name(key);
    const File file(
        openat(directory_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    struct stat status{};
    if (!file || fstat(file.get(), &status) != 0) return std::nullopt;
    const bool is_entry = S_ISREG(status.st_mode) && status.st_nlink <= 1 && is_private(status) &&
                          status.st_size <= max_entry_bytes;
    if (!is_entry) return std::nullopt;
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    if (!read_all(file.get(), text)) return std::nullopt;
    std::optional<std::string> content = content_of(text, key);
    if (content)
        futimens(file.get(), nullptr);  // marks it as used, for the sweep
    else
        log_format(LogLevel::info, "kernel cache entry {} is damaged or foreign, ignored", name);
    return content;
}

void DiskCache::publish(const std::string& key, std::string_view content) {
    if (!is_usable()) return;
    const std::string entry = entry_of(key, content);
    const auto size = static_cast<std::int64_t>(entry.size());
    if (size > max_entry_bytes || size > limit_bytes_) return;
    static std::atomic<unsigned> counter = 0;
    const std::string part = format("{}-{}{}", getpid(), counter++, part_suffix);
    File file(openat(directory_, part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file) return;
    const bool is_written = write_all(file.get(), entry) && file.finish();
    const std::string name = file_name(key);
    if (!is_written || renameat(directory_, part.c_str(), directory_, name.c_str()) != 0) {
        unlinkat(directory_, part.c_str(), 0);
        return;
    }
    const std::lock_guard lock(mutex_);
    unswept_bytes_ += size;
    if (unswept_bytes_ <= limit_bytes_ / 4) return;
    unswept_bytes_ = 0;
    sweep();
}

void DiskCache::sweep() const {
    if (!is_usable()) return;
    struct Entry {
        std::string name;
        std::int64_t size_bytes;
        std::pair<std::time_t, long> used;
    };
    const int fd = openat(directory_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(fdopendir(fd), &closedir);
    if (!listing) {
        close(fd);
        return;
    }
    std::vector<Entry> entries;
    std::int64_t total = 0;
    const std::time_t now = std::time(nullptr);
    while (const dirent* item = readdir(listing.get())) {
        const std::string name = item->d_name;
        struct stat status{};
        if (fstatat(directory_, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (!S_ISREG(status.st_mode)) continue;
        if (name.ends_with(part_suffix) && status.st_mtime + abandoned_after_seconds < now)
            unlinkat(directory_, name.c_str(), 0);
        if (!name.ends_with(suffix)) continue;
        entries.push_back({name, status.st_size, {status.st_mtim.tv_sec, status.st_mtim.tv_nsec}});
        total += status.st_size;
    }
    if (total <= limit_bytes_) return;
    std::ranges::sort(entries, {}, &Entry::used);
    for (const Entry& entry : entries) {
        if (total <= limit_bytes_ / 4 * 3) break;
        if (unlinkat(directory_, entry.name.c_str(), 0) == 0) total -= entry.size_bytes;
    }
}

}  // namespace ricci::runtime
