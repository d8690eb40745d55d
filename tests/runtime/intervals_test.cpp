// tests/runtime/intervals_test.cpp – points between data, whatever the data are
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/function.h"

namespace ricci {

TEST_CASE("intervals end where the array does, however far their ends are") {
    constexpr auto least = std::numeric_limits<std::int64_t>::min();
    constexpr auto greatest = std::numeric_limits<std::int64_t>::max();
    const std::vector<std::int64_t> ends = {least,
                                            least + 1,
                                            -1,
                                            0,
                                            7,
                                            99,
                                            100,
                                            101,
                                            greatest,
                                            63,
                                            greatest - 1,
                                            greatest / 2 + 1,
                                            (std::int64_t{1} << 60) + 50};
    std::vector<std::int64_t> first;
    std::vector<std::int64_t> last;
    for (const std::int64_t a : ends)
        for (const std::int64_t b : ends) {
            first.push_back(a);
            last.push_back(b);
        }
    const auto rows = std::int64_t(first.size());
    std::vector<float> numbers;
    for (int e = 0; e < 100; ++e) numbers.push_back(float(e % 17) - 5);
    const Array p = Array::from<std::int64_t>(first, {rows});
    const Array q = Array::from<std::int64_t>(last, {rows});
    const Array v = Array::from<float>(numbers, {100});
    const auto check = [&](const std::string& text) {
        CAPTURE(text);
        const auto of = [&](Device device) {
            Arguments given{{"p", p}, {"v", v}};
            if (text.find("q[") != std::string::npos) given.emplace_back("q", q);
            const Array result = compile(text, "f", device)(given);
            const auto found = result.span<const float>();
            return std::vector<float>(found.begin(), found.end());
        };
        CHECK(of(Device::cpu) == of(Device::reference));
    };
    for (const char* condition :
         {"e >= p[i] && e < q[i]", "e > p[i] && e <= q[i]", "e-p[i] >= 0 && e-q[i] < 0",
          "e-p[i] > 5 && p[i]-e > -60", "2*e >= p[i] && e < q[i]+3", "e >= p[i]+q[i] && e < 90",
          "-p[i] <= e && -q[i] > e", "e == p[i]"}) {
        const std::string where = std::string(" | ") + condition + "]";
        check("y[i] := sum[e" + where + "(v[e])");
        check("y[i] := max[e" + where + "(v[e])");
        check("D[e] := sum[i" + where + "(v[e]) where e in 0:100");
        check("D[e] := min[i" + where + "(v[e]+f32(i%9)) where e in 0:100");
    }
    // Places that are as far as the data.
    for (const char* condition :
         {"e+1152921504606846975 >= p[i] && e < q[i]", "e+i*18014398509481984 >= p[i] && e < q[i]",
          "e+1152921504606846975+1152921504606846975 >= p[i] && e < 90",
          "e-1152921504606846916 >= p[i] && e < q[i]"})
        check(std::string("y[i] := sum[e | ") + condition + "](v[e])");
}

TEST_CASE("subscripts are checked at the points of intervals, and nowhere else") {
    const Array p = Array::from<std::int64_t>({0, 40, 60}, {3});
    const Array x = Array::from<float>({1, 2, 3}, {3});
    const auto sums = [&](std::size_t outside) {
        std::vector<std::int64_t> places(100, 1);
        places[outside] = 3;
        return compile("y[i] := sum[e | e >= p[i] && e < p[i+1]](x[c[e]]) where i in 0:2")(
            p, x, Array::from<std::int64_t>(places, {100}));
    };
    CHECK(sums(60).at({1}) == 40);
    std::string message;
    try {
        (void)sums(59);
    } catch (const Error& error) {
        message = error.what();
    }
    CHECK(message ==
          "range: `x` is read at 3 in dimension 0, whose extent is 3: c[59] is 3\n"
          "  | y[i] := sum[e | e >= p[i] && e < p[i+1]](x[c[e]]) where i in 0:2\n"
          "  |                                            ^^^^\n"
          "  = hint: exclude such points with a condition, or use `pad(…)`, `clamp(…)` or "
          "`wrap(…)`");
}

}  // namespace ricci
