// bench/cpu/overhead.cpp – what a kernel costs beside its work: compiling it, finding it, calling
// it
#include "base/text.h"
#include "codegen/cpu/compile.h"
#include "codegen/plan.h"
#include "dsl/bound.h"
#include "dsl/canonical.h"
#include "runtime/compile_nests.h"
#include "runtime/function_state.h"
#include "runtime/kernel_cache.h"

#include "bench/cpu/suite.h"

namespace bench {
namespace {

using namespace ricci;

constexpr Goal cold{.kind = Goal::Kind::seconds, .value = 8e-3};
constexpr Goal from_disk{.kind = Goal::Kind::seconds, .value = 1e-3};
constexpr Goal call{.kind = Goal::Kind::seconds, .value = 1e-6};

struct Case {
    const char* name;
    const char* program;
    Arguments arguments;
};

/// Text to loaded machine code, nothing cached.
void compile_anew(const Case& each) {
    Signature signature;
    for (const auto& [name, array] : each.arguments)
        signature.emplace(name, runtime::spec_of(array, false));
    const Target target = codegen::cpu::host_target();
    const Program program = canonicalise(parse_program(each.program));
    const codegen::Plan plan = codegen::plan(ricci::bind(program, signature), target);
    const codegen::cpu::Module module(runtime::compile_nests(plan.nests, target));
}

}  // namespace

void add_overhead(Suite& suite) {
    const std::vector<Case> cases = {
        {"pointwise",
         "y[i] := tanh(a[i]*b[i] + c[i])",
         {randn("a", {1000}), randn("b", {1000}), randn("c", {1000})}},
        {"row sum", "s[i] := x[i,j]", {randn("x", {100, 1000})}},
        {"linear 1024x784x1024",
         "Y[n,o] := W[o,k]*X[n,k] + b[o]",
         {randn("W", {1024, 784}), randn("X", {1024, 784}), randn("b", {1024})}},
        {"convolution 3x3",
         "C[c,y,x] := X[b,y+r,x+s]*F[c,b,r,s]",
         {randn("X", {8, 32, 32}), randn("F", {16, 8, 3, 3})}}};
    for (const Case& each : cases)
        suite.add("overhead", format("compile {}", each.name),
                  [&] { return Contest{.ours = [&each] { compile_anew(each); }, .goal = cold}; });
    // A function of its own, so that everything but the machine code is made again.
    suite.add("overhead", "pointwise from the disk cache", [&] {
        const Case& each = cases.front();
        (void)compile(each.program)(each.arguments);
        return Contest{.ours =
                           [&each] {
                               runtime::kernel_cache().clear_memory();
                               (void)compile(each.program)(each.arguments);
                           },
                       .goal = from_disk};
    });
    suite.add("overhead", "call of 8 elements", [] {
        const Function scale = compile("y[i] := 2*x[i] + 1");
        const Array x = Array::randn(DType::f32, {8});
        return Contest{.ours = [scale, x] { (void)scale(x); }, .goal = call};
    });
}

}  // namespace bench
