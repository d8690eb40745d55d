// codegen/cuda/emit.cpp – the translation unit of a plan's nests
#include "codegen/cuda/emit.h"

#include "base/text.h"
#include "codegen/cuda/nest_writer.h"

namespace ricci::codegen::cuda {

std::string symbol(const Nest& nest, std::size_t number) {
    return format("ricci_{}_{}", number, identifier(nest.name));
}

std::string emit_kernels(std::span<const Nest> nests, std::size_t first) {
    std::string text;
    for (std::size_t i = 0; i < nests.size(); ++i) {
        if (i != 0) text += '\n';
        text += NestWriter(nests[i], symbol(nests[i], first + i)).kernel();
    }
    return text;
}

std::string emit_function(const Nest& nest, std::string symbol) {
    return NestWriter(nest, std::move(symbol)).function();
}

std::string emit_text(std::span<const Nest> nests, std::size_t first) {
    return format("{}\n{}", prelude(), emit_kernels(nests, first));
}

}  // namespace ricci::codegen::cuda
