// codegen/nest.h – loop nests: what a kernel does, for CPU and GPU alike
//
// A Nest is one kernel: an outermost range of independent tasks (the loop bound `parallel`, or
// a `block` and a `thread` loop on a GPU) around serial, unrolled and vector loops. Its terms
// (Value) are scalar; vectors appear only as loops:
//
//   vector   the body is executed once with the variable as a lane index. The lower bound is 0. The
//            first term of the upper bound is a constant, a power of two: the number of lanes
//            (those of a register times a small factor); further terms are a mask (where one is 0
//            or less no lane is active). Inactive lanes load and store nothing. Loads and stores
//            whose address moves by 1 with the variable are vector accesses, by 0 broadcasts,
//            otherwise gathers. No loop but `unroll` stands inside a vector loop; a Let or LetVar
//            inside may vary by lane.
//   unroll   the body is repeated, the variable a constant. Bounds that are known once the unrolled
//            loops around it are; one term of the upper one is a number.
//   serial   a loop with affine bounds; it may carry values through buffers.
//
// Buffers in `registers` space are small arrays whose addresses are constants after unrolling, or
// constants plus the lane variable: accumulator tiles. They live in machine registers. A slot is
// either a scalar (its address never has a lane) or a vector (always constant + lane, the constant
// a multiple of the lanes), never both; vectors of more lanes lie on several of fewer. A Store with
// `combine` into a scalar slot inside a vector loop folds the active lanes in a fixed tree (upper
// half into lower half).
//
// Arithmetic: operands of `add` and `mul` are taken left to right, `add(a, neg(b))` is a
// subtraction; floating operations may be contracted to fma and sums reassociated only as the nest
// spells out; NaN and infinities are honoured; integers wrap; `//`, `%` by zero give 0. max and min
// (operations and combining stores) propagate NaN; of bool they are `or` and `and`.
// What is added to f32 lanes of registers and is a sum of two products of bf16 loads,
// `f32(a[i]) * f32(b[j]) + f32(a[i+1]) * f32(b[j+1])`, may be one instruction that takes subnormal
// numbers and sums as 0 (`Target::has_bf16_dot`); of i16 loads and i32 lanes likewise, exact but
// for sums that wrap.
// A Store with `combine` reads, combines and writes. Two tasks never write the same element (other
// than by atomic stores) and no task reads what another writes. Numbers of Lets are unique in a
// nest.
//
// On a GPU the body is one `block` loop, holding one `thread` loop, holding the rest; both from 0
// by 1 with constant extents, the threads a multiple of 32, at most 1024. `registers` and `scratch`
// belong to a thread, `shared` to a block; none is initialised. Barrier, Fold, Commit and Wait
// stand where all threads of a block arrive: in no Guard, and in no loop whose bounds depend on the
// thread. Between barriers no thread touches a shared element that another one writes. Vector loops
// have at most 16 bytes of lanes; a slot of a register buffer may be read as a scalar and as part
// of a vector.
//
// Hint to emitters: in an `unroll` loop directly around a vector loop a load or a lone store that
// moves by one with the unrolled variable (a load, in as many turns as lanes, by up to four) and by
// more than that with the lane is a register transpose; a lone store of two turns, two elements
// from lane to lane, is one of two whole vectors.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "dsl/ops.h"

namespace ricci::codegen {

enum class VarId : std::uint32_t {};
enum class BufferId : std::uint32_t {};

/// `constant + sum of coefficient * variable`, in 64-bit integers. Terms are sorted by variable,
/// coefficients are not 0.
struct AffineForm {
    struct Term {
        VarId var;
        std::int64_t coefficient;
        bool operator==(const Term&) const = default;
    };
    std::int64_t constant = 0;
    std::vector<Term> terms = {};

    bool operator==(const AffineForm&) const = default;
    [[nodiscard]] bool is_constant() const noexcept { return terms.empty(); }
    [[nodiscard]] std::int64_t coefficient(VarId var) const noexcept;
};
[[nodiscard]] AffineForm operator+(const AffineForm& a, const AffineForm& b);
[[nodiscard]] AffineForm operator*(std::int64_t factor, const AffineForm& a);
/// The product, unless a number of it is farther than any array reaches (2^56), as in
/// `x[J[i] + 2^62]`: sums of such would leave 64 bits.
[[nodiscard]] std::optional<AffineForm> near_multiple(std::int64_t factor, const AffineForm& a);

/// ceil(form / divisor) for a lower bound, floor(form / divisor) for an upper one.
struct BoundTerm {
    AffineForm form;
    std::int64_t divisor = 1;
};
/// A loop bound: the largest of the terms for a lower bound, the smallest for an upper one (the
/// upper bound is exclusive: already one past the last).
using LoopBound = std::vector<BoundTerm>;

struct ValueNode;
using Value = std::shared_ptr<const ValueNode>;

/// Where in a buffer, in elements: an affine form, plus a computed i64 offset where the place is
/// not affine.
struct Address {
    AffineForm affine;
    Value computed = nullptr;
};

struct Constant {
    double real = 0;           ///< floating types
    std::int64_t integer = 0;  ///< integers and bool

    bool operator==(const Constant&) const = default;
};
struct VarValue {
    AffineForm form;  ///< i64
};
struct Load {
    BufferId buffer;
    Address at;
};
/// An operation of the table on operands of one type (comparisons: result bool).
struct Operate {
    Op op;
    std::vector<Value> args;
};
/// The operand in the node's type. An integer that the type cannot hold becomes its nearest end,
/// or, when it `wraps`, keeps its low bits.
struct Convert {
    Value a;
    bool wraps = false;
};
/// A let-bound value, by number (see Let).
struct LetValue {
    std::uint32_t number;
};
struct ValueNode {
    std::variant<Constant, VarValue, Load, Operate, Convert, LetValue> term;
    DType dtype;
};

enum class Bind : std::uint8_t {
    serial,
    parallel,
    vector,
    unroll,
    block,   ///< GPU
    thread,  ///< GPU
};

struct Stmt;
using Body = std::vector<Stmt>;

/// for var in [lower, upper) by step.
struct Loop {
    VarId var;
    LoopBound lower;
    LoopBound upper;
    std::int64_t step = 1;
    Bind bind = Bind::serial;
    Body body;
};
/// The body when the condition holds. Under a vector loop the condition may vary by lane: it then
/// masks the body's stores and loads.
struct Guard {
    Value condition;
    Body body;
};
/// Names a value for the rest of the body it stands in.
struct Let {
    std::uint32_t number;
    Value value;
};
/// Names an integer quotient/remainder of a variable: var = form / divisor % modulus (modulus 0:
/// none) of a form that is not negative. This is how one parallel range runs over several loops.
struct LetVar {
    VarId var{};
    AffineForm form;
    std::int64_t divisor = 1;
    std::int64_t modulus = 0;
};
/// CPU: names an i64 that is data, or the nearest number of `[least, most]`, as a variable, which
/// is the same in all lanes. This is how bounds of loops are data.
struct LetBound {
    VarId var{};
    Value value;
    std::int64_t least = 0;
    std::int64_t most = 0;
};
enum class StoreHint : std::uint8_t {
    normal,
    streaming,
    asynchronous,  ///< GPU: an argument's element, as it is, to shared memory: there after a Wait
    atomic,  ///< GPU: a sum in an argument's element (i32, i64, f32, f64) that others add to, too
};
/// Whether atomic stores may add to elements of the type.
[[nodiscard]] constexpr bool has_atomic_sum(DType dtype) noexcept {
    return dtype == DType::i32 || dtype == DType::i64 || dtype == DType::f32 || dtype == DType::f64;
}
/// buffer[at] = value, or combined with what is there by sum, prod, max, min.
struct Store {
    BufferId buffer;
    Address at;
    Value value;
    std::optional<Reducer> combine;
    StoreHint hint = StoreHint::normal;
};
/// Waits for all threads of a block (GPU). What they wrote to memory is seen by all.
struct Barrier {};
/// GPU: names, for the rest of the body, the values of `width` neighbouring threads (a power of two
/// of at most 32) combined by sum, prod, max or min in a fixed tree (each with the one whose number
/// differs in one bit, the highest first): equal in all of them. With a `place` (i64) the value and
/// its place go together, as argmax (max) and argmin (min) choose: of equal values the smaller
/// place, NaN before numbers.
struct Fold {
    std::uint32_t number;
    Value value;
    Reducer reducer = Reducer::sum;
    std::int64_t width = 32;
    std::uint32_t place_number = 0;
    Value place = nullptr;
};
/// GPU: the asynchronous stores of this thread since the last Commit become a group.
struct Commit {};
/// GPU: waits until at most `pending` of this thread's groups are under way. A Barrier must follow
/// before other threads read them.
struct Wait {
    std::int64_t pending = 0;
};
/// CPU: asks for the memory around an element of an argument that is read soon, as far as the
/// first- or the second-level cache. The element may lie outside of the buffer; no value changes.
struct Prefetch {
    BufferId buffer{};
    Address at;
    int level = 2;
};
/// Rows of a tile register; also columns of one that holds sums.
inline constexpr std::int64_t tile_side = 16;
/// Reduced points of a tile register.
inline constexpr std::int64_t block_points = 32;
/// Numbers of bf16 as `TileProduct` reads them, in blocks of 32 points: rows whose points stand
/// side by side, `step` elements from row to row; or columns whose points stand in pairs, one pair
/// beside the next column's, `step` elements from pair to pair.
struct TileSide {
    BufferId buffer{};
    AffineForm at;
    std::int64_t step = 0;
    std::int64_t block_step = 0;  ///< elements from block to block
};
/// CPU with `Target::has_bf16_tiles`: for r < rows and c < columns, in f32,
///   sum[at + row_step*r + c] (+)= sum over p, k: f32(row_sides[p.first][r, k]) *
///                                                f32(column_sides[p.second][k, c])
/// Points k are taken two at a time, `products` p one after the other within blocks of 32 points.
/// Subnormal numbers, products and sums are taken as 0.
struct TileProduct {
    BufferId sum{};  ///< of f32, in scratch
    AffineForm at;
    std::int64_t row_step = 0;
    std::int64_t rows = tile_side;     ///< of one or two tiles
    std::int64_t columns = tile_side;  ///< of one or two tiles
    std::vector<TileSide> row_sides;
    std::vector<TileSide> column_sides;
    std::vector<std::pair<std::size_t, std::size_t>> products;
    LoopBound blocks;   ///< of 32 points, at least one
    bool adds = false;  ///< to what `sum` holds
};
struct Stmt {
    std::variant<Loop, Guard, Let, LetVar, LetBound, Store, Barrier, Fold, Commit, Wait, Prefetch,
                 TileProduct>
        node;
};

enum class Space : std::uint8_t {
    argument,   ///< passed by pointer
    registers,  ///< per task, constant addresses: accumulator tiles
    scratch,    ///< per task, small array in cache (stack)
    shared,     ///< per block (GPU)
};
struct Buffer {
    std::string name;
    DType dtype = DType::f32;
    Space space = Space::argument;
    std::int64_t elements = 0;
    std::int64_t first = 0;  ///< of an argument with a negative stride: below 0
    bool is_written = false;
    std::int64_t alignment = 64;  ///< bytes, of the first element
    /// Scratch: lanes that do not run may store to their elements, which no lane that runs reads,
    /// a plain store to neighbours under no guard.
    /// A CPU passes what a whole vector stored on to loads, but not what a masked one did: softmax
    /// across rows of 12 lanes took 203 us, now 132 (90x215x12 along the second axis, Zen 4).
    bool has_spare_lanes = false;
    /// An argument, on a CPU: what all lanes of several vectors take is broadcast for each of them,
    /// by an operand of the operation that takes it (codegen/repeated_broadcasts.h).
    bool is_broadcast_anew = false;
};
struct Var {
    std::string name;
};

/// One kernel. Argument buffers are passed in the order of `buffers` (the others skipped).
struct Nest {
    std::string name;
    std::vector<Buffer> buffers;
    std::vector<Var> vars;
    Body body;  ///< on a CPU exactly one `parallel` loop from 0 by 1 with a constant extent; on a
                ///< GPU one `block` loop of that form
    /// GPU: blocks that a multiprocessor should hold at once, a bound of the registers; 0: any.
    std::int64_t blocks_at_once = 0;
    /// CPU: the innermost axis of slices (codegen/slices.h), where loops are to ask for what the
    /// next slice reads. Threads take many in order; each asks in vain after its last one.
    std::optional<VarId> slice;
    bool asks_ahead = false;          ///< CPU: for what it reads soon, wherever that is worth it
    bool multiplies_in_sums = false;  ///< CPU: adds in lanes as `1*x + sum` (codegen/busy_units.h)
    bool is_short = false;            ///< CPU: several tasks that are not worth waking a thread for
    /// CPU: where a task is one loop with the same bounds as all others, the tasks that a thread is
    /// given at a time run side by side inside that loop (`tasks_inside`): all of them if it is
    /// alone, one by one if many threads share few.
    bool runs_side_by_side = false;

    [[nodiscard]] const Buffer& at(BufferId id) const { return buffers.at(std::size_t(id)); }
    [[nodiscard]] const Var& at(VarId id) const { return vars.at(std::size_t(id)); }
    BufferId add(Buffer buffer);
    VarId add(Var var);
};

/// How a GPU nest is launched.
struct LaunchShape {
    std::int64_t blocks = 0;
    std::int64_t threads = 0;
    std::int64_t shared_bytes = 0;  ///< all shared buffers, each from a multiple of 16 on
};
[[nodiscard]] bool is_gpu(const Nest& nest) noexcept;
[[nodiscard]] LaunchShape launch_shape(const Nest& nest);
/// Where the shared buffer begins in the block's shared memory, in bytes.
[[nodiscard]] std::int64_t shared_offset(const Nest& nest, BufferId buffer);

[[nodiscard]] std::string str(const Nest& nest);
[[nodiscard]] std::string str(const Nest& nest, const Value& value);

}  // namespace ricci::codegen
