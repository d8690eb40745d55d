// runtime/kernel_cache.h – loaded kernels by key: first memory, then disk, then the compiler
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "codegen/cpu/compile.h"
#include "codegen/image.h"
#include "runtime/disk_cache.h"

namespace ricci::runtime {

/// Where a module came from, for logs and `ricci bench`.
enum class CacheOutcome : std::uint8_t { memory, disk, compiled };
[[nodiscard]] std::string_view name(CacheOutcome outcome) noexcept;

/// Loaded modules by key, of any one kind; thread-safe. Two threads that miss the same key at once
/// may both compile.
class ModuleCache {
  public:
    using ModulePtr = std::shared_ptr<const void>;
    using Load = std::function<ModulePtr(const codegen::Image&)>;
    struct Found {
        ModulePtr module;
        CacheOutcome outcome;
    };

    /// `disk` may be empty.
    ModuleCache(std::shared_ptr<DiskCache> disk, Load load);

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
    std::shared_ptr<DiskCache> disk_;
    Load load_;
};

/// The same for modules of type `Module`.
template <class Module>
class KernelCache {
  public:
    using ModulePtr = std::shared_ptr<const Module>;
    using Load = std::function<ModulePtr(const codegen::Image&)>;
    struct Found {
        ModulePtr module;
        CacheOutcome outcome;
    };

    KernelCache(std::shared_ptr<DiskCache> disk, Load load)
        : modules_(std::move(disk), std::move(load)) {}
    explicit KernelCache(std::shared_ptr<DiskCache> disk)
        : KernelCache(std::move(disk), [](const codegen::Image& image) {
              return std::make_shared<const Module>(image);
          }) {}

    [[nodiscard]] Found find(const std::string& key,
                             const std::function<codegen::Image()>& compile) {
        const ModuleCache::Found found = modules_.find(key, compile);
        return {std::static_pointer_cast<const Module>(found.module), found.outcome};
    }
    void clear_memory() { modules_.clear_memory(); }

  private:
    ModuleCache modules_;
};

/// The cache of this process's modules for the CPU.
[[nodiscard]] KernelCache<codegen::cpu::Module>& kernel_cache();
/// What all caches of this process keep on disk, with RICCI_CACHE_DIR and RICCI_CACHE_SIZE as they
/// are at first use; null: nothing.
[[nodiscard]] const std::shared_ptr<DiskCache>& process_disk_cache();

/// This build of Ricci: the linker's build id of the binary that holds it, empty when it has none.
/// Part of every key on disk, so that no build executes the code of another.
[[nodiscard]] const std::string& build_identity();

}  // namespace ricci::runtime
