// grad/cut.cpp – a joint program cut into a forward that saves values and backwards that take them
//
// Saved is what the backward reads of the forward and cannot compute again pointwise from the
// arguments and other saved values: results of reductions, and what depends on one that is not
// saved. Outputs of the forward cost nothing to save.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "dsl/canonical.h"
#include "dsl/walk.h"
#include "grad/joint.h"

namespace ricci::grad {

namespace {

using Tensors = std::set<TensorId>;

/// What an equation reads: the tensors of its terms and the version it updates.
std::vector<TensorId> reads(const Equation& equation) {
    std::vector<TensorId> result = tensors_read(equation.value);
    for (const Expr subscript : equation.at) {
        const std::vector<TensorId> more = tensors_read(subscript);
        result.insert(result.end(), more.begin(), more.end());
    }
    if (equation.previous) result.push_back(*equation.previous);
    return result;
}

bool reads_any(const Equation& equation, const Tensors& tensors) {
    const std::vector<TensorId> read = reads(equation);
    return std::ranges::any_of(read, [&](TensorId id) { return tensors.contains(id); });
}

/// The tensors that depend on the cotangents: those that only the backward can compute.
Tensors find_late(const Joint& joint) {
    Tensors late(joint.cotangents.begin(), joint.cotangents.end());
    for (const Equation& equation : joint.program.equations) {
        if (reads_any(equation, late)) late.insert(equation.target);
    }
    return late;
}

/// What the forward has to give to the backward, in the order it is computed.
std::vector<TensorId> find_saved(const Program& needed, const Tensors& late,
                                 const Tensors& outputs) {
    Tensors read_late;
    for (const Equation& equation : needed.equations) {
        if (!late.contains(equation.target)) continue;
        for (const TensorId id : reads(equation)) read_late.insert(id);
    }
    std::vector<TensorId> saved;
    Tensors dear;  // neither saved nor to be computed again
    for (const Equation& equation : needed.equations) {
        const TensorId target = equation.target;
        if (late.contains(target)) continue;
        const bool is_dear = std::holds_alternative<Reduce>(equation.value->term) ||
                             equation.previous || reads_any(equation, dear);
        const bool is_read = read_late.contains(target);
        if (is_read && (is_dear || outputs.contains(target))) {
            saved.push_back(target);
        } else if (is_dear) {
            dear.insert(target);
        }
    }
    return saved;
}

/// Outputs get back the names that versions of a tensor share; other versions get new ones.
void restore_names(Program& program, const Program& canonical) {
    const Tensors outputs(canonical.outputs.begin(), canonical.outputs.end());
    std::set<std::string> names;
    for (const TensorId id : canonical.outputs) names.insert(canonical.at(id).name);
    for (std::size_t n = 0; n < program.tensors.size(); ++n) {
        Tensor& tensor = program.tensors[n];
        const TensorId id{static_cast<std::uint32_t>(n)};
        if (outputs.contains(id)) {
            tensor.name = canonical.at(id).name;
            tensor.role = Role::target;
        } else {
            while (names.contains(tensor.name)) tensor.name += '_';
        }
        names.insert(tensor.name);
    }
}

Program make_forward(const Joint& joint, const Program& canonical, const Tensors& late,
                     const std::vector<TensorId>& saved) {
    Program forward = joint.program;
    std::erase_if(forward.equations,
                  [&](const Equation& equation) { return late.contains(equation.target); });
    std::erase_if(forward.arguments, [&](TensorId id) { return late.contains(id); });
    forward.outputs.clear();
    const Tensors outputs(canonical.outputs.begin(), canonical.outputs.end());
    for (const TensorId id : saved) {
        if (!outputs.contains(id)) forward.outputs.push_back(id);
        forward.tensors[position(id)].role = Role::target;
    }
    forward.outputs.insert(forward.outputs.end(), canonical.outputs.begin(),
                           canonical.outputs.end());
    return without_unused(std::move(forward));
}

Program make_backward(const Joint& joint, const std::vector<TensorId>& gradients,
                      const std::vector<TensorId>& saved) {
    Program backward = joint.program;
    const Tensors is_saved(saved.begin(), saved.end());
    std::erase_if(backward.equations,
                  [&](const Equation& equation) { return is_saved.contains(equation.target); });
    for (const TensorId id : saved) {
        backward.tensors[position(id)].role = Role::argument;
        backward.tensors[position(id)].dtype_of.reset();
    }
    // Arguments of the forward, saved values, cotangents.
    backward.arguments.insert(
        backward.arguments.end() - static_cast<std::ptrdiff_t>(joint.cotangents.size()),
        saved.begin(), saved.end());
    backward.outputs = gradients;
    return without_unused(without_point_checks(std::move(backward)));
}

/// Whether several of the programs compute the same reduction.
bool share_reductions(const std::vector<Program>& programs) {
    Tensors reduced;
    for (const Program& program : programs)
        for (const Equation& equation : program.equations)
            if (std::holds_alternative<Reduce>(equation.value->term) &&
                !reduced.insert(equation.target).second)
                return true;
    return false;
}

/// A forward that writes to its arguments cannot give the values they had.
void require_lasting_arguments(const Program& canonical) {
    for (const Equation& equation : canonical.equations) {
        if (!equation.previous || canonical.at(*equation.previous).role != Role::argument) continue;
        Diagnosis diagnosis{.kind = ErrorKind::gradient,
                            .message = format("a forward that updates its argument `{}` cannot be "
                                              "cut from its backward; this is not supported yet",
                                              canonical.at(*equation.previous).name),
                            .source = canonical.source,
                            .labels = {},
                            .hint = "make a new array with `:=`"};
        if (!equation.span.is_empty()) diagnosis.labels.push_back({equation.span, ""});
        throw Error(std::move(diagnosis));
    }
}

/// Each program of the pair, cut again for the ranks at hand; every gradient by itself.
void serve_any_ranks(Pair& pair, const Program& forward, const std::vector<std::string>& arguments,
                     const Options& options) {
    const auto again = [of = forward.for_ranks, arguments, options](const Ranks& ranks) {
        return cut(of(ranks), arguments, options);
    };
    pair.forward.for_ranks = [again](const Ranks& ranks) { return again(ranks).forward; };
    for (std::size_t n = 0; n < pair.backward.size(); ++n) {
        const auto outputs = outputs_of_cotangents(forward, pair.backward[n]);
        pair.backward[n].for_ranks = [again, outputs, n](const Ranks& ranks) {
            return again(with_outputs(ranks, outputs)).backward.at(n);
        };
    }
    pair.shared.reset();  // other ranks may share nothing
}

}  // namespace

Pair cut(const Program& forward, const std::vector<std::string>& arguments,
         const Options& options) {
    const Program canonical = canonicalise(forward);
    require_lasting_arguments(canonical);
    Joint joint = differentiate(canonical, arguments, options);
    restore_names(joint.program, canonical);
    const Tensors late = find_late(joint);
    const Tensors outputs(canonical.outputs.begin(), canonical.outputs.end());
    const std::vector<TensorId> saved = find_saved(without_unused(joint.program), late, outputs);

    Pair pair;
    pair.forward = make_forward(joint, canonical, late, saved);
    for (const TensorId id : saved) pair.saved.push_back(joint.program.at(id).name);
    pair.forward.for_ranks = nullptr;
    for (const TensorId gradient : joint.program.outputs) {
        pair.backward.push_back(make_backward(joint, {gradient}, saved));
        pair.backward.back().for_ranks = nullptr;
    }
    if (share_reductions(pair.backward)) {
        pair.shared = make_backward(joint, joint.program.outputs, saved);
        pair.shared->for_ranks = nullptr;
    }
    if (forward.for_ranks) serve_any_ranks(pair, forward, arguments, options);
    return pair;
}

}  // namespace ricci::grad
