// codegen/kept_values.h – what the stages of a chain of rows compute once
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "codegen/nest_build.h"
#include "codegen/row_chain.h"

namespace ricci::codegen {

/// What a stage computes at a point that others compute, too, or that is the same along the row.
struct StageNodes {
    std::vector<Value> kept;   ///< computed here for later stages, operands first
    std::vector<Value> found;  ///< of those of earlier stages
    std::vector<Value> even;   ///< the same at all points of a row
    std::vector<Value> read;   ///< loads that move along the row, but for those within kept values
};

/// Of each stage. Dear values are kept, those that later stages then find.
[[nodiscard]] std::vector<StageNodes> values_of_stages(const RowChain& chain);

/// What a stage computes at a point of the row: its body, or what it writes and where.
[[nodiscard]] std::vector<Value> roots_of(const RowStage& stage);

/// Whether a value moves along one of the axes.
[[nodiscard]] bool moves_along(const Value& value, const std::vector<Axis>& along);

/// Bytes of a point of a row in what is read that moves along rows, and in other buffers.
[[nodiscard]] std::int64_t bytes_along(const std::vector<Value>& roots, const Kernel& kernel,
                                       std::set<BufferId> buffers = {});
/// Bytes of what the stages read, keep and write at a point of a row.
[[nodiscard]] std::int64_t bytes_of_point(const RowChain& chain,
                                          const std::vector<StageNodes>& stages);

/// All loads of a buffer that a stage reads or computes its results from.
[[nodiscard]] std::vector<Value> loads_of(const RowChain& chain, BufferId buffer);

/// Scratch that holds kept values, and the code that puts them there and finds them.
class KeptPlaces {
  public:
    void add(const Value& node, BufferId scratch) { scratch_.emplace(node.get(), scratch); }
    [[nodiscard]] std::size_t size() const noexcept { return scratch_.size(); }

    /// No stage has been made: the next one is the first.
    void restart() { made_.clear(); }
    /// A stage at the point whose values stand at `place`: computes and keeps its own, then what
    /// `make` gives, to which all that are kept are names.
    [[nodiscard]] Body at_point(Kernel& kernel, const StageNodes& stage, const AffineForm& place,
                                Substitution here,
                                const std::function<Body(Substitution& here)>& make) const;
    /// From now on later stages find what this one keeps.
    void finish(const StageNodes& stage);

  private:
    std::map<const ValueNode*, BufferId> scratch_;
    std::vector<Value> made_;
};

}  // namespace ricci::codegen
