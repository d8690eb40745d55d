// codegen/staged_terms.cpp – terms of points that are written one after the other, computed before
#include "codegen/staged_terms.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "codegen/nest_build.h"
#include "codegen/nest_walk.h"
#include "codegen/tile.h"

namespace ricci::codegen {

namespace {

/// What costs less (an operation costs 1) is computed as soon by itself.
constexpr double least_cost_in_lanes = 3;
constexpr std::int64_t most_lanes = 16;

bool is_dear(const Value& term) {
    double cycles = cost({term});
    // Numbers that an integer cannot hold make a conversion several instructions.
    constexpr double of_conversion = 4;
    for_each_node({term}, [&](const Value& node) {
        const auto* convert = std::get_if<Convert>(&node->term);
        if (convert != nullptr && is_floating(convert->a->dtype) && is_integer(node->dtype))
            cycles += of_conversion;
    });
    return cycles >= least_cost_in_lanes;
}

}  // namespace

Body stage_terms(Kernel& kernel, VarId axis, VarId start, std::int64_t count,
                 const Staging& staging) {
    using Terms = std::vector<std::pair<BufferId, Value>>;
    Nest& nest = kernel.nest;
    Terms in_lanes;
    Terms one_by_one;
    const auto stage = [&](Value& term, bool is_always) {
        if (!term || !depends_on(term, axis)) return;
        const bool runs_in_lanes = is_dear(term);
        if (!runs_in_lanes && !is_always) return;
        const BufferId buffer = runs_in_lanes ? add_scratch(nest, "term", term->dtype, count)
                                              : add_registers(nest, "place", term->dtype, count);
        (runs_in_lanes ? in_lanes : one_by_one).emplace_back(buffer, term);
        term = make_load(nest, buffer, {form(axis) - form(start)});
    };
    for (Store& write : kernel.writes) {
        if (staging.values) stage(write.value, false);
        stage(write.at.computed, staging.all_places);
    }
    Body body;
    const auto put = [&](const Terms& terms, const Lanes& lanes, const AffineForm& first) {
        return over_lanes(nest, lanes, [&](const AffineForm& offset) {
            const AffineForm point = first + offset;
            Substitution here;
            here.replace(axis, form(start) + point);
            std::vector<Value> values;
            for (const auto& [buffer, term] : terms) values.push_back(here(term));
            Body stores;
            values = share(stores, std::move(values), kernel.next_let);
            for (std::size_t i = 0; i < terms.size(); ++i)
                stores.push_back(make_store(terms[i].first, {point}, values[i]));
            return stores;
        });
    };
    const std::int64_t lanes = std::min(count, most_lanes);
    if (!in_lanes.empty())
        append(body,
               make_turns(nest, "v", bound(0), bound(count), lanes, [&](const AffineForm& first) {
                   return put(in_lanes, {lanes, 1, {}}, first);
               }));
    if (!one_by_one.empty()) append(body, put(one_by_one, {1, count, {}}, form(0)));
    return body;
}

}  // namespace ricci::codegen
