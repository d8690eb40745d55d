// codegen/reads_inside.cpp – terms at more points than they were written for
#include "codegen/reads_inside.h"

#include <algorithm>
#include <utility>

#include "dsl/prove.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

bool is_positive_literal(Expr e) {
    const auto* literal = std::get_if<Literal>(&e->term);
    const auto* integer = literal ? std::get_if<std::int64_t>(&literal->value) : nullptr;
    return integer && *integer > 0;
}

}  // namespace

bool reads_inside(const BoundProgram& program, const std::vector<IndexId>& domain, Expr condition,
                  Expr term) {
    return std::ranges::all_of(postorder({term}), [&](Expr node) {
        const auto* access = std::get_if<Access>(&node->term);
        if (access == nullptr) return true;
        const Shape& shape = program.at(access->tensor).shape;
        for (std::size_t d = 0; d < shape.size(); ++d)
            if (!prove_in_bounds(program.indices, domain, condition, access->at[d], shape[d])
                     .in_bounds)
                return false;
        return true;
    });
}

Expr brought_inside(const BoundProgram& program, const std::vector<IndexId>& domain, Expr term) {
    Context& context = *program.context;
    return rewrite(context, term, [&](Expr node) {
        const auto* access = std::get_if<Access>(&node->term);
        if (access == nullptr) return node;
        const Shape& shape = program.at(access->tensor).shape;
        std::vector<Expr> at = access->at;
        for (std::size_t d = 0; d < at.size(); ++d) {
            if (prove_in_bounds(program.indices, domain, Expr(), at[d], shape[d]).in_bounds)
                continue;
            const Expr first = context.literal(std::int64_t{0}, DType::i64);
            const Expr last = context.literal(shape[d] - 1, DType::i64);
            at[d] = context.apply(Op::clamp, {at[d], first, last}, DType::i64);
        }
        return context.access(access->tensor, std::move(at), node->dtype);
    });
}

bool is_harmless(Expr term) {
    return std::ranges::all_of(postorder({term}), [](Expr e) {
        if (const auto* access = std::get_if<Access>(&e->term))
            return std::ranges::all_of(access->at,
                                       [](Expr at) { return tensors_read(at).empty(); });
        if (is_apply(e, Op::floordiv) || is_apply(e, Op::mod))
            return !is_integer(e->dtype) || is_positive_literal(std::get<Apply>(e->term).args[1]);
        return true;
    });
}

bool reads_nothing_empty(const BoundProgram& program, Expr term) {
    return std::ranges::none_of(tensors_read(term), [&](TensorId id) {
        return std::ranges::find(program.at(id).shape, 0) != program.at(id).shape.end();
    });
}

}  // namespace ricci::codegen
