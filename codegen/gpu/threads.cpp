// codegen/gpu/threads.cpp – blocks, threads, and axes named from a running number
#include "codegen/gpu/threads.h"

#include <numeric>

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

BufferId add_shared(Nest& nest, std::string name, DType dtype, std::int64_t elements) {
    return nest.add(Buffer{.name = std::move(name),
                           .dtype = dtype,
                           .space = Space::shared,
                           .elements = elements,
                           .is_written = true,
                           .alignment = 16});
}

BufferId add_registers(Nest& nest, std::string name, DType dtype, std::int64_t elements) {
    return nest.add(Buffer{.name = std::move(name),
                           .dtype = dtype,
                           .space = Space::registers,
                           .elements = elements,
                           .is_written = true});
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
