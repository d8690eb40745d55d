// tests/emulation/kernel_test.cpp – kernels written by hand: what is right and what is caught
#include <cmath>

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/emulation/mark_stores.h"
#include "tests/emulation/text_kernel.h"

namespace ricci::tests {
namespace {

using emulation::Copies;
using emulation::Manner;
using emulation::Order;

constexpr Manner manners[] = {
    {.order = Order::ascending},
    {.order = Order::random, .copies = Copies::eager, .seed = 1},
    {.order = Order::random, .copies = Copies::lazy, .seed = 2},
};

std::vector<float> counting(std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t n = 0; n < count; ++n) values[n] = float(n);
    return values;
}

}  // namespace

TEST_CASE("stores are told from loads") {
    CHECK(
        emulation::mark_stores("RC_KERNEL(32) k(RC_IN(float) x, RC_OUT(rc_i64) y) {\n"
                               "    RC_SHARED(float, t, 0, 4);\n"
                               "    RC_LOCAL(float, a, 4);\n"
                               "    if (y[0] == 1) t[y[i] + 1] = x[i]; a[0] = y[1]; y[2] += a[3];\n"
                               "    y.v[1] = t[2];\n") ==
        "RC_KERNEL(32) k(RC_IN(float) x, RC_OUT(rc_i64) y) {\n"
        "    RC_SHARED(float, t, 0, 4);\n"
        "    RC_LOCAL(float, a, 4);\n"
        "    if (y[0] == 1) t.put(y[i] + 1) = x[i]; a[0] = y[1]; y.put(2) += a[3];\n"
        "    y.v[1] = t[2];\n");
}

TEST_CASE("a kernel of several blocks computes in any order") {
    TextKernel kernel(R"(
RC_KERNEL(64) twice(RC_IN(float) x, RC_OUT(float) y) {
    const rc_i32 i = RC_BLOCK * 64 + RC_THREAD;
    if (i < 100) y[i] = rc_exp<float>(x[i]) + 2.0f * x[i];
}
RC_ENTRY(twice)
)");
    const auto x = kernel.upload(std::vector<float>(100, 0.5f));
    for (const Manner& manner : manners) {
        const auto y = kernel.upload(std::vector<float>(100));
        CHECK(kernel.run("twice", 2, 64, {x, y}, 0, manner) == "");
        CHECK(kernel.download<float>(y, 100) == std::vector<float>(100, std::exp(0.5f) + 1.0f));
    }
}

TEST_CASE("an access beyond an array names kernel, block, thread, array and element") {
    TextKernel kernel(R"(
RC_KERNEL(64) twice(RC_IN(float) x, RC_OUT(float) y) {
    const rc_i32 i = RC_BLOCK * 64 + RC_THREAD;
    if (i < 101) y[i] = x[i];
}
RC_ENTRY(twice)
)");
    const auto x = kernel.upload(counting(101));
    const auto y = kernel.upload(counting(100));
    CHECK(kernel.run("twice", 2, 64, {x, y}) ==
          "twice, block 1, thread 36 writes element 100 of y, which has 100");
    CHECK(kernel.run("twice", 2, 64, {0, y}) ==
          "twice, block 0, thread 0 reads element 0 of x, which points into no memory of the "
          "device");
}

TEST_CASE("threads that meet without a barrier are found in any order") {
    const auto text = [](const char* first, const char* second) {
        return format(R"(
RC_KERNEL(64) turn(RC_IN(float) x, RC_OUT(float) y) {{
    RC_SHARED(float, tile, 0, 64);
    for (rc_i32 k = 0; k < 2; ++k) {{
        tile[RC_THREAD] = x[k * 64 + RC_THREAD];
        {}
        y[k * 64 + RC_THREAD] = tile[63 - RC_THREAD];
        {}
    }}
}}
RC_ENTRY(turn)
)",
                      first, second);
    };
    const auto run = [&](const char* first, const char* second, const Manner& manner) {
        TextKernel kernel(text(first, second));
        const auto x = kernel.upload(counting(128));
        const auto y = kernel.upload(std::vector<float>(128));
        const std::string fault = kernel.run("turn", 1, 64, {x, y}, 256, manner);
        if (fault.empty()) CHECK(kernel.download<float>(y, 128)[64] == 127);
        return fault;
    };
    for (const Manner& manner : manners) {
        CHECK(run("RC_BARRIER();", "RC_BARRIER();", manner) == "");
        CHECK(run("", "RC_BARRIER();", manner) != "");
        CHECK(run("RC_BARRIER();", "", manner) != "");
    }
    CHECK(run("", "RC_BARRIER();", manners[0]) ==
          "turn, block 0, thread 0 reads element 63 of tile, which nothing has written");
    CHECK(run("RC_BARRIER();", "", manners[0]) ==
          "turn, block 0, thread 32 reads element 31 of tile, which thread 31 wrote since the last "
          "barrier");
}

TEST_CASE("two blocks that write one element are found") {
    TextKernel kernel(R"(
RC_KERNEL(32) both(RC_OUT(float) y) { y[RC_THREAD + 16 * RC_BLOCK] = 1; }
RC_ENTRY(both)
RC_KERNEL(32) next(RC_OUT(float) y, RC_OUT(float) z) {
    if (RC_BLOCK == 0) z[RC_THREAD] = y[32 + RC_THREAD];
    if (RC_BLOCK == 1) y[33 + RC_THREAD] = 1;
}
RC_ENTRY(next)
)");
    const auto y = kernel.upload(counting(64));
    CHECK(kernel.run("both", 2, 32, {y}) ==
          "both, block 1, thread 0 writes element 16 of y, which block 0 wrote");
    const auto z = kernel.upload(counting(64));
    CHECK(kernel.run("next", 2, 32, {y, z}) ==
          "next, block 1, thread 0 writes element 33 of y, which block 0 read");
}

TEST_CASE("threads and blocks may add to one element, and do nothing else with it") {
    const auto run = [](const char* statement, int blocks) {
        TextKernel kernel(format(R"(
RC_KERNEL(64) total(RC_IN(float) x, RC_OUT(float) y) {{
    rc_add_atomic(y, 0, x[RC_THREAD]);
    {}
}}
RC_ENTRY(total)
)",
                                 statement));
        const auto x = kernel.upload(counting(64));
        const auto y = kernel.upload(std::vector<float>(2));
        const std::string fault = kernel.run("total", blocks, 64, {x, y});
        if (fault.empty()) CHECK(kernel.download<float>(y, 2)[0] == float(blocks) * 2016);
        return fault;
    };
    CHECK(run("", 1) == "");
    CHECK(run("", 3) == "");
    CHECK(run("RC_BARRIER(); if (RC_THREAD == 0) y[1] = y[0];", 1) == "");
    CHECK(run("if (RC_THREAD == 5) y[1] = y[0];", 1) ==
          "total, block 0, thread 5 reads element 0 of y, which several threads added to since "
          "the last barrier");
    CHECK(run("if (RC_THREAD == 5) y[0] = 0;", 1) != "");
    CHECK(run("RC_BARRIER(); if (RC_THREAD == 7) y[0] = 0; rc_add_atomic(y, 0, 1.0f);", 1) != "");
    CHECK(run("RC_BARRIER(); if (RC_BLOCK == 1 && RC_THREAD == 0) y[1] = y[0];", 2) ==
          "total, block 1, thread 0 reads element 0 of y, which block 0 wrote");
}

TEST_CASE("who waits where is said when not all arrive at a barrier or an exchange") {
    TextKernel kernel(R"(
RC_KERNEL(64) part(RC_OUT(float) y) {
    if (RC_THREAD < 40)
        RC_BARRIER();
    y[RC_THREAD] = 1;
}
RC_ENTRY(part)
RC_KERNEL(64) lanes(RC_OUT(float) y) {
    float v = 1;
    if (RC_THREAD != 35) v += rc_shuffle_xor(v, 1);
    RC_BARRIER();
    y[RC_THREAD] = v;
}
RC_ENTRY(lanes)
)");
    const auto y = kernel.upload(counting(64));
    CHECK(kernel.run("part", 1, 64, {y}) ==
          "part, block 0: not all threads arrive:\n"
          "  threads 0 to 39 at the barrier of line 4\n"
          "  threads 40 to 63 at the end");
    CHECK(kernel.run("lanes", 1, 64, {y}) ==
          "lanes, block 0: not all threads arrive:\n"
          "  threads 0 to 31, 35 at the barrier of line 11\n"
          "  threads 32 to 34, 36 to 63 at the exchange of line 10");
}

TEST_CASE("a warp exchanges values of every type") {
    TextKernel kernel(R"(
template <class T> RC_INLINE T total(T v) {
    for (int mask = 16; mask > 0; mask /= 2) v += rc_shuffle_xor(v, mask);
    return v;
}
RC_KERNEL(64) sums(RC_OUT(float) a, RC_OUT(double) b, RC_OUT(rc_i64) c, RC_OUT(rc_i32) d) {
    const float f = total(float(RC_THREAD));
    a[RC_THREAD] = f;
    const double g = total(double(RC_THREAD));
    b[RC_THREAD] = g;
    const rc_i64 h = total(rc_i64(RC_THREAD) << 40);
    c[RC_THREAD] = h;
    const rc_i32 i = total(-RC_THREAD);
    d[RC_THREAD] = i;
}
RC_ENTRY(sums)
)");
    for (const Manner& manner : manners) {
        const auto a = kernel.upload(std::vector<float>(64));
        const auto b = kernel.upload(std::vector<double>(64));
        const auto c = kernel.upload(std::vector<std::int64_t>(64));
        const auto d = kernel.upload(std::vector<std::int32_t>(64));
        REQUIRE(kernel.run("sums", 1, 64, {a, b, c, d}, 0, manner) == "");
        CHECK(kernel.download<float>(a, 64)[3] == 496);
        CHECK(kernel.download<double>(b, 64)[40] == 496 + 1024);
        CHECK(kernel.download<std::int64_t>(c, 64)[63] == std::int64_t(496 + 1024) << 40);
        CHECK(kernel.download<std::int32_t>(d, 64)[0] == -496);
    }
}

TEST_CASE("an asynchronous copy is there after its wait and a barrier, not before") {
    const auto text = [](int pending, const char* barrier) {
        return format(R"(
RC_KERNEL(32) pipe(RC_IN(float) x, RC_OUT(float) y) {{
    RC_SHARED(float, tile, 0, 256);
    rc_copy_async<4>(tile, 4 * RC_THREAD, x, 4 * RC_THREAD);
    rc_copy_commit();
    for (rc_i32 k = 0; k < 4; ++k) {{
        if (k < 3)
            rc_copy_async<4>(tile, 128 * ((k + 1) % 2) + 4 * RC_THREAD, x,
                             128 * (k + 1) + 4 * RC_THREAD);
        rc_copy_commit();
        rc_copy_wait<{}>();
        {}
        y[32 * k + RC_THREAD] = tile[128 * (k % 2) + 127 - 4 * RC_THREAD];
        RC_BARRIER();
    }}
}}
RC_ENTRY(pipe)
)",
                      pending, barrier);
    };
    const auto run = [&](int pending, const char* barrier, const Manner& manner) {
        TextKernel kernel(text(pending, barrier));
        const auto x = kernel.upload(counting(512));
        const auto y = kernel.upload(std::vector<float>(128));
        const std::string fault = kernel.run("pipe", 1, 32, {x, y}, 1024, manner);
        if (fault.empty()) CHECK(kernel.download<float>(y, 128)[33] == 128 + 123);
        return fault;
    };
    for (const Manner& manner : manners) {
        CHECK(run(1, "RC_BARRIER();", manner) == "");
        CHECK(run(0, "RC_BARRIER();", manner) == "");
        CHECK(run(2, "RC_BARRIER();", manner) != "");
        CHECK(run(1, "", manner) != "");
    }
    CHECK(run(2, "RC_BARRIER();", manners[0]) ==
          "pipe, block 0, thread 0 reads element 127 of tile, which an asynchronous copy of thread "
          "31 is on its way to");
}

TEST_CASE("vector accesses need aligned addresses") {
    TextKernel kernel(R"(
RC_KERNEL(32) vectors(RC_IN(float) x, RC_OUT(float) y) {
    auto v = rc_load4(x, 4 * RC_THREAD);
    v.v[0] += 1;
    rc_store4(y, 4 * RC_THREAD, v);
}
RC_ENTRY(vectors)
)");
    const auto x = kernel.upload(counting(128));
    const auto y = kernel.upload(counting(128));
    CHECK(kernel.run("vectors", 1, 32, {x, y}) == "");
    CHECK(kernel.download<float>(y, 128)[4] == 5);
    const auto shifted = kernel.upload(counting(128), 8);
    CHECK(kernel.run("vectors", 1, 32, {shifted, y}) ==
          "vectors, block 0, thread 0 accesses 16 bytes at element 0 of x, 8 bytes after a "
          "multiple of 16");
}

TEST_CASE("a thread's own arrays and shared memory have bounds") {
    TextKernel kernel(R"(
RC_KERNEL(32) own(RC_IN(float) x, RC_OUT(float) y) {
    RC_LOCAL(float, part, 3);
    for (rc_i32 k = 0; k < rc_i32(x[0]); ++k) part[k] = 1;
    y[RC_THREAD] = part[2];
}
RC_ENTRY(own)
RC_KERNEL(32) wide(RC_OUT(float) y) {
    RC_SHARED(float, tile, 16, 32);
    tile[RC_THREAD] = 1;
    y[RC_THREAD] = tile[RC_THREAD];
}
RC_ENTRY(wide)
)");
    const auto y = kernel.upload(counting(32));
    CHECK(kernel.run("own", 1, 32, {kernel.upload(std::vector<float>{3}), y}) == "");
    CHECK(kernel.run("own", 1, 32, {kernel.upload(std::vector<float>{4}), y}) ==
          "own, block 0, thread 0 names element 3 of its own array part, which has 3");
    CHECK(kernel.run("wide", 1, 32, {y}, 144) == "");
    CHECK(kernel.run("wide", 1, 32, {y}, 128) ==
          "wide, block 0, thread 0: shared tile ends at byte 144 of 128");
}

TEST_CASE("what is not initialised is no number") {
    TextKernel kernel(R"(
RC_KERNEL(32) sum(RC_OUT(float) y, RC_OUT(rc_i32) z, RC_OUT(rc_bf16) x) {
    RC_LOCAL(float, a, 1);
    RC_LOCAL(rc_i32, b, 1);
    RC_LOCAL(rc_bf16, c, 1);
    y[RC_THREAD] = a[0];
    z[RC_THREAD] = b[0];
    x[RC_THREAD] = c[0];
}
RC_ENTRY(sum)
)");
    const auto y = kernel.upload(counting(32));
    const auto z = kernel.upload(std::vector<std::int32_t>(32));
    const auto x = kernel.upload(std::vector<std::uint16_t>(32));
    CHECK(kernel.run("sum", 1, 32, {y, z, x}) == "");
    CHECK(std::isnan(kernel.download<float>(y, 32)[9]));
    CHECK(kernel.download<std::uint16_t>(x, 32)[9] == 0xFFFF);
    CHECK(kernel.download<std::int32_t>(z, 32)[9] == -1);
    CHECK(kernel.run("sum", 1, 32, {y, z, x}, 0, manners[1]) == "");
    CHECK(kernel.download<std::int32_t>(z, 32)[9] == 0x7F7F7F7F);
}

}  // namespace ricci::tests
