// codegen/interleave_vectors.cpp – the pass `interleave`: vectors of functions as one wide vector
//
// An exponential is twenty instructions that wait for each other. With sixteen registers LLVM puts
// the vectors of an unrolled loop one after the other, and the schedulers of a CPU with AVX2 hold
// too few instructions to see the next vectors. Of a vector of several registers LLVM splits each
// operation: they take turns. 100,000 exponentials, logarithms and gelus take 0.70, 0.81 and 0.74
// of the time with four registers, powers and hyperbolic tangents 0.72 and 0.85 with two (Zen 3,
// least of three runs of `ricci bench --threads 1 'Y[i] := exp(a[i])' a=100000:f32` and the like).
#include "codegen/interleave_vectors.h"

#include <algorithm>
#include <optional>
#include <set>
#include <variant>

#include "codegen/nest_build.h"
#include "codegen/nest_walk.h"
#include "codegen/passes.h"
#include "dsl/ops.h"

namespace ricci::codegen {

namespace {

/// Registers of a vector. Four gain little over two for long functions, and for many functions, but
/// take up to three times as long to compile.
constexpr std::int64_t of_short_functions = 4;
constexpr std::int64_t of_others = 2;
constexpr std::int64_t most_functions_by_four = 2;
/// Turns of a loop beside which a rest of single vectors is little.
constexpr std::int64_t many_turns = 16;

/// Schedulers of CPUs with AVX-512 see far enough ahead, by their sizes; neither these nor SSE2
/// were measured.
bool is_avx2(const Target& target) { return target.vector_bytes == 32; }

// The gamma function gains nothing.
constexpr Op short_functions[] = {Op::exp,  Op::log,  Op::log1p,   Op::log2,     Op::log10, Op::erf,
                                  Op::erfc, Op::gelu, Op::sigmoid, Op::softplus, Op::silu};
constexpr Op long_functions[] = {Op::expm1,  Op::sinh,    Op::cosh,  Op::tanh,  Op::pow,
                                 Op::sin,    Op::cos,     Op::tan,   Op::asin,  Op::acos,
                                 Op::atan,   Op::atan2,   Op::asinh, Op::acosh, Op::atanh,
                                 Op::lgamma, Op::digamma, Op::cbrt};

/// Functions among values, each node once.
class Functions {
  public:
    explicit Functions(const std::vector<Value>& known = {}) {
        for (const Value& value : known) seen_.insert(value.get());
    }
    void add(const Value& value) {
        if (!seen_.insert(value.get()).second) return;
        if (const auto* operate = std::get_if<Operate>(&value->term)) {
            short_ += std::ranges::count(short_functions, operate->op);
            long_ += std::ranges::count(long_functions, operate->op);
        }
        for (const Value& operand : operands(value)) add(operand);
    }
    /// Registers whose operations take turns.
    [[nodiscard]] std::int64_t registers() const {
        if (short_ + long_ == 0) return 1;
        return long_ == 0 && short_ <= most_functions_by_four ? of_short_functions : of_others;
    }

  private:
    std::set<const ValueNode*> seen_;
    std::int64_t short_ = 0;
    std::int64_t long_ = 0;
};

/// The turns of a loop from 0 by 1 to a number.
std::optional<std::int64_t> turns(const Loop& loop) {
    const std::optional<std::int64_t> length = constant_length(loop.lower, loop.upper);
    return length && loop.step == 1 && loop.lower[0].form == form(0) ? length : std::nullopt;
}

bool is_beside(const Address& at, VarId lane) {
    const std::int64_t step = at.affine.coefficient(lane);
    return at.computed == nullptr && (step == 0 || step == 1);
}

/// Whether a body is Lets and stores alone, whose lanes are side by side in all that they read and
/// write, or one place, and follow on those of the vector before. To be asked once.
class LanesContinue {
  public:
    LanesContinue(const Loop& unrolled, const Loop& vector, std::int64_t lanes)
        : unrolled_(unrolled.var), lane_(vector.var), lanes_(lanes) {}

    bool operator()(const Body& body) {
        for (const Stmt& statement : body) {
            const auto* store = std::get_if<Store>(&statement.node);
            if (store == nullptr && !std::holds_alternative<Let>(statement.node)) return false;
            if (store != nullptr) {
                check(store->at);
                holds_ &= store->at.affine.coefficient(lane_) == 1;
            }
        }
        for_each_value(body, [&](const Value& whole) {
            for_each_node({whole}, [&](const Value& value) {
                if (const auto* load = std::get_if<Load>(&value->term)) check(load->at);
                if (const auto* place = std::get_if<VarValue>(&value->term)) check(place->form);
            });
        });
        return holds_;
    }

  private:
    void check(const AffineForm& form) {
        holds_ &= form.coefficient(unrolled_) == lanes_ * form.coefficient(lane_);
    }
    void check(const Address& at) {
        check(at.affine);
        holds_ &= is_beside(at, lane_);
    }

    VarId unrolled_;
    VarId lane_;
    std::int64_t lanes_;
    bool holds_ = true;
};

/// An unrolled loop of vectors as one of fewer and wider ones, where that pays.
void join(Loop& unrolled) {
    if (unrolled.bind != Bind::unroll || unrolled.body.size() != 1) return;
    auto* vector = std::get_if<Loop>(&unrolled.body[0].node);
    const std::optional<std::int64_t> vectors = turns(unrolled);
    if (vector == nullptr || vector->bind != Bind::vector || !vectors) return;
    const std::optional<std::int64_t> lanes = turns(*vector);
    if (!lanes || !LanesContinue(unrolled, *vector, *lanes)(vector->body)) return;
    Functions functions;
    for_each_value(vector->body, [&](const Value& value) { functions.add(value); });
    std::int64_t registers = functions.registers();
    while (*vectors % registers != 0) registers /= 2;
    if (registers == 1) return;
    Substitution to;
    substitute(vector->body, to.replace(unrolled.var, form(unrolled.var, registers)));
    vector->upper = bound(registers * *lanes);
    unrolled.upper = bound(*vectors / registers);
}

void interleave(Body& body) {
    for (Stmt& statement : body) {
        if (auto* loop = std::get_if<Loop>(&statement.node)) {
            join(*loop);
            interleave(loop->body);
        }
        if (auto* guard = std::get_if<Guard>(&statement.node)) interleave(guard->body);
    }
}

}  // namespace

std::int64_t interleaved_vectors(const VectorWork& work, const Axis& axis, std::int64_t lanes,
                                 const Target& target) {
    if (!is_avx2(target) || lanes < 2) return 1;
    Functions functions(work.known);
    for (const Value& value : work.values) functions.add(value);
    std::int64_t vectors = functions.registers();
    bool are_beside = vectors > 1;
    for (const Store& write : work.writes) are_beside &= is_beside(write.at, axis.var);
    for_each_node(work.values, [&](const Value& value) {
        const auto* load = std::get_if<Load>(&value->term);
        are_beside &= load == nullptr || is_beside(load->at, axis.var);
    });
    if (!are_beside) return 1;
    const std::int64_t whole = axis.extent / lanes;
    const auto has_little_rest = [&] {
        return whole >= many_turns * vectors || (whole >= vectors && whole % vectors == 0);
    };
    while (vectors > 1 && !has_little_rest()) vectors /= 2;
    return vectors;
}

Nest interleave_vectors(Nest nest, const Target& target) {
    if (is_avx2(target)) interleave(nest.body);
    return nest;
}

}  // namespace ricci::codegen
