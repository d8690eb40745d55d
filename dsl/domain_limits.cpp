// dsl/domain_limits.cpp – how far indices may run
#include "dsl/domain_limits.h"

#include <algorithm>
#include <string>

#include "base/text.h"

namespace ricci {

void check_range(const BoundIndex& index, const SourcePtr& source) {
    if (index.lower >= -max_bound && index.upper <= max_bound) return;
    throw Error({.kind = ErrorKind::limit,
                 .message = format("the range of `{}` is {}:{}, beyond {} (2^61)", index.name,
                                   index.lower, index.upper, max_bound),
                 .source = source,
                 .labels = {},
                 .hint = "use smaller arrays or numbers"});
}

void check_points(const BoundProgram& program, const std::vector<IndexId>& domain,
                  const SourcePtr& source) {
    const auto is_empty = [&](IndexId id) { return program.at(id).extent() == 0; };
    if (std::ranges::any_of(domain, is_empty)) return;
    std::int64_t points = 1;
    for (IndexId id : domain) {
        const std::int64_t extent = program.at(id).extent();
        if (extent <= max_points / points) {
            points *= extent;
            continue;
        }
        std::vector<std::string> ranges;
        for (IndexId each : domain)
            ranges.push_back(format("`{}` in {}:{}", program.at(each).name, program.at(each).lower,
                                    program.at(each).upper));
        throw Error({.kind = ErrorKind::limit,
                     .message = format("the statement goes through more than {} (2^56) points: {}",
                                       max_points, join(ranges, ", ")),
                     .source = source,
                     .labels = {},
                     .hint = "use smaller ranges or arrays"});
    }
}

void check_points(const BoundProgram& program, const BoundEquation& equation,
                  const SourcePtr& source) {
    std::vector<IndexId> domain = equation.indices;
    const std::optional<Reduction>& reduction = equation.reduction;
    const bool may_be_walk =
        reduction && reduction->condition &&
        (reduction->reducer == Reducer::sum || reduction->reducer == Reducer::prod);
    if (reduction && !may_be_walk)
        domain.insert(domain.end(), reduction->indices.begin(), reduction->indices.end());
    check_points(program, domain, source);
}

void check_points(const BoundProgram& program) {
    for (const BoundEquation& equation : program.equations) {
        std::vector<IndexId> domain = equation.indices;
        if (equation.reduction && !equation.reduction->carry)
            domain.insert(domain.end(), equation.reduction->indices.begin(),
                          equation.reduction->indices.end());
        check_points(program, domain, {});
    }
}

}  // namespace ricci
