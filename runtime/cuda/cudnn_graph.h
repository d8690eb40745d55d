// runtime/cuda/cudnn_graph.h – convolutions as operation graphs of cuDNN
//
// A graph is made of descriptors: tensors, a convolution, operations between tensors. None of them
// needs a device; plans for a graph do (library_convolution.cpp).
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "codegen/library.h"
#include "runtime/cuda/cudnn.h"
#include "runtime/cuda/library_call.h"

namespace ricci::cuda {

/// A descriptor of cuDNN, with what it is made of: cuDNN keeps pointers.
class Descriptor {
  public:
    /// Throws: `device`.
    explicit Descriptor(CudnnKind kind);
    Descriptor(Descriptor&& other) noexcept
        : descriptor_(std::exchange(other.descriptor_, nullptr)) {}
    Descriptor& operator=(Descriptor&&) = delete;
    ~Descriptor();

    [[nodiscard]] CudnnDescriptor get() const noexcept { return descriptor_; }
    template <class T>
    void set(CudnnAttribute name, CudnnType type, std::span<const T> values) {
        set(name, type, std::int64_t(values.size()), static_cast<const void*>(values.data()));
    }
    template <class T>
    void set(CudnnAttribute name, CudnnType type, const T& value) {
        set(name, type, 1, static_cast<const void*>(&value));
    }
    void set(CudnnAttribute name, const Descriptor& value) {
        set(name, CudnnType::descriptor, value.get());
    }
    /// Throws: `device` when cuDNN does not take it so: `what` it is.
    void finalise(const char* what);
    /// The same, telling by the result whether it does.
    [[nodiscard]] bool try_finalise();

  private:
    void set(CudnnAttribute name, CudnnType type, std::int64_t count, const void* values);

    CudnnDescriptor descriptor_ = nullptr;
};

/// An array of a graph by the name that a plan is given its address under.
enum class GraphTensor : std::int64_t { input = 1, filter, output, bias, sum, biased, before };

/// A finished graph: its tensors that have addresses, and everything it is made of.
struct OperationGraph {
    std::vector<Descriptor> parts;  ///< the graph last
    std::vector<GraphTensor> tensors;

    [[nodiscard]] const Descriptor& graph() const { return parts.back(); }
};

/// The whole convolution in one graph: bias and activation as further operations on what the
/// convolution gives. Without a handle the graph can be made, but no plan for it.
/// Throws: `device` when cuDNN has no such operation, naming it.
[[nodiscard]] OperationGraph fused_graph(const codegen::Convolution& convolution,
                                         const PrepareOptions& options, CudnnHandle handle);
/// The convolution alone, into its result.
[[nodiscard]] OperationGraph plain_graph(const codegen::Convolution& convolution,
                                         const PrepareOptions& options, CudnnHandle handle);
/// Bias and activation alone, on the result in place.
[[nodiscard]] OperationGraph epilogue_graph(const codegen::Convolution& convolution,
                                            const PrepareOptions& options, CudnnHandle handle);

/// Throws: `device` with cuDNN's own words unless the status is success.
void check_cudnn(int status, const char* tried);

}  // namespace ricci::cuda
