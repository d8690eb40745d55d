// codegen/cache_lines.cpp – lines of the caches that a load touches along axes
#include "codegen/cache_lines.h"

#include <algorithm>
#include <cmath>

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

}  // namespace ricci::codegen
