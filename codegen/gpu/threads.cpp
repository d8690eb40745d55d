// codegen/gpu/threads.cpp – blocks, threads, and axes named from a running number
#include "codegen/gpu/threads.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

namespace ricci::codegen::gpu {

Body launch(Nest& nest, std::int64_t blocks, std::int64_t threads,
            const std::function<Body(VarId block, VarId thread)>& body) {
    const VarId block = nest.add(Var{"block"});
    const VarId thread = nest.add(Var{"thread"});
    Body inner;
    inner.push_back(make_loop(thread, Bind::thread, threads, body(block, thread)));
    Body outer;
    outer.push_back(make_loop(block, Bind::block, blocks, std::move(inner)));
    return outer;
}

Body name_axes(const std::vector<Axis>& axes, const AffineForm& number) {
    Body names;
    std::int64_t divisor = 1;
    for (std::size_t i = axes.size(); i-- > 0;) {
        if (axes[i].extent == 1) {
            names.push_back(make_let_var(axes[i].var, form(0), 1, 0));
            continue;
        }
        // The outermost needs no remainder: the number ends with it.
        const bool is_outermost = points({axes.begin(), axes.begin() + std::ptrdiff_t(i)}) == 1;
        names.push_back(
            make_let_var(axes[i].var, number, divisor, is_outermost ? 0 : axes[i].extent));
        divisor *= axes[i].extent;
    }
    return names;
}

Body split_number(VarId high, VarId low, const AffineForm& number, std::int64_t width,
                  std::int64_t count) {
    Body body;
    const bool is_one_row = width >= count;
    body.push_back(make_let_var(low, number, 1, is_one_row ? 0 : width));
    body.push_back(is_one_row ? make_let_var(high, form(0), 1, 0)
                              : make_let_var(high, number, width, 0));
    return body;
}

Value is_below(const AffineForm& form, std::int64_t limit) {
    return make_operation(Op::lt, {make_index(form), make_integer(limit)}, DType::boolean);
}
Value is_at_least(const AffineForm& form, std::int64_t limit) {
    return make_operation(Op::ge, {make_index(form), make_integer(limit)}, DType::boolean);
}
Value is_zero(const AffineForm& form) {
    return make_operation(Op::eq, {make_index(form), make_integer(0)}, DType::boolean);
}
Value both(const Value& a, const Value& b) {
    if (!a) return b;
    if (!b) return a;
    return make_operation(Op::logical_and, {a, b}, DType::boolean);
}

std::vector<Value> distinct_nodes(const std::vector<Value>& roots) {
    std::vector<Value> found;
    std::unordered_set<const ValueNode*> seen;
    std::vector<Value> pending(roots.rbegin(), roots.rend());
    while (!pending.empty()) {
        const Value value = pending.back();
        pending.pop_back();
        if (!value || !seen.insert(value.get()).second) continue;
        found.push_back(value);
        const std::vector<Value> below = operands(value);
        pending.insert(pending.end(), below.rbegin(), below.rend());
    }
    return found;
}

namespace {

std::vector<Axis> free_axes(const Kernel& kernel, bool collides) {
    std::vector<Axis> axes = kernel.free;
    std::erase_if(axes, [&](const Axis& axis) { return kernel.collides(axis.var) != collides; });
    return axes;
}

}  // namespace

std::vector<Axis> apart_axes(const Kernel& kernel) { return free_axes(kernel, false); }
std::vector<Axis> colliding_axes(const Kernel& kernel) { return free_axes(kernel, true); }

bool updates_what_it_reads(const Kernel& kernel) {
    const std::vector<Touch> all = touches(kernel);
    return std::ranges::any_of(all, [&](const Touch& store) {
        return store.is_store && std::ranges::any_of(all, [&](const Touch& load) {
                   return !load.is_store && load.buffer == store.buffer;
               });
    });
}

std::int64_t power_of_two_below(std::int64_t n) {
    std::int64_t power = 1;
    while (power * 2 <= n) power *= 2;
    return power;
}

BufferId add_shared(Nest& nest, std::string name, DType dtype, std::int64_t elements) {
    return nest.add(Buffer{.name = std::move(name),
                           .dtype = dtype,
                           .space = Space::shared,
                           .elements = elements,
                           .is_written = true,
                           .alignment = 16});
}

std::int64_t known_divisor(const Nest& nest, BufferId buffer, const AffineForm& address,
                           VarId lane) {
    const Buffer& memory = nest.at(buffer);
    std::int64_t divisor = memory.alignment / std::int64_t(size_bytes(memory.dtype));
    divisor = std::gcd(divisor, address.constant);
    for (const AffineForm::Term& term : address.terms)
        if (term.var != lane) divisor = std::gcd(divisor, term.coefficient);
    return divisor;
}

}  // namespace ricci::codegen::gpu
