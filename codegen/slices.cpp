// codegen/slices.cpp – kernels that are run one after the other for a slice of their points
#include "codegen/slices.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "base/integer.h"
#include "codegen/cache_lines.h"
#include "codegen/kernel_places.h"
#include "codegen/nest_build.h"
#include "codegen/nest_walk.h"
#include "codegen/scan_walk.h"

namespace ricci::codegen {

namespace {

/// Of a block of rows: products of fewer read their columns too often.
constexpr std::int64_t least_rows = 64;
/// Slices that keep threads busy: with fewer, kernels run one after the other on all of them.
constexpr std::int64_t enough_slices = 16;
/// One product alone is sliced where what passes on is so many times what else is touched: 1.2 to
/// 1.8 times as fast on Zen 4 with 16 to 64 products a sum, as fast with more, and needs no memory
/// for it. Where less passes on, larger tiles of rows are worth more than what is not stored.
constexpr double much = 8;
/// What passes between kernels stays in the last cache where it is less, in second-level caches.
constexpr double caches = 8;

/// Points of all kernels that are worth a slice of their own; smaller problems of a batch are taken
/// many at a time: the gradient of a million `C[n,i,j] := A[n,k,i]*A[n,k,j]` of 3x3 took 38 ms, a
/// slice each.
constexpr double least_points = 4096;

/// An axis that all members have.
struct Common {
    std::int64_t extent = 0;
    std::vector<Axis> of_member;
};

/// How a member touches a buffer.
struct Use {
    std::size_t member = 0;
    AffineForm address;
    bool is_computed = false;
    bool is_store = false;
};

/// The elements of a buffer that one point of the common axes touches: steps from point to point,
/// and the range of the others.
struct Walk {
    std::vector<std::int64_t> steps;  ///< by common axis
    std::int64_t low = 0;
    std::int64_t high = 0;

    [[nodiscard]] std::int64_t span() const { return high - low + 1; }
};

/// Why kernels are sliced together.
enum class Shared : std::uint8_t {
    results,  ///< one reads much of what another one writes
    lines,    ///< they write elements of the same cache lines
};

class Finder {
  public:
    Finder(const std::vector<Kernel>& kernels, std::size_t first, Shared shared,
           PlanBuilder& builder, const std::set<std::size_t>& read_later)
        : kernels_(kernels),
          first_(first),
          shared_(shared),
          builder_(builder),
          read_later_(read_later),
          is_forced_(builder.target().forced == Forced::slices) {}

    std::optional<SlicedKernels> run() {
        if (!begin()) return std::nullopt;
        take_followers(kernels_, first_, [&](std::size_t k) { return extend(k); });
        if (members_.size() < 2) return std::nullopt;
        if (shared_ == Shared::lines) return slices_of_lines();
        if (products() < (is_forced_ ? 0 : 1)) return std::nullopt;
        return choose_slices();
    }

  private:
    [[nodiscard]] const Kernel& member(std::size_t m) const { return kernels_[members_[m]]; }
    [[nodiscard]] std::ptrdiff_t products() const {
        return std::ranges::count_if(members_, [&](std::size_t k) {
            return kernels_[k].body && is_rows_against_columns(kernels_[k]);
        });
    }

    /// Any kernel whose writes stand at affine places and which has points.
    [[nodiscard]] bool may_be_member(const Kernel& kernel) const {
        if (shared_ == Shared::lines && has_short_vectors(builder_.target()) && kernel.body &&
            is_rows_against_columns(kernel))
            return false;
        if (kernel.carry) return false;  // a walk over whole rows
        const bool is_computed = std::ranges::any_of(
            kernel.writes, [](const Store& write) { return write.at.computed != nullptr; });
        return !is_computed && points(kernel.free) > 0 &&
               (!kernel.body || points(kernel.reduced) > 0) && kernel.slices.empty();
    }
    static bool may_be_common(const Kernel& kernel, const Axis& axis) {
        return axis.extent > 1 && !kernel.collides(axis.var) && !is_walked(kernel, axis);
    }
    /// A walk over part of its points would begin at the first one each time.
    static bool is_walked(const Kernel& kernel, const Axis& axis) {
        const std::optional<ScanWalk> walk = find_walk(kernel, least_walked);
        return walk && walk->results == axis;
    }

    bool begin() {
        const Kernel& kernel = kernels_[first_];
        if (!may_be_member(kernel)) return false;
        for (const Axis& axis : kernel.free)
            if (may_be_common(kernel, axis)) common_.push_back({axis.extent, {axis}});
        members_ = {first_};
        add_uses(0);
        return !common_.empty();
    }

    void add_uses(std::size_t m) {
        const Kernel& kernel = member(m);
        for (const Touch& touch : touches(kernel))
            uses_[kernel.places.at(std::size_t(touch.buffer))].push_back(
                {m, touch.address, touch.is_computed, touch.is_store});
        for (const Store& write : kernel.writes)
            if (write.combine)
                uses_[kernel.places.at(std::size_t(write.buffer))].push_back(
                    {m, write.at.affine, false, false});
    }

    /// Takes the kernel as a further member, along with the axes that it has in common.
    bool extend(std::size_t k) {
        const Kernel& kernel = kernels_[k];
        if (!may_be_member(kernel)) return false;
        const std::map<std::size_t, std::vector<Use>> uses = uses_;
        const std::vector<Common> common = common_;
        members_.push_back(k);
        add_uses(members_.size() - 1);
        match_axes();
        if (shared_ == Shared::lines) drop_axes_that_meet();
        if (!common_.empty() && shares_a_write(k) && are_apart(common_) && fits(common_))
            return true;
        members_.pop_back();
        uses_ = uses;
        common_ = common;
        return false;
    }

    /// Whether the newest member reads what another one writes, or writes beside it.
    [[nodiscard]] bool shares_a_write(std::size_t k) const {
        const Places own = places_of(kernels_[k]);
        for (std::size_t m = 0; m + 1 < members_.size(); ++m) {
            const std::set<std::size_t> writes = places_of(member(m)).writes;
            if (meet(writes, own.reads)) return true;
            if (shared_ == Shared::lines && meet(writes, own.writes)) return true;
        }
        return false;
    }
    [[nodiscard]] static bool is_shared(const std::vector<Use>& uses) {
        const bool is_written = std::ranges::any_of(uses, &Use::is_store);
        return is_written && std::ranges::any_of(uses, [&](const Use& use) {
                   return use.member != uses[0].member;
               });
    }

    /// The newest member's axes that move all it shares with others as the common ones do; common
    /// axes without such a one are common no more.
    void match_axes() {
        const std::size_t newest = members_.size() - 1;
        const Kernel& kernel = kernels_[members_.back()];
        std::vector<Common> matched;
        std::vector<Axis> taken;
        for (Common& axis : common_) {
            const auto moves_alike = [&](const Axis& own) {
                bool is_moved = false;
                for (const auto& [place, uses] : uses_) {
                    if (!is_shared(uses)) continue;
                    std::optional<std::int64_t> step;
                    for (const Use& use : uses) {
                        const VarId var =
                            use.member == newest ? own.var : axis.of_member[use.member].var;
                        const std::int64_t here = use.address.coefficient(var);
                        if (use.is_computed || here <= 0 || step.value_or(here) != here)
                            return false;
                        step = here;
                    }
                    is_moved = true;
                }
                return is_moved;
            };
            const auto found = std::ranges::find_if(kernel.free, [&](const Axis& own) {
                return own.extent == axis.extent && may_be_common(kernel, own) &&
                       std::ranges::find(taken, own) == taken.end() && moves_alike(own);
            });
            if (found == kernel.free.end()) continue;
            taken.push_back(*found);
            axis.of_member.push_back(*found);
            matched.push_back(axis);
        }
        common_ = std::move(matched);
    }

    [[nodiscard]] Walk walk(const std::vector<Use>& uses, const std::vector<Common>& axes) const {
        Walk walk{.steps = {},
                  .low = std::numeric_limits<std::int64_t>::max(),
                  .high = std::numeric_limits<std::int64_t>::min()};
        for (const Common& axis : axes)
            walk.steps.push_back(uses[0].address.coefficient(axis.of_member[uses[0].member].var));
        for (const Use& use : uses) {
            AffineForm rest = use.address;
            for (const Common& axis : axes) {
                const VarId var = axis.of_member[use.member].var;
                rest = rest - form(var, rest.coefficient(var));
            }
            const auto [low, high] = value_range(member(use.member), rest);
            walk.low = std::min(walk.low, low);
            walk.high = std::max(walk.high, high);
        }
        return walk;
    }

    /// Whether points of these axes touch elements of their own of all that a member writes and
    /// another one touches.
    [[nodiscard]] bool are_apart(const std::vector<Common>& axes) const {
        for (const auto& [place, uses] : uses_) {
            if (!is_shared(uses)) continue;
            const Walk own = walk(uses, axes);
            std::vector<std::size_t> order(axes.size());
            for (std::size_t a = 0; a < axes.size(); ++a) order[a] = a;
            std::ranges::sort(order, {}, [&](std::size_t a) { return own.steps[a]; });
            std::int64_t span = own.span();
            for (const std::size_t a : order) {
                if (own.steps[a] < span) return false;
                span += own.steps[a] * (axes[a].extent - 1);
            }
        }
        return true;
    }

    /// Keeps the axes with the longest steps, as many as are apart.
    void drop_axes_that_meet() {
        sort_common();
        while (!common_.empty() && !are_apart(common_)) common_.pop_back();
    }
    /// By the steps with which they move what members share, the longest first.
    void sort_common() {
        const auto found =
            std::ranges::find_if(uses_, [](const auto& place) { return is_shared(place.second); });
        if (found == uses_.end()) return;
        const Use& use = found->second.front();
        std::ranges::stable_sort(common_, std::ranges::greater{}, [&](const Common& axis) {
            return use.address.coefficient(axis.of_member[use.member].var);
        });
    }

    /// The temporaries that only members touch.
    [[nodiscard]] std::vector<std::size_t> inner_places() const {
        std::set<std::size_t> outside = read_later_;
        for (std::size_t k = 0; k < kernels_.size(); ++k)
            if (std::ranges::find(members_, k) == members_.end())
                outside.insert(kernels_[k].places.begin(), kernels_[k].places.end());
        for (const Step& step : builder_.plan().steps)
            outside.insert(step.buffers.begin(), step.buffers.end());
        std::vector<std::size_t> inner;
        for (const auto& [place, uses] : uses_)
            if (is_shared(uses) && !outside.contains(place) &&
                builder_.plan().buffers[place].kind == PlanBuffer::Kind::temporary)
                inner.push_back(place);
        return inner;
    }
    [[nodiscard]] double bytes_of(std::size_t place, double elements) const {
        return elements * double(size_bytes(builder_.plan().buffers[place].dtype));
    }

    /// Bytes that pass from member to member in one point of the axes.
    [[nodiscard]] double passed_bytes(const std::vector<Common>& axes) const {
        double bytes = 0;
        for (const auto& [place, uses] : uses_)
            if (is_shared(uses) &&
                builder_.plan().buffers[place].kind == PlanBuffer::Kind::temporary)
                bytes += bytes_of(place, double(walk(uses, axes).span()));
        return bytes;
    }
    /// Bytes of all that members touch but for these.
    [[nodiscard]] double touched_bytes(const std::vector<std::size_t>& inner) const {
        double bytes = 0;
        for (const auto& [place, uses] : uses_)
            if (std::ranges::find(inner, place) == inner.end())
                bytes += bytes_of(place, double(builder_.plan().buffers[place].elements));
        return bytes;
    }
    /// All of the cache: some of what is counted will pass in registers.
    [[nodiscard]] double budget() const { return double(builder_.target().l2_bytes); }
    [[nodiscard]] bool fits(const std::vector<Common>& axes) const {
        return is_forced_ || passed_bytes(axes) <= 4 * budget();
    }

    /// Whether the axis moves every operand of all products: its points share nothing.
    [[nodiscard]] bool is_batch(const Common& axis) const {
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Kernel& kernel = member(m);
            if (!kernel.body || !is_rows_against_columns(kernel)) continue;
            for (const Touch& touch : touches(kernel))
                if (touch.is_reduced && touch.address.coefficient(axis.of_member[m].var) == 0)
                    return false;
        }
        return true;
    }

    [[nodiscard]] double points_of_slice(const std::vector<Common>& batch) const {
        double all = 0;
        for (std::size_t m = 0; m < members_.size(); ++m)
            all += double(points(member(m).free)) * double(points(member(m).reduced));
        for (const Common& axis : batch) all /= double(axis.extent);
        return all;
    }

    std::optional<SlicedKernels> choose_slices() {
        std::vector<Common> batch;
        std::optional<Common> rows;
        for (const Common& axis : common_) {
            if (is_batch(axis))
                batch.push_back(axis);
            else if (!rows || axis.extent > rows->extent)
                rows = axis;
        }
        if (!is_forced_ && !batch.empty() && points_of_slice(batch) < least_points) {
            const auto longest = std::ranges::max_element(batch, {}, &Common::extent);
            rows = *longest;
            batch.erase(longest);
        }
        std::vector<Common> axes = batch;
        if (rows) axes.push_back(*rows);
        if (axes.empty() || !are_apart(axes)) return std::nullopt;
        double passed = 0;
        const std::vector<std::size_t> inner = inner_places();
        for (const std::size_t place : inner)
            passed += bytes_of(place, double(builder_.plan().buffers[place].elements));
        const bool passes_little = products() == 1 && passed < much * touched_bytes(inner);
        const bool is_cached = passed < caches * double(builder_.target().l2_bytes);
        if (!is_forced_ && (passes_little || is_cached)) return std::nullopt;
        std::int64_t slices = 1;
        for (const Common& axis : batch) slices *= axis.extent;
        const std::int64_t block = rows ? block_rows(*rows, passed_bytes(axes), slices) : 1;
        if (rows) slices *= rows->extent / block;
        if (!is_forced_ && slices < enough_slices) return std::nullopt;
        SlicedKernels result{.members = members_, .loops = {}};
        const std::int64_t whole = rows ? rows->extent / block : 1;
        result.loops.push_back(sliced(batch, rows, 0, block, whole, inner));
        if (rows && rows->extent % block != 0)
            result.loops.push_back(
                sliced(batch, rows, whole * block, rows->extent % block, 1, inner));
        return result;
    }

    /// Slices of which caches keep the lines that members write some elements each of, as residue
    /// classes of rows do: else every member has all lines come and go once.
    std::optional<SlicedKernels> slices_of_lines() {
        double shared_lines = 0;
        for (const auto& [place, uses] : uses_) {
            const auto bytes = std::int64_t(size_bytes(builder_.plan().buffers[place].dtype));
            if (std::ranges::count_if(uses, [&](const Use& use) {
                    return use.is_store && leaves_gaps(use, line_bytes / bytes);
                }) > 1)
                shared_lines += bytes_of(place, double(builder_.plan().buffers[place].elements));
        }
        // What several write in parts, and another one reads, passes in a buffer of a slice's size.
        std::vector<std::size_t> inner = inner_places();
        std::erase_if(inner, [&](std::size_t place) { return !is_joined(place); });
        for (const std::size_t place : inner)
            shared_lines += bytes_of(place, double(builder_.plan().buffers[place].elements));
        if (shared_lines == 0) return std::nullopt;
        if (!is_forced_ && shared_lines < caches * double(builder_.target().l2_bytes))
            return std::nullopt;
        sort_common();
        std::vector<Common> axes;
        std::vector<Common> batch;
        std::int64_t slices = 1;
        double bytes = 0;
        for (const Common& axis : common_) {
            if (!moves_columns(axis)) break;
            axes.push_back(axis);
            bytes = 0;
            for (const auto& [place, uses] : uses_)
                bytes += bytes_of(place, double(walk(uses, axes).span()));
            if (bytes > budget() / 2) {
                batch.push_back(axis);
                slices *= axis.extent;
                continue;
            }
            const std::int64_t busy = axis.extent / ceil_div(enough_slices, slices);
            const std::int64_t block = std::clamp<std::int64_t>(
                std::min(std::int64_t(budget() / 2 / bytes), busy), 1, axis.extent);
            const std::int64_t whole = axis.extent / block;
            if (!is_forced_ && products() > 0 && slices * whole < enough_slices)
                return std::nullopt;
            SlicedKernels result{.members = members_, .loops = {}};
            result.loops.push_back(sliced(batch, axis, 0, block, whole, inner));
            if (axis.extent % block != 0)
                result.loops.push_back(
                    sliced(batch, axis, whole * block, axis.extent % block, 1, inner));
            return result;
        }
        // Products take longer than lines that come from the last cache.
        if (products() == 0 || batch.empty() || slices < enough_slices || bytes > 4 * budget())
            return std::nullopt;
        SlicedKernels result{.members = members_, .loops = {}};
        result.loops.push_back(sliced(batch, std::nullopt, 0, 1, 1, inner));
        return result;
    }
    /// Whether an axis moves all operands of products but what caches hold: of slices of rows alone
    /// each would read all columns again.
    [[nodiscard]] bool moves_columns(const Common& axis) const {
        for (std::size_t m = 0; m < members_.size(); ++m) {
            if (!member(m).body || !is_rows_against_columns(member(m))) continue;
            for (const Touch& touch : touches(member(m))) {
                const Buffer& buffer = member(m).nest.at(touch.buffer);
                const double bytes = double(buffer.elements) * double(size_bytes(buffer.dtype));
                if (touch.is_reduced && 2 * bytes > budget() &&
                    touch.address.coefficient(axis.of_member[m].var) == 0)
                    return false;
            }
        }
        return true;
    }
    /// Whether several members write parts of a buffer that another one reads.
    [[nodiscard]] bool is_joined(std::size_t place) const {
        std::set<std::size_t> writers;
        std::set<std::size_t> readers;
        for (const Use& use : uses_.at(place))
            (use.is_store ? writers : readers).insert(use.member);
        return writers.size() > 1 && std::ranges::any_of(readers, [&](std::size_t reader) {
                   return !writers.contains(reader);
               });
    }
    /// Whether a store skips elements from lane to lane, but no lines.
    [[nodiscard]] bool leaves_gaps(const Use& use, std::int64_t line) const {
        std::int64_t least = line;
        for (const Axis& axis : member(use.member).free) {
            const std::int64_t step = std::abs(use.address.coefficient(axis.var));
            if (axis.extent > 1 && step > 0) least = std::min(least, step);
        }
        return least > 1 && least < line;
    }

    /// So many that what passes on stays in a second-level cache; of long rows some more, which
    /// stay in the last one.
    [[nodiscard]] std::int64_t block_rows(const Common& rows, double bytes,
                                          std::int64_t slices) const {
        if (is_forced_) return std::min<std::int64_t>(rows.extent, 3);
        const auto fitting = [&](double cache) {
            return std::int64_t(std::min(cache / bytes, double(rows.extent)));
        };
        const std::int64_t few = std::clamp<std::int64_t>(fitting(2 * caches * budget()), 1,
                                                          std::min(least_rows, rows.extent));
        const std::int64_t busy = ceil_div(rows.extent, ceil_div(enough_slices, slices));
        const std::int64_t most = std::clamp(std::min(fitting(budget()), busy), few, rows.extent);
        for (std::int64_t block = most; 2 * block > most; --block)
            if (rows.extent % block == 0) return block;
        return most;
    }

    /// The members for the slices of `count` blocks of `length` rows from `start` on.
    [[nodiscard]] std::vector<Kernel> sliced(const std::vector<Common>& batch,
                                             const std::optional<Common>& rows, std::int64_t start,
                                             std::int64_t length, std::int64_t count,
                                             const std::vector<std::size_t>& inner) {
        std::vector<Common> axes = batch;
        if (rows) axes.push_back(*rows);
        struct Inner {
            std::size_t place = 0;  ///< of the buffer that holds a slice
            std::int64_t low = 0;   ///< what its first element is called in the slice `start`
        };
        std::map<std::size_t, Inner> moved;
        for (const std::size_t place : inner) {
            const Walk own = walk(uses_.at(place), axes);
            const std::int64_t step = rows ? own.steps.back() : 0;
            const PlanBuffer buffer = builder_.plan().buffers[place];
            moved[place] = {builder_.temporary(buffer.name, buffer.dtype,
                                               step * (length - 1) + own.span(), true),
                            own.low + step * start};
        }
        std::vector<Kernel> result;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            Kernel kernel = member(m);
            for (const Common& axis : batch) {
                std::erase(kernel.free, axis.of_member[m]);
                kernel.slices.push_back(axis.of_member[m]);
            }
            if (rows) cut(kernel, rows->of_member[m], start, length, count);
            std::map<BufferId, std::size_t> buffers;
            for (const std::size_t place : inner)
                if (const auto at = std::ranges::find(kernel.places, place);
                    at != kernel.places.end())
                    buffers[BufferId(at - kernel.places.begin())] = place;
            const auto inside = [&](BufferId buffer, AffineForm address) {
                const Inner& to = moved.at(buffers.at(buffer));
                for (const Axis& axis : kernel.slices)
                    address = address - form(axis.var, address.coefficient(axis.var));
                const bool is_written = kernel.nest.at(buffer).is_written;
                return std::pair(kernel.argument(builder_.plan(), to.place, is_written),
                                 address - form(to.low));
            };
            redirect(kernel, buffers, inside);
            result.push_back(std::move(kernel));
        }
        return result;
    }

    /// Leaves the rows of one block: `start` and `length` times the block's number before its own.
    static void cut(Kernel& kernel, const Axis& rows, std::int64_t start, std::int64_t length,
                    std::int64_t count) {
        const VarId block = kernel.nest.add(Var{kernel.nest.at(rows.var).name + "_block"});
        kernel.slices.push_back({block, count});
        std::ranges::find(kernel.free, rows)->extent = length;
        Substitution to;
        substitute(kernel,
                   to.replace(rows.var, form(start) + form(block, length) + form(rows.var)));
    }

    /// Makes loads and writes of these buffers those of the places that `inside` gives.
    template <class Inside>
    static void redirect(Kernel& kernel, const std::map<BufferId, std::size_t>& buffers,
                         const Inside& inside) {
        std::vector<Value> values = {kernel.body, kernel.arg_place, kernel.conditions.rest};
        for (const Store& write : kernel.writes) {
            values.push_back(write.value);
            values.push_back(write.at.computed);
        }
        Substitution to;
        for_each_node(values, [&](const Value& value) {
            const auto* load = std::get_if<Load>(&value->term);
            if (load == nullptr || !buffers.contains(load->buffer)) return;
            const auto [buffer, at] = inside(load->buffer, load->at.affine);
            to.replace(value, make_load(kernel.nest, buffer, {at}));
        });
        substitute(kernel, to);
        for (Store& write : kernel.writes)
            if (buffers.contains(write.buffer))
                std::tie(write.buffer, write.at.affine) = inside(write.buffer, write.at.affine);
    }

    const std::vector<Kernel>& kernels_;
    std::size_t first_;
    Shared shared_;
    PlanBuilder& builder_;
    const std::set<std::size_t>& read_later_;
    bool is_forced_;
    std::vector<std::size_t> members_;
    std::vector<Common> common_;
    std::map<std::size_t, std::vector<Use>> uses_;  ///< by place
};

}  // namespace

std::optional<SlicedKernels> find_slices(const std::vector<Kernel>& kernels, std::size_t first,
                                         PlanBuilder& builder,
                                         const std::set<std::size_t>& read_later) {
    for (const Shared shared : {Shared::results, Shared::lines})
        if (auto found = Finder(kernels, first, shared, builder, read_later).run()) return found;
    return std::nullopt;
}

}  // namespace ricci::codegen
