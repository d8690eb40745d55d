// codegen/cpu/emit_tiles.cpp – products of tiles of bf16 numbers: AMX
//
// Eight tile registers of 16 rows of 64 bytes: four hold sums (16 by 16 f32), two those of the row
// side (16 rows of 32 points), two those of the column side (16 pairs of points of 16 columns).
// Their shapes are set once a call of the kernel (Intel's manual, volume 1, chapter 18).
#include <array>
#include <cstdint>
#include <optional>

#include <llvm/IR/BasicBlock.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include "base/error.h"
#include "codegen/cpu/nest_emitter.h"
#include "codegen/nest_walk.h"

namespace ricci::codegen::cpu {

namespace {

constexpr std::int64_t tile_rows = 16;
constexpr std::size_t first_row_tile = 4;
constexpr std::size_t first_column_tile = 6;

/// The operand of LDTILECFG: palette 1, all tiles of 16 rows of 64 bytes.
llvm::Constant* tile_shapes(llvm::LLVMContext& context) {
    constexpr std::size_t palette = 0;
    constexpr std::size_t row_bytes = 16;  // two bytes each
    constexpr std::size_t rows = 48;
    std::array<std::uint8_t, 64> bytes{};
    bytes[palette] = 1;
    for (std::size_t tile = 0; tile < 8; ++tile) {
        bytes[row_bytes + 2 * tile] = 64;
        bytes[rows + tile] = tile_rows;
    }
    return llvm::ConstantDataArray::get(context, bytes);
}

bool has_tiles(const Nest& nest) {
    bool is_any = false;
    for_each_tile_product(nest.body, [&](const TileProduct&) { is_any = true; });
    return is_any;
}

}  // namespace

void NestEmitter::configure_tiles(llvm::Module& module) {
    if (!has_tiles(nest_)) return;
    RICCI_ASSERT(target_.has_bf16_tiles, "the target has no tiles");
    llvm::Constant* shapes = tile_shapes(ir_.getContext());
    auto* memory = new llvm::GlobalVariable(module, shapes->getType(), true,
                                            llvm::GlobalValue::PrivateLinkage, shapes, "tiles");
    memory->setAlignment(llvm::Align(64));
    ir_.CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, {}, {memory});
    has_tiles_ = true;
}

void NestEmitter::release_tiles() {
    if (has_tiles_) ir_.CreateIntrinsic(llvm::Intrinsic::x86_tilerelease, {}, {});
}

void NestEmitter::tile_product(const TileProduct& product) {
    RICCI_ASSERT(lanes_ == 0 && has_tiles_, "a product of tiles stands in no vector loop");
    const auto number = [&](std::size_t tile) { return ir_.getInt8(std::uint8_t(tile)); };
    const auto bytes = [&](std::int64_t elements, std::int64_t each) {
        return ir_.getInt64(std::uint64_t(elements * each));
    };
    const auto beyond = [&](llvm::Value* pointer, std::int64_t offset) {
        return ir_.CreateGEP(ir_.getInt8Ty(), pointer, ir_.getInt64(std::uint64_t(offset)));
    };
    constexpr std::int64_t f32_bytes = 4;
    constexpr std::int64_t bf16_bytes = 2;
    const auto rows = std::size_t(product.rows / tile_rows);
    const auto columns = std::size_t(product.columns / tile_rows);

    llvm::Value* sum = access(product.sum, {product.at}).pointer;
    llvm::Value* row_bytes = bytes(product.row_step, f32_bytes);
    const auto each_sum = [&](const auto& visit) {
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t c = 0; c < columns; ++c) {
                const std::int64_t element =
                    tile_rows * (std::int64_t(r) * product.row_step + std::int64_t(c));
                visit(number(2 * r + c), beyond(sum, f32_bytes * element));
            }
    };
    each_sum([&](llvm::Value* tile, llvm::Value* place) {
        if (product.adds)
            ir_.CreateIntrinsic(llvm::Intrinsic::x86_tileloadd64, {}, {tile, place, row_bytes});
        else
            ir_.CreateIntrinsic(llvm::Intrinsic::x86_tilezero, {}, {tile});
    });

    // From block to block: 32 points of a row, 16 pairs of all columns.
    std::vector<llvm::Value*> row_places;
    std::vector<llvm::Value*> column_places;
    for (const TileSide& side : product.row_sides)
        row_places.push_back(access(side.buffer, {side.at}).pointer);
    for (const TileSide& side : product.column_sides)
        column_places.push_back(access(side.buffer, {side.at}).pointer);
    llvm::Value* blocks = bound(product.blocks, false);
    llvm::BasicBlock* before = ir_.GetInsertBlock();
    llvm::BasicBlock* loop = add_block("tiles");
    llvm::BasicBlock* exit = add_block("exit");
    ir_.CreateBr(loop);
    ir_.SetInsertPoint(loop);
    llvm::PHINode* block = ir_.CreatePHI(ir_.getInt64Ty(), 2, "block");
    block->addIncoming(ir_.getInt64(0), before);

    // Rows pass through the first-level cache beside the columns' panel, which stays.
    const auto load = [&](std::size_t first, std::size_t count, llvm::Value* start,
                          const TileSide& side, std::int64_t block_bytes, std::int64_t tile_bytes) {
        const llvm::Intrinsic::ID instruction = first == first_row_tile
                                                    ? llvm::Intrinsic::x86_tileloaddt164
                                                    : llvm::Intrinsic::x86_tileloadd64;
        llvm::Value* here = ir_.CreateGEP(
            ir_.getInt8Ty(), start, ir_.CreateMul(block, ir_.getInt64(std::uint64_t(block_bytes))));
        for (std::size_t i = 0; i < count; ++i)
            ir_.CreateIntrinsic(instruction, {},
                                {number(first + i), beyond(here, tile_bytes * std::int64_t(i)),
                                 bytes(side.step, bf16_bytes)});
    };
    std::optional<std::size_t> row_loaded;
    std::optional<std::size_t> column_loaded;
    for (const auto& [r, c] : product.products) {
        const TileSide& row_side = product.row_sides[r];
        const TileSide& column_side = product.column_sides[c];
        if (row_loaded != r)
            load(first_row_tile, rows, row_places[r], row_side, bf16_bytes * row_side.block_step,
                 bf16_bytes * tile_rows * row_side.step);
        if (column_loaded != c)
            load(first_column_tile, columns, column_places[c], column_side,
                 bf16_bytes * column_side.block_step, bf16_bytes * 2 * tile_rows);
        row_loaded = r;
        column_loaded = c;
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < columns; ++j)
                ir_.CreateIntrinsic(
                    llvm::Intrinsic::x86_tdpbf16ps, {},
                    {number(2 * i + j), number(first_row_tile + i), number(first_column_tile + j)});
    }
    llvm::Value* next = ir_.CreateNSWAdd(block, ir_.getInt64(1));
    block->addIncoming(next, loop);
    ir_.CreateCondBr(ir_.CreateICmpSLT(next, blocks), loop, exit);
    ir_.SetInsertPoint(exit);
    each_sum([&](llvm::Value* tile, llvm::Value* place) {
        ir_.CreateIntrinsic(llvm::Intrinsic::x86_tilestored64, {}, {tile, place, row_bytes});
    });
}

}  // namespace ricci::codegen::cpu
