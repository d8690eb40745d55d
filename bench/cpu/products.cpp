// bench/cpu/products.cpp – matrix products of every shape, against other libraries
#include "base/text.h"
#include "runtime/cpu_rates.h"
#include "runtime/executor.h"

#include "bench/cpu/peers.h"

namespace bench {
namespace {

using namespace ricci;

Limit multiply_adds(std::int64_t points) { return {Limit::Kind::fma, 2.0 * double(points)}; }

bool has_tiles() { return ricci::runtime::target().has_bf16_tiles; }

struct Sizes {
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
};

/// C[m,n] = A B with operands as they are or transposed: `NN`, `NT`, `TN`, `TT`.
void add_product(Suite& suite, const std::string& row, Sizes sizes, const std::string& form,
                 double goal, DType dtype = DType::f32) {
    const bool is_a = form[0] == 'T';
    const bool is_b = form[1] == 'T';
    const std::string type = dtype == DType::f32 ? "" : format(" {}", name(dtype));
    suite.add(row, format("{}x{}x{} {}{}", sizes.m, sizes.k, sizes.n, form, type),
              [=](std::int64_t shrink) {
                  const auto m = std::max(sizes.m / shrink, std::int64_t{3});
                  const auto n = std::max(sizes.n / shrink, std::int64_t{3});
                  const auto k = sizes.k / shrink;
                  Workload w{.program = format("C[m,n] := {}*{}", is_a ? "A[k,m]" : "A[m,k]",
                                               is_b ? "B[n,k]" : "B[k,n]"),
                             .arguments = {randn("A", is_a ? Shape{k, m} : Shape{m, k}, dtype),
                                           randn("B", is_b ? Shape{n, k} : Shape{k, n}, dtype)}};
                  w.goal = {Goal::Kind::ratio, goal};
                  // The limit is of f32 lanes: twice as many as of f64.
                  w.limit = multiply_adds(m * n * k * (dtype == DType::f64 ? 2 : 1));
                  if (dtype == DType::bf16) {
                      w.limit.kind = has_tiles() ? Limit::Kind::tiles : Limit::Kind::bf16;
                      w.tolerance = 1e-2;  // of results that are rounded to 8 bits
                  }
                  if (shrink > 1) return w;
                  w.peers = product_peers({w.arguments[0].second, is_a},
                                          {w.arguments[1].second, is_b}, {m, n});
                  return w;
              });
}

/// f32 products that may be computed from pieces of bf16, against f32.
void add_pieces(Suite& suite, Precision precision, double products, double goal) {
    suite.add("products", format("1024x1024x1024 NN {}", name(precision)),
              [=](std::int64_t shrink) {
                  const std::int64_t n = 1024 / shrink;
                  Workload w{.program = "C[m,n] := A[m,k]*B[k,n]",
                             .arguments = {randn("A", {n, n}), randn("B", {n, n})}};
                  w.precision = precision;
                  w.goal = {Goal::Kind::ratio, goal};
                  w.limit = {Limit::Kind::tiles, products * 2.0 * double(n * n * n)};
                  if (shrink == 1)
                      w.peers = product_peers({w.arguments[0].second, false},
                                              {w.arguments[1].second, false}, {n, n});
                  return w;
              });
}

/// The same in bf16, as a fraction of what tiles can do.
void add_tiles(Suite& suite) {
    for (const std::int64_t n : {512, 1024, 2048})
        suite.add("products", format("{}x{}x{} NN bf16 tiles", n, n, n), [=](std::int64_t shrink) {
            const std::int64_t side = n / shrink;
            Workload w{.program = "C[m,n] := A[m,k]*B[k,n]",
                       .arguments = {randn("A", {side, side}, DType::bf16),
                                     randn("B", {side, side}, DType::bf16)}};
            w.goal = {Goal::Kind::fraction, 0.5};
            w.limit = {Limit::Kind::tiles, 2.0 * double(side * side * side)};
            w.tolerance = 1e-2;  // of results that are rounded to 8 bits
            return w;
        });
}

void add_batched(Suite& suite, const std::string& row, std::int64_t batch, Sizes sizes) {
    const bool is_cube = sizes.m == sizes.n && sizes.n == sizes.k;
    const std::string each =
        is_cube ? format("{}^3", sizes.m) : format("{}x{}x{}", sizes.m, sizes.k, sizes.n);
    suite.add(row, format("batched {} x {}", batch, each), [=](std::int64_t shrink) {
        const auto small = [&](std::int64_t extent) {
            return std::max(extent / shrink, std::int64_t{3});
        };
        const std::int64_t m = small(sizes.m), n = small(sizes.n), k = small(sizes.k);
        const std::int64_t b = small(batch);
        Workload w{.program = "C[b,i,j] := A[b,i,k]*B[b,k,j]",
                   .arguments = {randn("A", {b, m, k}), randn("B", {b, k, n})}};
        w.limit = multiply_adds(b * m * n * k);
        if (shrink == 1)
            w.peers = product_peers({w.arguments[0].second, false}, {w.arguments[1].second, false},
                                    {b, m, n});
        return w;
    });
}

void add_vector(Suite& suite, bool is_transposed) {
    suite.add(
        "skinny", is_transposed ? "vector 4096^2 T" : "vector 4096^2 N", [=](std::int64_t shrink) {
            const std::int64_t n = 4096 / shrink;
            Workload w{.program = is_transposed ? "y[i] := A[k,i]*x[k]" : "y[i] := A[i,k]*x[k]",
                       .arguments = {randn("A", {n, n}), randn("x", {n})}};
            w.limit = {Limit::Kind::read, 4.0 * double(n * n)};
            if (shrink == 1)
                w.peers = vector_product_peers({w.arguments[0].second, is_transposed},
                                               w.arguments[1].second);
            return w;
        });
}

}  // namespace

void add_products(Suite& suite) {
    for (const std::int64_t n : {256, 512, 1024, 2048})
        add_product(suite, "products", {n, n, n}, "NN", 0.97);
    for (const char* form : {"NN", "NT", "TN", "TT"})
        add_product(suite, "products", {1024, 1024, 784}, form, 0.97);
    add_product(suite, "products", {1024, 784, 1024}, "NN", 0.97);
    add_product(suite, "products", {1024, 784, 1024}, "TN", 0.97);
    add_product(suite, "products", {1024, 1024, 1024}, "NN", 0.97, DType::f64);
    if (ricci::runtime::has_bf16_pairs() && !is_held_to_avx2())
        for (const char* form : {"NN", "NT"})
            add_product(suite, "products", {1024, 1024, 1024}, form, 1, DType::bf16);
    if (has_tiles()) {
        add_tiles(suite);
        add_pieces(suite, Precision::bf16x3, 3, 2.5);
        add_pieces(suite, Precision::bf16x6, 6, 1.6);
    }
    for (const char* form : {"NN", "NT"}) add_product(suite, "skinny", {64, 10, 784}, form, 1);
    add_product(suite, "skinny", {16, 1024, 1024}, "NN", 1);
    add_product(suite, "skinny", {1024, 16, 1024}, "NN", 1);
    add_product(suite, "skinny", {1024, 8, 1024}, "TN", 1);
    add_batched(suite, "skinny", 32, {64, 64, 64});
    add_vector(suite, false);
    add_vector(suite, true);
}

void add_other_products(Suite& suite) {
    struct Case {
        Sizes sizes;
        const char* form;
    };
    const Case cases[] = {
        {{20, 20, 20}, "NN"},       {{33, 33, 33}, "NN"},     {{100, 100, 100}, "NN"},
        {{300, 300, 300}, "NT"},    {{777, 777, 777}, "NN"},  {{1000, 1000, 1000}, "TN"},
        {{1536, 1536, 1536}, "NN"}, {{65, 65, 1025}, "NN"},   {{128, 3072, 768}, "NN"},
        {{128, 768, 3072}, "NT"},   {{512, 2048, 512}, "NT"}, {{2048, 2048, 64}, "NT"},
        {{2048, 64, 2048}, "NN"},   {{4096, 32, 4096}, "TN"}, {{8, 2048, 2048}, "NN"},
        {{8, 2048, 2048}, "NT"},    {{4, 1000, 2000}, "NN"},  {{2, 4096, 1024}, "NT"},
        {{32, 4096, 1024}, "NN"},   {{37, 2, 300}, "NN"},     {{64, 64, 50000}, "TN"},
        {{256, 10, 60000}, "TN"},   {{50000, 16, 32}, "NN"},  {{16, 50000, 32}, "NN"},
        {{100, 10000, 100}, "TT"},  {{500, 1, 700}, "NN"}};
    for (const Case& c : cases) add_product(suite, "other", c.sizes, c.form, 0.97);
    for (const std::int64_t n : {60, 500})
        add_product(suite, "other", {n, n, n}, "NN", 0.97, DType::f64);
    add_batched(suite, "other", 1000, {16, 16, 16});
    add_batched(suite, "other", 100, {32, 32, 100});
    add_batched(suite, "other", 64, {128, 128, 64});
    add_batched(suite, "other", 8, {197, 197, 64});
}

}  // namespace bench
