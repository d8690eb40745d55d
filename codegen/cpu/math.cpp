// codegen/cpu/math.cpp – elementary functions, lane by lane
#include "codegen/cpu/math.h"
namespace ricci::codegen::cpu {
namespace {
Wide call(Op op, Wide x) { return library_call(op, std::span(&x, 1)); }
Wide call(Op op, Wide x, Wide y) {
    const Wide a[] = {x, y};
    return library_call(op, a);
}
}  // namespace
Wide exp(Wide x) { return call(Op::exp, x); }
Wide expm1(Wide x) { return call(Op::expm1, x); }
Wide log(Wide x) { return call(Op::log, x); }
Wide log1p(Wide x) { return call(Op::log1p, x); }
Wide log2(Wide x) { return call(Op::log2, x); }
Wide log10(Wide x) { return call(Op::log10, x); }
Wide cbrt(Wide x) { return call(Op::cbrt, x); }
Wide pow(Wide x, Wide y) { return call(Op::pow, x, y); }
Wide hypot(Wide x, Wide y) { return call(Op::hypot, x, y); }
Wide sin(Wide x) { return call(Op::sin, x); }
Wide cos(Wide x) { return call(Op::cos, x); }
Wide tan(Wide x) { return call(Op::tan, x); }
Wide asin(Wide x) { return call(Op::asin, x); }
Wide acos(Wide x) { return call(Op::acos, x); }
Wide atan(Wide x) { return call(Op::atan, x); }
Wide atan2(Wide y, Wide x) { return call(Op::atan2, y, x); }
Wide sinh(Wide x) { return call(Op::sinh, x); }
Wide cosh(Wide x) { return call(Op::cosh, x); }
Wide tanh(Wide x) { return call(Op::tanh, x); }
Wide asinh(Wide x) { return call(Op::asinh, x); }
Wide acosh(Wide x) { return call(Op::acosh, x); }
Wide atanh(Wide x) { return call(Op::atanh, x); }
Wide erf(Wide x) { return call(Op::erf, x); }
Wide sigmoid(Wide x) { return 1.0 / (1.0 + exp(-x)); }
Wide softplus(Wide x) { return quick_max(x, x.number(0)) + log1p(exp(-abs(x))); }
}  // namespace ricci::codegen::cpu
