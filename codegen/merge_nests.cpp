// codegen/merge_nests.cpp – two kernels whose loops are the same as one
#include "codegen/merge_nests.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "base/integer.h"
#include "codegen/equal_values.h"
#include "codegen/nest_build.h"
#include "codegen/nest_walk.h"

namespace ricci::codegen {

namespace {

bool are_equal(const LoopBound& a, const LoopBound& b) {
    return std::ranges::equal(a, b, [](const BoundTerm& one, const BoundTerm& other) {
        return one.form == other.form && one.divisor == other.divisor;
    });
}

/// The value with equal nodes as one, from its operands on.
Value unified(const Value& value, EqualValues& unify, Substitution& to) {
    for (const Value& operand : operands(value)) to.replace(operand, unified(operand, unify, to));
    return unify(to(value));
}
bool are_equal(const Value& a, const Value& b) {
    EqualValues unify;
    Substitution to;
    return unified(a, unify, to) == unified(b, unify, to);
}

/// Whether a nest has nothing but loops, guards, names and stores.
bool is_plain(const Body& body) {
    return std::ranges::all_of(body, [](const Stmt& stmt) {
        if (const auto* loop = std::get_if<Loop>(&stmt.node)) return is_plain(loop->body);
        if (const auto* guard = std::get_if<Guard>(&stmt.node)) return is_plain(guard->body);
        return std::holds_alternative<Let>(stmt.node) ||
               std::holds_alternative<LetVar>(stmt.node) ||
               std::holds_alternative<Store>(stmt.node);
    });
}

/// Calls `visit` for every statement of the body and those inside.
template <class AnyBody, class Visit>
void for_each_statement(AnyBody& body, const Visit& visit) {
    for (auto& stmt : body) {
        visit(stmt);
        if (auto* loop = std::get_if<Loop>(&stmt.node)) for_each_statement(loop->body, visit);
        if (auto* guard = std::get_if<Guard>(&stmt.node)) for_each_statement(guard->body, visit);
    }
}

/// Gives all variables and names of the body numbers of their own: those of its `vars` come after
/// the ones that `into` has.
void number_anew(Body& body, const std::vector<Var>& vars, Nest& into) {
    const auto first_var = std::uint32_t(into.vars.size());
    const std::uint32_t first_let = next_let(into.body);
    Substitution to;
    for (std::uint32_t var = 0; var < vars.size(); ++var) {
        to.replace(VarId(var), form(VarId(first_var + var)));
        into.add(vars[var]);
    }
    for_each_statement(body, [&](Stmt& stmt) {
        if (auto* loop = std::get_if<Loop>(&stmt.node))
            loop->var = VarId(first_var + std::uint32_t(loop->var));
        if (auto* let_var = std::get_if<LetVar>(&stmt.node))
            let_var->var = VarId(first_var + std::uint32_t(let_var->var));
        if (auto* let = std::get_if<Let>(&stmt.node)) {
            to.replace_let(let->number, make_let_value(first_let + let->number, let->value->dtype));
            let->number += first_let;
        }
    });
    substitute(body, to);
}

/// Which statements of two bodies are to become one: all loops, or only those that hold others.
enum class Depth : std::uint8_t { all_loops, outer_loops };

bool is_common(const Stmt& stmt, Depth depth) {
    if (const auto* loop = std::get_if<Loop>(&stmt.node))
        return depth == Depth::all_loops ||
               (loop->bind != Bind::vector && loop->bind != Bind::unroll);
    return std::holds_alternative<Guard>(stmt.node) || std::holds_alternative<LetVar>(stmt.node);
}

std::vector<std::size_t> common_statements(const Body& body, Depth depth) {
    std::vector<std::size_t> found;
    for (std::size_t n = 0; n < body.size(); ++n)
        if (is_common(body[n], depth)) found.push_back(n);
    return found;
}

std::optional<Body> zipped(Body a, Body b, Depth depth);

/// As deep as may be.
std::optional<Body> zipped(const Body& a, const Body& b) {
    auto all = zipped(a, b, Depth::all_loops);
    return all ? std::move(all) : zipped(a, b, Depth::outer_loops);
}

/// Makes one statement of `b_body` part of `a`: what stands behind it then speaks of the variables
/// of `a`.
bool join(Stmt& a, Body& b_body, std::size_t place) {
    Stmt& b = b_body[place];
    auto* let = std::get_if<LetVar>(&a.node);
    auto* other_let = std::get_if<LetVar>(&b.node);
    if (let && other_let) {
        if (let->form != other_let->form || let->divisor != other_let->divisor ||
            let->modulus != other_let->modulus)
            return false;
        Substitution to;
        to.replace(other_let->var, form(let->var));
        Body behind(std::make_move_iterator(b_body.begin() + std::ptrdiff_t(place) + 1),
                    std::make_move_iterator(b_body.end()));
        substitute(behind, to);
        std::ranges::move(behind, b_body.begin() + std::ptrdiff_t(place) + 1);
        return true;
    }
    auto* guard = std::get_if<Guard>(&a.node);
    auto* other_guard = std::get_if<Guard>(&b.node);
    if (guard && other_guard) {
        if (!are_equal(guard->condition, other_guard->condition)) return false;
        auto body = zipped(guard->body, other_guard->body);
        if (body) guard->body = std::move(*body);
        return body.has_value();
    }
    auto* loop = std::get_if<Loop>(&a.node);
    auto* other = std::get_if<Loop>(&b.node);
    if (!loop || !other || loop->bind != other->bind || loop->step != other->step ||
        !are_equal(loop->lower, other->lower) || !are_equal(loop->upper, other->upper))
        return false;
    Substitution to;
    to.replace(other->var, form(loop->var));
    substitute(other->body, to);
    auto body = zipped(loop->body, other->body);
    if (body) loop->body = std::move(*body);
    return body.has_value();
}

/// The statements of both, in order, those of `a` first where they have no counterpart.
std::optional<Body> zipped(Body a, Body b, Depth depth) {
    const std::vector<std::size_t> common = common_statements(a, depth);
    const std::vector<std::size_t> other = common_statements(b, depth);
    if (common.size() != other.size()) return std::nullopt;
    Body result;
    const auto take = [&](Body& from, std::size_t first, std::size_t last) {
        std::move(from.begin() + std::ptrdiff_t(first), from.begin() + std::ptrdiff_t(last),
                  std::back_inserter(result));
    };
    std::size_t next = 0;
    std::size_t next_other = 0;
    for (std::size_t n = 0; n < common.size(); ++n) {
        if (!join(a[common[n]], b, other[n])) return std::nullopt;
        take(a, next, common[n]);
        take(b, next_other, other[n]);
        next = common[n] + 1;
        next_other = other[n] + 1;
        result.push_back(std::move(a[common[n]]));
    }
    take(a, next, a.size());
    take(b, next_other, b.size());
    return result;
}

std::int64_t registers_of(const Nest& nest, const Target& target) {
    std::int64_t vectors = 0;
    for (const Buffer& buffer : nest.buffers)
        if (buffer.space == Space::registers)
            vectors += ceil_div(buffer.elements * std::int64_t(size_bytes(buffer.dtype)),
                                std::int64_t(target.vector_bytes));
    return vectors;
}

/// Bytes of the arrays that both read.
double shared_bytes(const Kernel& a, const Kernel& b) {
    double bytes = 0;
    for (std::size_t n = 0; n < a.places.size(); ++n)
        if (std::ranges::find(b.places, a.places[n]) != b.places.end())
            bytes +=
                double(a.nest.buffers[n].elements) * double(size_bytes(a.nest.buffers[n].dtype));
    return bytes;
}

/// The buffers of both kernels in `merged`, arguments first: where those of each went.
std::pair<std::vector<BufferId>, std::vector<BufferId>> join_buffers(const Kernel& a,
                                                                     const Kernel& b,
                                                                     Kernel& merged) {
    merged.places = a.places;
    merged.nest.buffers.assign(a.nest.buffers.begin(),
                               a.nest.buffers.begin() + std::ptrdiff_t(a.places.size()));
    std::vector<BufferId> of_b;
    for (std::size_t n = 0; n < b.places.size(); ++n) {
        const auto found = std::ranges::find(merged.places, b.places[n]);
        of_b.push_back(BufferId(found - merged.places.begin()));
        if (found != merged.places.end()) continue;
        merged.places.push_back(b.places[n]);
        merged.nest.add(b.nest.buffers[n]);
    }
    std::vector<BufferId> of_a;
    for (std::size_t n = 0; n < a.nest.buffers.size(); ++n)
        of_a.push_back(n < a.places.size() ? BufferId(n) : merged.nest.add(a.nest.buffers[n]));
    for (std::size_t n = b.places.size(); n < b.nest.buffers.size(); ++n)
        of_b.push_back(merged.nest.add(b.nest.buffers[n]));
    return {std::move(of_a), std::move(of_b)};
}

}  // namespace

bool merge(LoweredKernel& step, const LoweredKernel& other, const Target& target) {
    const Nest& a = step.kernel.nest;
    const Nest& b = other.kernel.nest;
    if (step.schedule.strategy != other.schedule.strategy || !is_plain(a.body) ||
        !is_plain(b.body) || !step.kernel.slices.empty() || !other.kernel.slices.empty() ||
        a.slice || b.slice || a.asks_ahead != b.asks_ahead || a.runs_side_by_side ||
        b.runs_side_by_side)
        return false;
    // Some are left for what the terms compute.
    const std::int64_t most = target.vector_registers - target.vector_registers / 4;
    if (registers_of(a, target) + registers_of(b, target) > most) return false;
    Kernel merged = step.kernel;
    auto [of_a, of_b] = join_buffers(step.kernel, other.kernel, merged);
    rename_buffers(merged.nest.body, of_a);
    Body body = b.body;
    rename_buffers(body, of_b);
    number_anew(body, b.vars, merged.nest);
    auto joined = zipped(merged.nest.body, body);
    if (!joined) return false;
    merged.nest.body = std::move(*joined);
    merged.nest.is_short = a.is_short && b.is_short;
    step.schedule.work.operations += other.schedule.work.operations;
    step.schedule.work.bytes +=
        std::max(0.0, other.schedule.work.bytes - shared_bytes(step.kernel, other.kernel));
    step.schedule.directives.push_back(
        {"beside", b.name, {}, "over the same points: what both read comes once"});
    step.kernel = std::move(merged);
    return true;
}

}  // namespace ricci::codegen
