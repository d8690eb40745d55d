// tests/codegen/layers_test.cpp – what the gradients of layers do to memory
//
// Only where data chooses the place may a gradient update elements one after the other: everywhere
// else each element is computed in registers and written once.
#include <map>

#include <doctest/doctest.h>

#include "base/match.h"
#include "base/text.h"
#include "dsl/canonical.h"
#include "grad/gradient.h"
#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

struct Layer {
    std::string name;
    std::string text;
    std::map<std::string, Shape> arrays;
    std::map<std::string, Shape> integers = {};
    bool is_keyed = false;  ///< data chooses places of its gradients
};

const std::vector<Layer>& layers() {
    static const std::vector<Layer> list = {
        {"linear",
         "Y[n,o] := W[o,k]*X[n,k] + b[o]",
         {{"W", {96, 80}}, {"X", {64, 80}}, {"b", {96}}}},
        {"linear with an activation",
         "Y[n,o] := relu(sum[k](W[o,k]*X[n,k]) + b[o])",
         {{"W", {96, 80}}, {"X", {64, 80}}, {"b", {96}}}},
        {"bilinear",
         "Y[n,o] := X[n,i]*W[o,i,j]*Z[n,j]",
         {{"W", {12, 10, 9}}, {"X", {33, 10}}, {"Z", {33, 9}}}},
        {"convolution of one dimension",
         "Y[n,o,t] := X[n,c,t+k]*W[o,c,k]",
         {{"X", {4, 8, 100}}, {"W", {9, 8, 5}}}},
        {"strided and dilated convolution of one dimension",
         "Y[n,o,t] := X[n,c,3*t+2*k]*W[o,c,k]",
         {{"X", {4, 8, 100}}, {"W", {9, 8, 5}}}},
        {"convolution",
         "Y[n,o,y,x] := X[n,c,y+r,x+s]*W[o,c,r,s] + b[o]",
         {{"X", {2, 8, 20, 20}}, {"W", {9, 8, 3, 3}}, {"b", {9}}}},
        {"padded convolution",
         "Y[n,o,y,x] := X[n,c,pad(y+r-1,1),pad(x+s-1,1)]*W[o,c,r,s]",
         {{"X", {2, 8, 20, 20}}, {"W", {9, 8, 3, 3}}}},
        {"strided convolution",
         "Y[n,o,y,x] := X[n,c,2*y+r,2*x+s]*W[o,c,r,s]",
         {{"X", {2, 8, 41, 41}}, {"W", {9, 8, 3, 3}}}},
        {"strided, dilated and padded convolution",
         "Y[n,o,y,x] := X[n,c,pad(2*y+3*r-2,2),pad(2*x+3*s-2,2)]*W[o,c,r,s]",
         {{"X", {2, 8, 41, 41}}, {"W", {9, 8, 3, 3}}}},
        {"convolution of three dimensions",
         "Y[n,o,z,y,x] := X[n,c,z+q,y+r,x+s]*W[o,c,q,r,s]",
         {{"X", {2, 3, 9, 10, 11}}, {"W", {4, 3, 2, 3, 3}}}},
        {"transposed convolution",
         "Y[n,o,i,j] := 0.0*X[n,0,0,0]*W[0,o,0,0] where i in 0:41, j in 0:41\n"
         "Y[n,o,2*y+r,2*x+s] += X[n,c,y,x]*W[c,o,r,s]",
         {{"X", {2, 8, 20, 20}}, {"W", {8, 9, 3, 3}}}},
        {"depthwise convolution",
         "Y[n,c,y,x] := X[n,c,y+r,x+s]*W[c,r,s]",
         {{"X", {2, 8, 20, 20}}, {"W", {8, 3, 3}}}},
        {"grouped convolution",
         "Y[n,g,o,y,x] := X[n,g,c,y+r,x+s]*W[g,o,c,r,s]",
         {{"X", {2, 3, 4, 15, 15}}, {"W", {3, 5, 4, 3, 3}}}},
        {"average pooling",
         "Y[n,c,y,x] := mean[r in 0:2, s in 0:2](X[n,c,2*y+r,2*x+s])",
         {{"X", {2, 8, 20, 20}}}},
        {"largest value pooling",
         "Y[n,c,y,x] := max[r in 0:2, s in 0:2](X[n,c,2*y+r,2*x+s])",
         {{"X", {2, 8, 20, 20}}}},
        {"overlapping pooling",
         "Y[n,c,t] := max[k in 0:3](X[n,c,pad(2*t+k-1, 1, value=-inf)])",
         {{"X", {2, 8, 40}}}},
        {"global pooling", "Y[n,c] := mean[y,x](X[n,c,y,x])", {{"X", {8, 16, 20, 20}}}},
        {"batch normalisation",
         "m[c] := mean[n,y,x](X[n,c,y,x]); v[c] := mean[n,y,x]((X[n,c,y,x] - m[c])^2)\n"
         "Y[n,c,y,x] := (X[n,c,y,x] - m[c])/sqrt(v[c] + 1e-5)*g[c] + b[c]",
         {{"X", {8, 16, 10, 10}}, {"g", {16}}, {"b", {16}}}},
        {"layer normalisation",
         "Y[n,d] := (X[n,d] - mean[c](X[n,c]))*g[d]/sqrt(mean[c]((X[n,c] - mean[e](X[n,e]))^2) + "
         "1e-5) + b[d]",
         {{"X", {32, 64}}, {"g", {64}}, {"b", {64}}}},
        {"root mean square normalisation",
         "Y[n,d] := X[n,d]*g[d]/sqrt(mean[c](X[n,c]^2) + 1e-6)",
         {{"X", {32, 64}}, {"g", {64}}}},
        {"softmax",
         "P[i,j] := exp(X[i,j] - max[k](X[i,k]))/sum[k](exp(X[i,k] - max[l](X[i,l])))",
         {{"X", {32, 64}}}},
        {"attention",
         "S[b,q,k] := sum[d](Q[b,q,d]*K[b,k,d])/8\n"
         "P[b,q,k] := exp(S[b,q,k] - max[l](S[b,q,l]))/sum[l](exp(S[b,q,l] - max[m](S[b,q,m])))\n"
         "O[b,q,d] := P[b,q,k]*V[b,k,d]",
         {{"Q", {3, 20, 16}}, {"K", {3, 20, 16}}, {"V", {3, 20, 16}}}},
        {"causal attention",
         "S[b,q,k] := k <= q ? sum[d](Q[b,q,d]*K[b,k,d])/8 : -inf\n"
         "P[b,q,k] := exp(S[b,q,k] - max[l](S[b,q,l]))/sum[l](exp(S[b,q,l] - max[m](S[b,q,m])))\n"
         "O[b,q,d] := P[b,q,k]*V[b,k,d]",
         {{"Q", {3, 20, 16}}, {"K", {3, 20, 16}}, {"V", {3, 20, 16}}}},
        {"gated recurrent unit",
         "z[n,h] := sigmoid(sum[k](Wz[h,k]*x[n,k]) + sum[j](Uz[h,j]*s[n,j]))\n"
         "r[n,h] := sigmoid(sum[k](Wr[h,k]*x[n,k]) + sum[j](Ur[h,j]*s[n,j]))\n"
         "c[n,h] := tanh(sum[k](Wc[h,k]*x[n,k]) + sum[j](Uc[h,j]*r[n,j]*s[n,j]))\n"
         "y[n,h] := (1 - z[n,h])*s[n,h] + z[n,h]*c[n,h]",
         {{"Wz", {24, 20}},
          {"Uz", {24, 24}},
          {"Wr", {24, 20}},
          {"Ur", {24, 24}},
          {"Wc", {24, 20}},
          {"Uc", {24, 24}},
          {"x", {16, 20}},
          {"s", {16, 24}}}},
        {"long short-term memory",
         "a[n,g,h] := sum[k](W[g,h,k]*x[n,k]) + sum[j](U[g,h,j]*s[n,j]) + b[g,h]\n"
         "c[n,h] := sigmoid(a[n,1,h])*m[n,h] + sigmoid(a[n,0,h])*tanh(a[n,2,h])\n"
         "y[n,h] := sigmoid(a[n,3,h])*tanh(c[n,h])",
         {{"W", {4, 24, 20}},
          {"U", {4, 24, 24}},
          {"b", {4, 24}},
          {"x", {16, 20}},
          {"s", {16, 24}},
          {"m", {16, 24}}}},
        {"distances", "D[i,j] := (w[k,i] - x[k,j])^2", {{"w", {30, 40}}, {"x", {30, 50}}}},
        {"cosine similarity",
         "C[i,j] := sum[k](A[i,k]*B[j,k])/(norm[k](A[i,k])*norm[k](B[j,k]))",
         {{"A", {20, 30}}, {"B", {25, 30}}}},
        {"nearest neighbour upsampling",
         "Y[n,c,i,j] := X[n,c,i//2,j//2] where i in 0:20, j in 0:20",
         {{"X", {2, 8, 10, 10}}}},
        {"total variation", "L := sum[i,j](abs(u[i+1,j] - u[i,j]))", {{"u", {40, 50}}}},
        {"product of probabilities", "y[n] := prod[k](1 - p[n,k])", {{"p", {30, 40}}}},
        {"embedding", "Y[n,t,d] := E[T[n,t],d]", {{"E", {500, 16}}}, {{"T", {8, 200}}}, true},
        {"cross entropy",
         "L := mean[n](logsumexp[k](X[n,k]) - X[n,T[n]])",
         {{"X", {300, 50}}},
         {{"T", {300}}}},
    };
    return list;
}

/// Whether the body stores at a place that is data, or combines a value with what memory holds.
bool updates_memory(const codegen::Nest& nest, const codegen::Body& body) {
    bool found = false;
    for (const codegen::Stmt& statement : body)
        match(
            statement.node,
            [&](const codegen::Loop& loop) { found |= updates_memory(nest, loop.body); },
            [&](const codegen::Guard& guard) { found |= updates_memory(nest, guard.body); },
            [&](const codegen::Store& store) {
                const bool is_memory = nest.at(store.buffer).space == codegen::Space::argument;
                found |= is_memory && (store.combine || store.at.computed);
            },
            [](const auto&) {});
    return found;
}

/// The nests of a gradient that update memory, by name.
std::string updates_of(const Layer& layer, const std::string& argument) {
    Signature signature;
    for (const auto& [name, shape] : layer.arrays) signature[name] = array(shape);
    for (const auto& [name, shape] : layer.integers) signature[name] = array(shape, DType::i64);
    const Program forward = parse_program(layer.text);
    const BoundProgram bound_forward = ricci::bind(canonicalise(forward), signature);
    const Program gradient = canonicalise(grad::gradient(forward, argument));
    Signature needed;
    for (const TensorId id : gradient.arguments) {
        const std::string& name = gradient.at(id).name;
        const auto given = signature.find(name);
        needed[name] = given != signature.end()
                           ? given->second
                           : array(bound_forward.at(bound_forward.outputs[0]).shape);
    }
    const codegen::Plan plan = codegen::plan(ricci::bind(gradient, needed), example_target(64));
    std::vector<std::string> found;
    for (const codegen::Nest& nest : plan.nests)
        if (updates_memory(nest, nest.body)) found.push_back(nest.name);
    return join(found, " ");
}

TEST_CASE("factors of numbers of rows and columns alone are packed as operands") {
    const auto check = [](const std::string& text, const Signature& signature) {
        const std::string plan = str(codegen::plan(bound(text, signature), example_target(64)));
        CHECK_MESSAGE(plan.find(": contraction") != std::string::npos, plan);
        check_values(text, signature);
    };
    check("Y[n,k] := sum[t](X[n,t]*cos(0.1*f32(k*t))) where k in 0:40", {{"X", array({50, 40})}});
    check("Y[n,k] := sum[t](X[n,t]*exp(-(g[k]-g[t])^2))",
          {{"X", array({50, 40})}, {"g", array({40})}});
    check("Y[i,d] := sum[j](exp(-(x[i]-x[j])^2)*V[j,d])",
          {{"x", array({50})}, {"V", array({50, 40})}});
}

TEST_CASE("gradients of layers update memory only where data chooses the place") {
    REQUIRE(layers().size() >= 30);
    for (const Layer& layer : layers()) {
        CAPTURE(layer.name);
        bool is_keyed = false;
        for (const auto& [argument, shape] : layer.arrays) {
            const std::string found = updates_of(layer, argument);
            is_keyed |= !found.empty();
            if (!layer.is_keyed) CHECK_MESSAGE(found == "", argument);
        }
        CHECK(is_keyed == layer.is_keyed);
    }
}

}  // namespace
}  // namespace ricci::tests
