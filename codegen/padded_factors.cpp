// codegen/padded_factors.cpp – operands of products under conditions, copied with zeros around them
#include "codegen/padded_factors.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "codegen/choose_contraction.h"
#include "codegen/lane_steps.h"
#include "codegen/nan_makers.h"
#include "codegen/nest_build.h"
#include "codegen/nest_walk.h"
#include "codegen/pack.h"

namespace ricci::codegen {

namespace {

/// What conditions keep between two numbers, as `x-u`, and how the operand moves with it.
struct Window {
    AffineForm form;         ///< without a constant
    std::int64_t first = 0;  ///< that counts
    std::int64_t last = 0;
    std::int64_t start = 0;  ///< the least that some point has
    std::int64_t extent = 0;
    std::int64_t step = 0;  ///< elements of the operand from one to the next
    VarId var{};            ///< its axis of the copy
};

/// An axis of the copy and the operand's step along it.
struct CopyAxis {
    Axis axis;
    std::int64_t step = 0;
};

AffineForm without_constant(AffineForm form) {
    form.constant = 0;
    return form;
}

class Padder {
  public:
    Padder(const Kernel& kernel, PlanBuilder& builder) : kernel_(kernel), builder_(builder) {}

    std::optional<PaddedFactor> run(double most_cycles) {
        if (!is_product() || !collect_windows()) return std::nullopt;
        for (const std::size_t factor : {0, 1}) {
            const Value other = take_factor(factor);
            if (!find_steps() || reads_padded(other)) continue;
            Kernel copy = kernel_.step_beside(kernel_.nest.name + "_padded");
            make_copy(copy);
            if (copy_cycles(points(copy.free)) > most_cycles) continue;
            PaddedFactor result{{std::move(copy)}, kernel_};
            const Value count = count_not_finite(result.product, other, builder_);
            if (!count) continue;
            result.count =
                result.product.places.at(std::size_t(std::get<Load>(count->term).buffer));
            connect(result);
            result.product.conditions = {};
            return result;
        }
        return std::nullopt;
    }

    /// The product of a copy that still has the conditions. Nothing unless it takes fewer than
    /// `most_cycles`, or where it is forced.
    std::optional<PaddedFactor> run_bounded(double most_cycles, bool is_forced) {
        if (!is_product() || !collect_windows()) return std::nullopt;
        for (const std::size_t factor : {0, 1}) {
            const Value other = take_factor(factor);
            if (!find_steps() || !is_inside_everywhere(kernel_, other)) continue;
            Kernel copy = kernel_.step_beside(kernel_.nest.name + "_padded");
            make_copy(copy);
            const double of_copy = copy_cycles(points(copy.free));
            if (of_copy > most_cycles && !is_forced) continue;
            Kernel trial = kernel_;
            read_copy(trial, copy.free,
                      trial.nest.add(Buffer{.name = copy.nest.name,
                                            .dtype = padded_->dtype,
                                            .elements = points(copy.free) + zeros_between_}));
            const auto found = choose_contraction(trial, builder_.target());
            if (!found) continue;
            const bool is_faster =
                found->cycles + of_copy < most_cycles && !has_conditional_rows(trial, *found);
            if (!is_faster && !is_forced) continue;
            PaddedFactor result{{std::move(copy)}, kernel_};
            connect(result);
            return result;
        }
        return std::nullopt;
    }

  private:
    [[nodiscard]] bool is_product() const {
        const auto* product = std::get_if<Operate>(&kernel_.body->term);
        return product != nullptr && product->op == Op::mul && product->args.size() == 2;
    }
    /// Takes that factor to be padded; gives the other one.
    Value take_factor(std::size_t factor) {
        const std::vector<Value>& factors = std::get<Operate>(kernel_.body->term).args;
        padded_ = factors[factor];
        return factors[1 - factor];
    }

    /// The conditions as windows: each form between the numbers that its conditions leave it.
    bool collect_windows() {
        const Conditions& conditions = kernel_.conditions;
        if (!conditions.equal_zero.empty() || conditions.rest) return false;
        for (const AffineForm& condition : conditions.at_least_zero) {
            const AffineForm up = without_constant(condition);
            const AffineForm down = -1 * up;
            auto window = std::ranges::find_if(
                windows_, [&](const Window& each) { return each.form == up || each.form == down; });
            if (window == windows_.end()) {
                const auto [first, last] = value_range(kernel_, up);
                windows_.push_back({up, first, last, first, last - first + 1});
                window = windows_.end() - 1;
            }
            if (window->form == up)
                window->first = std::max(window->first, -condition.constant);
            else
                window->last = std::min(window->last, condition.constant);
        }
        return std::ranges::all_of(windows_,
                                   [](const Window& each) { return each.first <= each.last; });
    }

    /// Whether the operand moves with the windows and with axes that they have no part in, and all
    /// of the windows' places are its own.
    bool find_steps() {
        const auto* load = std::get_if<Load>(&padded_->term);
        if (load == nullptr || load->at.computed) return false;
        rest_ = load->at.affine;
        for (Window& window : windows_) {
            const AffineForm::Term* pivot = nullptr;
            for (const AffineForm::Term& term : window.form.terms)
                if (std::ranges::all_of(windows_, [&](const Window& other) {
                        return &other == &window || other.form.coefficient(term.var) == 0;
                    }))
                    pivot = &term;  // any one
            if (pivot == nullptr) return false;
            window.step = load->at.affine.coefficient(pivot->var) / pivot->coefficient;
            if (window.step == 0) return false;
            rest_ = rest_ + -window.step * window.form;
        }
        for (const Window& window : windows_)
            for (const AffineForm::Term& term : window.form.terms)
                if (rest_.coefficient(term.var) != 0) return false;
        auto [first, last] = value_range(kernel_, rest_);
        for (const Window& window : windows_) {
            const std::int64_t a = window.step * window.first;
            const std::int64_t b = window.step * window.last;
            first += std::min(a, b);
            last += std::max(a, b);
        }
        return first >= 0 && last < kernel_.nest.at(load->buffer).elements;
    }

    /// Whether a factor would take zeros from the copy, too, and may be no number there.
    [[nodiscard]] bool reads_padded(const Value& factor) const {
        bool is_read = false;
        for_each_node({factor}, [&](const Value& value) {
            const auto* load = std::get_if<Load>(&value->term);
            is_read |= load != nullptr && load->buffer == std::get<Load>(padded_->term).buffer;
        });
        return is_read;
    }

    /// Of what caches keep, and of what goes to memory and comes back: the gradient of a 7x7
    /// convolution, stride 2, with 8x64x112x112 outputs took 44 ms with four copies, 30 without
    /// (Zen 3).
    [[nodiscard]] double copy_cycles(std::int64_t elements) const {
        constexpr double of_caches = 0.8;
        constexpr double of_memory = 2;
        const double bytes = double(elements) * double(size_bytes(padded_->dtype));
        const bool is_kept = bytes <= 8 * double(builder_.target().l2_bytes);
        return double(elements) * (is_kept ? of_caches : of_memory);
    }

    /// In the order in which the operand stands.
    void make_copy(Kernel& copy) {
        std::vector<CopyAxis> axes;
        for (const std::vector<Axis>* all : {&kernel_.free, &kernel_.reduced})
            for (const Axis& axis : *all)
                if (const std::int64_t step = rest_.coefficient(axis.var); step != 0)
                    axes.push_back({axis, step});
        Address from{rest_, nullptr};
        std::vector<AffineForm> inside;
        for (Window& window : windows_) {
            window.var = copy.nest.add(Var{"p"});
            axes.push_back({{window.var, window.extent}, window.step});
            const AffineForm place = form(window.var) + form(window.start);
            inside.push_back(place + form(-window.first));
            inside.push_back(form(window.last) + -1 * place);
            // In bounds everywhere (codegen/guarded_reads.h).
            const Value clamped = make_operation(
                Op::clamp,
                {make_index(place), make_integer(window.first), make_integer(window.last)},
                DType::i64);
            const Value offset =
                make_operation(Op::mul, {clamped, make_integer(window.step)}, DType::i64);
            from.computed = from.computed
                                ? make_operation(Op::add, {from.computed, offset}, DType::i64)
                                : offset;
        }
        std::ranges::stable_sort(axes, std::greater{},
                                 [](const CopyAxis& axis) { return std::abs(axis.step); });
        for (const CopyAxis& each : axes) copy.free.push_back(each.axis);
        // Zeros behind one row are those before the next: lanes that run on through all rows pass
        // over fewer of them.
        zeros_between_ = 0;
        for (const Window& window : windows_)
            if (copy.free.size() > 1 && window.var == copy.free.back().var)
                zeros_between_ = std::min(window.first - window.start,
                                          window.start + window.extent - 1 - window.last);
        copy.free.back().extent -= zeros_between_;
        const auto& load = std::get<Load>(padded_->term);
        const DType dtype = padded_->dtype;
        const Value copied =
            make_operation(Op::select,
                           {all_hold(inside, Substitution{}),
                            make_load(copy.nest, load.buffer, {from}), make_number(dtype, 0)},
                           dtype);
        copy.writes = {Store{.buffer = load.buffer,
                             .at = {reduced_point(copy.free)},
                             .value = copied,
                             .combine = std::nullopt}};
    }

    /// The product of a copy with these axes in place of the operand.
    void read_copy(Kernel& product, const std::vector<Axis>& axes, BufferId copy) const {
        AffineForm at = reduced_point(axes);
        for (const Window& window : windows_) {
            const std::int64_t step = at.coefficient(window.var);
            at = at + form(window.var, -step) + step * (window.form + form(-window.start));
        }
        Substitution to;
        to.replace(padded_, make_load(product.nest, copy, {at}));
        product.body = to(product.body);
    }

    void connect(PaddedFactor& kernels) {
        Kernel& copy = kernels.copies[0];
        const std::int64_t elements = points(copy.free);
        const std::size_t place =
            builder_.temporary(copy.nest.name, padded_->dtype, elements + zeros_between_);
        copy.writes[0].buffer = copy.argument(builder_.plan(), place, true);
        Kernel& product = kernels.product;
        read_copy(product, copy.free, product.argument(builder_.plan(), place, false));
        if (zeros_between_ == 0) return;
        Kernel zeros = kernel_.step_beside(kernel_.nest.name + "_padded_end");
        const VarId p = zeros.nest.add(Var{"p"});
        zeros.free = {{p, zeros_between_}};
        zeros.writes = {Store{.buffer = zeros.argument(builder_.plan(), place, true),
                              .at = {form(p) + form(elements)},
                              .value = make_number(padded_->dtype, 0),
                              .combine = std::nullopt}};
        kernels.copies.push_back(std::move(zeros));
    }

    const Kernel& kernel_;
    PlanBuilder& builder_;
    std::vector<Window> windows_;
    Value padded_;
    AffineForm rest_;                 ///< where it is read, but for the windows
    std::int64_t zeros_between_ = 0;  ///< that two rows of the copy share
};

/// What copying may cost where lanes need masks that cost much.
std::optional<double> cycles_of_masks(const Kernel& kernel, const ContractionChoice& choice,
                                      const Target& target) {
    // Masks took a fifth of the gradients of 3x3 convolutions with 64 and 128 channels, whose
    // copies are 6 and 2 % of them. Two taps of a stride's residues, with a copy of 10 %, gained
    // nothing.
    const double part_of_product = counts_one_operation(kernel, target) ? 0.08 : 0.04;
    const auto is_of_lane = [&](const AffineForm& form) {
        return form.coefficient(choice.contraction.lane.var) != 0;
    };
    const bool has_masks = choice.flattened
                               ? !choice.flattened->conditions.empty()
                               : std::ranges::any_of(kernel.conditions.at_least_zero, is_of_lane);
    if (has_masks && !has_masked_stores(target)) return part_of_product * choice.cycles;
    return std::nullopt;
}

/// What copying may cost where no good tiles have the same conditions in all of their rows, as in
/// the gradient of a convolution of images with channels last.
std::optional<double> cycles_of_rows(const Kernel& kernel, double cycles, const Target& target) {
    constexpr double least_saved = 0.1;
    constexpr double of_look = 0.7;  // at an element, for what is not finite
    Kernel plain = kernel;
    plain.conditions = {};
    const auto found = choose_contraction(plain, target);
    if (!found) return std::nullopt;
    double looked_at = 0;
    for (const Buffer& buffer : kernel.nest.buffers)
        if (!buffer.is_written) looked_at += double(buffer.elements);
    const double most = (1 - least_saved) * cycles - found->cycles - of_look * looked_at;
    return most > 0 ? std::optional(most) : std::nullopt;
}

}  // namespace

std::optional<PaddedFactor> with_padded_factor(const Kernel& kernel,
                                               const std::optional<ContractionChoice>& choice,
                                               double cycles, PlanBuilder& builder) {
    const Target& target = builder.target();
    if (kernel.reducer != Reducer::sum || !kernel.slices.empty() || kernel.joint_kernels > 1 ||
        kernel.conditions.at_least_zero.empty())
        return std::nullopt;
    const std::optional<double> most = choice && choice->cycles <= cycles
                                           ? cycles_of_masks(kernel, *choice, target)
                                           : cycles_of_rows(kernel, cycles, target);
    if (!most) return std::nullopt;
    const bool is_forced = target.forced == Forced::rewritings || target.forced == Forced::tiles;
    return Padder(kernel, builder).run(is_forced ? std::numeric_limits<double>::infinity() : *most);
}

std::optional<PaddedFactor> with_padded_rows(const Kernel& kernel, double cycles,
                                             PlanBuilder& builder) {
    constexpr double least_saved = 0.02;
    const Target& target = builder.target();
    if (kernel.reducer != Reducer::sum || !kernel.slices.empty() || kernel.joint_kernels > 1 ||
        kernel.conditions.at_least_zero.empty() || !has_masked_stores(target) ||
        is_inside_everywhere(kernel, kernel.body))
        return std::nullopt;
    return Padder(kernel, builder)
        .run_bounded((1 - least_saved) * cycles, target.forced == Forced::rewritings);
}

}  // namespace ricci::codegen
