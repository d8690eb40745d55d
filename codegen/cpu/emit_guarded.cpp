// codegen/cpu/emit_guarded.cpp – reads of padded arrays in masked lanes
#include <cmath>

#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "base/integer.h"
#include "codegen/cpu/nest_emitter.h"
#include "codegen/cpu/operations.h"
#include "codegen/guarded_reads.h"
#include "codegen/lane_steps.h"

namespace ricci::codegen::cpu {

namespace {

/// Places whose constants lie in one stretch of this, as those of the taps of a row, get one choice
/// between the array and zeros; one each took more instructions than the sums.
constexpr std::int64_t near_bytes = 1024;
/// Besides, what lanes of one register span by short steps, and what the last part of it reads
/// beyond.
constexpr std::uint64_t bytes_of_zeros = near_bytes + 64 * (longest_short_step + 1);

bool is_positive_zero(const Value& value) {
    const auto& constant = std::get<Constant>(value->term);
    return constant.integer == 0 && constant.real == 0 && !std::signbit(constant.real);
}

}  // namespace

/// Memory of zeros.
llvm::Value* NestEmitter::zeros() {
    if (zeros_ != nullptr) return zeros_;
    auto* type = llvm::ArrayType::get(ir_.getInt8Ty(), bytes_of_zeros);
    auto* memory = new llvm::GlobalVariable(*function_->getParent(), type, true,
                                            llvm::GlobalValue::PrivateLinkage,
                                            llvm::Constant::getNullValue(type), "zeros");
    memory->setAlignment(llvm::Align(64));
    return zeros_ = memory;
}

/// Conditions that are the same for all lanes choose where is read, at the place or from zeros;
/// others are masks. Null where lanes are neither neighbours nor a short step apart.
llvm::Value* NestEmitter::load_guarded(const Value& value) {
    if (lanes_ == 0 || !has_masked_stores(target_)) return nullptr;
    const auto read = guarded_read(value);
    if (!read) return nullptr;
    const auto buffer = std::get<Load>(read->load->term).buffer;
    Access place = access(buffer, {read->at});
    const bool is_short =
        lanes_ * size_bytes(read->load->dtype) <= std::size_t(target_.vector_bytes);
    const bool has_steps = (place.lane == 1 && is_short) || has_short_steps(buffer, place);
    if (place.varying || !has_steps || is_local(buffer)) return nullptr;

    llvm::Value* all = nullptr;   // the same for every lane
    llvm::Value* each = nullptr;  // by lane
    for (const Value& condition : read->conditions) {
        llvm::Value* holds = this->value(condition);
        llvm::Value*& whole = holds->getType()->isVectorTy() ? each : all;
        whole = whole ? ir_.CreateAnd(whole, holds) : holds;
    }
    if (all) {
        // The choice is of the start of the stretch, which is the same for all these places. It may
        // lie outside of the array: nothing is read there.
        const DType dtype = nest_.at(buffer).dtype;
        const std::int64_t stretch = near_bytes / std::int64_t(size_bytes(dtype));
        const std::int64_t constant = resolve(read->at).constant;
        const std::int64_t inside = constant - floor_div(constant, stretch) * stretch;
        const auto moved = [&](llvm::Value* pointer, std::int64_t elements) {
            return ir_.CreateGEP(memory_type(ir_.getContext(), dtype), pointer,
                                 ir_.getInt64(std::uint64_t(elements)));
        };
        llvm::Value* start = ir_.CreateSelect(all, moved(place.pointer, -inside), zeros());
        place.pointer = moved(start, inside);
    }
    llvm::Value* const outer = mask_;
    const auto* known = llvm::dyn_cast_or_null<llvm::Constant>(each);
    if (each && (known == nullptr || !known->isAllOnesValue()))
        mask_ = mask_ ? ir_.CreateAnd(mask_, each) : each;
    const Wide lanes = load(buffer, place);
    mask_ = outer;
    if (is_positive_zero(read->otherwise)) return lanes.value();
    llvm::Value* holds = all ? widen(all) : nullptr;
    if (each) holds = holds ? ir_.CreateAnd(holds, each) : each;
    return select(wide(holds), lanes, wide(widen(this->value(read->otherwise)))).value();
}

}  // namespace ricci::codegen::cpu
