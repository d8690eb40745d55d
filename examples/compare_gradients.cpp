// examples/compare_gradients.cpp – generated gradients against gradients written by hand
#include <algorithm>
#include <cmath>
#include <iostream>

#include "base/text.h"

#include "ricci/ricci.h"

namespace {

using namespace ricci;

/// An f32 array of rank <= 4 with subscripts, for gradients written by hand.
struct View {
    explicit View(const Array& array) : values(array.span<float>()), shape(array.shape()) {}
    float& operator()(std::int64_t i, std::int64_t j = 0, std::int64_t k = 0,
                      std::int64_t l = 0) const {
        const std::int64_t at[4] = {i, j, k, l};
        std::int64_t place = 0;
        for (std::size_t d = 0; d < shape.size(); ++d) place = place * shape[d] + at[d];
        return values[static_cast<std::size_t>(place)];
    }
    std::span<float> values;
    Shape shape;
};

View get(const Arguments& arguments, std::string_view name) {
    return View(std::find_if(arguments.begin(), arguments.end(), [&](const auto& entry) {
                    return entry.first == name;
                })->second);
}

/// dW[o,k] = sum over n of dY[n,o] X[n,k].
Array linear_weights(const Arguments& arguments) {
    const View W = get(arguments, "W"), X = get(arguments, "X"), dY = get(arguments, "dY");
    const Array result = Array::zeros(DType::f32, W.shape);
    const View dW(result);
    for (std::int64_t n = 0; n < X.shape[0]; ++n)
        for (std::int64_t o = 0; o < W.shape[0]; ++o)
            for (std::int64_t k = 0; k < W.shape[1]; ++k) dW(o, k) += dY(n, o) * X(n, k);
    return result;
}

/// dw[k,i] = sum over j of 2 (w[k,i] - x[k,j]) dD[i,j].
Array distance_left(const Arguments& arguments) {
    const View w = get(arguments, "w"), x = get(arguments, "x"), dD = get(arguments, "dD");
    const Array result = Array::zeros(DType::f32, w.shape);
    const View dw(result);
    for (std::int64_t k = 0; k < w.shape[0]; ++k)
        for (std::int64_t i = 0; i < w.shape[1]; ++i)
            for (std::int64_t j = 0; j < x.shape[1]; ++j)
                dw(k, i) += 2 * (w(k, i) - x(k, j)) * dD(i, j);
    return result;
}

/// dX = S (dS - sum over a row of dS S).
Array softmax_rows(const Arguments& arguments) {
    const View X = get(arguments, "X"), dS = get(arguments, "dS");
    const Array result = Array::zeros(DType::f32, X.shape);
    const View dX(result);
    const std::int64_t columns = X.shape[1];
    for (std::int64_t i = 0; i < X.shape[0]; ++i) {
        float most = X(i, 0), total = 0, inner = 0;
        for (std::int64_t j = 0; j < columns; ++j) most = std::max(most, X(i, j));
        for (std::int64_t j = 0; j < columns; ++j) total += dX(i, j) = std::exp(X(i, j) - most);
        for (std::int64_t j = 0; j < columns; ++j) inner += dS(i, j) * (dX(i, j) /= total);
        for (std::int64_t j = 0; j < columns; ++j) dX(i, j) *= dS(i, j) - inner;
    }
    return result;
}

/// The input gradient of a valid convolution: every tap scattered.
Array convolution_input(const Arguments& arguments) {
    const View X = get(arguments, "X"), F = get(arguments, "F"), dC = get(arguments, "dC");
    const Array result = Array::zeros(DType::f32, X.shape);
    const View dX(result);
    for (std::int64_t c = 0; c < F.shape[0]; ++c)
        for (std::int64_t y = 0; y < dC.shape[1]; ++y)
            for (std::int64_t x = 0; x < dC.shape[2]; ++x)
                for (std::int64_t b = 0; b < F.shape[1]; ++b)
                    for (std::int64_t r = 0; r < F.shape[2]; ++r)
                        for (std::int64_t s = 0; s < F.shape[3]; ++s)
                            dX(b, y + r, x + s) += dC(c, y, x) * F(c, b, r, s);
    return result;
}

/// Prints both and gives whether they agree to rounding.
bool compare(std::string_view title, const std::string& text, const Arguments& arguments,
             const std::string& wrt, Function::Gradient by_hand) {
    Function function = compile(text);
    function.set_gradient(wrt, std::move(by_hand));
    const GradientComparison found = compare_gradients(function, arguments, wrt);
    std::cout << format("{}: {}\n", title, str(function)) << str(function.grad(wrt)) << "\n  "
              << str(found) << "\n\n";
    return found.largest_difference < 1e-3;
}

Array randn(Shape shape, std::uint64_t seed) {
    return Array::randn(DType::f32, std::move(shape), seed);
}

}  // namespace

int main() {
    bool agree = true;
    agree &=
        compare("linear", "Y[n,o] := W[o,k]*X[n,k] + b[o]",
                {{"W", randn({128, 256}, 1)}, {"X", randn({64, 256}, 2)}, {"b", randn({128}, 3)}},
                "W", linear_weights);
    agree &= compare("distance", "D[i,j] := (w[k,i] - x[k,j])^2",
                     {{"w", randn({128, 96}, 1)}, {"x", randn({128, 80}, 2)}}, "w", distance_left);
    agree &= compare(
        "softmax", "S[i,j] := exp(X[i,j] - max[k](X[i,k])) / sum[k](exp(X[i,k] - max[l](X[i,l])))",
        {{"X", randn({256, 200}, 1)}}, "X", softmax_rows);
    agree &= compare("convolution", "C[c,y,x] := X[b,y+r,x+s]*F[c,b,r,s]",
                     {{"X", randn({8, 32, 32}, 1)}, {"F", randn({16, 8, 3, 3}, 2)}}, "X",
                     convolution_input);
    return agree ? 0 : 1;
}
