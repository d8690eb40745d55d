// runtime/cuda/library_convolution.cpp – convolutions by cuDNN
//
// cuDNN's heuristics list engines for a graph, best first, then its fallback engines. The first one
// is taken that keeps to the rules (no TF32, no sums in any order, no transforms that lose digits),
// makes a plan and needs no more workspace than is allowed. Bias and activation are fused where an
// engine does that; else they are further plans that work on the result in place.
#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "runtime/cuda/cudnn_graph.h"
#include "runtime/cuda/library_handles.h"

namespace ricci::cuda {
namespace {

using codegen::Activation;
using codegen::Convolution;

/// A graph with the plan that executes it.
struct Plan {
    OperationGraph graph;
    Descriptor config;
    Descriptor plan;
    std::int64_t workspace_bytes = 0;
};

class Planner {
  public:
    Planner(const Convolution& convolution, const PrepareOptions& options, CudnnHandle handle)
        : is_f32_(convolution.dtype == DType::f32), options_(options), handle_(handle) {}

    /// Nothing when no engine does the graph by the rules.
    std::optional<Plan> plan(OperationGraph graph) {
        for (const int mode : {cudnn_heuristics_a, cudnn_heuristics_fallback})
            if (std::optional<Plan> found = plan(graph, mode)) return found;
        return std::nullopt;
    }

  private:
    std::optional<Plan> plan(OperationGraph& graph, int mode) {
        using enum CudnnAttribute;
        Descriptor heuristics(CudnnKind::heuristics);
        heuristics.set(heuristics_graph, graph.graph());
        heuristics.set(heuristics_mode, CudnnType::heuristics_mode, mode);
        // No engine for a graph is no failure.
        if (!heuristics.try_finalise()) return std::nullopt;
        for (Descriptor& config : results(heuristics)) {
            if (!keeps_to_rules(config)) continue;
            Descriptor made(CudnnKind::plan);
            made.set(plan_handle, CudnnType::handle, handle_);
            made.set(plan_config, config);
            if (!made.try_finalise()) continue;
            std::int64_t count = 0;
            std::int64_t workspace = 0;
            check_cudnn(cudnn().cudnnBackendGetAttribute(made.get(), plan_workspace,
                                                         CudnnType::int64, 1, &count, &workspace),
                        "cudnnBackendGetAttribute");
            if (workspace > options_.workspace_limit) continue;
            return Plan{std::move(graph), std::move(config), std::move(made), workspace};
        }
        return std::nullopt;
    }

    [[nodiscard]] static std::vector<Descriptor> results(const Descriptor& heuristics) {
        using enum CudnnAttribute;
        std::int64_t count = 0;
        check_cudnn(cudnn().cudnnBackendGetAttribute(heuristics.get(), heuristics_results,
                                                     CudnnType::descriptor, 0, &count, nullptr),
                    "cudnnBackendGetAttribute");
        std::vector<Descriptor> configs;
        std::vector<CudnnDescriptor> pointers;
        for (std::int64_t i = 0; i < count; ++i)
            pointers.push_back(configs.emplace_back(CudnnKind::engine_config).get());
        std::int64_t filled = 0;
        check_cudnn(cudnn().cudnnBackendGetAttribute(heuristics.get(), heuristics_results,
                                                     CudnnType::descriptor, count, &filled,
                                                     static_cast<void*>(pointers.data())),
                    "cudnnBackendGetAttribute");
        while (std::int64_t(configs.size()) > filled) configs.pop_back();
        return configs;
    }

    [[nodiscard]] bool keeps_to_rules(const Descriptor& config) const {
        using enum CudnnAttribute;
        Descriptor engine(CudnnKind::engine);
        CudnnDescriptor pointer = engine.get();
        std::int64_t count = 0;
        check_cudnn(
            cudnn().cudnnBackendGetAttribute(config.get(), config_engine, CudnnType::descriptor, 1,
                                             &count, static_cast<void*>(&pointer)),
            "cudnnBackendGetAttribute");
        std::array<int, cudnn_note_count> notes{};
        check_cudnn(
            cudnn().cudnnBackendGetAttribute(engine.get(), engine_notes, CudnnType::numerical_note,
                                             cudnn_note_count, &count, notes.data()),
            "cudnnBackendGetAttribute");
        return std::none_of(notes.begin(),
                            notes.begin() + std::min<std::int64_t>(count, cudnn_note_count),
                            [&](int note) { return breaks_rules(note); });
    }
    [[nodiscard]] bool breaks_rules(int note) const {
        // Tensor cores take f32 as TF32, but f64 as it is.
        if (note == cudnn_note_tensor_core) return is_f32_;
        return note == cudnn_note_down_convert || note == cudnn_note_reduced_precision ||
               note == cudnn_note_fft || note == cudnn_note_nondeterministic ||
               note == cudnn_note_winograd_6x6 || note == cudnn_note_winograd_13x13;
    }

    bool is_f32_;
    const PrepareOptions& options_;
    CudnnHandle handle_;
};

class ConvolutionCall : public PreparedCall {
  public:
    ConvolutionCall(Convolution convolution, const PrepareOptions& options)
        : convolution_(std::move(convolution)), device_(options.device) {
        const CudnnAccess access = cudnn_handle(device_);
        Planner planner(convolution_, options, access.handle);
        const bool has_epilogue = convolution_.bias || convolution_.activation != Activation::none;
        // What is between two operations of a graph has no memory that could be added to.
        const bool may_fuse = !has_epilogue || convolution_.beta == 0;
        if (may_fuse && add(planner.plan(fused_graph(convolution_, options, access.handle))))
            return;
        if (has_epilogue && add(planner.plan(plain_graph(convolution_, options, access.handle))) &&
            add_epilogue(planner, options, access.handle))
            return;
        throw Error({.kind = ErrorKind::device,
                     .message = "cuDNN has no engine for " + description(),
                     .hint = "set RICCI_CUDA_LIBRARIES=generated to do without it"});
    }

    [[nodiscard]] std::string description() const override {
        std::string text = format("cudnn convolution {}x{}", convolution_.batch,
                                  convolution_.groups * convolution_.in_channels);
        for (const Convolution::Spatial& s : convolution_.spatial) text += format("x{}", s.input);
        text += format(" by {}", convolution_.groups * convolution_.out_channels);
        for (const Convolution::Spatial& s : convolution_.spatial) text += format("x{}", s.filter);
        switch (convolution_.direction) {
            case Convolution::Direction::forward:         break;
            case Convolution::Direction::input_gradient:  return text + ", gradient of the input";
            case Convolution::Direction::filter_gradient: return text + ", gradient of the filter";
        }
        return text;
    }

    [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
        std::int64_t most = 0;
        for (const Plan& plan : plans_) most = std::max(most, plan.workspace_bytes);
        return std::size_t(most);
    }

    void run(std::span<const DevicePointer> buffers, DevicePointer workspace,
             Stream stream) const override {
        const CudnnAccess access = cudnn_handle(device_);
        check_cudnn(cudnn().cudnnSetStream(access.handle, stream), "cudnnSetStream");
        for (const Plan& plan : plans_) {
            const Descriptor pack = variant_pack(plan, buffers, workspace);
            check_cudnn(cudnn().cudnnBackendExecute(access.handle, plan.plan.get(), pack.get()),
                        "cudnnBackendExecute");
        }
    }

  private:
    /// Bias and activation in one plan, or in one each.
    bool add_epilogue(Planner& planner, const PrepareOptions& options, CudnnHandle handle) {
        if (add(planner.plan(epilogue_graph(convolution_, options, handle)))) return true;
        if (!convolution_.bias || convolution_.activation == Activation::none) return false;
        Convolution bias_alone = convolution_;
        bias_alone.activation = Activation::none;
        Convolution activation_alone = convolution_;
        activation_alone.bias.reset();
        return add(planner.plan(epilogue_graph(bias_alone, options, handle))) &&
               add(planner.plan(epilogue_graph(activation_alone, options, handle)));
    }
    bool add(std::optional<Plan> plan) {
        if (plan) plans_.push_back(std::move(*plan));
        return plan.has_value();
    }

    [[nodiscard]] DevicePointer pointer(GraphTensor tensor,
                                        std::span<const DevicePointer> buffers) const {
        const Convolution& c = convolution_;
        const auto of = [&](const auto& array) {
            return address(buffers, array.place, c.dtype, array.offset);
        };
        switch (tensor) {
            case GraphTensor::input:  return of(c.input);
            case GraphTensor::filter: return of(c.filter);
            case GraphTensor::bias:   return of(*c.bias);
            case GraphTensor::output:
            case GraphTensor::before:
            case GraphTensor::sum:
            case GraphTensor::biased: break;
        }
        return of(c.output);
    }

    [[nodiscard]] Descriptor variant_pack(const Plan& plan, std::span<const DevicePointer> buffers,
                                          DevicePointer workspace) const {
        std::vector<std::int64_t> names;
        std::vector<void*> pointers;
        for (const GraphTensor tensor : plan.graph.tensors) {
            names.push_back(static_cast<std::int64_t>(tensor));
            pointers.push_back(reinterpret_cast<void*>(pointer(tensor, buffers)));
        }
        using enum CudnnAttribute;
        Descriptor pack(CudnnKind::variant_pack);
        pack.set(pack_names, CudnnType::int64, std::span<const std::int64_t>(names));
        pack.set(pack_pointers, CudnnType::pointer, std::span<void* const>(pointers));
        pack.set(pack_workspace, CudnnType::pointer, reinterpret_cast<void*>(workspace));
        pack.finalise("a set of arrays");
        return pack;
    }

    Convolution convolution_;
    DeviceId device_;
    std::vector<Plan> plans_;
};

}  // namespace

std::unique_ptr<PreparedCall> prepare_convolution(const Convolution& convolution,
                                                  const PrepareOptions& options) {
    return std::make_unique<ConvolutionCall>(convolution, options);
}

}  // namespace ricci::cuda
