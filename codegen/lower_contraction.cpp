// codegen/lower_contraction.cpp – whether a reduction of two operands is tiled, and how
#include <algorithm>
#include <iterator>
#include <optional>

#include "codegen/choose_contraction.h"
#include "codegen/contraction_tiles.h"
#include "codegen/lower.h"
#include "codegen/needed_points.h"
#include "codegen/nest_build.h"
#include "codegen/tile.h"
#include "codegen/transposed_rows.h"
#include "codegen/tuned_contraction.h"

namespace ricci::codegen {

namespace {

/// The kernel with the conditions that say nothing of the reduced points, as those of a triangular
/// result, as a choice between the sum and that of no points. Nothing without such conditions, or
/// where they keep reads in bounds.
std::optional<Kernel> with_masked_results(const Kernel& kernel) {
    const auto is_of_results = [&](const AffineForm& form) {
        return std::ranges::none_of(
            kernel.reduced, [&](const Axis& axis) { return form.coefficient(axis.var) != 0; });
    };
    std::vector<AffineForm> taken;
    std::ranges::copy_if(kernel.conditions.at_least_zero, std::back_inserter(taken), is_of_results);
    if (taken.empty() || without_large(taken) != taken || kernel.is_arg_reduction() ||
        !is_inside_everywhere(kernel, kernel.body))
        return std::nullopt;
    Kernel masked = kernel;
    std::erase_if(masked.conditions.at_least_zero, is_of_results);
    masked.needed_where.insert(masked.needed_where.end(), taken.begin(), taken.end());
    const DType dtype = kernel.result_dtype();
    Substitution to;
    to.replace_let(0, make_operation(Op::select,
                                     {all_hold(taken, Substitution{}), make_let_value(0, dtype),
                                      identity(*kernel.reducer, dtype)},
                                     dtype));
    for (Store& write : masked.writes) write.value = to(write.value);
    return masked;
}

}  // namespace

bool lower_contraction(const Kernel& written, const LanePlan& otherwise, PlanBuilder& builder,
                       Splitting splitting) {
    const Forced forced = builder.target().forced;
    if (forced == Forced::reduced_lanes || forced == Forced::free_lanes || forced == Forced::scalar)
        return false;
    std::optional<ContractionChoice> choice = choose_contraction(written, builder.target());
    std::optional<Kernel> masked;
    if (!choice) masked = with_masked_results(written);
    if (masked) choice = choose_contraction(*masked, builder.target());
    const Kernel& kernel = masked ? *masked : written;
    // A product with few columns may have its lanes where the other plan has them: they are read
    // where they stand, and what little is written far apart costs less than packing.
    if (otherwise.axis && !otherwise.is_reduced_axis) {
        std::optional<ContractionChoice> other =
            choose_contraction(kernel, builder.target(), otherwise.axis);
        if (other && (!choice || other->cycles < choice->cycles)) choice = std::move(other);
    }
    if (!choice || (forced != Forced::tiles && choice->cycles >= otherwise.cycles)) return false;
    if (splitting == Splitting::allowed &&
        lower_in_two_levels(kernel, choice->tiles, choice->cycles, builder,
                            chunks_in_cache(kernel, *choice, builder.target())))
        return true;
    if (auto rows = forced == Forced::tiles
                        ? std::nullopt
                        : with_contiguous_rows(kernel, choice->cycles, builder)) {
        for (Kernel& copy : rows->copies) lower(std::move(copy), builder);
        lower_row_reduction(std::move(rows->kernel), rows->lanes, builder);
        return true;
    }
    if (!builder.tunings() || !kernel.slices.empty()) {
        lower_tiles(kernel, std::move(*choice), builder, {});
        return true;
    }
    TunedContraction tuned = tuned_contraction(kernel, *choice, otherwise, builder);
    builder.begin_choice(std::move(tuned.record));
    lower_tiles(kernel, std::move(tuned.choice), builder, {std::move(tuned.said)});
    builder.end_choice();
    return true;
}

}  // namespace ricci::codegen
