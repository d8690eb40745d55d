// runtime/compile_nests.cpp – the machine code of a plan's kernels
#include "runtime/compile_nests.h"

#include <cstdint>
#include <functional>

#include "codegen/cpu/compile.h"
#include "runtime/parallel.h"

namespace ricci::runtime {

codegen::Image compile_nests(std::span<const codegen::Nest> nests, const Target& target) {
    const Workers workers;
    if (workers.at_once(std::ssize(nests)) <= 1) return codegen::cpu::compile(nests, target);
    return codegen::cpu::compile(
        nests, target, [&](std::int64_t pieces, const std::function<void(std::int64_t)>& piece) {
            workers.run(pieces, [&](std::int64_t number, int) { piece(number); });
        });
}

}  // namespace ricci::runtime
