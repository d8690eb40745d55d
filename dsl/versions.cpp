// dsl/versions.cpp – values of a tensor that are needed after it was updated
#include "dsl/versions.h"

#include <map>
#include <utility>

#include "base/text.h"
#include "dsl/walk.h"

namespace ricci {
namespace {

/// `old[i1,i2,…] := version[i1,i2,…]` over the whole tensor.
Equation copy(Program& program, TensorId version) {
    const Tensor tensor = program.at(version);
    Equation equation{};
    equation.target = program.add({.name = tensor.name + "_old",
                                   .rank = tensor.rank,
                                   .role = Role::temporary,
                                   .shape = tensor.shape,
                                   .dtype_of = version});
    for (int d = 0; d < tensor.rank; ++d) {
        const IndexId index = program.add({.name = format("i{}", d + 1),
                                           .lower = program.context->integer(0),
                                           .upper = tensor.shape[std::size_t(d)],
                                           .is_explicit = false});
        equation.indices.push_back(index);
        equation.at.push_back(program.context->index(index));
    }
    equation.value = program.context->access(version, equation.at);
    return equation;
}

}  // namespace

Program keep_old_versions(Program program) {
    std::map<TensorId, std::size_t> updated_by;  // the equation that updates a version
    std::map<TensorId, std::size_t> last_read;
    for (std::size_t n = 0; n < program.equations.size(); ++n) {
        const Equation& equation = program.equations[n];
        if (equation.previous) updated_by[*equation.previous] = n;
        for (TensorId id : tensors_read(equation.value)) last_read[id] = n;
        for (Expr subscript : equation.at)
            for (TensorId id : tensors_read(subscript)) last_read[id] = n;
    }
    std::map<std::size_t, Equation> copies;  // by the equation they precede
    std::map<TensorId, TensorId> kept;
    for (const auto& [version, update] : updated_by) {
        const auto read = last_read.find(version);
        if (read == last_read.end() || read->second <= update) continue;
        const Equation made = copy(program, version);
        kept[version] = made.target;
        copies.emplace(update, made);
    }
    if (copies.empty()) return program;

    Context& context = *program.context;
    std::vector<Equation> equations;
    for (std::size_t n = 0; n < program.equations.size(); ++n) {
        if (const auto made = copies.find(n); made != copies.end())
            equations.push_back(made->second);
        Equation equation = program.equations[n];
        const auto now = [&](Expr term) {
            return rewrite(context, term, [&](Expr e) {
                const auto* const access = std::get_if<Access>(&e->term);
                if (access == nullptr || !kept.contains(access->tensor)) return e;
                const bool is_stale = n > updated_by.at(access->tensor);
                return is_stale ? context.access(kept.at(access->tensor), access->at, e->dtype) : e;
            });
        };
        equation.value = now(equation.value);
        for (Expr& subscript : equation.at) subscript = now(subscript);
        equations.push_back(std::move(equation));
    }
    program.equations = std::move(equations);
    return program;
}

}  // namespace ricci
