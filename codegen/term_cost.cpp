// codegen/term_cost.cpp – what a term costs to compute, before it is code
#include "codegen/term_cost.h"

#include "dsl/walk.h"

namespace ricci::codegen {

int cost(Expr node) {
    const auto* apply = std::get_if<Apply>(&node->term);
    if (apply == nullptr) return std::holds_alternative<Access>(node->term) ? 1 : 0;
    switch (info(apply->op).precedence) {
        case Precedence::primary:
        case Precedence::power:
            return apply->op == Op::relu || apply->op == Op::abs || apply->op == Op::min ||
                           apply->op == Op::max
                       ? 1
                       : 16;
        case Precedence::product:     return apply->op == Op::mul ? 1 : 16;
        case Precedence::select:
        case Precedence::logical_or:
        case Precedence::logical_and:
        case Precedence::comparison:
        case Precedence::sum:
        case Precedence::unary:       return 1;
    }
    return 1;
}

}  // namespace ricci::codegen
