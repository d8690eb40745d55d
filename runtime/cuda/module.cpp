// runtime/cuda/module.cpp – the parts of an image, and the kernels in them
#include "runtime/cuda/module.h"

#include <utility>

#include "base/error.h"
#include "runtime/cuda/error.h"

namespace ricci::cuda {

Module::Module(std::shared_ptr<Gpu> gpu, const codegen::Image& image) : gpu_(std::move(gpu)) {
    RICCI_ASSERT(image.format != codegen::Image::Format::elf_object, "the image is not for a GPU");
    try {
        load(image);
    } catch (...) {
        unload();
        throw;
    }
}

Module::~Module() { unload(); }

void Module::load(const codegen::Image& image) {
    symbols_ = image.symbols;
    std::size_t begin = 0;
    for (const codegen::Image::Part& part : image.parts) {
        RICCI_ASSERT(begin < part.bytes_end && part.bytes_end <= image.bytes.size() &&
                         part.symbols_end <= symbols_.size(),
                     "a part of an image lies outside of it");
        // By itself, where an object file may stand: parts begin anywhere.
        const std::vector<std::byte> bytes(
            image.bytes.begin() + static_cast<std::ptrdiff_t>(begin),
            image.bytes.begin() + static_cast<std::ptrdiff_t>(part.bytes_end));
        modules_.push_back(gpu_->load_module(bytes.data()));
        begin = part.bytes_end;
        while (kernels_.size() < part.symbols_end) {
            const std::string& symbol = symbols_[kernels_.size()];
            FunctionHandle kernel = nullptr;
            check(gpu_->driver().cuModuleGetFunction(&kernel, modules_.back(), symbol.c_str()),
                  "finding the kernel `{}`", symbol);
            kernels_.push_back(kernel);
        }
    }
    RICCI_ASSERT(kernels_.size() == symbols_.size(), "a kernel is in no part of its image");
}

void Module::unload() noexcept {
    for (const ModuleHandle module : modules_) gpu_->unload_module(module);
    modules_.clear();
}

}  // namespace ricci::cuda
