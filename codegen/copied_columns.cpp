// codegen/copied_columns.cpp – columns of a product copied slice by slice, as its result stands
#include "codegen/copied_columns.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <limits>
#include <ranges>

#include "codegen/cache_lines.h"
#include "codegen/choose_contraction.h"
#include "codegen/lower.h"
#include "codegen/nest_build.h"
#include "codegen/nest_walk.h"
#include "codegen/pack.h"
#include "codegen/pair_products.h"

namespace ricci::codegen {

namespace {

/// Slices that keep threads busy: each is one thread's.
constexpr std::int64_t enough_slices = 32;
/// Less than so much of the cycles of tiles, which are as many tasks as threads want, is worth it.
constexpr double least_gain = 0.9;
/// Columns that are larger than so many second-level caches would be panels in memory.
constexpr std::int64_t caches_kept = 2;

class Copier {
  public:
    Copier(const Kernel& kernel, PlanBuilder& builder)
        : kernel_(kernel),
          builder_(builder),
          target_(builder.target()),
          is_forced_(target_.forced == Forced::slices) {}

    std::optional<CopiedColumns> run(double limit) {
        if (!find_operand() || !choose_slices()) return std::nullopt;
        CopiedColumns result = sliced();
        if (!is_forced_ && (parts_lines(result.product) || cycles(result) >= least_gain * limit))
            return std::nullopt;
        const std::size_t place =
            builder_.temporary(kernel_.nest.name + "_columns", dtype_, points(copied_), true);
        connect(result, result.copy.argument(builder_.plan(), place, true),
                result.product.argument(builder_.plan(), place, false));
        return result;
    }

  private:
    /// Whether the product has one operand of columns, large and in another order than the result.
    bool find_operand() {
        if (!kernel_.slices.empty() || !kernel_.conditions.is_empty() ||
            !kernel_.needed_where.empty())
            return false;
        auto found = find_contraction(kernel_, LaneRule::nearest);
        if (!found || found->column_operands.size() != 1) return false;
        lane_ = found->lane;
        body_ = found->body;
        term_ = found->column_operands[0].term;
        dtype_ = panel_term(term_)->dtype;
        return !is_contiguous(term_, lane_.var) && is_inside_everywhere(kernel_, term_) &&
               is_read_once() &&
               bytes(axes_of(kernel_, term_)) > (is_forced_ ? 0 : caches_kept * target_.l2_bytes);
    }
    /// What is copied: bf16 numbers as they are, which tiles may take in pairs.
    [[nodiscard]] static Value panel_term(const Value& term) {
        const Value bf16 = unconverted(term);
        return bf16 ? bf16 : term;
    }
    /// Whether the copy has no element twice, as it would those of windows: each step leads beyond
    /// all that smaller ones reach.
    [[nodiscard]] bool is_read_once() const {
        bool is_once = true;
        for_each_node({term_}, [&](const Value& value) {
            const auto* load = std::get_if<Load>(&value->term);
            if (load == nullptr) return;
            const auto step = [&](const Axis& axis) {
                return std::abs(load->at.affine.coefficient(axis.var));
            };
            std::vector<Axis> axes = axes_of(kernel_, value);
            std::ranges::sort(axes, {}, step);
            std::int64_t reach = 1;
            for (const Axis& axis : axes) {
                is_once &= axis.extent == 1 || step(axis) >= reach;
                reach += step(axis) * (axis.extent - 1);
            }
        });
        return is_once;
    }
    [[nodiscard]] std::int64_t bytes(const std::vector<Axis>& axes) const {
        return points(axes) * std::int64_t(size_bytes(dtype_));
    }
    /// Elements from one write to the next, at most.
    [[nodiscard]] std::int64_t step_of_result(const Axis& axis) const {
        std::int64_t step = 0;
        for (const Store& write : kernel_.writes)
            step = std::max(step, std::abs(write.at.affine.coefficient(axis.var)));
        return step;
    }

    /// Elements from one read to the next, at most.
    [[nodiscard]] std::int64_t step_of_columns(const Axis& axis) const {
        std::int64_t step = 0;
        for_each_node({term_}, [&](const Value& value) {
            if (const auto* load = std::get_if<Load>(&value->term))
                step = std::max(step, std::abs(load->at.affine.coefficient(axis.var)));
        });
        return step;
    }

    /// A slice has the result's lanes, and of the other axes what fits, in the order in which the
    /// columns stand: they are read in long runs.
    bool choose_slices() {
        std::vector<Axis> others;
        for (const Axis& axis : axes_of(kernel_, term_)) {
            const bool is_whole =
                axis == lane_ || std::ranges::find(kernel_.reduced, axis) != kernel_.reduced.end();
            (is_whole ? copied_ : others).push_back(axis);
        }
        std::ranges::stable_sort(others, {},
                                 [&](const Axis& axis) { return step_of_columns(axis); });
        for (const Axis& axis : others) {
            const std::int64_t length = length_of_block(axis, most_bytes(axis) / bytes(copied_));
            blocks_.push_back({axis, length});
            copied_.push_back({axis.var, length});
        }
        std::ranges::stable_sort(copied_, std::greater{}, [&](const Axis& axis) {
            const std::int64_t step = step_of_result(axis);
            return step == 0 ? std::numeric_limits<std::int64_t>::max() : step;
        });
        std::int64_t slices = 1;
        for (const Block& block : blocks_) slices *= block.axis.extent / block.length;
        return is_forced_ ? slices > 1
                          : slices >= enough_slices && bytes(copied_) <= part_of_l2(0.75);
    }
    [[nodiscard]] std::int64_t part_of_l2(double part) const {
        return std::int64_t(part * double(target_.l2_bytes));
    }
    /// Of a slice that ends with the axis: half of a second-level cache, whose rest is for results
    /// and for what is asked for. More to read whole runs, which take less time than lines do.
    [[nodiscard]] std::int64_t most_bytes(const Axis& axis) const {
        if (is_forced_) return 0;
        return part_of_l2(is_contiguous(term_, axis.var) ? 0.75 : 0.5);
    }
    /// Whole lines where columns are contiguous.
    [[nodiscard]] std::int64_t length_of_block(const Axis& axis, std::int64_t most) const {
        const std::int64_t line =
            is_contiguous(term_, axis.var) ? line_bytes / std::int64_t(size_bytes(dtype_)) : 1;
        for (std::int64_t length = std::min(most, axis.extent); length >= line; --length)
            if (axis.extent % length == 0 && (length % line == 0 || length == axis.extent))
                return length;
        return axis.extent % line == 0 ? line : axis.extent;
    }

    /// Both kernels, without the copy's buffer. The slices go on as the columns stand.
    [[nodiscard]] CopiedColumns sliced() {
        Kernel product = kernel_;
        product.body = body_;
        Substitution to;
        for (const Block& block : std::views::reverse(blocks_)) {
            const Axis& axis = block.axis;
            if (block.length == axis.extent) continue;
            if (block.length == 1) {
                product.slices.push_back(axis);
                std::erase(product.free, axis);
                continue;
            }
            const VarId number = product.nest.add(Var{product.nest.at(axis.var).name + "_block"});
            product.slices.push_back({number, axis.extent / block.length});
            std::ranges::find(product.free, axis)->extent = block.length;
            to.replace(axis.var, form(number, block.length) + form(axis.var));
        }
        substitute(product, to);
        sliced_term_ = to(term_);
        Kernel copy = product.step_beside(kernel_.nest.name + "_columns");
        copy.slices = product.slices;
        copy.nest.slice = copy.slices.back().var;
        std::ranges::copy_if(copied_, std::back_inserter(copy.free),
                             [](const Axis& axis) { return axis.extent > 1; });
        return {std::move(copy), std::move(product)};
    }
    void connect(CopiedColumns& kernels, BufferId to, BufferId from) const {
        const AffineForm place = reduced_point(kernels.copy.free);
        kernels.copy.writes = {Store{.buffer = to,
                                     .at = {place},
                                     .value = panel_term(sliced_term_),
                                     .combine = std::nullopt}};
        Substitution copied;
        Kernel& product = kernels.product;
        const Value load = make_load(product.nest, from, {place});
        copied.replace(sliced_term_, make_convert(load, term_->dtype));
        product.body = copied(product.body);
    }

    /// Whether neighbours in another large array are those of neighbouring slices: each of these
    /// would take its element of all lines, which costs more than copying saves.
    [[nodiscard]] bool parts_lines(const Kernel& product) const {
        const auto is_parted = [&](BufferId id, const AffineForm& at) {
            const Buffer& buffer = product.nest.at(id);
            const bool is_large = buffer.elements * std::int64_t(size_bytes(buffer.dtype)) >
                                  caches_kept * target_.l2_bytes;
            return is_large && std::ranges::any_of(product.slices, [&](const Axis& axis) {
                       return at.coefficient(axis.var) == 1;
                   });
        };
        bool is_any = std::ranges::any_of(product.writes, [&](const Store& write) {
            return is_parted(write.buffer, write.at.affine);
        });
        for_each_node({product.body}, [&](const Value& value) {
            if (value == sliced_term_) return;
            if (const auto* load = std::get_if<Load>(&value->term))
                is_any |= is_parted(load->buffer, load->at.affine);
        });
        return is_any;
    }

    /// Of all slices, as the plan would be: nothing is added to it.
    [[nodiscard]] double cycles(CopiedColumns kernels) const {
        const Buffer buffer{
            .name = "columns", .dtype = dtype_, .elements = points(kernels.copy.free)};
        const BufferId to = kernels.copy.nest.add(buffer);
        connect(kernels, to, kernels.product.nest.add(buffer));
        merge_axes(kernels.product);
        const auto choice = choose_contraction(kernels.product, target_);
        if (!choice) return std::numeric_limits<double>::infinity();
        const auto slices = double(points(kernels.product.slices));
        return slices * (choose_lanes(kernels.copy, target_).cycles + choice->cycles);
    }

    /// An axis that slices have a part of.
    struct Block {
        Axis axis;
        std::int64_t length = 1;
    };
    const Kernel& kernel_;
    PlanBuilder& builder_;
    const Target& target_;
    bool is_forced_;
    Axis lane_;
    Value body_;
    Value term_;
    DType dtype_ = DType::f32;  ///< of the copy
    Value sliced_term_;         ///< the term in a slice
    std::vector<Block> blocks_;
    std::vector<Axis> copied_;  ///< the axes of a slice of the copy, outermost first
};

}  // namespace

std::optional<CopiedColumns> with_copied_columns(const Kernel& kernel, double limit,
                                                 PlanBuilder& builder) {
    return Copier(kernel, builder).run(limit);
}

}  // namespace ricci::codegen
