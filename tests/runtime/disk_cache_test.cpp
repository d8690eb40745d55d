// tests/runtime/disk_cache_test.cpp – entries survive, damage and strangers are misses
#include "runtime/disk_cache.h"

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "tests/runtime/temporary_folder.h"

namespace ricci::runtime {
namespace {

using codegen::Image;
using tests::read_bytes;
using tests::TemporaryFolder;
using tests::write_bytes;

constexpr std::int64_t limit = 1 << 20;

Image image_of(const std::string& code) {
    Image image;
    image.symbols = {"first", "second"};
    for (const char c : code) image.bytes.push_back(static_cast<std::byte>(c));
    return image;
}

/// The only file of a folder.
std::string only_file(const TemporaryFolder& folder) {
    return std::filesystem::directory_iterator(folder.path())->path().string();
}

/// Keeps warnings of a case off the terminal.
struct QuietLog {
    QuietLog() {
        set_log_sink([this](LogLevel, std::string_view message) { text += message; });
    }
    ~QuietLog() { set_log_sink({}); }
    std::string text;
};

TEST_CASE("what is stored is found under its key alone") {
    const TemporaryFolder folder;
    DiskCache cache(folder.path().string(), limit);
    CHECK_FALSE(cache.load("key"));
    cache.store("key", image_of("code"));
    const auto found = cache.load("key");
    REQUIRE(found);
    CHECK(found->bytes == image_of("code").bytes);
    CHECK(found->symbols == std::vector<std::string>{"first", "second"});
    CHECK_FALSE(cache.load("kez"));
    CHECK(DiskCache(folder.path().string(), limit).load("key"));
}

TEST_CASE("an image for a GPU keeps its parts, its kernels' resources and the compiler's words") {
    const TemporaryFolder folder;
    DiskCache cache(folder.path().string(), limit);
    Image image = image_of("two modules");
    image.format = Image::Format::cubin;
    image.parts = {{.bytes_end = 4, .symbols_end = 1}, {.bytes_end = 11, .symbols_end = 2}};
    image.resources = {{.registers = 40, .spill_bytes = 0, .stack_bytes = 8, .shared_bytes = 1024},
                       {.registers = 128, .spill_bytes = 16, .stack_bytes = 0, .shared_bytes = 0}};
    image.log = "ptxas info: 128 registers";
    cache.store("key", image);
    const auto found = cache.load("key");
    REQUIRE(found);
    CHECK(found->format == Image::Format::cubin);
    CHECK(found->bytes == image.bytes);
    REQUIRE(found->parts.size() == 2);
    CHECK(found->parts[1].bytes_end == 11);
    CHECK(found->parts[0].symbols_end == 1);
    CHECK(found->resources == image.resources);
    CHECK(found->log == image.log);
}

TEST_CASE("every single changed byte of an entry is a miss") {
    const TemporaryFolder folder;
    DiskCache cache(folder.path().string(), limit);
    cache.store("some key", image_of("some code"));
    const std::string file = only_file(folder);
    const std::string whole = read_bytes(file);
    for (std::size_t at = 0; at < whole.size(); ++at) {
        CAPTURE(at);
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
        write_bytes(file, damaged);
        CHECK_FALSE(cache.load("some key"));
    }
    for (std::size_t length = 0; length < whole.size(); ++length) {
        CAPTURE(length);
        write_bytes(file, whole.substr(0, length));
        CHECK_FALSE(cache.load("some key"));
    }
    write_bytes(file, whole);
    CHECK(cache.load("some key"));
}

TEST_CASE("an entry under the name of another key is a miss") {
    const TemporaryFolder folder;
    DiskCache cache(folder.path().string(), limit);
    cache.store("a", image_of("code a"));
    const std::string file_a = only_file(folder);
    const std::string entry_a = read_bytes(file_a);
    std::filesystem::remove(file_a);
    cache.store("b", image_of("code b"));
    write_bytes(only_file(folder), entry_a);
    CHECK_FALSE(cache.load("b"));
}

TEST_CASE("a damaged entry is replaced by the next store") {
    const TemporaryFolder folder;
    DiskCache cache(folder.path().string(), limit);
    cache.store("key", image_of("code"));
    write_bytes(only_file(folder), "rubbish");
    CHECK_FALSE(cache.load("key"));
    cache.store("key", image_of("code"));
    CHECK(cache.load("key"));
    CHECK(folder.file_count() == 1);
}

TEST_CASE("a directory that others may write to is not used") {
    const TemporaryFolder folder;
    chmod(folder.path().c_str(), 0777);
    QuietLog log;
    DiskCache cache(folder.path().string(), limit);
    CHECK_FALSE(cache.is_usable());
    CHECK(log.text == "kernels are not kept in `" + folder.path().string() +
                          "`: it does not belong to this user alone");
    cache.store("key", image_of("code"));
    CHECK(folder.file_count() == 0);
}

TEST_CASE("a symbolic link is not taken for the directory, nor for an entry") {
    const TemporaryFolder folder;
    DiskCache cache(folder / "real", limit);
    cache.store("key", image_of("code"));
    std::filesystem::create_directory_symlink(folder / "real", folder / "link");
    QuietLog log;
    CHECK_FALSE(DiskCache(folder / "link", limit).is_usable());
    const std::string file = std::filesystem::directory_iterator(folder / "real")->path().string();
    std::filesystem::rename(file, folder / "elsewhere");
    std::filesystem::create_symlink(folder / "elsewhere", file);
    CHECK_FALSE(cache.load("key"));
}

TEST_CASE("an entry that others may write to is a miss") {
    const TemporaryFolder folder;
    DiskCache cache(folder.path().string(), limit);
    cache.store("key", image_of("code"));
    chmod(only_file(folder).c_str(), 0666);
    CHECK_FALSE(cache.load("key"));
}

TEST_CASE("the directory is made private, with the folders above it") {
    const TemporaryFolder folder;
    const DiskCache cache(folder / "a/b/kernels", limit);
    CHECK(cache.is_usable());
    struct stat status{};
    REQUIRE(stat((folder / "a/b/kernels").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0700);
}

TEST_CASE("a directory that cannot be made is only a warning") {
    QuietLog log;
    DiskCache cache("/proc/ricci-cannot-be-made", limit);
    CHECK_FALSE(cache.is_usable());
    CHECK_FALSE(cache.load("key"));
    CHECK(log.text.starts_with("kernels are not kept in `/proc/ricci-cannot-be-made`: "));
}

TEST_CASE("the sum of the entries stays below the limit, the last used stay") {
    const TemporaryFolder folder;
    DiskCache cache(folder.path().string(), 10'000);
    const std::string code(1000, 'x');
    for (int i = 0; i < 40; ++i) {
        cache.store("key " + std::to_string(i), image_of(code));
        CHECK(cache.load("key 0"));  // used all the time
    }
    std::uintmax_t total = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder.path()))
        total += file.file_size();
    CHECK(total <= 12'500);
    CHECK(cache.load("key 39"));
    CHECK_FALSE(cache.load("key 1"));
}

TEST_CASE("many writers and readers of one key never see half an entry") {
    const TemporaryFolder folder;
    DiskCache cache(folder.path().string(), limit);
    const std::string code(50'000, 'y');
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 50; ++i) {
                cache.store("key", image_of(code));
                const auto found = cache.load("key");
                if (!found || found->bytes.size() != code.size()) ++wrong;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK(folder.file_count() == 1);
}

}  // namespace
}  // namespace ricci::runtime
