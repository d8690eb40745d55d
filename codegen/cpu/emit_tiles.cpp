// codegen/cpu/emit_tiles.cpp – products of tiles of bf16 numbers: AMX
//
// Eight tile registers of 16 rows of 64 bytes: four hold sums (16 by 16 f32), two those of the row
// side (16 rows of 32 points), two those of the column side (16 pairs of points of 16 columns).
// Their shapes are set once a call of the kernel (Intel's manual, volume 1, chapter 18).
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

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

constexpr std::size_t first_row_tile = 4;
constexpr std::size_t first_column_tile = 6;
constexpr std::int64_t f32_bytes = 4;
constexpr std::int64_t bf16_bytes = 2;

/// The operand of LDTILECFG: palette 1, all tiles of 16 rows of 64 bytes.
llvm::Constant* tile_shapes(llvm::LLVMContext& context) {
    constexpr std::size_t palette = 0;
    constexpr std::size_t row_bytes = 16;  // two bytes each
    constexpr std::size_t rows = 48;
    std::array<std::uint8_t, 64> bytes{};
    bytes[palette] = 1;
    for (std::size_t tile = 0; tile < 8; ++tile) {
        bytes[row_bytes + 2 * tile] = 64;
        bytes[rows + tile] = std::uint8_t(tile_side);
    }
    return llvm::ConstantDataArray::get(context, bytes);
}

bool has_tiles(const Nest& nest) {
    bool is_any = false;
    for_each_tile_product(nest.body, [&](const TileProduct&) { is_any = true; });
    return is_any;
}

/// The registers of one product of tiles.
class Registers {
  public:
    Registers(llvm::IRBuilderBase& ir, const TileProduct& product)
        : ir_(ir),
          product_(product),
          rows_(std::size_t(product.rows / tile_side)),
          columns_(std::size_t(product.columns / tile_side)) {}

    /// Sums are 0, or what they were.
    void start_sums(llvm::Value* sums) {
        for_each_sum([&](std::size_t r, std::size_t c) {
            if (product_.adds)
                run(llvm::Intrinsic::x86_tileloadd64,
                    {sum(r, c), place_of_sum(sums, r, c), sum_step()});
            else
                run(llvm::Intrinsic::x86_tilezero, {sum(r, c)});
        });
    }
    void store_sums(llvm::Value* sums) {
        for_each_sum([&](std::size_t r, std::size_t c) {
            run(llvm::Intrinsic::x86_tilestored64,
                {sum(r, c), place_of_sum(sums, r, c), sum_step()});
        });
    }
    /// Rows pass through the first-level cache beside the columns' panel, which stays.
    void load_rows(const TileSide& side, llvm::Value* block) {
        load(llvm::Intrinsic::x86_tileloaddt164, first_row_tile, rows_, block, side.step,
             tile_side * side.step);
    }
    void load_columns(const TileSide& side, llvm::Value* block) {
        constexpr std::int64_t pair = 2;
        load(llvm::Intrinsic::x86_tileloadd64, first_column_tile, columns_, block, side.step,
             pair * tile_side);
    }
    void multiply() {
        for_each_sum([&](std::size_t r, std::size_t c) {
            run(llvm::Intrinsic::x86_tdpbf16ps,
                {sum(r, c), number(first_row_tile + r), number(first_column_tile + c)});
        });
    }

  private:
    void run(llvm::Intrinsic::ID instruction, const std::vector<llvm::Value*>& arguments) {
        ir_.CreateIntrinsic(instruction, {}, arguments);
    }
    template <class Visit>
    void for_each_sum(const Visit& visit) {
        for (std::size_t r = 0; r < rows_; ++r)
            for (std::size_t c = 0; c < columns_; ++c) visit(r, c);
    }
    /// Steps and places in elements.
    void load(llvm::Intrinsic::ID instruction, std::size_t first, std::size_t count,
              llvm::Value* block, std::int64_t row_step, std::int64_t tile_step) {
        for (std::size_t i = 0; i < count; ++i)
            run(instruction,
                {number(first + i), beyond(block, bf16_bytes * tile_step * std::int64_t(i)),
                 ir_.getInt64(std::uint64_t(bf16_bytes * row_step))});
    }
    [[nodiscard]] llvm::Value* number(std::size_t tile) const {
        return ir_.getInt8(std::uint8_t(tile));
    }
    [[nodiscard]] llvm::Value* sum(std::size_t r, std::size_t c) const { return number(2 * r + c); }
    [[nodiscard]] llvm::Value* place_of_sum(llvm::Value* sums, std::size_t r, std::size_t c) {
        return beyond(
            sums, f32_bytes * tile_side * (std::int64_t(r) * product_.row_step + std::int64_t(c)));
    }
    [[nodiscard]] llvm::Value* sum_step() const {
        return ir_.getInt64(std::uint64_t(f32_bytes * product_.row_step));
    }
    llvm::Value* beyond(llvm::Value* pointer, std::int64_t bytes) {
        return ir_.CreateGEP(ir_.getInt8Ty(), pointer, ir_.getInt64(std::uint64_t(bytes)));
    }

    llvm::IRBuilderBase& ir_;
    const TileProduct& product_;
    std::size_t rows_;     ///< tiles
    std::size_t columns_;  ///< tiles
};

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
    Registers registers(ir_, product);
    llvm::Value* sums = access(product.sum, {product.at}).pointer;
    registers.start_sums(sums);
    const auto places = [&](const std::vector<TileSide>& sides) {
        std::vector<llvm::Value*> all;
        for (const TileSide& side : sides) all.push_back(access(side.buffer, {side.at}).pointer);
        return all;
    };
    const std::vector<llvm::Value*> row_places = places(product.row_sides);
    const std::vector<llvm::Value*> column_places = places(product.column_sides);

    // From block to block: 32 points of a row, 16 pairs of all columns.
    llvm::Value* blocks = bound(product.blocks, false);
    llvm::BasicBlock* before = ir_.GetInsertBlock();
    llvm::BasicBlock* loop = add_block("tiles");
    llvm::BasicBlock* exit = add_block("exit");
    ir_.CreateBr(loop);
    ir_.SetInsertPoint(loop);
    llvm::PHINode* block = ir_.CreatePHI(ir_.getInt64Ty(), 2, "block");
    block->addIncoming(ir_.getInt64(0), before);
    const auto here = [&](llvm::Value* place, const TileSide& side) {
        const auto bytes = std::uint64_t(bf16_bytes * side.block_step);
        return ir_.CreateGEP(ir_.getInt8Ty(), place, ir_.CreateMul(block, ir_.getInt64(bytes)));
    };
    std::optional<std::size_t> row_loaded;
    std::optional<std::size_t> column_loaded;
    for (const auto& [r, c] : product.products) {
        const TileSide& row = product.row_sides[r];
        const TileSide& column = product.column_sides[c];
        if (row_loaded != r) registers.load_rows(row, here(row_places[r], row));
        if (column_loaded != c) registers.load_columns(column, here(column_places[c], column));
        row_loaded = r;
        column_loaded = c;
        registers.multiply();
    }
    llvm::Value* next = ir_.CreateNSWAdd(block, ir_.getInt64(1));
    block->addIncoming(next, loop);
    ir_.CreateCondBr(ir_.CreateICmpSLT(next, blocks), loop, exit);
    ir_.SetInsertPoint(exit);
    registers.store_sums(sums);
}

}  // namespace ricci::codegen::cpu
