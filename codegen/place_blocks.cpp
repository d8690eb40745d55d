// codegen/place_blocks.cpp – places of extremes in windows that overlap, block by block
#include "codegen/place_blocks.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/equation_maker.h"
#include "codegen/joined_indices.h"
#include "codegen/reads_inside.h"
#include "dsl/affine_form.h"
#include "dsl/extent.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

/// Longer terms are left alone.
constexpr std::size_t most_nodes = 128;
/// What the arrays in between and the read at a place of data take, in points of a window.
constexpr std::int64_t arrays_cost = 12;
constexpr std::int64_t rest_cost = 8;
/// Points that are asked for a result.
std::int64_t cost(const WindowBlocks& blocks) {
    return blocks.blocks + blocks.length + blocks.length / 3 + arrays_cost +
           (blocks.rest > 0 ? 2 * blocks.rest + rest_cost : 0);
}

class PlaceBlocks {
  public:
    PlaceBlocks(BoundProgram& program, double least_points)
        : program_(program), make_(program), least_points_(least_points) {}

    bool run() {
        std::vector<BoundEquation> equations = std::move(program_.equations);
        program_.equations.clear();
        bool is_any = false;
        for (BoundEquation& equation : equations) {
            const std::size_t indices = program_.indices.size();
            if (in_blocks(equation)) {
                is_any = true;
                continue;
            }
            program_.indices.resize(indices);
            program_.equations.push_back(std::move(equation));
        }
        return is_any;
    }

  private:
    /// The terms of a block: a point of it is `length*a + b`, and has `a` with an index of the
    /// result in one form alone.
    struct Block {
        Expr value;
        Expr inner;  ///< conditions of b
        Expr outer;  ///< the others
        JoinedIndices window;
        IndexId point{};
    };

    [[nodiscard]] bool is_candidate(const BoundEquation& equation) const {
        if (!equation.reduction || equation.op != Assign::define || equation.at.empty() ||
            (equation.reduction->reducer != Reducer::argmax &&
             equation.reduction->reducer != Reducer::argmin) ||
            postorder({equation.value}).size() > most_nodes || !is_harmless(equation.value))
            return false;
        double points = double(program_.at(equation.reduction->indices[0]).extent());
        for (const IndexId id : equation.indices) points *= double(program_.at(id).extent());
        return points > 0 && points >= least_points_;
    }

    bool in_blocks(const BoundEquation& equation) {
        if (!is_candidate(equation)) return false;
        const WindowBlocks blocks = blocks_of(equation);
        const std::int64_t extent = program_.at(equation.reduction->indices[0]).extent();
        if (blocks.length < 2 || blocks.blocks < 2 ||
            (least_points_ > 0 && cost(blocks) * 2 > extent) ||
            (blocks.rest > 0 && equation.reduction->condition))
            return false;
        const std::optional<Block> block = block_of(equation, blocks);
        if (!block) return false;
        write(equation, blocks, *block);
        return true;
    }

    /// Rows, where the index counts the points of some; else what takes least.
    [[nodiscard]] WindowBlocks blocks_of(const BoundEquation& equation) const {
        const IndexId id = equation.reduction->indices[0];
        const BoundIndex& index = program_.at(id);
        std::int64_t row = 0;
        for (const Expr node : postorder({equation.value})) {
            if (!is_apply(node, Op::floordiv) && !is_apply(node, Op::mod)) continue;
            const auto& args = std::get<Apply>(node->term).args;
            const auto* value = std::get_if<IndexValue>(&args[0]->term);
            const auto divisor = linear_form(args[1]);
            if (value != nullptr && value->index == id && divisor && divisor->parts.empty() &&
                (row == 0 || divisor->constant < row))
                row = divisor->constant;
        }
        if (row > 0 && index.lower == 0 && index.extent() % row == 0)
            return {.blocks = index.extent() / row, .length = row, .rest = 0};
        return row > 0 ? WindowBlocks{}
                       : best_blocks(index.extent(), cost).value_or(WindowBlocks{});
    }

    std::optional<Block> block_of(const BoundEquation& equation, const WindowBlocks& blocks) {
        const IndexId id = equation.reduction->indices[0];
        const BoundIndex all = program_.at(id);
        const IndexId a = make_.index(all.name + "_block", blocks.blocks);
        const IndexId b = make_.index(all.name, blocks.length);
        const Expr place =
            make_.add(make_.add(make_.times(make_.value(a), blocks.length), make_.value(b)),
                      make_.integer(all.lower));
        const auto of_block = [&](Expr e) { return divided(e, id, place, a, b, blocks.length); };
        Block block{.value = of_block(equation.value),
                    .inner = Expr(),
                    .outer = Expr(),
                    .window = {},
                    .point = b};
        for (const Expr each : conjuncts(equation.reduction->condition)) {
            const Expr part = of_block(each);
            const std::vector<IndexId> ids = free_indices(part);
            // All blocks of a window have points, or none has.
            if (!tensors_read(part).empty() || (has_index(ids, a) && has_index(ids, b)))
                return std::nullopt;
            Expr& side = has_index(ids, b) ? block.inner : block.outer;
            side = make_.both(side, part);
        }
        for (JoinedIndices form : forms_of_two({block.value})) {
            if (form.b != a || !has_index(equation.indices, form.a) ||
                (block.inner && has_index(free_indices(block.inner), form.a)))
                continue;
            const auto value = joined(make_, {block.value}, form);
            if (!value) continue;
            block.value = value->front();
            block.window = form;
            return narrow(block) && is_read_inside(block) ? std::optional(block) : std::nullopt;
        }
        return std::nullopt;
    }
    /// The term at the place, of which quotients and remainders by the length are a and b.
    Expr divided(Expr e, IndexId id, Expr place, IndexId a, IndexId b, std::int64_t length) {
        const Expr index = make_.value(id);
        const Expr by = make_.integer(length);
        Context& context = make_.context();
        ExprMap<Expr> known;
        known.emplace(context.apply(Op::floordiv, {index, by}, DType::i64), make_.value(a));
        known.emplace(context.apply(Op::mod, {index, by}, DType::i64), make_.value(b));
        known.emplace(index, place);
        return e ? substitute(context, e, known) : e;
    }
    /// Leaves out what conditions exclude of the form. False where nothing is left.
    bool narrow(const Block& block) {
        for (const Expr each : conjuncts(block.outer))
            (void)take_as_range(program_, block.window.joined,
                                with_joined(make_, each, block.window));
        return program_.at(block.window.joined).extent() > 0;
    }
    [[nodiscard]] bool is_read_inside(const Block& block) const {
        const std::vector<IndexId> ids = free_indices(block.value);
        if (block.inner && std::ranges::any_of(free_indices(block.inner),
                                               [&](IndexId id) { return !has_index(ids, id); }))
            return false;
        return reads_inside(program_, ids, block.inner, block.value);
    }

    void write(const BoundEquation& equation, const WindowBlocks& blocks, const Block& block) {
        const Reduction& reduction = *equation.reduction;
        const Reducer best = reduction.reducer == Reducer::argmax ? Reducer::max : Reducer::min;
        const DType type = reduction.accumulator;
        std::vector<IndexId> kept = free_indices(block.value);
        std::erase(kept, block.point);
        const TensorId of_block = array(equation, "_best", type, kept);
        const TensorId place = array(equation, "_first", DType::i64, kept);
        const TensorId chosen = array(equation, "_block", DType::i64, equation.indices);
        const Reduction inner{.reducer = best,
                              .indices = {block.point},
                              .condition = block.inner,
                              .accumulator = type};
        define(of_block, kept, block.value, inner);
        define(place, kept, block.value, with_reducer(inner, reduction.reducer));

        const auto of = [&](TensorId tensor, Expr number) {
            const JoinedIndices& window = block.window;
            const BoundIndex& values = program_.at(window.joined);
            Expr form = make_.add(make_.times(make_.value(window.a), window.a_step),
                                  make_.times(number, window.b_step));
            // Where conditions leave no block, that of any number may lie outside.
            if (block.outer && number != make_.value(window.b))
                form = make_.min(make_.max(form, make_.integer(values.lower)),
                                 make_.integer(values.upper - 1));
            const EquationMaker::Numbers at_form{{std::uint32_t(window.joined), form}};
            std::vector<Expr> at;
            for (const Expr subscript : make_.offsets(kept))
                at.push_back(make_.with(subscript, at_form));
            return make_.context().access(tensor, std::move(at), program_.at(tensor).dtype);
        };
        const Expr element = of(of_block, make_.value(block.window.b));
        const Reduction outer{.reducer = reduction.reducer,
                              .indices = {block.window.b},
                              .condition = block.outer,
                              .accumulator = type};
        define(chosen, equation.indices, element, outer);

        const std::vector<Expr> here = make_.offsets(equation.indices);
        const Expr number =
            make_.min(make_.element(chosen, here), make_.integer(blocks.blocks - 1));
        const std::int64_t lower = program_.at(reduction.indices[0]).lower;
        BoundEquation total = equation;
        total.reduction.reset();
        const Expr first = of(place, number);
        total.value =
            make_.add(make_.add(make_.times(number, blocks.length), first), make_.integer(lower));
        // Windows without points have no place: one beyond all.
        if (block.inner)
            total.value =
                make_.choose(make_.compare(Op::lt, first, make_.integer(blocks.length)),
                             total.value, make_.integer(lower + blocks.blocks * blocks.length));
        if (blocks.rest > 0)
            total.value = better_of_rest(equation, blocks, total.value, element, outer);
        const DType target = program_.at(equation.target).dtype;
        if (target != DType::i64) total.value = make_.context().cast(total.value, target, true);
        program_.equations.push_back(std::move(total));
    }
    void define(TensorId target, const std::vector<IndexId>& ids, Expr value,
                const Reduction& reduction) {
        make_.define(target, make_.offsets(ids), ids, value, reduction);
    }
    static Reduction with_reducer(Reduction reduction, Reducer reducer) {
        reduction.reducer = reducer;
        return reduction;
    }
    TensorId array(const BoundEquation& equation, const char* name, DType dtype,
                   const std::vector<IndexId>& ids) {
        Shape shape;
        for (const IndexId id : ids) shape.push_back(program_.at(id).extent());
        return make_.array(program_.at(equation.target).name + name, dtype, std::move(shape));
    }

    /// The place of the blocks, or that of what they leave over, where its extreme is better: NaN
    /// before numbers, of equal ones the first.
    Expr better_of_rest(const BoundEquation& equation, const WindowBlocks& blocks, Expr of_blocks,
                        Expr element, const Reduction& outer) {
        const Reduction& reduction = *equation.reduction;
        const BoundIndex all = program_.at(reduction.indices[0]);
        const DType type = reduction.accumulator;
        const bool is_largest = reduction.reducer == Reducer::argmax;
        program_.indices.push_back({.name = all.name,
                                    .lower = all.lower + blocks.blocks * blocks.length,
                                    .upper = all.upper});
        const IndexId point{std::uint32_t(program_.indices.size() - 1)};
        const EquationMaker::Numbers numbers{
            {std::uint32_t(reduction.indices[0]), make_.value(point)}};
        const Expr value = make_.with(equation.value, numbers);
        const Reduction rest{.reducer = is_largest ? Reducer::max : Reducer::min,
                             .indices = {point},
                             .condition = Expr(),
                             .accumulator = type};
        const TensorId best = array(equation, "_best", type, equation.indices);
        const TensorId best_of_rest = array(equation, "_best", type, equation.indices);
        const TensorId place_of_rest = array(equation, "_first", DType::i64, equation.indices);
        define(best, equation.indices, element, with_reducer(outer, rest.reducer));
        define(best_of_rest, equation.indices, value, rest);
        define(place_of_rest, equation.indices, value, with_reducer(rest, reduction.reducer));
        Context& context = make_.context();
        const std::vector<Expr> here = make_.offsets(equation.indices);
        const auto read = [&](TensorId tensor) {
            return context.access(tensor, here, program_.at(tensor).dtype);
        };
        const Expr is_within =
            make_.compare(is_largest ? Op::le : Op::ge, read(best_of_rest), read(best));
        const Expr is_better =
            make_.both(make_.compare(Op::eq, read(best), read(best)),
                       context.apply(Op::logical_not, {is_within}, DType::boolean));
        return make_.choose(is_better, read(place_of_rest), of_blocks);
    }

    BoundProgram& program_;
    EquationMaker make_;
    double least_points_;
};

}  // namespace

BoundProgram with_place_blocks(BoundProgram program, double least_points) {
    for (int level = 0; level < most_levels_of_blocks && PlaceBlocks(program, least_points).run();
         ++level) {
    }
    return program;
}

}  // namespace ricci::codegen
