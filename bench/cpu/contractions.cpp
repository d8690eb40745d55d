// bench/cpu/contractions.cpp – tensor contractions and products of several factors, against
// permutations by oneDNN around products by OpenBLAS
#include <algorithm>
#include <map>

#include "base/text.h"

#include "bench/cpu/peers.h"
#include "bench/cpu/torch_peer.h"

namespace bench {
namespace {

using namespace ricci;

struct Contraction {
    const char* c;
    const char* a;
    const char* b;
    std::map<char, std::int64_t> extents;
    double goal;
    double goal_of_two;  ///< threads
};

Shape shape_of(const std::string& indices, const std::map<char, std::int64_t>& extents) {
    Shape shape;
    for (const char i : indices) shape.push_back(extents.at(i));
    return shape;
}

std::string subscripts(const std::string& indices) {
    std::string text;
    for (const char i : indices) text += format("{}{}", text.empty() ? "" : ",", i);
    return text;
}

/// Copies an array's elements to the order of other indices.
DnnlStep permutation(const Array& from, const std::string& of, const Array& to,
                     const std::string& into) {
    dnnl::memory::dims shape, from_steps, to_steps;
    const auto steps = [](const Array& array) {
        dnnl::memory::dims result(array.shape().size(), 1);
        for (std::size_t d = result.size(); d-- > 1;) result[d - 1] = result[d] * array.shape()[d];
        return result;
    };
    const auto all_from = steps(from);
    const auto all_to = steps(to);
    for (std::size_t d = 0; d < of.size(); ++d) {
        shape.push_back(from.shape()[d]);
        from_steps.push_back(all_from[d]);
        to_steps.push_back(all_to[into.find(of[d])]);
    }
    const dnnl::memory::desc source(shape, dnnl::memory::data_type::f32, from_steps);
    const dnnl::memory::desc target(shape, dnnl::memory::data_type::f32, to_steps);
    const dnnl::memory in(source, engine(), const_cast<void*>(from.data()));
    const dnnl::memory out(target, engine(), const_cast<void*>(to.data()));
    return {dnnl::reorder(in, out), {{DNNL_ARG_FROM, in}, {DNNL_ARG_TO, out}}};
}

/// Permutes operands to matrices, multiplies, and permutes the result.
Peer ttgt(const Contraction& t, const Array& A, const Array& B) {
    const std::string a = t.a;
    const std::string b = t.b;
    const std::string c = t.c;
    std::string m, n, k;
    for (const char i : c) (a.find(i) != std::string::npos ? m : n) += i;
    for (const char i : a)
        if (c.find(i) == std::string::npos) k += i;
    std::int64_t sizes[3] = {1, 1, 1};
    const std::string* groups[3] = {&m, &n, &k};
    for (int g = 0; g < 3; ++g)
        for (const char i : *groups[g]) sizes[g] *= t.extents.at(i);
    Peer peer{.name = "TTGT", .run = {}, .result = Array(DType::f32, shape_of(c, t.extents))};
    const Array left(DType::f32, shape_of(m + k, t.extents));
    const Array right(DType::f32, shape_of(k + n, t.extents));
    const Array product(DType::f32, shape_of(m + n, t.extents));
    // What lies as it should is not copied.
    const bool has_left = a != m + k && a != k + m;
    const bool has_right = b != k + n && b != n + k;
    std::vector<DnnlStep> before;
    if (has_left) before.push_back(permutation(A, a, left, m + k));
    if (has_right) before.push_back(permutation(B, b, right, k + n));
    std::vector<DnnlStep> after;
    const bool has_after = c != m + n;
    if (has_after) after.push_back(permutation(product, m + n, peer.result, c));
    const bool left_turned = a == k + m && a != m + k;
    const bool right_turned = b == n + k && b != k + n;
    peer.run = [=, first = in_order(before), last = in_order(after), result = peer.result,
                m_size = sizes[0], n_size = sizes[1], k_size = sizes[2]] {
        if (has_left || has_right) first();
        blas_product(m_size, n_size, k_size,
                     static_cast<const float*>((has_left ? left : A).data()), left_turned,
                     static_cast<const float*>((has_right ? right : B).data()), right_turned,
                     static_cast<float*>(const_cast<void*>((has_after ? product : result).data())));
        if (has_after) last();
    };
    return peer;
}

void add_contraction(Suite& suite, const Contraction& t) {
    suite.add("contraction", format("{}-{}-{}", t.c, t.a, t.b), [&](std::int64_t shrink) {
        Contraction small = t;
        double points = 1;
        for (auto& [index, extent] : small.extents) {
            if (shrink > 1) extent = std::max<std::int64_t>(extent / shrink, 3);
            points *= double(extent);
        }
        Workload w{.program = format("C[{}] := A[{}]*B[{}]", subscripts(t.c), subscripts(t.a),
                                     subscripts(t.b)),
                   .arguments = {randn("A", shape_of(t.a, small.extents)),
                                 randn("B", shape_of(t.b, small.extents))}};
        w.goal = {Goal::Kind::ratio, suite.threads() == 1 ? t.goal : t.goal_of_two};
        w.limit = {Limit::Kind::fma, 2 * points};
        if (shrink > 1) return w;
        w.peers = {ttgt(t, w.arguments[0].second, w.arguments[1].second)};
        add_torch_peer(w, format("torch.einsum('{},{}->{}', A, B).contiguous()", t.a, t.b, t.c));
        return w;
    });
}

/// A chain of matrices, multiplied in the cheapest order by OpenBLAS.
void add_chain(Suite& suite) {
    suite.add("factors", "A[i,j] B[j,k] C[k,l], 512x512x512x32", [](std::int64_t shrink) {
        const std::int64_t n = 512 / shrink;
        const std::int64_t l = 32 / shrink;
        Workload w{.program = "D[i,l] := A[i,j]*B[j,k]*C[k,l]",
                   .arguments = {randn("A", {n, n}), randn("B", {n, n}), randn("C", {n, l})}};
        w.limit = {Limit::Kind::fma, 4.0 * double(n * n * l)};
        if (shrink > 1) return w;
        Peer peer{.name = "OpenBLAS", .run = {}, .result = Array(DType::f32, {n, l})};
        const Array half(DType::f32, {n, l});
        const auto data = [](const Array& array) {
            return static_cast<float*>(const_cast<void*>(array.data()));
        };
        peer.run = [=, A = w.arguments[0].second, B = w.arguments[1].second,
                    C = w.arguments[2].second, D = peer.result] {
            blas_product(n, l, n, data(B), false, data(C), false, data(half));
            blas_product(n, l, n, data(A), false, data(half), false, data(D));
        };
        w.peers = {peer};
        return w;
    });
}

}  // namespace

void add_contractions(Suite& suite) {
    const Contraction all[] = {
        {"abcd",
         "aebf",
         "dfce",
         {{'a', 48}, {'b', 32}, {'c', 24}, {'d', 48}, {'e', 32}, {'f', 32}},
         1,
         1},
        {"abcde",
         "efbad",
         "cf",
         {{'a', 24}, {'b', 32}, {'c', 24}, {'d', 32}, {'e', 24}, {'f', 32}},
         2.3,
         3.5},
        {"ij", "ikl", "ljk", {{'i', 256}, {'j', 256}, {'k', 64}, {'l', 64}}, 1, 1},
        {"abcdef",
         "dega",
         "gfbc",
         {{'a', 16}, {'b', 16}, {'c', 16}, {'d', 16}, {'e', 16}, {'f', 16}, {'g', 24}},
         3,
         3},
        {"abc", "bda", "dc", {{'a', 96}, {'b', 96}, {'c', 96}, {'d', 96}}, 1, 1},
        {"abcd", "dbea", "ec", {{'a', 48}, {'b', 48}, {'c', 32}, {'d', 48}, {'e', 48}}, 2.3, 3.5}};
    for (const Contraction& t : all) add_contraction(suite, t);
    add_chain(suite);
}

}  // namespace bench
