// codegen/cpu/emit_squares.cpp – loads and stores of far lanes by rows, transposed in registers
#include <algorithm>
#include <cstdlib>
#include <utility>

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>

#include "base/error.h"
#include "codegen/cpu/nest_emitter.h"
#include "codegen/lane_steps.h"

namespace ricci::codegen::cpu {

namespace {

using Rows = std::vector<llvm::Value*>;

/// AVX2 stores some lanes of elements of so many bytes, and of no smaller ones.
constexpr std::size_t least_masked_bytes = 4;

/// The same lanes, of which instruction selection does not ask where they come from.
llvm::Value* opaque(llvm::IRBuilderBase& ir, llvm::Value* lanes) {
    llvm::Type* type = lanes->getType();
    auto* floats = llvm::FixedVectorType::get(
        ir.getFloatTy(), unsigned(type->getPrimitiveSizeInBits().getFixedValue() / 32));
    lanes =
        ir.CreateUnaryIntrinsic(llvm::Intrinsic::arithmetic_fence, ir.CreateBitCast(lanes, floats));
    return ir.CreateBitCast(lanes, type);
}

/// The columns of a square of as many rows as lanes. First pieces of `piece` elements are
/// transposed each by itself, by interleaving rows half of a piece apart, then the square of
/// pieces, by taking every other one of neighbours. LLVM looks through shuffles of shuffles for
/// better ones and finds none: a square of 16 lanes is compiled in 2.7 ms with a fence after each
/// step, in 3.1 with one halfway, in twice the time without.
Rows transposed(llvm::IRBuilderBase& ir, Rows rows, std::size_t piece) {
    const std::size_t lanes = rows.size();
    const std::size_t pieces = lanes / piece;
    llvm::SmallVector<int> low;
    llvm::SmallVector<int> high;
    for (std::size_t first = 0; first < lanes; first += piece)
        for (std::size_t i = first; i < first + piece / 2; ++i) {
            low.append({int(i), int(i + lanes)});
            high.append({int(i + piece / 2), int(i + piece / 2 + lanes)});
        }
    Rows next(lanes);
    for (std::size_t done = 1; done < piece; done *= 2) {
        for (std::size_t first = 0; first < lanes; first += piece)
            for (std::size_t i = 0; i < piece / 2; ++i) {
                llvm::Value* row = rows[first + i];
                llvm::Value* other = rows[first + i + piece / 2];
                next[first + 2 * i] = ir.CreateShuffleVector(row, other, low);
                next[first + 2 * i + 1] = ir.CreateShuffleVector(row, other, high);
            }
        rows.swap(next);
        if (2 * done < piece || pieces > 1)
            for (llvm::Value*& row : rows) row = opaque(ir, row);
    }
    llvm::SmallVector<int> even;
    llvm::SmallVector<int> odd;
    for (std::size_t first = 0; first < 2 * lanes; first += 2 * piece)
        for (std::size_t i = first; i < first + piece; ++i) {
            even.push_back(int(i));
            odd.push_back(int(i + piece));
        }
    for (std::size_t done = 1; done < pieces; done *= 2) {
        for (std::size_t group = 0; group < pieces / 2; ++group)
            for (std::size_t i = 0; i < piece; ++i) {
                llvm::Value* row = rows[2 * group * piece + i];
                llvm::Value* other = rows[(2 * group + 1) * piece + i];
                next[group * piece + i] = ir.CreateShuffleVector(row, other, even);
                next[(group + pieces / 2) * piece + i] = ir.CreateShuffleVector(row, other, odd);
            }
        rows.swap(next);
        if (2 * done < pieces)
            for (llvm::Value*& row : rows) row = opaque(ir, row);
    }
    return rows;
}

}  // namespace

/// The number of this repetition of what squares are made of: from 0 by 1.
std::size_t NestEmitter::repetition() const {
    return std::size_t(bindings_[std::size_t(*transposing_.var)].constant);
}

/// The repetitions of the square that this one is of: as many as lanes, or those that are left.
unsigned NestEmitter::width_of_square() const {
    const std::size_t first = repetition() / lanes_ * lanes_;
    return unsigned(std::min<std::size_t>(lanes_, transposing_.repetitions - first));
}

/// Whether a load of far lanes moves by few elements from one repetition to the next.
bool NestEmitter::is_transposed(BufferId buffer, const Address& at, const Access& access) const {
    if (!transposing_.var || nest_.at(buffer).is_written || at.computed || access.varying)
        return false;
    const std::int64_t step = at.affine.coefficient(*transposing_.var);
    const bool is_far = std::abs(access.lane) > longest_short_step;
    if (width_of_square() < lanes_)
        return step == 1 && is_far && width_of_square() >= least_columns;
    if (step == 1) return std::abs(access.lane) > 1;
    return step > 1 && step <= longest_short_step && is_far;
}

/// Whether AVX2 stores some lanes of such elements.
bool NestEmitter::masks_some_lanes(BufferId buffer) const {
    return target_.vector_bytes >= 32 && size_bytes(nest_.at(buffer).dtype) >= least_masked_bytes;
}

/// The same of a store whose place no data choose. What it writes is not read in the loops.
bool NestEmitter::is_transposed(const Store& store, const Access& access) const {
    const bool stores_rows = has_masked_stores(target_) || !mask_ || masks_some_lanes(store.buffer);
    return transposing_.var && transposing_.only_store == &store && stores_rows &&
           !store.at.computed && !access.varying && !is_local(store.buffer) &&
           std::abs(access.lane) > longest_short_step &&
           store.at.affine.coefficient(*transposing_.var) == 1 &&
           width_of_square() >= least_columns;
}

/// What a load in squares gives in this repetition, of elements of so many bytes, `step` of them
/// from repetition to repetition. The first repetition of a square loads it. Where lanes take
/// several registers, squares are of one, and stand below each other: a square of 16 numbers takes
/// twice the registers that AVX2 has.
llvm::Value* NestEmitter::column_of(const ValueNode& node, llvm::Type* element, std::size_t bytes,
                                    BufferId buffer, const Access& access, unsigned step) {
    auto& columns = transposing_.columns[&node];
    if (columns.size() <= repetition()) {
        RICCI_ASSERT(columns.size() == repetition(), "a square is loaded by its first repetition");
        const auto in_register = unsigned(std::size_t(target_.vector_bytes) / bytes);
        const bool is_whole = step == 1 && width_of_square() == lanes_;
        const unsigned side = is_whole && lanes_ % in_register == 0 ? in_register : lanes_;
        const auto square = load_transposed(element, bytes, buffer, access, step, side);
        columns.insert(columns.end(), square.begin(),
                       square.begin() + std::min(width_of_square(), side));
    }
    return columns.at(repetition());
}

/// All columns of the squares whose first row begins at the place, of elements of so many bytes:
/// one of the buffer, or several side by side.
std::vector<llvm::Value*> NestEmitter::load_transposed(llvm::Type* element, std::size_t bytes,
                                                       BufferId buffer, const Access& access,
                                                       unsigned step, unsigned side) {
    llvm::Type* number = memory_type(ir_.getContext(), nest_.at(buffer).dtype);
    auto* vector = llvm::FixedVectorType::get(element, side);
    const llvm::Align align(size_bytes(nest_.at(buffer).dtype));
    std::vector<Rows> columns(side);  // pieces of each
    for (unsigned first = 0; first < lanes_; first += side) {
        Rows rows;
        for (unsigned lane = first; lane < first + side; ++lane) {
            llvm::Value* row = ir_.getInt64(lane);
            // Only a bound can mask here: its last lane stands in for those that do not run. As a
            // minimum of numbers, which LLVM does not turn into a branch for each lane.
            if (mask_) row = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, row, last_lane_);
            row = ir_.CreateGEP(number, access.pointer,
                                ir_.CreateMul(row, ir_.getInt64(std::uint64_t(access.lane))));
            rows.push_back(load_row(vector, row, align, step));
        }
        rows = transposed(ir_, std::move(rows), std::min<std::size_t>(piece_bytes / bytes, side));
        for (unsigned i = 0; i < side; ++i) columns[i].push_back(rows[i]);
    }
    Rows whole;
    for (const Rows& pieces : columns) whole.push_back(llvm::concatenateVectors(ir_, pieces));
    return whole;
}

/// Which elements of a row are those of repetitions; null: all.
llvm::Value* NestEmitter::mask_of_row() {
    const unsigned width = width_of_square();
    if (width == lanes_) return nullptr;
    llvm::SmallVector<llvm::Constant*> is_inside;
    for (unsigned i = 0; i < lanes_; ++i) is_inside.push_back(ir_.getInt1(i < width));
    return llvm::ConstantVector::get(is_inside);
}

/// Keeps the lanes until the square has all its repetitions, and stores it by rows then: through
/// the caches, since these are rarely whole lines.
void NestEmitter::store_in_square(const Store& store, const Access& access, Wide lanes) {
    const std::size_t number = repetition() % lanes_;
    if (number == 0) {
        transposing_.stored.clear();
        transposing_.first_stored = access.pointer;
    }
    llvm::Value* column = to_memory(store.buffer, lanes).value();
    transposing_.stored.push_back(column);
    const unsigned width = width_of_square();
    if (number + 1 < width) return;
    llvm::Type* element = memory_type(ir_.getContext(), nest_.at(store.buffer).dtype);
    const std::size_t bytes = size_bytes(nest_.at(store.buffer).dtype);
    Rows rows = std::exchange(transposing_.stored, {});
    rows.resize(lanes_, llvm::PoisonValue::get(column->getType()));
    rows = transposed(ir_, std::move(rows), std::min<std::size_t>(piece_bytes / bytes, lanes_));
    llvm::Value* whole = mask_of_row();
    for (unsigned lane = 0; lane < lanes_; ++lane) {
        llvm::Value* pointer =
            ir_.CreateGEP(element, transposing_.first_stored,
                          ir_.getInt64(std::uint64_t(std::int64_t(lane) * access.lane)));
        llvm::Value* mask = whole;
        if (mask_) {
            llvm::Value* runs = widen(ir_.CreateICmpULE(ir_.getInt64(lane), last_lane_));
            mask = mask ? ir_.CreateAnd(mask, runs) : runs;
        }
        if (mask)
            ir_.CreateMaskedStore(rows[lane], pointer, llvm::Align(bytes), mask);
        else
            ir_.CreateAlignedStore(rows[lane], pointer, llvm::Align(bytes));
    }
}

/// Whether two repetitions store every other element: together they are two whole vectors.
bool NestEmitter::is_interleaved(const Store& store, const Access& access) const {
    const bool has_mask = has_masked_stores(target_) || masks_some_lanes(store.buffer);
    return transposing_.var && transposing_.only_store == &store && transposing_.repetitions == 2 &&
           access.lane == 2 && !store.at.computed && !access.varying && !is_local(store.buffer) &&
           store.at.affine.coefficient(*transposing_.var) == 1 && (!mask_ || has_mask);
}

/// Keeps the lanes of the first repetition, and stores them with those of the second.
void NestEmitter::store_interleaved(const Store& store, const Access& access, Wide lanes) {
    llvm::Value* column = to_memory(store.buffer, lanes).value();
    if (repetition() == 0) {
        transposing_.stored = {column};
        transposing_.first_stored = access.pointer;
        return;
    }
    llvm::Value* first = std::exchange(transposing_.stored, {}).at(0);
    llvm::Type* element = memory_type(ir_.getContext(), nest_.at(store.buffer).dtype);
    const llvm::Align align(size_bytes(nest_.at(store.buffer).dtype));
    for (unsigned half = 0; half < 2; ++half) {
        llvm::SmallVector<int> places;
        llvm::SmallVector<llvm::Constant*> lane_of;
        for (unsigned i = 0; i < lanes_; ++i) {
            const unsigned lane = (half * lanes_ + i) / 2;
            places.push_back(int(i % 2 == 0 ? lane : lanes_ + lane));
            lane_of.push_back(ir_.getInt64(lane));
        }
        llvm::Value* both = ir_.CreateShuffleVector(first, column, places);
        llvm::Value* pointer =
            ir_.CreateGEP(element, transposing_.first_stored, ir_.getInt64(half * lanes_));
        if (!mask_) {
            ir_.CreateAlignedStore(both, pointer, align);
            continue;
        }
        // Only a bound can mask here.
        llvm::Value* runs = ir_.CreateICmpULE(llvm::ConstantVector::get(lane_of),
                                              ir_.CreateVectorSplat(lanes_, last_lane_));
        ir_.CreateMaskedStore(both, pointer, align, runs);
    }
}

/// Of a vector, or as many as lanes where they are `step` apart: of whole vectors, of which the
/// last ends where they do.
llvm::Value* NestEmitter::load_row(llvm::FixedVectorType* vector, llvm::Value* pointer,
                                   llvm::Align align, unsigned step) {
    if (llvm::Value* mask = mask_of_row())
        return ir_.CreateMaskedLoad(vector, pointer, align, mask,
                                    llvm::Constant::getNullValue(vector));
    llvm::Value* row = ir_.CreateAlignedLoad(vector, pointer, align);
    const unsigned last = step * (lanes_ - 1) + 1 - lanes_;  // where the last vector begins
    for (unsigned from = lanes_; from < step * lanes_; from += lanes_) {
        const unsigned first = std::min(from, last);
        llvm::Value* next = ir_.CreateAlignedLoad(
            vector, ir_.CreateGEP(vector->getElementType(), pointer, ir_.getInt64(first)), align);
        // Those of vectors before are in their places after the first turn.
        llvm::SmallVector<int> lanes;
        for (unsigned lane = 0; lane < lanes_; ++lane) {
            const unsigned at = lane * step;
            if (at < from)
                lanes.push_back(int(from == lanes_ ? at : lane));
            else
                lanes.push_back(at < from + lanes_ ? int(lanes_ + at - first) : int(lane));
        }
        row = ir_.CreateShuffleVector(row, next, lanes);
    }
    return row;
}

}  // namespace ricci::codegen::cpu
