// runtime/cuda/module.h – kernels loaded on a GPU
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/image.h"
#include "runtime/cuda/api.h"
#include "runtime/cuda/gpu.h"

namespace ricci::cuda {

/// The kernels of an image, unloaded with the object.
class Module {
  public:
    /// Throws: `device` when the driver does not take the image.
    Module(std::shared_ptr<Gpu> gpu, const codegen::Image& image);
    ~Module();
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

    /// By the symbol's position in the image.
    [[nodiscard]] FunctionHandle kernel(std::size_t position) const {
        return kernels_.at(position);
    }
    [[nodiscard]] const std::string& symbol(std::size_t position) const {
        return symbols_.at(position);
    }

  private:
    void load(const codegen::Image& image);
    void unload() noexcept;

    std::shared_ptr<Gpu> gpu_;
    std::vector<ModuleHandle> modules_;
    std::vector<FunctionHandle> kernels_;
    std::vector<std::string> symbols_;
};

}  // namespace ricci::cuda
