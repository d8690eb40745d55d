// codegen/cache_lines.cpp – lines of the caches: how many a load touches, and requests for them
#include "codegen/cache_lines.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "base/integer.h"
#include "codegen/nest_build.h"

namespace ricci::codegen {

bool begins_lines(const Nest& nest, const Store& store, const Axis& axis) {
    const auto bytes = std::int64_t(size_bytes(nest.at(store.buffer).dtype));
    return store.at.affine.constant * bytes % line_bytes == 0 &&
           std::ranges::all_of(store.at.affine.terms, [&](const AffineForm::Term& term) {
               return term.var == axis.var || term.coefficient * bytes % line_bytes == 0;
           });
}

double lines_along(const Load& load, DType dtype, const Axis& axis) {
    const double step =
        std::abs(double(load.at.affine.coefficient(axis.var))) * double(size_bytes(dtype));
    return step >= line_bytes ? double(axis.extent)
                              : std::max(1.0, double(axis.extent) * step / line_bytes);
}

double lines_along(const Load& load, DType dtype, const std::vector<Axis>& axes) {
    double all = 1;
    for (const Axis& axis : axes) all *= lines_along(load, dtype, axis);
    return all;
}

bool is_spread(const Load& load, std::int64_t bytes, const Axis& axis) {
    constexpr std::int64_t ways = 8;
    const std::int64_t step = load.at.affine.coefficient(axis.var) * bytes;
    return axis.extent <= ways || step == 0 || step % sets_bytes != 0;
}
bool is_spread(const Load& load, std::int64_t bytes, const std::vector<Axis>& axes) {
    return std::ranges::all_of(axes,
                               [&](const Axis& axis) { return is_spread(load, bytes, axis); });
}

bool share_too_few_sets(const Load& load, std::int64_t bytes, const Axis& axis,
                        const CacheSets& cache) {
    const std::int64_t step = std::abs(load.at.affine.coefficient(axis.var)) * bytes;
    if (step < line_bytes) return false;
    const std::int64_t sets = cache.way / std::gcd(step, cache.way);
    return ceil_div(axis.extent, sets) > cache.bytes / cache.way;
}

bool overflow_sets(const Load& load, std::int64_t bytes, const std::vector<Axis>& axes,
                   const CacheSets& cache) {
    std::int64_t lines = 1;
    std::int64_t step = cache.way;
    for (const Axis& axis : axes) {
        const std::int64_t apart = std::abs(load.at.affine.coefficient(axis.var)) * bytes;
        if (apart < line_bytes) continue;
        lines *= axis.extent;
        step = std::gcd(step, apart);
    }
    const std::int64_t sets = cache.way / std::max(step, line_bytes);
    return lines / sets > cache.bytes / cache.way;
}

Body prefetch_lines(Nest& nest, BufferId buffer, Address first, std::int64_t elements, int level) {
    const std::int64_t line = line_bytes / std::int64_t(size_bytes(nest.at(buffer).dtype));
    Body body;
    if (elements <= line) {
        body.push_back({Prefetch{buffer, std::move(first), level}});
        return body;
    }
    const VarId u = nest.add(Var{"u"});
    first.affine = first.affine + form(u, line);
    Body request;
    request.push_back({Prefetch{buffer, std::move(first), level}});
    body.push_back(make_loop(u, Bind::unroll, ceil_div(elements, line), std::move(request)));
    return body;
}

}  // namespace ricci::codegen
