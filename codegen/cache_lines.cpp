// codegen/cache_lines.cpp – lines of the caches: how many a load touches, and requests for them
#include "codegen/cache_lines.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/integer.h"
#include "codegen/nest_build.h"

namespace ricci::codegen {

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
