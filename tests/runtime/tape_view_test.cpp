// tests/runtime/tape_view_test.cpp – gradients through views and einsum
#include <cmath>
#include <functional>

#include <doctest/doctest.h>

#include "runtime/einsum.h"
#include "runtime/tape.h"
#include "tests/support/error_text.h"

namespace ricci {
namespace {

using tests::error_text;

/// `sum(w*v^2)` over the elements of any array, with weights that tell them apart.
Var loss_of(const Var& v) {
    const Function flat = compile("L := (i + 1)*v[i]^2");
    static const Function copy = compile("y[..] := x[..] + 0");
    return flat(copy(v).reshape({v.value().size()}));
}

/// Checks the gradient of `loss_of(change(x))` against central differences.
void check_view(const Shape& shape, const std::function<Var(const Var&)>& change) {
    const Array at = Array::randn(DType::f64, shape, 3);
    const Var x = param(at.copy());
    const Var loss = loss_of(change(x));
    backward(loss);
    const NoGrad scope;
    const double h = 1e-5;
    for (std::size_t i = 0; i < at.span<const double>().size(); ++i) {
        const auto moved = [&](double by) {
            Array other = at.copy();
            other.span<double>()[i] += by;
            return loss_of(change(Var(other))).value().item();
        };
        CAPTURE(i);
        CHECK(x.grad().contiguous().span<const double>()[i] ==
              doctest::Approx((moved(h) - moved(-h)) / (2 * h)).epsilon(1e-6));
    }
}

TEST_CASE("gradients go through views") {
    check_view({3, 4}, [](const Var& x) { return x.slice(1, 1, 3); });
    check_view({3, 4}, [](const Var& x) { return x.slice(-1, 0, 2).slice(0, 2, 3); });
    check_view({2, 3, 4}, [](const Var& x) { return x.transpose({2, 0, 1}); });
    check_view({2, 3, 4}, [](const Var& x) { return x.transpose({-1, -3, -2}); });
    check_view({3, 4}, [](const Var& x) { return x.reshape({2, 6}); });
    check_view({4, 6}, [](const Var& x) { return x.reshape({2, 2, 6}).transpose({2, 1, 0}); });
}

TEST_CASE("a view shares memory, and its gradient reaches only what it shows") {
    const Var x = param(Array::from<float>({1, 2, 3, 4}, {4}));
    const Var part = x.slice(0, 1, 3);
    CHECK(part.value().storage() == x.value().storage());
    const Function total = compile("s := sum[i](x[i]^2)");
    backward(total(part));
    CHECK(str(x.grad()) == "[0, 4, 6, 0]");
}

TEST_CASE("parts of one array add up") {
    const Var x = param(Array::from<double>({1, 2, 3}, {3}));
    const Function difference = compile("s := (a[i] - b[i])^2");
    backward(difference(x.slice(0, 1, 3), x.slice(0, 0, 2)));
    CHECK(str(x.grad()) == "[-2,  0,  2]");
}

TEST_CASE("a view of a constant is one, and wrong views are told") {
    const Var x = Var(Array::from<double>({1, 2, 3}, {3}));
    CHECK(!x.slice(0, 0, 2).requires_grad());
    const Var p = param(Array::zeros(DType::f64, {2, 3}));
    CHECK(error_text([&] { (void)p.reshape({4}); }) ==
          "shape: an array [2, 3] of 6 elements as [4] of 4");
    CHECK(error_text([&] { (void)p.slice(0, 1, 5); }) ==
          "range: a slice 1:5 of dimension 0 of an array [2, 3]");
    CHECK(error_text([&] { (void)Var().slice(0, 0, 0); }) ==
          "name: an empty variable is used\n"
          "  = hint: param(array)");
}

TEST_CASE("einsum of variables has the gradients of its program") {
    const Var A = param(Array::randn(DType::f64, {3, 4}, 1));
    const Var B = param(Array::randn(DType::f64, {4, 2}, 2));
    const Var C = einsum("ij,jk->ik", A, B);
    CHECK(str(C.value()) == str(einsum("ij,jk->ik", A.value(), B.value())));
    const Array dC = Array::randn(DType::f64, {3, 2}, 3);
    backward(C, {.cotangent = dC});
    CHECK(str(A.grad()) == str(einsum("ik,jk->ij", dC, B.value())));
    CHECK(str(B.grad()) == str(einsum("ij,ik->jk", A.value(), dC)));
    CHECK(einsum("ii", Var(Array::full(DType::f64, {3, 3}, 1))).value().item() == 3);
    CHECK(error_text([&] { (void)einsum("ij,ij->ij", A, B); }) ==
          "shape: `i` has two extents, 3 and 4\n"
          "  | ij,ij->ij\n"
          "  | ^  ~\n"
          "  | |  4 here: dimension 0 of operand 1 [4, 2]\n"
          "  | 3 here: dimension 0 of operand 0 [3, 4]");
}

TEST_CASE("einsum of variables repeats extents of 1") {
    const Var a = param(Array::from<double>({2}, {1}));
    const Var b = Var(Array::from<double>({1, 2, 3}, {3}));
    backward(einsum("i,i->", a, b));
    CHECK(str(a.grad()) == "[6]");
}

}  // namespace
}  // namespace ricci
