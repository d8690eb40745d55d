// tests/emulation/values_test.cpp – kernels of integers, bool and half precision, emulated
#include <array>

#include <doctest/doctest.h>

#include "base/text.h"
#include "codegen/contraction_order.h"
#include "dsl/canonical.h"
#include "tests/emulation/run_plan.h"

namespace ricci::tests {
namespace {

ArgumentSpec array(DType dtype, Shape shape) {
    return {.dtype = dtype, .shape = std::move(shape), .strides = {}, .value = {}};
}

constexpr std::array types = {DType::boolean, DType::i8,  DType::i16, DType::i32,
                              DType::i64,     DType::u8,  DType::u16, DType::u32,
                              DType::u64,     DType::f16, DType::bf16};

/// Each text for each type; `a` and `b` are vectors, `M` and `N` matrices.
void check(std::initializer_list<const char*> texts) {
    EmulatedBatch batch;
    for (const DType dtype : types) {
        const Signature all = {{"a", array(dtype, {37})},
                               {"b", array(dtype, {37})},
                               {"M", array(dtype, {37, 70})},
                               {"N", array(dtype, {70, 37})}};
        for (const std::string text : texts) {
            Signature signature;
            for (const auto& [name, spec] : all)
                if (text.find(name + "[") != std::string::npos) signature.emplace(name, spec);
            batch.add(text, signature);
        }
    }
    CHECK(batch.difference() == "");
}

}  // namespace

TEST_CASE("an emulated GPU computes with every type, element by element") {
    check({"y[i] := a[i] + b[i]; z[i] := a[i]*b[i] - a[i]", "y[i] := max(a[i], b[i])",
           "y[i] := a[i] // b[i] + a[i] % b[i]", "y[i] := a[i] < b[i] || !a[i]",
           "y[i] := abs(a[i])^2 + sign(b[i])", "y[i] := a[i]/(abs2(b[i]) + 1)",
           "y[i] := select(a[i] > b[i], a[i], b[i])", "y[i] := clamp(a[i], 0, 1)",
           "y[i] := exp(a[i]/40)", "y[i] := a[i] + i"});
}

TEST_CASE("an emulated GPU converts between all types") {
    check({"y[i] := i8(a[i])", "y[i] := u8(a[i])", "y[i] := i32(a[i])", "y[i] := u64(a[i])",
           "y[i] := f16(a[i])", "y[i] := bf16(a[i])", "y[i] := f64(a[i])", "y[i] := bool(a[i])",
           "y[i] := f16(f64(a[i])*1.0001)", "y[i] := bf16(f64(a[i])*1.0001)"});
}

TEST_CASE("an emulated GPU reduces every type") {
    check({"y[i] := M[i,k]", "y[k] := M[i,k]", "y[i] := max[k](M[i,k])", "y[k] := min[i](M[i,k])",
           "y[i] := argmax[k](M[i,k])", "y[k] := argmin[i](M[i,k])", "y[i] := count[k](M[i,k] > 0)",
           "y[i] := any[k](M[i,k])", "y[i] := mean[k](M[i,k])", "y[i] := prod[k | k < 5](M[i,k])"});
}

TEST_CASE("an emulated GPU multiplies matrices of every type") {
    check({"C[i,j] := M[i,k]*N[k,j]", "C[i,j] := M[i,k]*M[j,k] + 1"});
}

TEST_CASE("an emulated GPU updates arrays of every type") {
    EmulatedBatch batch;
    for (const DType dtype : types) {
        if (dtype == DType::boolean) continue;
        const Signature both = {{"a", array(dtype, {37})}, {"b", array(dtype, {37})}};
        for (const char* text : {"a[i] += b[i]", "a[i] -= b[i] where i in 3:30",
                                 "a[i] *= b[i] where i in 3:30", "a[i] max= b[i]"})
            batch.add(text, both);
        batch.add("a[2*i + k] += N[i,k] where i in 0:10, k in 0:5",
                  {{"a", array(dtype, {37})}, {"N", array(dtype, {10, 5})}});
    }
    CHECK(batch.difference() == "");
}

TEST_CASE("an emulated GPU computes with complex numbers") {
    EmulatedBatch batch;
    for (const DType dtype : {DType::c64, DType::c128}) {
        const Signature all = {{"a", array(dtype, {37})},
                               {"b", array(dtype, {37})},
                               {"M", array(dtype, {37, 70})},
                               {"N", array(dtype, {70, 37})}};
        for (const std::string text : {"y[i] := a[i]*b[i] + 2i", "y[i] := a[i]/b[i]",
                                       "y[i] := abs(a[i])*exp(1i*angle(b[i]))", "y[i] := M[i,k]",
                                       "y[k] := prod[i | i < 4](M[i,k])", "C[i,j] := M[i,k]*N[k,j]",
                                       "a[i] *= b[i]", "a[i] += conj(b[i]) where i in 3:30"}) {
            Signature signature;
            for (const auto& [name, spec] : all)
                if (text.find(name + "[") != std::string::npos) signature.emplace(name, spec);
            BoundProgram bound =
                codegen::in_real_numbers(ricci::bind(canonicalise(parse_program(text)), signature));
            codegen::Plan plan = codegen::plan(bound, emulated_target());
            batch.add(text, std::move(bound), signature, std::move(plan));
        }
    }
    CHECK(batch.difference() == "");
}

}  // namespace ricci::tests
