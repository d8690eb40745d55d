// tests/codegen/interleaved_stores_test.cpp – results between those of neighbouring lanes
#include <string>

#include <doctest/doctest.h>

#include "codegen/cpu/compile.h"
#include "codegen/plan.h"
#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

std::string plan_of(const std::string& text, const Signature& signature, int vector_bytes = 32) {
    return str(codegen::plan(bound(text, signature), example_target(vector_bytes)));
}

/// On this machine's vectors, wider and shorter ones.
void check(const std::string& text, const Signature& signature) {
    check_values(text, signature);
    CHECK(compiled_difference(bound(text, signature), signature,
                              codegen::cpu::named_target("sse2")) == "");
}

}  // namespace

TEST_CASE("two results between lanes are stored as whole vectors") {
    for (const char* text :
         {"D[r,m,s] := T[r,s,m]", "D[r,u] := T[r,u%2,u//2] where u in 0:2*size(T,2)"})
        for (const int vector_bytes : {32, 16}) {
            const std::string plan = plan_of(text, {{"T", array({30, 2, 64})}}, vector_bytes);
            INFO(plan);
            CHECK(plan.find("scalar") == std::string::npos);
            CHECK(plan.find("# points between those of neighbouring lanes") != std::string::npos);
        }
}

TEST_CASE("interleaved results are those of the reference, whatever is left over and of any type") {
    for (const DType dtype : {DType::f32, DType::f64, DType::i8, DType::i16, DType::i64,
                              DType::boolean, DType::bf16, DType::f16})
        for (const std::int64_t extent : {2, 3, 8, 16, 21, 33, 64, 67}) {
            CAPTURE(name(dtype));
            CAPTURE(extent);
            check("D[r,m,s] := T[r,s,m]", {{"T", array({3, 2, extent}, dtype)}});
        }
    // Rows that end within a pair, upsampling, pixels shuffled, two arrays, a value of the place.
    check("D[r,u] := T[r,u%2,u//2] where u in 0:2*size(T,2)-1", {{"T", array({3, 2, 21})}});
    check("D[y,x] := T[y//2,x//2] where y in 0:18, x in 0:66", {{"T", array({9, 33})}});
    check("Y[c,y,x] := X[4*c+2*(y%2)+x%2,y//2,x//2] where c in 0:2, y in 0:10, x in 0:34",
          {{"X", array({8, 5, 17})}});
    check("z[i,c] := c == 0 ? a[i] : b[i] where c in 0:2",
          {{"a", array({37})}, {"b", array({37})}});
    check("z[i,c] := a[i]*(c + 1) + i where c in 0:2", {{"a", array({37})}});
    // Elements that stay, and those that are added to.
    check("z[2*i] = a[i]", {{"a", array({37})}, {"z", array({80})}});
    check("z[i,c] += T[c,i]", {{"T", array({2, 37})}, {"z", array({37, 2})}});
}

}  // namespace ricci::tests
