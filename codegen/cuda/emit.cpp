// codegen/cuda/emit.cpp – the translation unit of a plan's nests
#include "codegen/cuda/emit.h"

#include <array>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "codegen/cuda/nest_writer.h"
#include "codegen/nest_walk.h"
#include "dsl/scalar_function.h"

namespace ricci::codegen::cuda {

std::string symbol(const Nest& nest, std::size_t number) {
    return format("ricci_{}_{}", number, identifier(nest.name));
}

namespace {

/// A function that a user registered, of float and double.
std::string definition(const ScalarFunction& function) {
    if (function.cuda.empty())
        throw Error({.kind = ErrorKind::device,
                     .message = format("`{}` was registered without CUDA text", function.name),
                     .hint = "give `cuda` to register_function, or run on the CPU"});
    constexpr std::array operands = {"x", "y", "z"};
    std::vector<std::string> doubles;
    std::vector<std::string> floats;
    std::vector<std::string> widened;
    for (int n = 0; n < arity(function); ++n) {
        const auto* name = operands.at(std::size_t(n));
        doubles.push_back(format("double {}", name));
        floats.push_back(format("float {}", name));
        widened.push_back(format("double({})", name));
    }
    const std::string name = format("rc_function_{}", function.name);
    return format(
        "#ifndef {0}\n#define {0} {0}\n"
        "RC_INLINE double {0}({1}) {{ return {2}; }}\n"
        "RC_INLINE float {0}({3}) {{ return float({0}({4})); }}\n#endif\n\n",
        name, join(doubles, ", "), function.cuda, join(floats, ", "), join(widened, ", "));
}

/// Those that the nests call.
std::string definitions(std::span<const Nest> nests) {
    std::set<Op> used;
    for (const Nest& nest : nests)
        for_each_value(nest.body, [&](const Value& value) {
            for_each_node({value}, [&](const Value& node) {
                const auto* operate = std::get_if<Operate>(&node->term);
                if (operate && is_registered(operate->op)) used.insert(operate->op);
            });
        });
    std::string text;
    for (const Op op : used) text += definition(*registered(op));
    return text;
}

}  // namespace

std::string emit_kernels(std::span<const Nest> nests, std::size_t first) {
    std::string text = definitions(nests);
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
