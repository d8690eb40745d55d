// runtime/kernel_cache.h – loaded kernels by key: first memory, then disk, then the compiler
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "codegen/cpu/compile.h"
#include "codegen/image.h"
#include "runtime/disk_cache.h"

namespace ricci::runtime {

/// Where a module came from, for logs and `ricci bench`.
enum class CacheOutcome : std::uint8_t { memory, disk, compiled };
[[nodiscard]] std::string_view name(CacheOutcome outcome) noexcept;

/// Loaded modules by key; thread-safe. Two threads that miss the same key at once may both compile.
class KernelCache {
  public:
    using ModulePtr = std::shared_ptr<const codegen::cpu::Module>;
    struct Found {
        ModulePtr module;
        CacheOutcome outcome;
    };

    /// `disk` may be empty.
    explicit KernelCache(std::unique_ptr<DiskCache> disk);

    /// The module of that key; calls `compile` when neither memory nor disk has it. An image from
    /// disk that cannot be loaded counts as missing.
    [[nodiscard]] Found find(const std::string& key,
                             const std::function<codegen::Image()>& compile);
    /// Forgets the modules in memory; those in use stay alive.
    void clear_memory();

  private:
    struct Entry {
        Digest digest;
        std::string key;
        ModulePtr module;
    };

    [[nodiscard]] ModulePtr find_in_memory(const Digest& digest, const std::string& key);
    [[nodiscard]] ModulePtr find_on_disk(const std::string& key) const;

    std::mutex mutex_;
    std::list<Entry> entries_;  ///< the last used first
    std::unique_ptr<DiskCache> disk_;
};

/// The cache of this process, with RICCI_CACHE_DIR and RICCI_CACHE_SIZE as they are at first use.
[[nodiscard]] KernelCache& kernel_cache();

/// This build of Ricci: the linker's build id of the binary that holds it, empty when it has none.
/// Part of every key on disk, so that no build executes the code of another.
[[nodiscard]] const std::string& build_identity();

}  // namespace ricci::runtime
