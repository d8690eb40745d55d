// runtime/tuner.h – kernels that several candidates compute, timed on this machine when asked for
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "base/target.h"
#include "codegen/tuning.h"
#include "dsl/bound.h"
#include "runtime/array.h"
#include "runtime/disk_cache.h"

namespace ricci::runtime {

/// What was measured of kernels: in memory, and on disk, by kernel and machine.
class TuningStore {
  public:
    /// `disk` may be empty. `machine`: whatever else the measurements depend on.
    TuningStore(std::shared_ptr<DiskCache> disk, std::string machine)
        : disk_(std::move(disk)), machine_(std::move(machine)) {}

    [[nodiscard]] std::optional<codegen::Tuned> find(const std::string& kernel);
    void keep(const std::string& kernel, const codegen::Tuned& tuned);
    /// Valid as long as the store.
    [[nodiscard]] codegen::Tunings tunings() {
        return [this](const std::string& kernel) { return find(kernel); };
    }

  private:
    [[nodiscard]] std::string key(const std::string& kernel) const;

    std::mutex mutex_;
    std::map<std::string, codegen::Tuned> known_;
    std::shared_ptr<DiskCache> disk_;
    std::string machine_;
};

/// That of this process, for this machine.
[[nodiscard]] TuningStore& tuning_store();

/// Times the candidates of those kernels of the program that the store does not know, on these
/// arguments, which stay as they are, and keeps the fastest. What fails is left as it is.
void tune(const BoundProgram& program, const Target& target,
          std::span<const Array* const> arguments, TuningStore& store);

}  // namespace ricci::runtime
