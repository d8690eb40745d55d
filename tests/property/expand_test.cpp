// tests/property/expand_test.cpp – multiplied out, sums of whole numbers are the same
#include <algorithm>
#include <complex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/text.h"
#include "runtime/function.h"
#include "tests/support/error_text.h"

namespace ricci::tests {
namespace {

/// Statements whose sums mix what depends on different indices, and what they read.
class Draw {
  public:
    explicit Draw(unsigned seed) : random_(seed) {}

    std::string statement() {
        const std::string body = product(3);
        std::string target;
        std::string summed;
        for (const char i : names)
            if (body.find(i) != std::string::npos) (below(2) == 0 ? target : summed) += i;
        if (summed.empty()) std::swap(target, summed);
        return format("Y[{}] := sum[{}]({})", subscripts(target), subscripts(summed), body);
    }
    Arguments arguments(DType type) {
        Arguments result;
        for (const std::string& indices : read_) {
            Shape shape;
            for (const char i : indices) shape.push_back(2 + std::int64_t(names.find(i)));
            result.emplace_back("A" + indices,
                                Array::randint(DType::i64, shape, 0, 9, random_()).to(type));
        }
        return result;
    }

  private:
    static inline const std::string names = "ijkn";

    int below(int n) { return int(random_() % unsigned(n)); }
    static std::string subscripts(const std::string& indices) {
        std::vector<std::string> each;
        for (const char i : indices) each.emplace_back(1, i);
        return join(each, ",");
    }
    std::string array(const std::string& indices) {
        read_.insert(indices);
        return format("A{}[{}]", indices, subscripts(indices));
    }
    std::string array() {
        std::string indices;
        while (indices.empty())
            for (const char i : names)
                if (below(3) == 0) indices += i;
        return array(indices);
    }
    std::string factor(int depth) {
        switch (below(depth > 0 ? 7 : 2)) {
            case 0:
            case 1:  return array();
            case 2:  return format("({} - {})", product(depth - 1), product(depth - 1));
            case 3:  return format("({} + {})^2", array(), product(depth - 1));
            case 4:  return format("(-{} + {})", array(), array());
            case 5:  return format("({} - {})/2", array(), product(depth - 1));
            default: return format("({} - {} + 3)", array(), array());
        }
    }
    std::string product(int depth) {
        std::string text = factor(depth);
        for (int n = below(3); n > 0; --n) text += "*" + factor(depth);
        return text;
    }

    std::mt19937 random_;
    std::set<std::string> read_;
};

/// Of equal shapes and types, element by element; zeros of either sign are equal.
bool is_equal(const Array& a, const Array& b) {
    if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
    const Array x = a.to(DType::c128);
    const Array y = b.to(DType::c128);
    return std::ranges::equal(x.span<std::complex<double>>(), y.span<std::complex<double>>());
}

}  // namespace

TEST_CASE("multiplied out, sums and gradients of whole numbers are the same to the last bit") {
    int changed = 0;
    for (unsigned seed = 0; seed < 300; ++seed) {
        Draw draw(seed);
        const std::string text = draw.statement();
        const DType type = seed % 4 == 3 ? DType::c128 : DType::f64;
        const Arguments arguments = draw.arguments(type);
        CAPTURE(seed);
        CAPTURE(text);
        const Function f = compile(text, {}, device_from_name("reference"));
        const Function g = f.expanded();
        changed += str(f) == str(g) ? 0 : 1;
        const Array value = f(arguments);
        CHECK(is_equal(value, g(arguments)));
        const std::string& argument = arguments.front().first;
        Arguments with_cotangent = arguments;
        with_cotangent.emplace_back(
            "dY", Array::randint(DType::i64, value.shape(), -4, 5, seed).to(type));
        const Array gradient = f.grad(argument)(with_cotangent);
        CHECK(is_equal(gradient, g.grad(argument)(with_cotangent)));
        CHECK(is_equal(gradient, f.grad(argument).expanded()(with_cotangent)));
    }
    CHECK(changed > 40);
}

TEST_CASE("a call of an expanded function with other types is refused, of its gradients too") {
    const Function f = compile("D[i,j] := (W[k,i]-X[k,j])^2").expanded();
    const Array W = Array::zeros(DType::f32, {3, 2});
    const Array X = Array::zeros(DType::f64, {3, 4});
    const std::string refused =
        "type: sums are multiplied out for arrays of one type, f32, f64, c64 or c128: `X` is f64, "
        "`W` is f32";
    CHECK(error_text([&] { (void)f(W, X); }).starts_with(refused));
    const Arguments given = {{"W", W}, {"X", X}, {"dD", Array::zeros(DType::f64, {2, 4})}};
    CHECK(error_text([&] { (void)f.grad("W")(given); }).starts_with("type: sums are multiplied"));
    CHECK(f(W, X.to(DType::f32)).shape() == Shape{2, 4});
}

TEST_CASE("compiled, an expanded distance and its gradients are those of the plain one") {
    const Function f = compile("D[i,j] := (W[k,i]-X[k,j])^2");
    const Array W = Array::randint(DType::i32, {70, 50}, -9, 10, 1).to(DType::f32);
    const Array X = Array::randint(DType::i32, {70, 90}, -9, 10, 2).to(DType::f32);
    const Array dD = Array::randint(DType::i32, {50, 90}, -9, 10, 3).to(DType::f32);
    CHECK(is_equal(f(W, X), f.expanded()(W, X)));
    for (const char* argument : {"W", "X"}) {
        const Arguments given = {{"W", W}, {"X", X}, {"dD", dD}};
        const Array gradient = f.grad(argument)(given);
        CHECK(is_equal(gradient, f.grad(argument).expanded()(given)));
        CHECK(is_equal(gradient, f.expanded().grad(argument)(given)));
    }
    const Function at_complex = f.grad("W").expanded();
    const Array Z = W.to(DType::c64);
    const Arguments given = {{"W", Z}, {"X", X.to(DType::c64)}, {"dD", dD.to(DType::c64)}};
    CHECK(is_equal(f.grad("W")(given), at_complex(given)));
}

}  // namespace ricci::tests
