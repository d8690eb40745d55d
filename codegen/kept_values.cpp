// codegen/kept_values.cpp – what the stages of a chain of rows compute once
#include "codegen/kept_values.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "codegen/nest_walk.h"

namespace ricci::codegen {

bool moves_along(const Value& value, const std::vector<Axis>& along) {
    return std::ranges::any_of(along,
                               [&](const Axis& axis) { return depends_on(value, axis.var); });
}

std::vector<Value> roots_of(const RowStage& stage) {
    if (stage.reducer) return {stage.body};
    std::vector<Value> roots;
    for (const Store& write : stage.writes) {
        roots.push_back(write.value);
        if (write.at.computed) roots.push_back(write.at.computed);
    }
    return roots;
}

namespace {

/// A value that costs less is computed by each stage that needs it (an operation costs 1).
constexpr double least_kept_cost = 8;

/// Chooses the values that one stage keeps for others.
class KeptValues {
  public:
    explicit KeptValues(const RowChain& chain) : along_(chain.kernel.reduced) {
        for (const RowStage& stage : chain.stages) {
            std::set<const ValueNode*>& nodes = nodes_.emplace_back();
            for_each_node(roots_of(stage), [&](const Value& node) { nodes.insert(node.get()); });
        }
        // First as if every dear value were kept: what later stages then find is kept.
        (void)visit_all(chain);
        is_final_ = true;
        for (auto& [node, stage] : made_) stage.reset();
        stages_ = visit_all(chain);
    }
    [[nodiscard]] const std::vector<StageNodes>& stages() const { return stages_; }

  private:
    std::vector<StageNodes> visit_all(const RowChain& chain) {
        std::vector<StageNodes> all;
        for (std::size_t s = 0; s < chain.stages.size(); ++s) {
            StageNodes& own = all.emplace_back();
            std::set<const ValueNode*> seen;
            for (const Value& root : roots_of(chain.stages[s])) visit(root, s, seen, own);
        }
        return all;
    }
    void visit(const Value& node, std::size_t stage, std::set<const ValueNode*>& seen,
               StageNodes& own) {
        if (!seen.insert(node.get()).second) return;
        if (!moves_along(node, along_)) {
            const bool is_atom =
                operands(node).empty() && !std::holds_alternative<Load>(node->term);
            if (!is_atom) own.even.push_back(node);
            return;
        }
        if (made_[node.get()] && *made_[node.get()] != stage) {
            found_.insert(node.get());
            own.found.push_back(node);
            return;
        }
        if (std::holds_alternative<Load>(node->term)) own.read.push_back(node);
        for (const Value& operand : operands(node)) visit(operand, stage, seen, own);
        if (!is_needed_after(node, stage)) return;
        made_[node.get()] = stage;
        own.kept.push_back(node);
    }
    [[nodiscard]] bool is_needed_after(const Value& node, std::size_t stage) const {
        if (is_final_) return found_.contains(node.get());
        if (cost({node}) < least_kept_cost) return false;
        for (std::size_t s = stage + 1; s < nodes_.size(); ++s)
            if (nodes_[s].contains(node.get())) return true;
        return false;
    }

    const std::vector<Axis>& along_;
    std::vector<std::set<const ValueNode*>> nodes_;  ///< of each stage
    std::map<const ValueNode*, std::optional<std::size_t>> made_;
    std::set<const ValueNode*> found_;
    bool is_final_ = false;
    std::vector<StageNodes> stages_;
};

}  // namespace

std::vector<StageNodes> values_of_stages(const RowChain& chain) {
    return KeptValues(chain).stages();
}

}  // namespace ricci::codegen
