// codegen/point_loops.cpp – the loops over reduced points in a tile of a contraction
#include "codegen/point_loops.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <utility>
#include <variant>

#include "codegen/cache_lines.h"
#include "codegen/nest_build.h"
#include "codegen/nest_walk.h"
#include "codegen/tile.h"

namespace ricci::codegen {

namespace {

/// Whether a loop's bounds are numbers where those loops around it are written out.
bool is_known(const AxisRange& range, std::span<const AxisRange> around) {
    const auto is_number = [](const BoundTerm& term) {
        return term.form.is_constant() && term.divisor == 1;
    };
    const auto is_of_them = [&](const BoundTerm& term) {
        return term.divisor == 1 && std::ranges::all_of(term.form.terms, [&](const auto& each) {
                   return std::ranges::any_of(
                       around, [&](const AxisRange& loop) { return loop.axis.var == each.var; });
               });
    };
    return range.lower.size() == 1 && is_number(range.lower[0]) &&
           std::ranges::any_of(range.upper, is_number) &&
           std::ranges::all_of(range.upper, is_of_them);
}

/// The first of the innermost loops that are written out: those of few points together.
std::size_t first_written_out(const std::vector<AxisRange>& loops, std::size_t kept,
                              const Target& target) {
    // Zen 3, medians beside a busy neighbour on its core. A convolution of 7x7, stride 2, of
    // 8x3x224x224 to 64 channels, whose seven taps are 4 of 2, less the last: 29 ms instead of 52.
    // With nine points 3x3 of 2x512x14x14 took 43 ms instead of 24: LLVM reads once what several of
    // them read, and keeps in memory what registers do not hold (`ricci bench --threads 1`). Four
    // points that share rows of a tile took, in the gradient by the input of 3x3, stride 2, of
    // 8x128x56x56, 12.6 ms, not 9.2 (Zen 4 with AVX2).
    constexpr std::int64_t most_copies = 8;
    std::size_t first = loops.size();
    if (!has_short_vectors(target)) return first;
    std::int64_t copies = 1;
    for (std::size_t i = loops.size(); i-- > kept;) {
        copies *= loops[i].axis.extent;
        if (copies > most_copies) break;
        bool are_known = true;
        for (std::size_t k = i; k < loops.size(); ++k)
            are_known &= is_known(loops[k], std::span(loops).subspan(i, k - i));
        if (are_known) first = i;
    }
    return first;
}

/// The body at each point of a loop.
Body write_out(const AxisRange& range, Body body) {
    if (body.empty()) return body;
    Body loop;
    loop.push_back(
        make_loop(range.axis.var, Bind::unroll, range.lower, range.upper, std::move(body)));
    return loop;
}

/// The body at each point of an axis that its loop reaches.
Body write_out_whole(const AxisRange& range, Body body) {
    std::vector<AffineForm> inside;
    const auto add = [&](AffineForm at_least_zero) {
        const AffineForm last = form(range.axis.extent - 1) - form(range.axis.var);
        const bool is_always = at_least_zero == form(range.axis.var) || at_least_zero == last;
        if (!is_always) inside.push_back(std::move(at_least_zero));
    };
    for (const BoundTerm& term : range.lower) add(form(range.axis.var, term.divisor) - term.form);
    for (const BoundTerm& term : range.upper)
        add(term.form - form(range.axis.var, term.divisor) - form(term.divisor));
    const AxisRange whole{range.axis, bound(0), bound(range.axis.extent)};
    return write_out(whole, guarded(all_hold(inside, Substitution{}), std::move(body)));
}

/// Requests at each point of a loop, in any order: what is asked once for all points of a guard
/// stands outside.
Body write_out_requests(const AxisRange& range, Body requests) {
    Body all;
    for (Stmt& request : requests) {
        auto* guard = std::get_if<Guard>(&request.node);
        const bool is_common = guard != nullptr && !depends_on(guard->condition, range.axis.var);
        Body inside;
        if (is_common)
            inside = std::exchange(guard->body, {});
        else
            inside.push_back(std::move(request));
        Body loop = write_out(range, std::move(inside));
        append(all, is_common ? guarded(guard->condition, std::move(loop)) : std::move(loop));
    }
    return all;
}

}  // namespace

std::size_t loops_that_share_rows(const std::vector<AxisRange>& loops,
                                  const std::vector<Source>& rows, const std::vector<Axis>& tile) {
    const auto is_shared = [&](const Source& source, VarId loop) {
        const auto* load = std::get_if<Load>(&source.term->term);
        if (source.panels || load == nullptr || load->at.computed) return false;
        const std::int64_t step = load->at.affine.coefficient(loop);
        return step != 0 && std::ranges::any_of(tile, [&](const Axis& axis) {
                   const std::int64_t row = load->at.affine.coefficient(axis.var);
                   return row != 0 && step % row == 0 && std::abs(step / row) < axis.extent;
               });
    };
    std::size_t left = loops.size();
    while (left > 0 && std::ranges::none_of(rows, [&](const Source& source) {
               return is_shared(source, loops[left - 1].axis.var);
           }))
        --left;
    return left;
}

Body over_points(const std::vector<AxisRange>& loops, BeforePoints before, Body body,
                 const WrittenOut& written, const Target& target) {
    const std::size_t first = first_written_out(loops, written.kept, target);
    Body requests;
    for (std::size_t i = loops.size(); i > first; --i) {
        append(before.others[i], std::move(body));
        body = write_out(loops[i - 1], std::move(before.others[i]));
        append(before.requests[i], std::move(requests));
        requests = write_out_requests(loops[i - 1], std::move(before.requests[i]));
    }
    append(before.requests[first], std::move(requests));
    for (std::size_t i = first;; --i) {
        Body all = std::move(before.requests[i]);
        append(all, std::move(before.others[i]));
        append(all, std::move(body));
        if (i == 0) return all;
        const AxisRange& range = loops[i - 1];
        if (std::ranges::find(written.always, range.axis.var) != written.always.end()) {
            body = write_out_whole(range, std::move(all));
            continue;
        }
        body.clear();
        body.push_back(
            make_loop(range.axis.var, Bind::serial, range.lower, range.upper, std::move(all)));
    }
}

}  // namespace ricci::codegen
