// codegen/read_points.cpp – at how many points a term reads a tensor, choices by place considered
#include "codegen/read_points.h"

#include <algorithm>
#include <map>
#include <optional>

#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

/// `index == place ? yes : no`
struct PlaceChoice {
    IndexId index{};
    Expr yes, no;
};

std::optional<PlaceChoice> as_choice(Expr e) {
    if (!is_apply(e, Op::select)) return std::nullopt;
    const auto& select = std::get<Apply>(e->term).args;
    if (!is_apply(select[0], Op::eq)) return std::nullopt;
    const auto& sides = std::get<Apply>(select[0]->term).args;
    for (const std::size_t side : {0U, 1U}) {
        const auto* index = std::get_if<IndexValue>(&sides[side]->term);
        if (index == nullptr || !is_literal(sides[1 - side])) continue;
        return PlaceChoice{index->index, select[1], select[2]};
    }
    return std::nullopt;
}

std::ptrdiff_t accesses(Expr term, TensorId tensor) {
    return std::ranges::count_if(postorder({term}), [&](Expr e) {
        const auto* access = std::get_if<Access>(&e->term);
        return access != nullptr && access->tensor == tensor;
    });
}

}  // namespace

double read_points(const BoundProgram& program, Expr term, TensorId tensor, double points,
                   std::int64_t most_places) {
    double found = 0;
    if (is_apply(term, Op::add)) {
        for (const Expr each : std::get<Apply>(term->term).args)
            found += read_points(program, each, tensor, points, most_places);
        return found;
    }
    std::map<IndexId, std::int64_t> taken;  // places of each index that choices before had
    while (const std::optional<PlaceChoice> choice = as_choice(term)) {
        const std::int64_t left = program.at(choice->index).extent() - taken[choice->index]++;
        if (left < 2 || program.at(choice->index).extent() > most_places) break;
        const double here = points / double(left);
        found += here * double(accesses(choice->yes, tensor));
        points -= here;
        term = choice->no;
    }
    return found + points * double(accesses(term, tensor));
}

}  // namespace ricci::codegen
