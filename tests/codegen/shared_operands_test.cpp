// tests/codegen/shared_operands_test.cpp – padded operands as arrays of their own
#include "codegen/shared_operands.h"

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

constexpr codegen::SharedOperandLimits always = {
    .points = 0, .reuse = 0, .users = 0, .strided_users = 0, .strided_extent = 2};

std::string shared(const std::string& text, const Signature& signature,
                   const codegen::SharedOperandLimits& limits = always) {
    const std::string all = str(codegen::with_shared_operands(bound(text, signature), limits));
    const std::size_t begin = all.find("\nfor ") + 1;
    return all.substr(begin, all.find("outputs ") - begin);
}

/// Where products are not shared as wholes.
std::string shared_strided(const std::string& text, const Signature& signature) {
    codegen::SharedOperandLimits limits = always;
    limits.strided_users = 2;
    return shared(text, signature, limits);
}

const Signature line = {{"X", array({30})}, {"W", array({4, 3})}};

}  // namespace

TEST_CASE("a padded operand of bf16 is an array of bf16 where products take pairs") {
    codegen::SharedOperandLimits limits = always;
    limits.keeps_bf16 = true;
    const Signature bf16 = {{"X", array({30}, DType::bf16)}, {"W", array({4, 3}, DType::bf16)}};
    CHECK(shared("Y[o,y] := X[pad(y+r-1)]*W[o,r] where y in 0:30", bf16, limits) ==
          "for u.3 in 0:32:\n"
          "  shared.3[u.3] := bf16(u.3-1 >= 0 && u.3-1 < 30 ? f32(X.0[clamp(u.3-1, 0, 29)]) : "
          "0.0)\n"
          "for o.0 in 0:4, y.1 in 0:30:\n"
          "  Y.2[o.0,y.1] := f32 sum[r.2 in 0:3](f32(shared.3[y.1+r.2])*f32(W.1[o.0,r.2]))\n");
    const std::string sums =
        shared("Y[o,y] := (X[pad(y+r-1)] + X[pad(y+r)])*W[o,r] where y in 0:30", bf16, limits);
    CHECK(sums.find("bf16(") == std::string::npos);
}

TEST_CASE("a padded operand is an array over the sums of its indices") {
    CHECK(shared("Y[o,y] := X[pad(y+r-1)]*W[o,r] where y in 0:30", line) ==
          "for u.3 in 0:32:\n"
          "  shared.3[u.3] := u.3-1 >= 0 && u.3-1 < 30 ? X.0[clamp(u.3-1, 0, 29)] : 0.0\n"
          "for o.0 in 0:4, y.1 in 0:30:\n"
          "  Y.2[o.0,y.1] := f32 sum[r.2 in 0:3](shared.3[y.1+r.2]*W.1[o.0,r.2])\n");
    CHECK(shared("Y[o,y] := X[wrap(y-2*r)]*W[o,r] where y in 0:20", line) ==
          "for u.3 in 0:24:\n"
          "  shared.3[u.3] := X.0[(u.3-4)%30]\n"
          "for o.0 in 0:4, y.1 in 0:20:\n"
          "  Y.2[o.0,y.1] := f32 sum[r.2 in 0:3](shared.3[y.1-2*r.2+4]*W.1[o.0,r.2])\n");
    CHECK(shared("Y[o,y] := (X[clamp(y-1)] + X[clamp(y+r)])*W[o,r] where y in 0:20", line) ==
          "for u.3 in 0:20:\n"
          "  shared.3[u.3] := X.0[clamp(u.3-1, 0, 29)]\n"
          "for u.4 in 0:22:\n"
          "  shared.4[u.4] := X.0[clamp(u.4, 0, 29)]\n"
          "for o.0 in 0:4, y.1 in 0:20:\n"
          "  Y.2[o.0,y.1] := f32 sum[r.2 in 0:3]((shared.3[y.1] + "
          "shared.4[y.1+r.2])*W.1[o.0,r.2])\n");
}

TEST_CASE("zeros behind a row of a padded operand are those before the next") {
    const Signature image = {{"X", array({8, 9})}, {"W", array({4, 3, 3})}};
    CHECK(shared("Y[o,y,x] := X[pad(y+r-1),pad(x+s-1)]*W[o,r,s] where y in 0:8, x in 0:9", image) ==
          "for u.5 in 0:11, u.6 in 0:10:\n"
          "  shared.3[10*u.5+u.6] := u.5-1 >= 0 && u.5-1 < 8 ? (u.6-1 >= 0 && u.6-1 < 9 ? "
          "X.0[clamp(u.5-1, 0, 7),clamp(u.6-1, 0, 8)] : 0.0) : 0.0\n"
          "for o.0 in 0:4, y.1 in 0:8, x.2 in 0:9:\n"
          "  Y.2[o.0,y.1,x.2] := f32 sum[r.3 in 0:3, s.4 in 0:3]"
          "(shared.3[10*(y.1+r.3)+x.2+s.4]*W.1[o.0,r.3,s.4])\n");
    // Rows that are not padded: the row more is the last one again.
    CHECK(shared("Y[o,y,x] := X[y+r,pad(x+s-2,2)]*W[o,r,s]", image)
              .find("shared.3[11*u.5+u.6] := u.6-2 >= 0 && u.6-2 < 9 ? X.0[min(u.5, 7),"
                    "clamp(u.6-2, 0, 8)] : 0.0\n") != std::string::npos);
    // One side without zeros, and values that are no zeros.
    CHECK(shared("Y[o,y,x] := X[pad(y+r),pad(x+s)]*W[o,r,s] where y in 0:8, x in 0:9", image)
              .find("shared.3[u.5,u.6] :=") != std::string::npos);
    CHECK(
        shared("Y[o,y,x] := X[clamp(y+r-1),clamp(x+s-1)]*W[o,r,s] where y in 0:8, x in 0:9", image)
            .find("shared.3[u.5,u.6] :=") != std::string::npos);
}

TEST_CASE("rows whose ends hold other values than the rows around them are stored apart") {
    const Signature image = {{"X", array({40, 41})}, {"W", array({40, 3, 3})}};
    const auto padded = [](const char* columns, const char* rows) {
        return format(
            "Y[o,y,x] := select(y+r >= 1 && y+r < 41, select(x+s >= 1 && x+s < 42, "
            "X[clamp(y+r-1),clamp(x+s-1)], {}), {})*W[o,r,s] where y in 0:40, x in 0:41",
            columns, rows);
    };
    const auto is_joined = [&](const std::string& text) {
        return shared(text, image).find("shared.3[42*u.5+u.6] :=") != std::string::npos;
    };
    CHECK(is_joined(padded("2.0", "2.0")));
    CHECK_FALSE(is_joined(padded("2.0", "3.0")));
    CHECK_FALSE(is_joined(padded("0.0", "3.0")));
    for (const char* const columns : {"0.0", "2.0"})
        for (const char* const rows : {"0.0", "2.0", "3.0"})
            CHECK(compiled_difference(bound(padded(columns, rows), image), image) == "");
}

TEST_CASE("operands stay where they are") {
    const auto stays = [](const std::string& text, const Signature& signature,
                          const codegen::SharedOperandLimits& limits = always) {
        return shared(text, signature, limits).find("shared") == std::string::npos;
    };
    // Read without a border, by data, by an index in two ways, under a condition, or too seldom.
    CHECK(stays("Y[o,y] := X[y+r]*W[o,r]", line));
    CHECK(stays("Y[o,y] := X[clamp(J[y]+r)]*W[o,r]",
                {{"X", array({30})}, {"W", array({4, 3})}, {"J", array({9}, DType::i32)}}));
    CHECK(stays("Y[o,y] := Q[clamp(y+r),y]*W[o,r]", {{"Q", array({9, 9})}, {"W", array({4, 3})}}));
    CHECK(stays("Y[o,y] := sum[r | r < 2](X[clamp(y+r)]*W[o,r]) where y in 0:20", line));
    CHECK(stays("Y[o,y] := X[clamp(y+r)]*W[o,r] where y in 0:30", line, {.points = 361}));
    CHECK(stays("Y[o,y] := X[clamp(y+r)]*W[o,r] where y in 0:30", line, {.points = 0, .users = 5}));
    CHECK_FALSE(
        stays("Y[o,y] := X[clamp(y+r)]*W[o,r] where y in 0:30", line, {.points = 0, .users = 4}));
}

TEST_CASE("an operand that alone has all indices is shared where each element is read often") {
    const Signature given{{"X", array({5, 30})}, {"W", array({5, 7})}};
    const std::string depthwise = "Y[c,y] := X[c,pad(y+r-3,3)]*W[c,r]";
    CHECK(shared(depthwise, given, {.points = 0, .users = 8, .much_reuse = 5}).find("shared") !=
          std::string::npos);
    CHECK(shared(depthwise, given, {.points = 0, .users = 8, .much_reuse = 6}).find("shared") ==
          std::string::npos);
}

TEST_CASE("a strided operand is an array over residues and quotients") {
    const Signature line = {{"X", array({41})}, {"W", array({4, 3})}};
    // u = y + q; r = 2*q + rho. The last residue has one quotient less: what is there is not read.
    CHECK(shared_strided("Y[o,y] := X[2*y+r]*W[o,r] where y in 0:20", line) ==
          "for u.5 in 0:2, u.6 in 0:21:\n"
          "  shared.3[u.5,u.6] := X.0[min(u.5+2*u.6, 40)]\n"
          "for o.0 in 0:4, y.1 in 0:20:\n"
          "  Y.2[o.0,y.1] := f32 sum[r.3 in 0:2, r.4 in 0:2 | "
          "2*r.3+r.4 < 3](shared.3[r.4,y.1+r.3]*W.1[o.0,2*r.3+r.4])\n");
    CHECK(shared_strided("Y[o,y] := X[wrap(2*y-r)]*W[o,r] where y in 0:20", line) ==
          "for u.5 in 0:2, u.6 in 0:21:\n"
          "  shared.3[u.5,u.6] := X.0[max(2*u.6-u.5-2, -2)%41]\n"
          "for o.0 in 0:4, y.1 in 0:20:\n"
          "  Y.2[o.0,y.1] := f32 sum[r.3 in 0:2, r.4 in 0:2 | "
          "2*r.3+r.4 < 3](shared.3[r.4,y.1-r.3+1]*W.1[o.0,2*r.3+r.4])\n");
    // As many taps as the stride: there is one quotient; a dilation of the stride: one residue.
    CHECK(shared_strided("Y[o,y] := X[3*y+r]*W[o,r]", line) ==
          "for u.4 in 0:3, u.5 in 0:13:\n"
          "  shared.3[u.4,u.5] := X.0[u.4+3*u.5]\n"
          "for o.0 in 0:4, y.1 in 0:13:\n"
          "  Y.2[o.0,y.1] := f32 sum[r.3 in 0:3](shared.3[r.3,y.1]*W.1[o.0,r.3])\n");
    CHECK(shared_strided("Y[o,y] := X[2*y+4*r]*W[o,r]", line) ==
          "for u.3 in 0:21:\n"
          "  shared.3[u.3] := X.0[2*u.3]\n"
          "for o.0 in 0:4, y.1 in 0:17:\n"
          "  Y.2[o.0,y.1] := f32 sum[r.2 in 0:3](shared.3[y.1+2*r.2]*W.1[o.0,r.2])\n");
}

TEST_CASE("residues of all subscripts stand before the quotients") {
    const Signature image = {{"X", array({5, 9, 9})}, {"W", array({4, 5, 2, 2})}};
    CHECK(shared_strided("Y[o,y,x] := X[c,2*y+r,2*x+s]*W[o,c,r,s]", image) ==
          "for u.8 in 0:5, u.9 in 0:2, u.10 in 0:2, u.11 in 0:4, u.12 in 0:4:\n"
          "  shared.3[u.8,u.9,u.10,u.11,u.12] := X.0[u.8,u.9+2*u.11,u.10+2*u.12]\n"
          "for o.0 in 0:4, y.1 in 0:4, x.2 in 0:4:\n"
          "  Y.2[o.0,y.1,x.2] := f32 sum[c.3 in 0:5, r.6 in 0:2, s.7 in 0:2]"
          "(shared.3[c.3,r.6,s.7,y.1,x.2]*W.1[o.0,c.3,r.6,s.7])\n");
}

TEST_CASE("strided operands stay where they are") {
    const auto stays = [](const std::string& text, const Signature& signature) {
        return shared_strided(text, signature).find("shared") == std::string::npos;
    };
    // The innermost subscript has no stride, or one of a free and a free index.
    const Signature given = {{"X", array({41, 7})}, {"W", array({4, 3, 7})}};
    CHECK(stays("Y[o,y] := X[2*y+r,k]*W[o,r,k] where y in 0:20", given));
    CHECK(stays("dW[r,o] := X[2*y+r]*dY[o,y] where r in 0:3",
                {{"X", array({41})}, {"dY", array({4, 20})}}));
    CHECK(stays("Y[o,y] := X[2*y+r]*Z[y+r]*X[3*y+r]*W[o,r] where y in 0:9",
                {{"X", array({41})}, {"Z", array({41})}, {"W", array({4, 3})}}));
}

TEST_CASE("strided operands that lanes mask keep their indices whole") {
    const std::string text =
        "Y[c,y,x] := X[c,pad(2*y+u-3),pad(2*x+v-3)]*W[c,u,v] where y in 0:14, x in 0:14";
    const Signature given = {{"X", array({2, 28, 28})}, {"W", array({2, 7, 7})}};
    CHECK(shared(text, given, {.points = 0, .masks_padding = true}) ==
          shared(text, given, {.points = 1e18}));
    CHECK(shared(text, given, {.points = 0}) != shared(text, given, {.points = 1e18}));
}

TEST_CASE("a body that doubles, or is long, takes no longer for it") {
    const auto has_array = [](const std::string& first, int count) {
        std::string locals = "u1 = " + first;
        for (int n = 2; n < count; ++n) locals += format(", u{0} = u{1}*(u{1} + {0})", n, n - 1);
        const std::string text =
            format("Y[o,y] := sum[r](u{}*W[o,r]) where y in 0:28, {}", count - 1, locals);
        return shared(text, line).find("shared") != std::string::npos;
    };
    CHECK(has_array("X[pad(y+r-1)]", 40));
    CHECK_FALSE(has_array("X[y+r]", 40));
    CHECK_FALSE(has_array("X[pad(y+r-1)]", 200));
}

TEST_CASE("padded convolutions and their gradients run on shared operands") {
    const Signature given = {
        {"X", array({4, 8, 20, 22})}, {"W", array({16, 8, 3, 3})}, {"dY", array({4, 16, 20, 22})}};
    for (const char* border : {"pad", "clamp", "wrap", "reflect"}) {
        const std::string read = format("X[n,c,{0}(y+r-1),{0}(x+s-1)]", border);
        for (const std::string& text :
             {std::string("Y[n,o,y,x] := ") + read + "*W[o,c,r,s] where y in 0:20, x in 0:22",
              std::string("dW[o,c,r,s] := sum[n,y,x](") + read +
                  "*dY[n,o,y,x]) where r in 0:3, s in 0:3"}) {
            INFO(text);
            Signature signature = given;
            signature.erase(text[0] == 'Y' ? "dY" : "W");
            const BoundProgram program = bound(text, signature);
            CHECK(str(codegen::plan(program, example_target(64))).find("temporary shared") !=
                  std::string::npos);
            CHECK(compiled_difference(program, signature) == "");
        }
    }
}

}  // namespace ricci::tests
