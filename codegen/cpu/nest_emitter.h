// codegen/cpu/nest_emitter.h – the walk over one nest that emits its kernel
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/target.h"
#include "codegen/cpu/wide.h"
#include "codegen/nest.h"

namespace llvm {
class BasicBlock;
class Function;
class Instruction;
class Module;
class PHINode;
class StoreInst;
}  // namespace llvm

namespace ricci::codegen::cpu {

/// Most shuffles of x86 move elements inside such pieces only; others move whole pieces.
inline constexpr std::size_t piece_bytes = 16;

/// Emits one nest as one LLVM function. Loops become control flow (`serial`), repetition
/// (`unroll`) or lanes (`vector`): inside a vector loop a value is a vector when it depends on the
/// lane and a scalar when it does not.
///
/// Addresses are built outside in: every run-time variable opens a Scope, whose prologue block
/// holds the part of each pointer that needs no deeper variable. Innermost loops are left with one
/// moving pointer for each operand and constant offsets.
class NestEmitter {
  public:
    NestEmitter(llvm::IRBuilderBase& ir, const Nest& nest, const Target& target)
        : ir_(ir), nest_(nest), target_(target), bindings_(nest.vars.size()) {}

    /// Adds the entry point of that name to the module.
    void emit(llvm::Module& module, const std::string& symbol);

  private:
    /// What a variable is at the present place of the walk.
    struct Binding {
        enum class Kind : std::uint8_t {
            unbound,
            constant,  ///< `constant`
            scalar,    ///< `value`, one of a scope
            lane,      ///< `constant` or `value` in the first lane, `step` more in each next one
            varying,   ///< the vector `value`
        };
        Kind kind = Kind::unbound;
        std::int64_t constant = 0;
        llvm::Value* value = nullptr;
        std::size_t scope = 0;  ///< the scope that `value` (scalar, lane) belongs to
        std::int64_t step = 1;
        std::int64_t multiple = 1;  ///< a divisor of a run-time `value`
    };
    using Terms = std::vector<AffineForm::Term>;
    /// An affine form with the bindings put in: constant + terms + lane * number + varying.
    struct Place {
        std::int64_t constant = 0;
        Terms terms = {};                ///< of variables with scalar values
        std::int64_t lane = 0;           ///< coefficient of the lane's number
        llvm::Value* varying = nullptr;  ///< i64 lanes

        [[nodiscard]] bool is_constant() const { return terms.empty() && is_uniform(); }
        [[nodiscard]] bool is_uniform() const { return lane == 0 && varying == nullptr; }
    };
    /// A buffer whose elements are read, by one of equal pointers to it.
    struct Base {
        BufferId buffer;
        unsigned pointer = 0;
    };
    /// The part of the kernel where one more variable is known.
    struct Scope {
        llvm::Instruction* end;  ///< hoisted instructions go before this one
        /// Of a loop: the branch into it, and pointers that move with its variable, each by so many
        /// elements from step to step.
        llvm::Instruction* before = nullptr;
        llvm::Value* first = nullptr;
        std::vector<std::tuple<llvm::PHINode*, llvm::Type*, std::int64_t>> moving = {};
        std::map<std::pair<std::int64_t, std::vector<std::int64_t>>, llvm::Value*> known = {};
    };
    /// How a loop runs: from `lower`, at most `limit` further (when known), below `rest` too.
    struct Extent {
        LoopBound lower;
        std::optional<std::int64_t> limit;
        LoopBound rest;
    };
    /// Where in memory a load or store goes.
    struct Access {
        llvm::Value* pointer = nullptr;  ///< of the first lane
        std::int64_t lane = 0;           ///< elements from lane to lane
        llvm::Value* varying = nullptr;  ///< further elements, by lane
        std::int64_t alignment = 1;      ///< bytes, of `pointer`
        [[nodiscard]] bool is_uniform() const { return lane == 0 && varying == nullptr; }
    };

    /// One of the vectors of memory that lanes some elements apart span.
    struct Part {
        std::vector<int> lanes;       ///< which lane each element is of
        llvm::Value* mask = nullptr;  ///< whether it is that of a lane that runs
    };
    /// Squares of repetitions times lanes: a load that moves by few elements from repetition to
    /// repetition is done for all of a square at once, by rows, and transposed in registers; a
    /// store that moves by one likewise.
    struct Transposing {
        std::optional<VarId> var = std::nullopt;  ///< counts the repetitions
        std::size_t repetitions = 0;
        std::unordered_map<const ValueNode*, std::vector<llvm::Value*>> columns = {};
        const Store* only_store =
            nullptr;  ///< null where there are more, or what it writes is read
        std::vector<llvm::Value*> stored = {};  ///< of its square so far
        llvm::Value* first_stored = nullptr;    ///< where the first of these goes
    };

    // Statements: emit_statement.cpp.
    llvm::Function* declare_body(llvm::Module& module, const std::string& symbol);
    llvm::Function* emit_body(llvm::Module& module, const std::string& symbol);
    [[nodiscard]] std::vector<bool> unaligned_streams() const;
    void emit_entry(llvm::Module& module, const std::string& symbol, llvm::Function* any,
                    llvm::Function* aligned, const std::vector<bool>& streamed);
    void allocate_buffers();
    void body(const Body& statements);
    void statement(const Stmt& statement);
    void parallel_loop(const Loop& loop);
    void serial_loop(const Loop& loop);
    void counted_loop(const Loop& loop, llvm::Value* lower, llvm::Value* upper, Binding binding);
    void unrolled_loop(const Loop& loop);
    void repeat(const Loop& loop, const Body& statements);
    void vector_loop(const Loop& loop, const std::function<void()>& emit_body);
    [[nodiscard]] bool is_cheap_in_lanes(const Body& statements);
    void guard(const Guard& guard);
    void prefetch(const Prefetch& prefetch);

    // Products of tiles: emit_tiles.cpp.
    void configure_tiles(llvm::Module& module);
    void tile_product(const TileProduct& product);
    void release_tiles();

    /// Whether the statements were two guards that exclude each other, which it has emitted.
    bool guard_either(const Stmt& first, const Stmt& second);
    void let_var(const LetVar& let);
    void let_bound(const LetBound& let);
    /// What `emit_body` emits runs when the bit is set.
    void when(llvm::Value* condition, const std::function<void()>& emit_body);
    /// What the one emits runs where the bit is set, what the other does where it is not.
    void either(llvm::Value* condition, const std::function<void()>& emit_one,
                const std::function<void()>& emit_other);

    // Variables and addresses: emit_address.cpp.
    Extent extent(const Loop& loop) const;
    [[nodiscard]] Place resolve(const AffineForm& form) const;
    llvm::Value* scalar_sum(std::int64_t constant, const Terms& terms);
    llvm::Value* opaque_copy(llvm::Value* value, const char* constraint);
    Wide hidden_one(llvm::Type* type);
    llvm::Value* first_element(const Base& base);
    [[nodiscard]] unsigned own_pointer(const Address& at) const;
    llvm::Value* hoisted(const std::optional<Base>& base, const Terms& terms);
    llvm::Value* moving(std::size_t scope, const Base& base, std::int64_t coefficient,
                        const Terms& outer);
    llvm::Value* index_value(const AffineForm& form, DType dtype);
    llvm::Value* bound(const LoopBound& bound, bool is_lower);
    llvm::Value* lane_numbers(std::int64_t step);
    Access access(BufferId id, const Address& at);
    [[nodiscard]] std::int64_t divisor_of(const Place& place) const;
    std::int64_t alignment(BufferId id, const Place& place) const;
    std::size_t open_scope();
    void close_scopes(std::size_t count) { scopes_.resize(count, Scope{nullptr}); }
    llvm::BasicBlock* add_block(const char* name);

    // Values: emit_value.cpp. The memo is for one statement.
    llvm::Value* start_value(const Value& value);
    llvm::Value* value(const Value& value);
    llvm::Value* evaluate(const ValueNode& node);
    llvm::Value* operate(const Operate& operate, DType dtype);
    llvm::Value* sum(const std::vector<Value>& args);
    Wide apply(Op op, DType dtype, std::span<const Wide> args) const;
    Wide power(const Value& base, const Value& exponent);
    /// `total + term`, as an fma where the term is a product.
    Wide accumulate(Wide total, const Value& term, bool is_in_memory = false);
    [[nodiscard]] bool is_broadcast_anew(const Value& value) const;
    [[nodiscard]] bool is_product(const Value& term) const;
    std::pair<Wide, Wide> factors(const Value& term);
    llvm::Value* widen(llvm::Value* value);
    std::pair<Wide, Wide> alike(Wide a, Wide b);
    Wide wide(llvm::Value* value) { return {ir_, value}; }

    // Squares of far lanes: emit_squares.cpp.
    [[nodiscard]] std::size_t repetition() const;
    [[nodiscard]] unsigned width_of_square() const;
    [[nodiscard]] bool is_transposed(BufferId buffer, const Address& at,
                                     const Access& access) const;
    [[nodiscard]] bool masks_some_lanes(BufferId buffer) const;
    [[nodiscard]] bool is_transposed(const Store& store, const Access& access) const;
    llvm::Value* column_of(const ValueNode& node, llvm::Type* element, std::size_t bytes,
                           BufferId buffer, const Access& access, unsigned step);
    std::vector<llvm::Value*> load_transposed(llvm::Type* element, std::size_t bytes,
                                              BufferId buffer, const Access& access, unsigned step,
                                              unsigned side);
    llvm::Value* load_row(llvm::FixedVectorType* vector, llvm::Value* pointer, llvm::Align align,
                          unsigned step);
    llvm::Value* mask_of_row();
    void store_in_square(const Store& store, const Access& access, Wide lanes);
    [[nodiscard]] bool is_interleaved(const Store& store, const Access& access) const;
    void store_interleaved(const Store& store, const Access& access, Wide lanes);

    // Loads and stores: emit_memory.cpp.
    llvm::Value* load(const ValueNode& node, BufferId buffer, const Address& at);
    /// A read whose lanes are masked by its conditions; null where it is no such thing.
    llvm::Value* load_guarded(const Value& value);
    llvm::Value* zeros();
    Wide load(BufferId buffer, const Access& access);
    llvm::Value* load_lanes(BufferId buffer, const Access& access);
    [[nodiscard]] bool has_short_steps(BufferId buffer, const Access& access) const;
    Part part_of(std::int64_t step, unsigned number);
    llvm::Value* load_with_steps(BufferId buffer, const Access& access);
    void store_with_steps(const Store& store, const Access& access, Wide lanes);
    llvm::Value* lane_pointers(BufferId buffer, const Access& access);
    void store(const Store& store);
    void store_lanes(const Store& store, const Access& access, Wide value);
    llvm::Value* opaque_mask(llvm::Value* mask);
    [[nodiscard]] std::optional<unsigned> first_lanes(llvm::Value* mask) const;
    void store_first(unsigned count, Wide lanes, llvm::Value* pointer, llvm::Align align);
    void store_last_lane(const Store& store, const Access& access, Wide value);
    void store_one_by_one(const Store& store, const Access& access, Wide value);
    void write_scalar(const Store& store, const Access& access, Wide value);
    void mark(const Store& store, const Access& access, llvm::StoreInst* instruction);
    llvm::Value* last_lane_pointer(BufferId buffer, const Access& access);
    llvm::Value* mask_or_all();
    [[nodiscard]] bool is_local(BufferId buffer) const;
    Wide to_memory(BufferId buffer, Wide value);
    Wide from_memory(BufferId buffer, Wide value);

    // Two elements that stand side by side: emit_pairs.cpp.
    [[nodiscard]] bool is_pair(const Store& first, const Store& second) const;
    void store_pair(const Store& first, const Store& second);
    std::optional<Wide> transposed_pair(const Value& first, const Value& second);
    std::optional<Wide> dot(const Store& store, Wide old);
    llvm::Value* dot_operand(const Load& first, llvm::Type* element);

    // Lanes of several rows: emit_folds.cpp.
    [[nodiscard]] const Store* as_fold_of_rows(const Loop& loop) const;
    void fold_rows(const Loop& loop, const Store& store);

    llvm::IRBuilderBase& ir_;
    const Nest& nest_;
    const Target& target_;
    llvm::Function* function_ = nullptr;
    std::vector<llvm::Value*> buffers_;  ///< the first element of each
    std::map<std::pair<BufferId, unsigned>, llvm::Value*> further_pointers_;  ///< to the same
    std::map<llvm::Type*, llvm::Value*> hidden_ones_;
    std::vector<Binding> bindings_;
    std::vector<Scope> scopes_;
    std::unordered_map<std::uint32_t, llvm::Value*> lets_;
    std::unordered_map<const ValueNode*, llvm::Value*> memo_;
    unsigned lanes_ = 0;           ///< of the vector loop around this place; 0: none
    bool is_rest_ = false;         ///< whether these are fewer lanes than its full vectors have
    llvm::Value* mask_ = nullptr;  ///< the lanes that run; null: all
    llvm::Value* last_lane_ = nullptr;  ///< the last one that the bound of the lanes lets run
    Transposing transposing_;
    std::int64_t repetitions_ = 1;  ///< of this place, by the unrolled loops around it
    std::vector<std::pair<VarId, std::int64_t>> repeated_;  ///< these loops and their repetitions
    bool streams_ = false;          ///< whether a store went around the caches
    llvm::Value* zeros_ = nullptr;  ///< zeros in memory, for reads that conditions exclude
    bool has_tiles_ = false;        ///< whether tile registers are in use
};

}  // namespace ricci::codegen::cpu
