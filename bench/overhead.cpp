// bench/overhead.cpp – what do a cold compile and a warm call of a tiny function cost? Expected: at
// most 40 ms and 5 us
#include <algorithm>
#include <chrono>
#include <vector>

#include "base/text.h"
#include "codegen/cpu/compile.h"
#include "codegen/plan.h"
#include "dsl/bound.h"
#include "dsl/canonical.h"

#include "bench/harness.h"
#include "ricci/ricci.h"

namespace {

using namespace ricci;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Text to callable kernel, nothing cached: the median over sizes never seen before.
void cold_compile(const std::string& name, const std::string& text,
                  const std::function<Signature(std::int64_t)>& signature) {
    const Target target = codegen::cpu::host_target();
    std::vector<double> times;
    for (std::int64_t n = 0; n < 15; ++n) {
        const auto start = Clock::now();
        const Program program = canonicalise(parse_program(text));
        const codegen::Plan plan = codegen::plan(ricci::bind(program, signature(n)), target);
        const codegen::cpu::Module module(codegen::cpu::compile(plan.nests, target));
        times.push_back(milliseconds_since(start));
    }
    std::sort(times.begin(), times.end());
    bench::Row(format("cold compile {}", name))
        .number("median_ms", times[times.size() / 2])
        .number("min_ms", times.front())
        .number("max_ms", times.back())
        .print();
}

ArgumentSpec f32(Shape shape) {
    return {.dtype = DType::f32, .shape = std::move(shape), .strides = {}, .value = {}};
}

void warm_call() {
    const Function scale = compile("y[i] := 2*x[i] + 1");
    const Array x = Array::randn(DType::f32, {8});
    Array y;
    const auto times = bench::interleave({{"call", [&] { y = scale(x); }}}, 9, 0.02);
    bench::Row("warm call of 8 elements").number("us", times[0].median * 1e6).print();
}

}  // namespace

int main() {
    bench::print_header(1);
    cold_compile("pointwise", "y[i] := tanh(a[i]*b[i] + c[i])", [](std::int64_t n) {
        return Signature{{"a", f32({1000 + n})}, {"b", f32({1000 + n})}, {"c", f32({1000 + n})}};
    });
    cold_compile("row sum", "s[i] := x[i,j]",
                 [](std::int64_t n) { return Signature{{"x", f32({100, 1000 + n})}}; });
    cold_compile("linear", "Y[n,o] := W[o,k]*X[n,k] + b[o]", [](std::int64_t n) {
        return Signature{{"W", f32({256, 784})}, {"X", f32({100 + n, 784})}, {"b", f32({256})}};
    });
    cold_compile("convolution", "C[c,y,x] := X[b,y+r,x+s]*F[c,b,r,s]", [](std::int64_t n) {
        return Signature{{"X", f32({8, 32 + n, 32})}, {"F", f32({16, 8, 3, 3})}};
    });
    warm_call();
}
