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

std::int64_t bytes_along(const std::vector<Value>& roots, const Kernel& kernel,
                         std::set<BufferId> buffers) {
    for_each_node(roots, [&](const Value& node) {
        const auto* load = std::get_if<Load>(&node->term);
        if (load != nullptr && moves_along(node, kernel.reduced)) buffers.insert(load->buffer);
    });
    std::int64_t bytes = 0;
    for (const BufferId buffer : buffers)
        bytes += std::int64_t(size_bytes(kernel.nest.at(buffer).dtype));
    return bytes;
}

std::int64_t bytes_of_point(const RowChain& chain, const std::vector<StageNodes>& stages) {
    std::vector<Value> roots;
    std::set<BufferId> written;
    std::int64_t bytes = 0;
    for (std::size_t s = 0; s < chain.stages.size(); ++s) {
        const std::vector<Value> own = roots_of(chain.stages[s]);
        roots.insert(roots.end(), own.begin(), own.end());
        if (!chain.stages[s].reducer)
            for (const Store& write : chain.stages[s].writes) written.insert(write.buffer);
        for (const Value& node : stages[s].kept) bytes += std::int64_t(size_bytes(node->dtype));
    }
    return bytes + bytes_along(roots, chain.kernel, std::move(written));
}

std::vector<Value> loads_of(const RowChain& chain, BufferId buffer) {
    std::vector<Value> roots;
    for (const RowStage& stage : chain.stages) {
        const std::vector<Value> own = roots_of(stage);
        roots.insert(roots.end(), own.begin(), own.end());
        for (const Store& write : stage.writes) roots.push_back(write.value);
    }
    std::vector<Value> loads;
    for_each_node(roots, [&](const Value& node) {
        const auto* load = std::get_if<Load>(&node->term);
        if (load != nullptr && load->buffer == buffer) loads.push_back(node);
    });
    return loads;
}

Body KeptPlaces::at_point(Kernel& kernel, const StageNodes& stage, const AffineForm& place,
                          Substitution here,
                          const std::function<Body(Substitution& here)>& make) const {
    Body body;
    for (const Value& node : made_)
        here.replace(node, make_load(kernel.nest, scratch_.at(node.get()), {place}));
    for (const Value& node : stage.kept) {
        const std::vector<Value> value = share(body, {here(node)}, kernel.next_let);
        body.push_back(make_let(kernel.next_let, value[0]));
        const Value named = make_let_value(kernel.next_let++, node->dtype);
        body.push_back(make_store(scratch_.at(node.get()), {place}, named));
        here.replace(node, named);
    }
    append(body, make(here));
    return body;
}

void KeptPlaces::finish(const StageNodes& stage) {
    made_.insert(made_.end(), stage.kept.begin(), stage.kept.end());
}

}  // namespace ricci::codegen
