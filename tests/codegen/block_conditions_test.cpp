// tests/codegen/block_conditions_test.cpp – conditions of points, found for blocks of them in lanes
#include "codegen/block_conditions.h"

#include <string>

#include <doctest/doctest.h>

#include "codegen/plan.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

/// The types of the numbers of which lanes find extremes, in the order of their comparisons.
std::string extremes(const std::string& text, const Signature& signature) {
    const std::string plan = str(codegen::plan(bound(text, signature), example_target(32)));
    const std::string lanes = "[16]\n";
    std::string found;
    std::size_t at = 0;
    while ((at = plan.find("registers extreme: ", at)) != std::string::npos) {
        at += std::string("registers extreme: ").size();
        const std::string type = plan.substr(at, plan.find('\n', at) + 1 - at);
        if (type.ends_with(lanes)) found += type.substr(0, type.size() - lanes.size()) + " ";
    }
    return found;
}

Signature keyed(std::int64_t count, DType keys, std::int64_t size = 4) {
    return {{"h", array({size})}, {"Keys", array({count}, keys)}, {"x", array({count})}};
}

/// `Keys` are -1, 0 and 1: in most blocks one is outside. Below all are inside, or those of the
/// first blocks.
constexpr const char* padded = "h[pad(Keys[i])] += x[i]";
constexpr const char* inside = "h[pad(Keys[i] + 1)] += x[i]";
constexpr const char* first_inside = "h[pad(Keys[i] + 1 - i//200)] += x[i]";

}  // namespace

TEST_CASE("whether all points of a block exist is found in lanes of the keys' type") {
    CHECK(extremes(padded, keyed(1029, DType::i8)) == "i8 i8 ");
    CHECK(extremes(padded, keyed(1029, DType::i32)) == "i32 i32 ");
    CHECK(extremes(padded, keyed(1029, DType::i64)) == "i64 i64 ");
    // No key of that type reaches the end of the array.
    CHECK(extremes(padded, keyed(1029, DType::i8, 1000)) == "i8 i64 ");
    for (const DType keys : {DType::i8, DType::i16, DType::u8, DType::i32, DType::i64})
        for (const std::int64_t count : {128, 255, 256, 1029})
            for (const char* text : {padded, inside, first_inside})
                check_values(text, keyed(count, keys));
    check_values(padded, keyed(300, DType::i8, 1000));
}
TEST_CASE("fewer points are asked one by one") {
    CHECK(extremes(padded, keyed(127, DType::i32)) == "");
    check_values(padded, keyed(127, DType::i32));
}
TEST_CASE("conditions that are no comparisons of integers are found, too") {
    const std::string text = "h[t] := sum[i | t == Keys[i] && x[i] > 0](x[i]) where t in 0:20";
    const Signature signature = {{"Keys", array({700}, DType::i32)}, {"x", array({700})}};
    CHECK(extremes(text, signature) == "i32 i32 i32 ");
    check_values(text, signature);
    check_values("h[t] := max[i | t == Keys[i] && (x[i] > 0 || x[i] < -1)](x[i]) where t in 0:20",
                 signature);
}
TEST_CASE("numbers that a conversion changes are compared as what they become") {
    const Signature signature = {{"h", array({4})},
                                 {"Keys", array({300}, DType::i32)},
                                 {"k", array({300}, DType::i8)},
                                 {"x", array({300})}};
    for (const std::string number :
         {"u8(k[i])", "u16(k[i])", "u32(k[i])", "u64(k[i])", "i16(k[i])"})
        for (const std::string condition : {" < 0", " >= 0", " <= 0", " > 0", " < 3", " >= 3"}) {
            check_values("h[Keys[i]+1] += (" + number + condition + " ? x[i] : 0)", signature);
            check_values(
                "h[t] := sum[i | t == Keys[i] && " + number + condition + "](x[i]) where t in 0:4",
                {{"Keys", signature.at("Keys")},
                 {"k", signature.at("k")},
                 {"x", signature.at("x")}});
        }
}
TEST_CASE("dear terms of points that all exist are computed in lanes") {
    for (const std::string text :
         {"h[pad(Keys[i])] += exp(x[i])", "h[pad(Keys[i] + 1)] += exp(x[i])",
          "h[pad(Keys[i] + KeysK[i])] += x[i]*z[1 + KeysK[i]]",
          "h[pad(Keys[i] + 1)] max= tanh(x[i] + z[1 + KeysK[i]])"}) {
        Signature signature = keyed(300, DType::i8);
        if (text.find("KeysK[") != std::string::npos) {
            signature["KeysK"] = array({300}, DType::i8);
            signature["z"] = array({5});
        }
        check_values(text, signature);
    }
}
TEST_CASE("what stands where points do not exist is not read") {
    Signature signature = {{"J", array({300}, DType::i32)}, {"z", array({4})}};
    for (const std::string value : {"exp(z[J[i]])", "z[J[i]] - z[3-J[i]]", "tanh(x[i])*z[J[i]]"}) {
        if (value.find("x[") != std::string::npos) signature["x"] = array({300});
        check_values("h[t] := sum[i | t == J[i]](" + value + ") where t in 0:4", signature);
    }
    signature["h"] = array({9});
    check_values("h[pad(J[i])] += x[i]*exp(z[pad(J[i])])", signature);
}
TEST_CASE("points that exist are found among many that do not, and among few") {
    for (const std::string place : {"J[i]", "J[i] + 17", "J[i] - 17", "J[i] + 30", "J[i] - 30"})
        for (const std::int64_t count : {128, 300})
            for (const DType keys : {DType::i8, DType::i64})
                check_values(
                    "h[pad(" + place + ")] += x[i]",
                    {{"h", array({35})}, {"J", array({count}, keys)}, {"x", array({count})}});
    const Signature counts = {{"h", array({20}, DType::i64)}, {"J", array({1029}, DType::i16)}};
    check_values("h[pad(J[i])] += 1", counts);
    check_values("h[pad(J[1028-i])] += i", counts);
    check_values("h[pad(J[i] + 3*(i%2))] max= i*i", counts);
}
TEST_CASE("rows of blocks have conditions of their own") {
    const Signature rows = {
        {"h", array({3, 4})}, {"Keys", array({3, 300}, DType::i32)}, {"x", array({3, 300})}};
    CHECK(extremes("h[c, pad(Keys[c,i])] += x[c,i]", rows) == "i32 i32 ");
    check_values("h[c, pad(Keys[c,i])] += x[c,i]", rows);
    const Signature strided = {{"h", array({4})}, {"Keys", array({300, 3}, DType::i32)}};
    for (const std::string key :
         {"Keys[i,c]", "Keys[299-i,0]", "Keys[299-i,0] + 1", "Keys[i,1] + 1 - i//200"})
        check_values("h[pad(" + key + ")] += i", strided);
}
