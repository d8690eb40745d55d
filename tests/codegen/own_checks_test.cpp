// tests/codegen/own_checks_test.cpp – checks of keys by the updates that rely on them
#include "codegen/own_checks.h"

#include <algorithm>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "codegen/plan.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

constexpr std::int64_t many = (1 << 17) + 13;

/// How many verdicts of the program are given by kernels of the parts that they check.
std::size_t own_verdicts(const std::string& text, const Signature& signature,
                         Forced forced = Forced::nothing) {
    Target target = example_target(32);
    target.forced = forced;
    const codegen::Plan plan = codegen::plan(bound(text, signature), target);
    std::set<std::size_t> verdicts;
    for (const codegen::Step& step : plan.steps) {
        const codegen::Nest& nest = plan.nests[step.nest];
        std::set<std::size_t> written;
        bool has_parts = false;
        for (std::size_t i = 0; i < step.buffers.size(); ++i) {
            if (!nest.buffers[i].is_written) continue;
            const std::string& name = plan.buffers[step.buffers[i]].name;
            if (name == "verdict_parts")
                written.insert(step.buffers[i]);
            else
                has_parts |= name.ends_with("_parts");
        }
        if (has_parts) verdicts.insert(written.begin(), written.end());
    }
    const auto all = std::ranges::count(plan.buffers, "verdict_parts", &codegen::PlanBuffer::name);
    CHECK(verdicts.size() == std::size_t(all));
    return verdicts.size();
}

/// Of the arrays that the text reads.
Signature arrays(const std::string& text, std::int64_t count, DType keys = DType::i32,
                 DType values = DType::f32) {
    Signature signature;
    const auto add = [&](const char* name, Shape shape, DType dtype) {
        if (text.find(std::string(name) + "[") != std::string::npos)
            signature[name] = array(std::move(shape), dtype);
    };
    add("h", {100}, values);
    add("g", {70}, values);
    add("J", {count}, keys);
    add("K", {count}, keys);
    add("x", {count}, values);
    add("z", {50}, values);
    return signature;
}

}  // namespace

TEST_CASE("many updates of few elements check their keys on the way") {
    for (const DType keys : {DType::i8, DType::i32, DType::i64})
        for (const std::string text : {"h[J[i]] += 1", "h[J[i]] += x[i]", "h[J[i]] max= x[i]^2"})
            CHECK(own_verdicts(text, arrays(text, many, keys)) == 1);
    const std::string text = "h[J[i]] += x[i]";
    CHECK(own_verdicts(text, arrays(text, many, DType::i32, DType::i64)) == 1);
    // Keys are of -18 to 18.
    for (const std::string value : {"x[i]", "1"})
        for (const DType keys : {DType::i8, DType::i64}) {
            const std::string inside = "h[J[i] + 20] += " + value;
            CHECK(own_verdicts(inside, arrays(inside, many, keys)) == 1);
            check_values(inside, arrays(inside, many, keys));
        }
    // Of few updates none is made in parts.
    CHECK(own_verdicts(text, arrays(text, 1000)) == 0);
}
TEST_CASE("several keys of a point are checked on the way, each by a verdict of its own") {
    const std::string text = "h[J[i] + 20] += x[i]*z[20 + K[i]]";
    CHECK(own_verdicts(text, arrays(text, many)) == 2);
    check_values(text, arrays(text, many));
    const std::string same = "h[J[i] + 20] += z[J[i] + 20]";
    CHECK(own_verdicts(same, arrays(same, many)) == 1);  // one of the shorter array says it all
    check_values(same, arrays(same, many));
    const Signature square = {{"h", array({40, 37})},
                              {"J", array({300, 437}, DType::i32)},
                              {"K", array({300, 437}, DType::i32)}};
    CHECK(own_verdicts("h[J[i,j] + 20,K[i,j] + 18] += 1", square) == 2);
    check_values("h[J[i,j] + 20,K[i,j] + 18] += 1", square);
}
TEST_CASE("keys that the program makes are checked on the way") {
    const std::string text = "K[i] := i64(sum[c](A[i,c])); h[K[i] + 200] += x[i]";
    const Signature made = {
        {"A", array({many, 3}, DType::i32)}, {"h", array({400})}, {"x", array({many})}};
    CHECK(own_verdicts(text, made) == 1);
    check_values(text, made);
}
TEST_CASE("keys that need no check may stand beside those that do") {
    const std::string text = "h[J[i] + 20] += x[i]*z[clamp(K[i])]";
    CHECK(own_verdicts(text, arrays(text, many)) == 1);
    check_values(text, arrays(text, many));
}
TEST_CASE("each of several updates checks its own keys") {
    const std::string total = "; s := h[k]*g[clamp(k)]";
    const std::string text = "h[J[i] + 20] += x[i]; g[K[i] + 20] += 1" + total;
    CHECK(own_verdicts(text, arrays(text, many)) == 2);
    check_values(text, arrays(text, many));
    // The first one gives the verdict about a key that they share.
    const std::string same = "h[J[i] + 20] += x[i]; g[J[i] + 20] += 1" + total;
    CHECK(own_verdicts(same, arrays(same, many)) == 1);
    check_values(same, arrays(same, many));
}
TEST_CASE("keys that the points do not have to themselves are checked before") {
    // At each point of c, and at one of several.
    const Signature rows = {
        {"h", array({100, 3})}, {"J", array({many}, DType::i32)}, {"x", array({many, 3})}};
    CHECK(own_verdicts("h[J[i],c] += x[i,c]", rows) == 0);
    const Signature outer = {
        {"h", array({100})}, {"J", array({512}, DType::i32)}, {"x", array({512, 512})}};
    CHECK(own_verdicts("h[J[i]] += x[i,j]", outer) == 0);
    check_values("h[J[i] + 20] += x[i,j]", outer);
    // A key that is read at a key.
    const Signature nested = {
        {"h", array({100})}, {"J", array({40}, DType::i32)}, {"K", array({many}, DType::i32)}};
    CHECK(own_verdicts("h[J[K[i] + 20] + 20] += 1", nested) == 0);
    check_values("h[J[K[i] + 20] + 20] += 1", nested);
    // The value is made after the verdict.
    const std::string made = "y[i] := tanh(x[i])*K[i]; s := y[i]; h[J[i] + 20] += y[i]/s";
    CHECK(own_verdicts(made, arrays(made, many)) == 0);
    check_values(made, arrays(made, many));
    // Points under a condition, and keys that need no check.
    const std::string padded = "h[pad(J[i])] += x[i]";
    CHECK(own_verdicts(padded, arrays(padded, many)) == 0);
    const std::string clamped = "h[clamp(J[i])] += x[i]";
    CHECK(own_verdicts(clamped, arrays(clamped, many)) == 0);
}
TEST_CASE("parts of few points check their keys as tests force it") {
    for (const std::int64_t count : {3, 64, 200, 229})
        for (const std::string text :
             {"h[J[i] + 20] += 1", "h[J[i] + 20] += x[i]", "h[J[i] + 20] += x[i]*z[K[i] + 20]",
              "h[J[i] + 20] min= z[J[i] + 20]"}) {
            CAPTURE(count);
            CHECK(own_verdicts(text, arrays(text, count), Forced::two_levels) >= 1);
            (void)has_directive("", text, arrays(text, count), 1 << 20, Forced::two_levels);
        }
}
