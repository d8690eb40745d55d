// codegen/cpu/emit_folds.cpp – the lanes of as many rows as there are lanes, folded side by side
//
// Folding the lanes of one vector takes a shuffle and an operation for each halving: 8 instructions
// for 16 lanes. Two vectors are halved together by two shuffles and one operation that give one
// vector, so that 16 rows take 45 instructions instead of 128, and their results stand in lanes.
#include <algorithm>
#include <bit>
#include <vector>

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>

#include "codegen/cpu/nest_emitter.h"
#include "codegen/cpu/operations.h"

namespace ricci::codegen::cpu {

namespace {

struct Folding {
    Reducer reducer;
    DType dtype;

    /// Both vectors hold groups of partial results. Each group is halved; then the groups of `a`
    /// stand before those of `b` in every span of so many lanes.
    [[nodiscard]] Wide halved(Wide a, Wide b, std::size_t span, std::size_t group) const {
        const std::size_t lanes = a.lanes();
        llvm::SmallVector<int> first;
        llvm::SmallVector<int> second;
        for (std::size_t start = 0; start < lanes; start += span)
            for (const std::size_t vector : {std::size_t{0}, lanes})
                for (std::size_t lane = start; lane < start + span; lane += group)
                    for (std::size_t i = 0; i < group / 2; ++i) {
                        first.push_back(int(vector + lane + i));
                        second.push_back(int(vector + lane + i + group / 2));
                    }
        auto& ir = a.ir();
        return combine(reducer, dtype, {ir, ir.CreateShuffleVector(a.value(), b.value(), first)},
                       {ir, ir.CreateShuffleVector(a.value(), b.value(), second)});
    }
    /// All vectors in one, by halving neighbours.
    [[nodiscard]] Wide tree(std::vector<Wide> vectors, std::size_t span, std::size_t group) const {
        for (; vectors.size() > 1; group /= 2) {
            std::vector<Wide> next;
            for (std::size_t i = 0; i < vectors.size(); i += 2)
                next.push_back(halved(vectors[i], vectors[i + 1], span, group));
            vectors = std::move(next);
        }
        return vectors[0];
    }
    /// In each lane the fold of the row of its number.
    [[nodiscard]] Wide operator()(const std::vector<Wide>& rows) const {
        const std::size_t lanes = rows.size();
        const std::size_t piece = std::min(lanes, piece_bytes / size_bytes(dtype));
        // Rows whose results stand at the same place of their pieces, down to a piece for each.
        std::vector<Wide> places;
        for (std::size_t place = 0; place < piece; ++place) {
            std::vector<Wide> same;
            for (std::size_t row = place; row < lanes; row += piece) same.push_back(rows[row]);
            places.push_back(tree(std::move(same), lanes, lanes));
        }
        return tree(std::move(places), piece, piece);
    }
};

/// Whether a loop runs from 0 to `extent` by 1.
bool runs_over(const Loop& loop, std::int64_t extent) {
    const auto is = [](const LoopBound& bound, std::int64_t number) {
        return bound.size() == 1 && bound[0].divisor == 1 && bound[0].form.is_constant() &&
               bound[0].form.constant == number;
    };
    return loop.step == 1 && is(loop.lower, 0) && is(loop.upper, extent);
}

}  // namespace

/// Whether the unrolled loop folds vectors, each into an element of its own, and nothing else: as
/// many vectors as lanes.
const Store* NestEmitter::as_fold_of_rows(const Loop& loop) const {
    const auto* lanes = loop.body.size() == 1 ? std::get_if<Loop>(&loop.body[0].node) : nullptr;
    if (lanes_ != 0 || lanes == nullptr || lanes->bind != Bind::vector || lanes->body.size() != 1 ||
        lanes->upper.size() != 1)
        return nullptr;
    const std::int64_t extent = lanes->upper[0].form.constant;
    const auto* store = std::get_if<Store>(&lanes->body[0].node);
    if (store == nullptr || !store->combine || store->at.computed || !runs_over(loop, extent) ||
        !runs_over(*lanes, extent) || extent < 2 || !std::has_single_bit(std::uint64_t(extent)))
        return nullptr;
    const auto* load = std::get_if<Load>(&store->value->term);
    const DType dtype = nest_.at(store->buffer).dtype;
    const bool is_fold = load != nullptr && !load->at.computed && is_local(load->buffer) &&
                         is_local(store->buffer) && load->buffer != store->buffer &&
                         load->at.affine.coefficient(lanes->var) == 1 &&
                         store->at.affine.coefficient(lanes->var) == 0 &&
                         store->at.affine.coefficient(loop.var) == 1;
    return is_fold && store->value->dtype == dtype ? store : nullptr;
}

void NestEmitter::fold_rows(const Loop& loop, const Store& store) {
    const auto& lanes = std::get<Loop>(loop.body[0].node);
    std::vector<Wide> rows;
    for (std::int64_t row = 0; row < loop.upper[0].form.constant; ++row) {
        bindings_.at(std::size_t(loop.var)) = {.kind = Binding::Kind::constant, .constant = row};
        vector_loop(lanes, [&] { rows.push_back(wide(start_value(store.value))); });
    }
    const DType dtype = nest_.at(store.buffer).dtype;
    // Bits would be taken apart one by one: they are folded as the bytes that they are in memory.
    for (Wide& row : rows) row = to_memory(store.buffer, row);
    const Wide folded = from_memory(store.buffer, Folding{*store.combine, dtype}(rows));
    vector_loop(loop, [&] {
        const Access place = access(store.buffer, store.at);
        store_lanes(store, place,
                    combine(*store.combine, dtype, load(store.buffer, place), folded));
    });
}

}  // namespace ricci::codegen::cpu
