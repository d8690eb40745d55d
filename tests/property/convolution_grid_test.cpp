// tests/property/convolution_grid_test.cpp – strides, dilations, kernels, paddings and borders
//
// Every convolution `O[y] := A[s*y + d*r - p]*F[r]` of the grid, in one and two dimensions, with
// its gradients, against loops: as equations, as equations by residue class, and compiled.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include <doctest/doctest.h>

#include "base/integer.h"
#include "base/text.h"
#include "codegen/residue_classes.h"
#include "codegen/shared_operands.h"
#include "dsl/canonical.h"
#include "grad/gradient.h"
#include "runtime/function.h"
#include "runtime/reference.h"

namespace ricci::tests {
namespace {

bool is_full() { return std::getenv("RICCI_TEST_FULL") != nullptr; }

enum class Border : std::uint8_t { pad, clamp, wrap, reflect };
constexpr std::array borders = {Border::pad, Border::clamp, Border::wrap, Border::reflect};

/// One dimension of a convolution.
struct Line {
    std::int64_t stride = 1;
    std::int64_t dilation = 1;
    std::int64_t kernel = 1;
    std::int64_t padding = 0;
    Border border = Border::pad;
    std::int64_t extent = 1;  ///< of the input

    [[nodiscard]] std::int64_t outputs() const {
        return floor_div(extent + 2 * padding - dilation * (kernel - 1) - 1, stride) + 1;
    }
    /// Where output y reads for tap r; nothing where it reads a 0.
    [[nodiscard]] std::optional<std::int64_t> place(std::int64_t y, std::int64_t r) const {
        const std::int64_t at = stride * y + dilation * r - padding;
        const std::int64_t turn = std::max<std::int64_t>(2 * extent - 2, 1);
        const std::int64_t mirrored = at - turn * floor_div(at, turn);
        switch (border) {
            case Border::pad:     return at < 0 || at >= extent ? std::nullopt : std::optional(at);
            case Border::clamp:   return std::clamp<std::int64_t>(at, 0, extent - 1);
            case Border::wrap:    return at - extent * floor_div(at, extent);
            case Border::reflect: return std::min(mirrored, turn - mirrored);
        }
        return std::nullopt;
    }
    [[nodiscard]] std::string subscript(std::string_view y, std::string_view r) const {
        const std::string at = format("{}*{} + {}*{} - {}", stride, y, dilation, r, padding);
        switch (border) {
            case Border::pad:     return format("pad({}, {})", at, padding);
            case Border::clamp:   return format("clamp({})", at);
            case Border::wrap:    return format("wrap({})", at);
            case Border::reflect: return format("reflect({})", at);
        }
        return at;
    }
};

/// Small whole numbers: sums of their products are exact.
std::vector<double> numbers(std::int64_t count, std::int64_t seed) {
    std::vector<double> result;
    for (std::int64_t n = 0; n < count; ++n)
        result.push_back(double((n * 7 + seed * 13 + n * n) % 11 - 5));
    return result;
}

Array array(const std::vector<double>& values, Shape shape) {
    return Array::from(std::span<const double>(values), std::move(shape));
}

std::vector<double> values_of(const Array& array) {
    const auto span = array.span<const double>();
    return {span.begin(), span.end()};
}

/// A convolution over several dimensions: its arrays and what loops give.
struct Case {
    explicit Case(std::vector<Line> given) : lines(std::move(given)) {
        std::vector<std::string> y, r, at, targets, ranges;
        std::int64_t inputs = 1, outputs = 1, taps = 1;
        for (std::size_t d = 0; d < lines.size(); ++d) {
            y.push_back(format("y{}", d));
            r.push_back(format("r{}", d));
            at.push_back(lines[d].subscript(y[d], r[d]));
            targets.push_back(
                format("{}*{} + {}*{}", lines[d].stride, y[d], lines[d].dilation, r[d]));
            ranges.push_back(format("{} in 0:{}", y[d], lines[d].outputs()));
            input_shape.push_back(lines[d].extent);
            output_shape.push_back(lines[d].outputs());
            kernel_shape.push_back(lines[d].kernel);
            inputs *= lines[d].extent;
            outputs *= lines[d].outputs();
            taps *= lines[d].kernel;
        }
        text = format("O[{}] := A[{}]*F[{}] where {}", join(y, ","), join(at, ","), join(r, ","),
                      join(ranges, ", "));
        transposed = format("A[{}] += O[{}]*F[{}]", join(targets, ","), join(y, ","), join(r, ","));
        a = numbers(inputs, 1);
        f = numbers(taps, 2);
        seeds = numbers(outputs, 3);
        o.assign(std::size_t(outputs), 0);
        da.assign(std::size_t(inputs), 0);
        df.assign(std::size_t(taps), 0);
        go(0, 0, 0, 0, true);
    }

    std::vector<Line> lines;
    std::string text;
    std::string transposed;  ///< without padding, the same convolution from outputs to inputs
    Shape input_shape, output_shape, kernel_shape;
    std::vector<double> a, f, seeds;  ///< arguments and cotangent
    std::vector<double> o, da, df;    ///< what is to come out

  private:
    void go(std::size_t d, std::int64_t input, std::int64_t output, std::int64_t tap,
            bool is_inside) {
        if (d == lines.size()) {
            if (!is_inside) return;
            o[std::size_t(output)] += a[std::size_t(input)] * f[std::size_t(tap)];
            da[std::size_t(input)] += seeds[std::size_t(output)] * f[std::size_t(tap)];
            df[std::size_t(tap)] += seeds[std::size_t(output)] * a[std::size_t(input)];
            return;
        }
        const Line& line = lines[d];
        for (std::int64_t y = 0; y < line.outputs(); ++y)
            for (std::int64_t r = 0; r < line.kernel; ++r) {
                const auto place = line.place(y, r);
                go(d + 1, input * line.extent + place.value_or(0), output * line.outputs() + y,
                   tap * line.kernel + r, is_inside && place.has_value());
            }
    }
};

enum class Ways : std::uint8_t { evaluated, compiled_too };

/// The result of a program, which is to be the same in every way. Gives how many equations it has
/// by residue class beyond those that it has without.
std::size_t check_result(const Program& program, const Arguments& arguments, Ways ways,
                         const std::vector<double>& expected) {
    Signature signature;
    std::vector<Array> given;
    Arguments named;
    for (const TensorId id : program.arguments)
        for (const auto& [name, array] : arguments)
            if (name == program.at(id).name) {
                signature[name].dtype = DType::f64;
                signature[name].shape = array.shape();
                given.push_back(array);
                named.emplace_back(name, array.copy());  // it may be updated
            }
    const BoundProgram bound = ricci::bind(canonicalise(program), signature);
    CHECK(values_of(runtime::evaluate(bound, given)[0]) == expected);
    BoundProgram classes = codegen::with_residue_classes(bound, 0);
    classes.outputs = {classes.equations.back().target};
    CHECK(values_of(runtime::evaluate(classes, given)[0]) == expected);
    BoundProgram joined =
        codegen::with_residue_classes(bound, 0, false, codegen::JoinedResidues::always);
    joined.outputs = {joined.equations.back().target};
    CHECK(values_of(runtime::evaluate(joined, given)[0]) == expected);
    BoundProgram side_by_side = codegen::with_residue_classes(bound, 0, true);
    side_by_side.outputs = {side_by_side.equations.back().target};
    CHECK(values_of(runtime::evaluate(side_by_side, given)[0]) == expected);
    BoundProgram shared = codegen::with_shared_operands(
        bound, {.points = 0, .reuse = 0, .users = 0, .strided_users = 0, .strided_extent = 2});
    CHECK(values_of(runtime::evaluate(shared, given)[0]) == expected);
    if (ways == Ways::compiled_too) CHECK(values_of(Function(program)(named)) == expected);
    return classes.equations.size() - bound.equations.size();
}

/// An update at the places that the convolution reads, of an array that holds something.
void check_transposed(const Case& each, Ways ways) {
    CAPTURE(each.transposed);
    std::vector<double> expected = each.da;
    for (std::size_t n = 0; n < expected.size(); ++n) expected[n] += each.a[n];
    (void)check_result(parse_program(each.transposed),
                       {{"A", array(each.a, each.input_shape)},
                        {"F", array(each.f, each.kernel_shape)},
                        {"O", array(each.seeds, each.output_shape)}},
                       ways, expected);
}

/// How many further equations the gradient of the input has by residue class.
std::size_t check_case(const Case& each, Ways ways) {
    CAPTURE(each.text);
    const Arguments arguments = {{"A", array(each.a, each.input_shape)},
                                 {"F", array(each.f, each.kernel_shape)},
                                 {"dO", array(each.seeds, each.output_shape)}};
    const Program forward = parse_program(each.text);
    CHECK(check_result(forward, arguments, ways, each.o) == 0);
    CHECK(check_result(grad::gradient(forward, "F"), arguments, ways, each.df) == 0);
    if (std::ranges::all_of(each.lines, [](const Line& line) { return line.padding == 0; }))
        check_transposed(each, ways);
    return check_result(grad::gradient(forward, "A"), arguments, ways, each.da);
}

/// The lines of the grid that have an output, each with an extent of its own.
std::vector<Line> grid() {
    std::vector<Line> lines;
    for (std::int64_t stride = 1; stride <= 6; ++stride)
        for (std::int64_t dilation = 1; dilation <= 6; ++dilation)
            for (std::int64_t kernel = 1; kernel <= 7; ++kernel)
                for (std::int64_t padding = 0; padding <= 3; ++padding)
                    for (const Border border : borders) {
                        Line line{stride, dilation, kernel, padding, border};
                        const std::int64_t reach = dilation * (kernel - 1) + 1 - 2 * padding;
                        line.extent = std::max<std::int64_t>(reach, 1) +
                                      std::int64_t(lines.size() * 5 % std::size_t(6 * stride + 1));
                        lines.push_back(line);
                    }
    return lines;
}

TEST_CASE("convolutions of one dimension and their gradients agree with loops") {
    const std::vector<Line> lines = grid();
    REQUIRE(lines.size() == 6 * 6 * 7 * 4 * 4);
    const std::size_t step = is_full() ? 1 : 3;
    std::size_t classes = 0;
    for (std::size_t n = 0; n < lines.size(); n += step)
        classes += check_case(Case({lines[n]}),
                              n % (step * 16) == 0 ? Ways::compiled_too : Ways::evaluated);
    CHECK(classes > lines.size() / step / 3);
}

TEST_CASE("convolutions of two dimensions and their gradients agree with loops") {
    const std::vector<Line> lines = grid();
    const std::size_t count = is_full() ? 1'000 : 40;
    for (std::size_t n = 0; n < count; ++n) {
        const Case each({lines[n * 3571 % lines.size()], lines[n * 1637 % lines.size()]});
        if (each.a.size() * each.f.size() > 20'000) continue;
        (void)check_case(each, n % 10 == 0 ? Ways::compiled_too : Ways::evaluated);
    }
}

TEST_CASE("infinities and NaN reach the results of joined classes that they belong to, alone") {
    // Large enough to be one product (codegen/joined_residues.h), with lanes to spare.
    const std::string text =
        "dX[c,t,p] := sum[o,y,x | t-2*y+1 >= 0 && t-2*y+1 < 3 && p-2*x+1 >= 0 && p-2*x+1 < 3]"
        "(dY[o,y,x]*W[o,c,t-2*y+1,p-2*x+1]) where t in 0:18, p in 0:18";
    constexpr double infinite = std::numeric_limits<double>::infinity();
    std::vector<double> dy(10 * 9 * 9, 1);
    std::vector<double> w(10 * 3 * 3 * 3, 2);
    dy[3 * 81 + 4 * 9 + 8] = infinite;
    dy[0] = std::numeric_limits<double>::quiet_NaN();
    w[5 * 27 + 9 + 2] = -infinite;
    const Array gradient = array(dy, {10, 9, 9});
    const Array weights = array(w, {10, 3, 3, 3});
    Signature signature;
    for (const auto& [name, given] : {std::pair("dY", gradient), std::pair("W", weights)}) {
        signature[name].dtype = DType::f64;
        signature[name].shape = given.shape();
    }
    const Program program = parse_program(text);
    const BoundProgram bound = ricci::bind(canonicalise(program), signature);
    const std::vector<double> expected =
        values_of(runtime::evaluate(bound, {gradient, weights})[0]);
    const std::vector<double> computed =
        values_of(Function(program)({{"dY", gradient}, {"W", weights}}));
    REQUIRE(computed.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        CAPTURE(i);
        CHECK((computed[i] == expected[i] || (std::isnan(computed[i]) && std::isnan(expected[i]))));
    }
    CHECK(std::ranges::count_if(expected, [](double x) { return std::isfinite(x); }) > 100);
}

}  // namespace
}  // namespace ricci::tests
