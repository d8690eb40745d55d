// runtime/kernel_cache.cpp – lookup in memory and on disk, and what identifies a build
#include "runtime/kernel_cache.h"

#include <utility>

#include <link.h>

#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"

namespace ricci::runtime {
namespace {

// Modules that stay loaded although no function uses them, so that a program that compiles the same
// text in a loop loads it once.
constexpr std::size_t max_entries = 256;

/// What the search for the build id looks for and finds.
struct BuildIdSearch {
    std::uintptr_t address;
    std::string id = {};
};

/// The GNU build id among the notes of a segment, in hexadecimal; empty when there is none.
std::string build_id_of(const char* notes, std::size_t size) {
    std::size_t at = 0;
    while (at + sizeof(ElfW(Nhdr)) <= size) {
        const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(notes + at);
        const std::size_t name_at = at + sizeof(*note);
        const std::size_t text_at = name_at + (std::size_t(note->n_namesz) + 3) / 4 * 4;
        const std::size_t next_at = text_at + (std::size_t(note->n_descsz) + 3) / 4 * 4;
        if (next_at > size) break;
        if (note->n_type == NT_GNU_BUILD_ID &&
            std::string_view(notes + name_at, note->n_namesz) == std::string_view("GNU\0", 4)) {
            std::string id;
            for (std::size_t i = 0; i < note->n_descsz; ++i)
                id += format("{:02x}", static_cast<unsigned char>(notes[text_at + i]));
            return id;
        }
        at = next_at;
    }
    return {};
}

/// Called for each loaded binary; stops at the one that holds the address sought.
int visit_binary(dl_phdr_info* binary, std::size_t, void* search_pointer) {
    auto& search = *static_cast<BuildIdSearch*>(search_pointer);
    bool is_ours = false;
    std::string id;
    for (int i = 0; i < binary->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = binary->dlpi_phdr[i];
        const std::uintptr_t begin = binary->dlpi_addr + segment.p_vaddr;
        if (segment.p_type == PT_LOAD && search.address >= begin &&
            search.address < begin + segment.p_memsz)
            is_ours = true;
        if (segment.p_type == PT_NOTE && id.empty())
            id = build_id_of(reinterpret_cast<const char*>(begin), segment.p_memsz);
    }
    if (!is_ours) return 0;
    search.id = std::move(id);
    return 1;
}

std::shared_ptr<DiskCache> make_disk_cache() {
    const auto directory = env::cache_directory();
    if (!directory) return nullptr;
    if (build_identity().empty()) {
        log_message(LogLevel::warn,
                    "kernels are not kept on disk: this binary was linked without a build id "
                    "(-Wl,--build-id)");
        return nullptr;
    }
    return std::make_shared<DiskCache>(*directory, env::cache_size_bytes());
}

}  // namespace

std::string_view name(CacheOutcome outcome) noexcept {
    switch (outcome) {
        case CacheOutcome::memory:   return "memory";
        case CacheOutcome::disk:     return "disk";
        case CacheOutcome::compiled: return "compiled";
    }
    return {};
}

ModuleCache::ModuleCache(std::shared_ptr<DiskCache> disk, Load load)
    : disk_(std::move(disk)), load_(std::move(load)) {}

ModuleCache::ModulePtr ModuleCache::find_in_memory(const Digest& digest, const std::string& key) {
    const std::lock_guard lock(mutex_);
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
        if (entry->digest != digest || entry->key != key) continue;
        entries_.splice(entries_.begin(), entries_, entry);
        return entry->module;
    }
    return nullptr;
}

ModuleCache::ModulePtr ModuleCache::find_on_disk(const std::string& key) const {
    if (!disk_) return nullptr;
    const auto image = disk_->load(key);
    if (!image) return nullptr;
    try {
        return load_(*image);
    } catch (const Error& error) {
        log_format(LogLevel::warn, "a kernel from disk cannot be loaded: {}", error.what());
        return nullptr;
    }
}

ModuleCache::Found ModuleCache::find(const std::string& key,
                                     const std::function<codegen::Image()>& compile) {
    const Digest digest = digest_of(key);
    if (auto module = find_in_memory(digest, key)) return {module, CacheOutcome::memory};
    Found found{find_on_disk(key), CacheOutcome::disk};
    if (!found.module) {
        const codegen::Image image = compile();
        found = {load_(image), CacheOutcome::compiled};
        if (disk_) disk_->store(key, image);
    }
    const std::lock_guard lock(mutex_);
    entries_.push_front({digest, key, found.module});
    if (entries_.size() > max_entries) entries_.pop_back();
    return found;
}

void ModuleCache::clear_memory() {
    const std::lock_guard lock(mutex_);
    entries_.clear();
}

KernelCache<codegen::cpu::Module>& kernel_cache() {
    static KernelCache<codegen::cpu::Module> cache(process_disk_cache());
    return cache;
}

const std::shared_ptr<DiskCache>& process_disk_cache() {
    static const std::shared_ptr<DiskCache> disk = make_disk_cache();
    return disk;
}

const std::string& build_identity() {
    static const std::string identity = [] {
        BuildIdSearch search{.address = reinterpret_cast<std::uintptr_t>(&visit_binary)};
        dl_iterate_phdr(&visit_binary, &search);
        return search.id;
    }();
    return identity;
}

}  // namespace ricci::runtime
