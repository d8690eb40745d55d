// runtime/overlap.cpp – which shared memory is harmless, and which is an error
#include "runtime/overlap.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "dsl/walk.h"
#include "runtime/slots.h"

namespace ricci::runtime {
namespace {

/// Whether two ranges of bytes have one in common.
bool meet(std::intptr_t a_begin, std::intptr_t a_end, std::intptr_t b_begin, std::intptr_t b_end) {
    return a_begin < b_end && b_begin < a_end;
}

bool is_same_array(const Array& a, const Array& b) noexcept {
    const bool is_same_place = a.storage() == b.storage()
                                   ? a.offset_bytes() == b.offset_bytes()
                                   : a.storage() && b.storage() &&
                                         a.storage()->host_address() != nullptr &&
                                         b.storage()->host_address() != nullptr &&
                                         a.storage()->host_address() + a.offset_bytes() ==
                                             b.storage()->host_address() + b.offset_bytes();
    return is_same_place && a.dtype() == b.dtype() && a.shape() == b.shape() &&
           a.strides() == b.strides();
}

/// Whether `read` occurs only in the equation that updates `updated`, at the place written there.
bool is_read_where_written(const BoundProgram& program, TensorId read, TensorId updated) {
    int updates = 0;
    for (const BoundEquation& equation : program.equations) {
        const bool is_update = storage_root(program, equation.target) == updated;
        updates += is_update ? 1 : 0;
        std::vector<Expr> roots = equation.at;
        roots.push_back(equation.value);
        if (equation.reduction && equation.reduction->condition)
            roots.push_back(equation.reduction->condition);
        for (const Expr e : postorder(roots)) {
            const auto* access = std::get_if<ricci::Access>(&e->term);
            if (access == nullptr || access->tensor != read) continue;
            if (!is_update || access->at != equation.at) return false;
        }
    }
    return updates <= 1;
}

}  // namespace

std::vector<std::size_t> updated_arguments(const BoundProgram& program) {
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < program.arguments.size(); ++i) {
        for (const BoundEquation& equation : program.equations) {
            if (storage_root(program, equation.target) != program.arguments[i]) continue;
            positions.push_back(i);
            break;
        }
    }
    return positions;
}

bool overlaps(const Array& a, const Array& b) noexcept {
    if (!a.storage() || !b.storage()) return false;
    const ByteRange x = byte_range(a);
    const ByteRange y = byte_range(b);
    if (a.storage() == b.storage()) return meet(x.begin, x.end, y.begin, y.end);
    // Different memories meet where one is a view of the other's on the host.
    const auto a_host = reinterpret_cast<std::intptr_t>(a.storage()->host_address());
    const auto b_host = reinterpret_cast<std::intptr_t>(b.storage()->host_address());
    return a_host != 0 && b_host != 0 &&
           meet(a_host + x.begin, a_host + x.end, b_host + y.begin, b_host + y.end);
}

void resolve_overlaps(const BoundProgram& program, std::span<const std::size_t> updated,
                      std::span<const Array*> arguments, std::vector<Array>& copies) {
    // Pointers into `copies` must stay valid.
    copies.reserve(copies.size() + arguments.size());
    for (const std::size_t u : updated) {
        for (std::size_t i = 0; i < arguments.size(); ++i) {
            if (i == u || !overlaps(*arguments[u], *arguments[i])) continue;
            const TensorId written = program.arguments[u];
            const TensorId read = program.arguments[i];
            const bool is_harmless = is_same_array(*arguments[u], *arguments[i]) &&
                                     is_read_where_written(program, read, written) &&
                                     std::ranges::find(updated, i) == updated.end();
            if (!is_harmless) {
                const std::string& name = program.at(read).name;
                throw Error({.kind = ErrorKind::range,
                             .message = format("argument `{}` is updated and shares memory with "
                                               "argument `{}`",
                                               program.at(written).name, name),
                             .hint = format("give a copy of `{}`", name)});
            }
            // Kernels take it for granted that buffers are apart.
            copies.push_back(arguments[i]->copy());
            arguments[i] = &copies.back();
        }
    }
}

}  // namespace ricci::runtime
