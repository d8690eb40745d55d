// tests/codegen/small_powers_test.cpp – the pass `powers`: exponents that are small integers
#include <string>

#include <doctest/doctest.h>

#include "codegen/plan.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

const Signature signature = {{"x", array({40})},
                             {"z", array({40}, DType::f64)},
                             {"h", array({40}, DType::bf16)},
                             {"p", array({40}, DType::i8)},
                             {"dy", array({40})}};

bool has_power(const std::string& text) {
    const std::string plan =
        str(codegen::plan(bound(text, named(text, signature)), example_target(64)));
    return plan.find("pow(") != std::string::npos;
}

}  // namespace

TEST_CASE("powers of an index that bounds keep small are products") {
    for (const char* text :
         {"V[i,p] := x[i]^p where p in 0:8", "V[i,p] := z[i]^(p-8) where p in 0:16",
          "c[p] := dy[i]*x[i]^p where p in 0:8", "V[p,i] := x[i]^(2*p-3) where p in 0:4",
          "V[i,p] := x[i]^(p%3) where p in 0:40", "V[i,p] := h[i]^p where p in 0:6",
          "V[i,p] := (x[i]^p)^p where p in 0:4", "V[i,p] := x[i]^p*exp(x[i]^p) where p in 0:7"}) {
        check_values(text, named(text, signature));
        if (std::string(text).find(")^p") == std::string::npos)
            CHECK_MESSAGE(!has_power(text), text);
    }
}

TEST_CASE("other powers take a logarithm") {
    for (const char* text :
         {"V[i,p] := x[i]^f32(u8(p-3)) where p in 0:8",
          "V[i,p] := x[i]^f32(i8(100*p)) where p in 0:4",
          "V[i,p] := z[i]^f64(u32(p-3)) where p in 0:6", "V[i,p] := x[i]^p where p in 0:10",
          "V[i,p] := z[i]^(p-9) where p in 0:10", "V[i] := abs(x[i])^p[i]",
          "V[i,q] := abs(x[i])^(q/2) where q in 0:4"}) {
        check_values(text, named(text, signature));
        CHECK_MESSAGE(has_power(text), text);
    }
}
