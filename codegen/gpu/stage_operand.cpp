// codegen/gpu/stage_operand.cpp – operands of a contraction on their way to shared memory
#include "codegen/gpu/stage_operand.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <unordered_set>

#include "codegen/gpu/threads.h"
#include "codegen/tile.h"

namespace ricci::codegen::gpu {

namespace {

constexpr std::int64_t vector_bytes = 16;
constexpr std::int64_t sector_bytes = 32;

std::int64_t bytes(DType dtype) { return std::int64_t(size_bytes(dtype)); }

std::vector<const Load*> loads(const Value& root) {
    std::vector<const Load*> found;
    std::unordered_set<const ValueNode*> seen;
    std::vector<Value> pending = {root};
    while (!pending.empty()) {
        const Value value = pending.back();
        pending.pop_back();
        if (!seen.insert(value.get()).second) continue;
        // The term keeps its nodes alive.
        if (const auto* load = std::get_if<Load>(&value->term)) found.push_back(load);
        for (const Value& operand : operands(value)) pending.push_back(operand);
    }
    return found;
}

/// Sectors of memory that the loads of a warp touch whose threads run along an axis.
double sectors(const Nest& nest, const Value& term, const Axis& axis, std::int64_t longest_run) {
    const std::int64_t run = std::min({axis.extent, longest_run, warp});
    double total = 0;
    for (const Load* load : loads(term)) {
        const bool is_scattered = load->at.computed && depends_on(load->at.computed, axis.var);
        const std::int64_t step =
            std::abs(load->at.affine.coefficient(axis.var)) * bytes(nest.at(load->buffer).dtype);
        const std::int64_t touched =
            is_scattered || step >= sector_bytes ? run : ceil_div(run * step + 1, sector_bytes);
        total += double(touched) * double(warp) / double(run);
    }
    return total;
}

/// Elements that one load may take along an axis: aligned and contiguous in every array that moves
/// with it.
std::int64_t aligned_lanes(const Nest& nest, const Value& term, const std::vector<Axis>& across,
                           const std::vector<Axis>& depth, const Axis& along) {
    if (!is_contiguous(term, along.var)) return 1;
    Substitution joint;
    for (const std::vector<Axis>* group : {&across, &depth})
        for (const Axis& axis : *group)
            if (axis.extent == 1) joint.replace(axis.var, form(0));
    std::int64_t lanes = std::min<std::int64_t>(4, vector_bytes / bytes(term->dtype));
    for (const Load* load : loads(term)) {
        if (load->at.affine.coefficient(along.var) == 0) continue;
        const std::int64_t size = bytes(nest.at(load->buffer).dtype);
        const std::int64_t divisor =
            known_divisor(nest, load->buffer, joint(load->at.affine), along.var);
        lanes = std::gcd(std::min(lanes, vector_bytes / size), divisor);
    }
    return std::gcd(lanes, along.extent);
}

bool is_copy(const StagedTerm& staged) {
    const auto* load = std::get_if<Load>(&staged.term->term);
    return load != nullptr && !load->at.computed && !staged.condition &&
           bytes(staged.term->dtype) >= 4;
}

}  // namespace

StageWay choose_way(const Nest& nest, const StagedTerm& staged, const std::vector<Axis>& across,
                    std::int64_t width, const std::vector<Axis>& depth, std::int64_t step) {
    StageWay way;
    const double along_depth = sectors(nest, staged.term, depth.back(), step);
    const double along_width = sectors(nest, staged.term, across.back(), warp);
    way.is_along_depth = along_depth < along_width;
    way.sectors = std::min(along_depth, along_width);
    const Axis& along = way.is_along_depth ? depth.back() : across.back();
    way.is_asynchronous = is_copy(staged);
    if (staged.condition) return way;
    way.lanes = std::gcd(aligned_lanes(nest, staged.term, across, depth, along),
                         way.is_along_depth ? step : width);
    if (!way.is_asynchronous || !way.is_along_depth) return way;
    // A copy turns one element at a time: whole vectors through registers take fewer addresses.
    way.is_asynchronous = way.lanes * bytes(staged.term->dtype) < vector_bytes;
    if (way.is_asynchronous) way.lanes = 1;
    return way;
}

OperandStage::OperandStage(Kernel& kernel, StagedTerm staged, std::string name,
                           const TileSide& side, const TileDepth& depth, std::int64_t threads,
                           std::int64_t stages)
    : kernel_(kernel),
      staged_(std::move(staged)),
      name_(std::move(name)),
      side_(side),
      depth_(depth),
      threads_(threads),
      stages_(stages),
      across_axes_(joined({staged_.term, staged_.condition}, side.axes)),
      depth_axes_(joined({staged_.term, staged_.condition}, depth.axes)),
      way_(choose_way(kernel.nest, staged_, across_axes_, side.width, depth_axes_, depth.step)) {
    choose_passes();
    add_buffers();
}

/// Groups of lanes along the contiguous direction, and the threads that take them at once.
std::int64_t OperandStage::along_groups() const {
    return (way_.is_along_depth ? depth_.step : side_.width) / way_.lanes;
}
std::int64_t OperandStage::along_threads() const {
    const std::int64_t threads = std::min(along_groups(), threads_);
    if (!way_.is_asynchronous || !way_.is_along_depth) return threads;
    // Elements that are turned come by whole sectors; the next ones are near, so that one address
    // serves several copies of a thread. Every thread has some.
    const std::int64_t sector = sector_bytes / bytes(staged_.term->dtype);
    return std::min(threads, std::max(sector, threads_ / side_.width));
}

void OperandStage::choose_passes() {
    const std::int64_t along = along_groups();
    const std::int64_t lines = way_.is_along_depth ? side_.width : depth_.step;
    items_ = along * lines;
    const std::int64_t fast_threads = along_threads();
    const std::int64_t slow_threads = threads_ / fast_threads;
    for (std::int64_t slow = 0; slow < lines; slow += slow_threads)
        for (std::int64_t fast = 0; fast < along; fast += fast_threads) {
            if (way_.is_along_depth)
                passes_.push_back({slow / slow_threads, fast, slow});
            else
                passes_.push_back({fast / fast_threads, slow, fast});
        }
}

void OperandStage::add_buffers() {
    const DType dtype = staged_.term->dtype;
    // Lines that are stored element by element begin in different banks.
    pitch_ = side_.width +
             (way_.is_along_depth ? vector_bytes / std::min<std::int64_t>(bytes(dtype), 8) : 0);
    shared_ = add_shared(kernel_.nest, "shared_" + name_, dtype, stages_ * depth_.step * pitch_);
    if (!way_.is_asynchronous)
        registers_ = add_registers(kernel_.nest, "fetched_" + name_, dtype,
                                   std::int64_t(passes_.size()) * way_.lanes);
}

Directive OperandStage::description() const {
    std::string why = way_.is_asynchronous ? "copied asynchronously" : "through registers";
    if (way_.is_along_depth) why += ", turned";
    if (staged_.condition) why += ", where the condition holds";
    return {"stage", name_, {way_.lanes, pitch_}, "elements of a load, from line to line; " + why};
}

Address OperandStage::at(const AffineForm& stage, const AffineForm& point,
                         const AffineForm& place) const {
    return {depth_.step * pitch_ * stage + pitch_ * point + place};
}

Value OperandStage::element(const AffineForm& stage, const AffineForm& point,
                            const AffineForm& place) const {
    return make_load(kernel_.nest, shared_, at(stage, point, place));
}

AffineForm OperandStage::depth_group(const Pass& pass) const {
    return form(way_.is_along_depth ? fast_ : slow_) + form(pass.depth);
}
AffineForm OperandStage::across_group(const Pass& pass) const {
    return form(way_.is_along_depth ? slow_ : fast_) + form(pass.across);
}

Body OperandStage::prepare(VarId thread) {
    Nest& nest = kernel_.nest;
    thread_ = thread;
    fast_ = nest.add(Var{name_ + "_along"});
    slow_ = nest.add(Var{name_ + "_line"});
    Body body;
    body.push_back(make_let_var(fast_, form(thread), 1, along_threads()));
    body.push_back(make_let_var(slow_, form(thread), along_threads(), 0));
    places_.clear();
    const std::int64_t lanes = across_lanes();
    for (const Pass& pass : passes_) {
        if (std::size_t(pass.place) != places_.size()) continue;
        Substitution place;
        Point point{.number = (side_.width / lanes) * side_.tile + across_group(pass),
                    .lanes = lanes,
                    .lane = {},
                    .wraps = side_.has_edge()};
        name_point(nest, across_axes_, point, body, place);
        places_.push_back(std::move(place));
    }
    return body;
}

/// Threads beyond the vectors of a small tile have none.
Body OperandStage::if_it_has_one(Body body) const {
    if (items_ >= threads_) return body;
    const Value has_one =
        make_operation(Op::lt, {make_index(form(thread_)), make_integer(items_)}, DType::boolean);
    return guarded(has_one, std::move(body));
}

Body OperandStage::fetch(const AffineForm& tile, const AffineForm& stage) {
    Body body;
    for (std::size_t i = 0; i < passes_.size(); ++i)
        append(body, load(std::int64_t(i), passes_[i], tile, stage));
    return if_it_has_one(std::move(body));
}

/// One pass: the reduced points are named, then the lanes loaded.
Body OperandStage::load(std::int64_t slot, const Pass& pass, const AffineForm& tile,
                        const AffineForm& stage) {
    Nest& nest = kernel_.nest;
    const std::int64_t lanes = depth_lanes();
    const AffineForm group = depth_group(pass);
    Substitution point = places_.at(std::size_t(pass.place));
    Body names;
    const bool is_joint = std::ranges::all_of(depth_axes_.begin(), depth_axes_.end() - 1,
                                              [](const Axis& axis) { return axis.extent == 1; });
    if (depth_.is_inside_an_axis() && !is_joint) {
        // The axes stand still but for the innermost, which moves by the thread's own place.
        name_point(nest, depth_axes_, {.number = tile, .lanes = depth_.step, .lane = lanes * group},
                   names, point);
    } else {
        name_point(nest, depth_axes_,
                   {.number = (depth_.step / lanes) * tile + group, .lanes = lanes}, names, point);
    }
    VarId lane{};
    if (way_.lanes > 1) lane = nest.add(Var{"l"});
    Body body = std::move(names);
    append(body, copy_lanes(slot, pass, point, lane, stage));
    return if_reduced(pass, tile, std::move(body));
}

/// Where a tile may end beyond the reduced points: inside them.
Body OperandStage::if_reduced(const Pass& pass, const AffineForm& tile, Body body) const {
    if (depth_.rest() == 0) return body;
    const AffineForm number = depth_.step * tile + depth_lanes() * depth_group(pass);
    const Value is_inside =
        make_operation(Op::lt, {make_index(number), make_integer(depth_.extent())}, DType::boolean);
    return guarded(is_inside, std::move(body));
}

Body OperandStage::copy_lanes(std::int64_t slot, const Pass& pass, const Substitution& point,
                              VarId lane, const AffineForm& stage) {
    const AffineForm offset = way_.lanes > 1 ? form(lane) : form(0);
    Substitution here = point;
    // The axis that lanes run along goes on from the group's first element.
    const Axis& along = way_.is_along_depth ? depth_axes_.back() : across_axes_.back();
    if (way_.lanes > 1) here.replace(along.var, point(form(along.var)) + offset);
    Body body;
    if (way_.is_asynchronous) {
        const std::int64_t across = across_lanes();
        const Address to = at(stage, depth_group(pass), across * across_group(pass) + offset);
        Stmt copy = make_store(shared_, to, here(staged_.term));
        std::get<Store>(copy.node).hint = StoreHint::asynchronous;
        body.push_back(std::move(copy));
    } else {
        const Address to{form(way_.lanes * slot) + offset};
        Body evaluate;
        const std::vector<Value> values = share(evaluate, {here(staged_.term)}, kernel_.next_let);
        evaluate.push_back(make_store(registers_, to, values[0]));
        if (staged_.condition) {
            body.push_back(make_store(registers_, to, make_number(dtype(), 0)));
            append(body, guarded(here(staged_.condition), std::move(evaluate)));
        } else {
            body = std::move(evaluate);
        }
    }
    if (way_.lanes == 1) return body;
    Body loop;
    loop.push_back(make_loop(lane, Bind::vector, way_.lanes, std::move(body)));
    return loop;
}

Body OperandStage::put(const AffineForm& tile, const AffineForm& stage) {
    if (way_.is_asynchronous) return {};
    Body body;
    for (std::size_t i = 0; i < passes_.size(); ++i) {
        const Pass& pass = passes_[i];
        const VarId lane = kernel_.nest.add(Var{"l"});
        const AffineForm offset = way_.lanes > 1 ? form(lane) : form(0);
        const Value value =
            make_load(kernel_.nest, registers_, {form(way_.lanes * std::int64_t(i)) + offset});
        const Address to =
            way_.is_along_depth
                ? at(stage, way_.lanes * depth_group(pass) + offset, across_group(pass))
                : at(stage, depth_group(pass), way_.lanes * across_group(pass) + offset);
        Body store;
        store.push_back(make_store(shared_, to, value));
        if (way_.lanes > 1) {
            const Bind bind = way_.is_along_depth ? Bind::unroll : Bind::vector;
            Body loop;
            loop.push_back(make_loop(lane, bind, way_.lanes, std::move(store)));
            store = std::move(loop);
        }
        append(body, if_reduced(pass, tile, std::move(store)));
    }
    return if_it_has_one(std::move(body));
}

}  // namespace ricci::codegen::gpu
