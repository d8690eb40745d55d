// codegen/left_out_zeros.cpp – products with padded arrays, without the terms that are 0
#include "codegen/left_out_zeros.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/integer.h"
#include "codegen/choose_contraction.h"
#include "codegen/kernel_work.h"
#include "codegen/lane_steps.h"
#include "codegen/nan_makers.h"
#include "codegen/nest_build.h"

namespace ricci::codegen {

namespace {

/// The places along the windows' axes that an address stands for; nothing where it may stand for
/// others than theirs.
std::optional<std::vector<AffineForm>> places_of(const Kernel& kernel, const AffineForm& address,
                                                 const std::vector<ZeroWindow>& windows) {
    std::vector<AffineForm> places(windows.size());
    for (const AffineForm::Term& term : address.terms) {
        // Windows are outermost first: the largest step that it is a multiple of.
        const auto window = std::ranges::find_if(windows, [&](const ZeroWindow& each) {
            return std::abs(term.coefficient) >= each.step && term.coefficient % each.step == 0;
        });
        if (window == windows.end()) return std::nullopt;
        AffineForm& place = places[std::size_t(window - windows.begin())];
        place = place + form(term.var, term.coefficient / window->step);
    }
    // The least place of each is 0, or as far behind as the constant says.
    std::int64_t rest = address.constant;
    for (std::size_t d = 0; d < windows.size(); ++d) {
        places[d] = places[d] + form(-value_range(kernel, places[d]).first);
        rest -= windows[d].step * places[d].constant;
    }
    for (std::size_t d = 0; d < windows.size(); ++d) {
        const std::int64_t steps = floor_div(rest, windows[d].step);
        places[d] = places[d] + form(steps);
        rest -= windows[d].step * steps;
        const auto [first, last] = value_range(kernel, places[d]);
        if (first < 0 || last >= windows[d].extent) return std::nullopt;
    }
    return rest == 0 ? std::optional(std::move(places)) : std::nullopt;
}

/// What must be at least zero for an element to be none of those that are 0.
std::vector<AffineForm> inside(const Kernel& kernel, const std::vector<AffineForm>& places,
                               const std::vector<ZeroWindow>& windows) {
    std::vector<AffineForm> forms;
    for (std::size_t d = 0; d < windows.size(); ++d)
        for (AffineForm each :
             {places[d] + form(-windows[d].first), form(windows[d].last) + -1 * places[d]})
            if (value_range(kernel, each).first < 0) forms.push_back(std::move(each));
    return forms;
}

/// Whether so many points meet zeros that bounds of loops pay.
bool are_many(const Kernel& kernel, const std::vector<AffineForm>& conditions) {
    // 3x3 of 14x14 pixels, 8 images of 256 channels: 15.0 ms, not 16.4, of 28x28, 128 channels,
    // 15.9, not 16.5, but of 56x56, 64 channels, 18.3 and 17.1 (Zen 4).
    constexpr double most_inside = 0.955;
    // Fewer would take longer to compile than gain.
    constexpr double least_left_out = 0.15 * (1 << 22);
    std::vector<Axis> axes = kernel.free;
    axes.insert(axes.end(), kernel.reduced.begin(), kernel.reduced.end());
    const auto all = double(points(axes));
    Conditions bounds;
    bounds.at_least_zero = conditions;
    const double left = points_left(std::move(axes), std::move(bounds));
    return all - left >= least_left_out && left <= most_inside * all;
}

/// Whether tiles under the conditions take less time than `cycles`, of those without.
bool are_faster(const Kernel& kernel, const ContractionChoice& bounded, double cycles) {
    const auto is_tied = [&](const Axis& axis) {
        return std::ranges::any_of(kernel.conditions.at_least_zero, [&](const AffineForm& form) {
            return form.coefficient(axis.var) != 0;
        });
    };
    // Gradient by the weights of 5x5, 64x3x32x32 to 64 channels: 7.5 ms, not 6.5 (Zen 4).
    if (has_conditional_rows(kernel, bounded)) return false;
    // Lanes under conditions: 3x3 of 64x8x28x28 to 32 channels 2.6 ms, not 2.4, by estimates 0.98
    // of those without, but of 128x8x16x16, 0.96, as long.
    constexpr double most_of_masked = 0.94;
    if (is_tied(bounded.contraction.lane)) return bounded.cycles < most_of_masked * cycles;
    // Taps one after the other read all images for few rows: gradient by the weights of 3x3,
    // 64x16x28x28 to 32 channels, 4.8 ms, not 4.6, by estimates 0.96, but of 5x5, 32x16x14x14 to
    // 32, 1.2, not 1.4, by estimates 0.86.
    constexpr double most_of_few = 0.92;
    constexpr std::int64_t few_rows = 32;
    if (!is_tied(bounded.row_axis) && bounded.row_axis.extent < few_rows)
        return bounded.cycles < most_of_few * cycles;
    return bounded.cycles < cycles;
}

}  // namespace

std::optional<LeftOutZeros> with_zeros_left_out(const Kernel& kernel,
                                                const ContractionChoice& choice,
                                                PlanBuilder& builder) {
    const Target& target = builder.target();
    const auto* product = std::get_if<Operate>(&kernel.body->term);
    if (product == nullptr || product->op != Op::mul || product->args.size() != 2 ||
        kernel.reducer != Reducer::sum || !kernel.conditions.is_empty() || !kernel.slices.empty() ||
        kernel.joint_kernels > 1 || builder.is_conditional() || !has_masked_stores(target))
        return std::nullopt;
    const bool is_forced = target.forced == Forced::tiles || target.forced == Forced::rewritings;
    for (const std::size_t factor : {0, 1}) {
        const Value& operand = product->args[factor];
        const auto* load = std::get_if<Load>(&operand->term);
        if (load == nullptr || load->at.computed) continue;
        const std::vector<ZeroWindow>& windows =
            builder.plan().buffers[kernel.places.at(std::size_t(load->buffer))].zero_windows;
        if (windows.empty()) continue;
        const auto places = places_of(kernel, load->at.affine, windows);
        if (!places) continue;
        LeftOutZeros result{kernel};
        Conditions& conditions = result.product.conditions;
        conditions.at_least_zero = inside(kernel, *places, windows);
        if (conditions.is_empty() || (!is_forced && !are_many(kernel, conditions.at_least_zero)))
            continue;
        const auto bounded = choose_contraction(result.product, target);
        if (!bounded || (!is_forced && !are_faster(result.product, *bounded, choice.cycles)))
            continue;
        const Value count = count_not_finite(result.product, product->args[1 - factor], builder);
        if (!count) continue;
        result.count = result.product.places.at(std::size_t(std::get<Load>(count->term).buffer));
        return result;
    }
    return std::nullopt;
}

}  // namespace ricci::codegen
