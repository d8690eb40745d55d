// codegen/nest.cpp – arithmetic of affine forms, building of nests
#include "codegen/nest.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace ricci::codegen {

namespace {

std::int64_t checked(bool overflows, std::int64_t value) {
    RICCI_ASSERT(!overflows, "an address or loop bound exceeds 64 bits");
    return value;
}
std::int64_t plus(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    const bool overflows = __builtin_add_overflow(a, b, &sum);
    return checked(overflows, sum);
}
std::int64_t times(std::int64_t a, std::int64_t b) {
    std::int64_t product = 0;
    const bool overflows = __builtin_mul_overflow(a, b, &product);
    return checked(overflows, product);
}

}  // namespace

std::int64_t AffineForm::coefficient(VarId var) const noexcept {
    for (const Term& term : terms)
        if (term.var == var) return term.coefficient;
    return 0;
}

AffineForm operator+(const AffineForm& a, const AffineForm& b) {
    AffineForm sum{.constant = plus(a.constant, b.constant)};
    sum.terms.reserve(a.terms.size() + b.terms.size());
    auto x = a.terms.begin();
    auto y = b.terms.begin();
    while (x != a.terms.end() || y != b.terms.end()) {
        if (y == b.terms.end() || (x != a.terms.end() && x->var < y->var)) {
            sum.terms.push_back(*x++);
        } else if (x == a.terms.end() || y->var < x->var) {
            sum.terms.push_back(*y++);
        } else {
            const std::int64_t coefficient = plus(x->coefficient, y->coefficient);
            if (coefficient != 0) sum.terms.push_back({x->var, coefficient});
            ++x;
            ++y;
        }
    }
    return sum;
}

AffineForm operator*(std::int64_t factor, const AffineForm& a) {
    if (factor == 0) return {};
    AffineForm product{.constant = times(factor, a.constant), .terms = a.terms};
    for (AffineForm::Term& term : product.terms) term.coefficient = times(factor, term.coefficient);
    return product;
}

std::optional<AffineForm> near_multiple(std::int64_t factor, const AffineForm& a) {
    const auto is_near = [factor](std::int64_t number) {
        constexpr std::int64_t farthest = std::int64_t{1} << 56;
        std::int64_t product = 0;
        return !__builtin_mul_overflow(factor, number, &product) && product <= farthest &&
               product >= -farthest;
    };
    if (!is_near(a.constant) ||
        !std::ranges::all_of(a.terms, is_near, &AffineForm::Term::coefficient))
        return std::nullopt;
    return factor * a;
}

bool is_gpu(const Nest& nest) noexcept {
    if (nest.body.size() != 1) return false;
    const auto* root = std::get_if<Loop>(&nest.body[0].node);
    return root != nullptr && root->bind == Bind::block;
}

namespace {

constexpr std::int64_t shared_alignment = 16;

std::int64_t shared_bytes(const Buffer& buffer) {
    if (buffer.space != Space::shared) return 0;
    const std::int64_t bytes = times(buffer.elements, std::int64_t(size_bytes(buffer.dtype)));
    return (bytes + shared_alignment - 1) / shared_alignment * shared_alignment;
}

}  // namespace

std::int64_t shared_offset(const Nest& nest, BufferId buffer) {
    std::int64_t offset = 0;
    for (std::size_t b = 0; b < std::size_t(buffer); ++b) offset += shared_bytes(nest.buffers[b]);
    return offset;
}

LaunchShape launch_shape(const Nest& nest) {
    RICCI_ASSERT(is_gpu(nest), "a launch is of a GPU nest");
    const auto& blocks = std::get<Loop>(nest.body[0].node);
    const auto& threads = std::get<Loop>(blocks.body.at(0).node);
    return {.blocks = blocks.upper.at(0).form.constant,
            .threads = threads.upper.at(0).form.constant,
            .shared_bytes = shared_offset(nest, BufferId(nest.buffers.size()))};
}

BufferId Nest::add(Buffer buffer) {
    buffers.push_back(std::move(buffer));
    return BufferId(buffers.size() - 1);
}

VarId Nest::add(Var var) {
    vars.push_back(std::move(var));
    return VarId(vars.size() - 1);
}

}  // namespace ricci::codegen
