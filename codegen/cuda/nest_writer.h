// codegen/cuda/nest_writer.h – the walk that writes one nest as a kernel
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "codegen/cuda/names.h"
#include "codegen/cuda/ranges.h"
#include "codegen/nest.h"

namespace ricci::codegen::cuda {

/// How strongly the outermost operator of a text binds.
enum class Strength : std::uint8_t {
    choice,
    either,
    both,
    comparison,
    sum,
    product,
    unary,
    primary
};

/// An expression. An i64 value whose range is known to fit is computed as an `int`.
struct Text {
    std::string text;
    Strength strength = Strength::primary;
    std::optional<Range> range = std::nullopt;  ///< it is an `int`
};

/// The text, in parentheses unless it binds at least so strongly.
[[nodiscard]] std::string at_least(Strength strength, const Text& text);

/// The type's name in the prelude.
[[nodiscard]] std::string_view type_name(DType dtype);
/// A constant of the type.
[[nodiscard]] Text constant_text(const Constant& constant, DType dtype);
/// An operation of the table on operands of one type (a selection's condition: bool).
[[nodiscard]] Text operation_text(Op op, DType dtype, std::vector<Text> args);
/// What a combining store makes of what is there and a value.
[[nodiscard]] Text combined_text(Reducer reducer, DType dtype, Text old, Text value);
/// The value in another type. `wraps`: integers keep their low bits.
[[nodiscard]] Text converted_text(Text value, DType from, DType to, bool wraps = false);

class NestWriter {
  public:
    NestWriter(Nest nest, std::string symbol);

    /// The kernel's text.
    [[nodiscard]] std::string kernel();
    /// The text of a nest of one task as a function of pointers, in plain C++: accumulators are
    /// local variables.
    [[nodiscard]] std::string function();

  private:
    struct Variable {
        std::string name;
        bool is_wide = false;
        std::optional<std::int64_t> constant = std::nullopt;
    };
    /// A statement inside a vector loop, with the Lets that must hold for a lane to execute it.
    struct Leaf {
        Stmt stmt;
        std::vector<std::uint32_t> conditions;
    };
    /// Leaves that one loop over lanes can execute.
    using Segment = std::vector<Leaf>;
    using Leaves = std::vector<const Leaf*>;
    /// A store that is done after the loop over lanes.
    struct Kept {
        enum class Kind : std::uint8_t {
            at_once,     ///< neighbours
            copied,      ///< neighbours, asynchronously
            one_by_one,  ///< in a loop of its own
            folded       ///< all lanes into one place
        };
        Kind kind;
        const Leaf* leaf;
        std::string name;         ///< of the lanes' values
        bool computes_it = true;  ///< false: it is what was loaded at once

        [[nodiscard]] const Store& store() const { return std::get<Store>(leaf->stmt.node); }
        [[nodiscard]] bool needs_values() const { return kind != Kind::copied && computes_it; }
    };
    /// The vector loop being written.
    struct Lanes {
        VarId var;
        std::int64_t count;
        std::string name;    ///< of the loops' variable
        std::string active;  ///< how many lanes run; empty when all do
        std::set<VarId> varying_vars = {};
        std::set<std::uint32_t> varying_lets = {};
        std::set<std::uint32_t> kept_lets = {};  ///< those with an element for each lane
        std::vector<LetVar> vars = {};  ///< varying ones: written again where they are used
        /// What is loaded at once for a Load, or for a combining Store, and the texts of those.
        std::unordered_map<const void*, std::string> loads = {};
        std::unordered_map<std::string, std::string> at_once = {};
    };

    // write_statement.cpp
    void line(std::string_view text);
    void block(std::string_view head, const std::function<void()>& inside);
    [[nodiscard]] std::vector<std::string> parameters(
        const std::function<std::string(const Buffer& buffer)>& type);
    void signature(std::string head, const std::vector<std::string>& parameters,
                   const std::function<void()>& inside);
    void declare_buffers();
    void body(const Body& body);
    void statement(const Stmt& stmt);
    void loop(const Loop& loop);
    void serial_loop(const Loop& loop);
    void unrolled_loop(const Loop& loop, const std::function<void()>& inside);
    [[nodiscard]] std::string take_name(std::uint32_t let);
    void let(const Let& let);
    void let_var(const LetVar& let);
    void store(const Store& store);
    void store(const Store& store, const Text& text);
    void fold(const Fold& fold);
    /// A name for the variable; wide when its values, or `slack` beyond, need 64 bits.
    const std::string& declare(VarId var, bool is_wide);
    [[nodiscard]] static std::string_view index_type(bool is_wide) {
        return is_wide ? "rc_i64" : "int";
    }

    // write_form.cpp
    [[nodiscard]] Text form(const AffineForm& form) const;
    [[nodiscard]] Text bound(const LoopBound& bound, bool is_lower) const;
    [[nodiscard]] Text quotient(const BoundTerm& term, bool is_lower) const;
    [[nodiscard]] bool is_wide(const BoundTerm& term) const;
    [[nodiscard]] std::string index(const Address& at, std::int64_t offset = 0);
    [[nodiscard]] std::string copied(BufferId to, Address at, BufferId from, Address source,
                                     std::int64_t width);
    [[nodiscard]] std::string element(BufferId buffer, const Address& at);

    // write_value.cpp
    [[nodiscard]] Text value(const Value& value);
    [[nodiscard]] Text power(const Operate& operate, DType dtype);

    // write_vector.cpp: the order of what lanes do
    void vector_loop(const Loop& loop);
    void lanes_body(const Body& body, const std::vector<std::uint32_t>& conditions);
    void flatten(const Body& body, const std::vector<std::uint32_t>& conditions,
                 std::vector<Leaf>& leaves);
    [[nodiscard]] static std::vector<Segment> segments(std::vector<Leaf> leaves);
    void nested(const Leaf& leaf);
    [[nodiscard]] bool varies(const AffineForm& form) const;
    [[nodiscard]] bool varies(const Value& value) const;

    // write_lanes.cpp: one segment
    void segment(const Segment& segment);
    void load_at_once(const Segment& segment);
    void load_at_once(const Value& value);
    void load_at_once(const Load& load, const void* key);
    [[nodiscard]] std::string loaded(BufferId buffer, const Address& first, std::int64_t width,
                                     std::int64_t from, std::int64_t count);
    /// How many neighbours, along the lanes, can be accessed at once: 1 when none can.
    [[nodiscard]] std::int64_t neighbours(BufferId buffer, const Address& at) const;
    [[nodiscard]] bool is_fold(const Store& store) const;
    [[nodiscard]] static bool meets_loads(const Segment& segment, const Store& store);
    [[nodiscard]] std::optional<Kept> kept(const Segment& segment, const Leaf& leaf);
    void each_lane(const std::function<void()>& inside);
    void lane_loop(const Leaves& leaves, const std::vector<Kept>& stores);
    void name_lane_vars(const Leaves& leaves);
    void lane_leaves(std::span<const Leaf* const> leaves, std::size_t depth,
                     const std::vector<Kept>& stores);
    void lane_leaf(const Leaf& leaf, const std::vector<Kept>& stores);
    [[nodiscard]] Text folded(const Kept& kept, std::int64_t first, std::int64_t step) const;
    void write_kept(const Kept& kept);

    Nest nest_;
    std::string symbol_;
    Ranges ranges_;
    Names names_;
    std::vector<std::string> buffers_;
    std::set<BufferId> scalars_;   ///< local variables
    std::set<BufferId> declared_;  ///< of these: where the text is in their scope
    std::vector<Variable> vars_;
    std::unordered_map<std::uint32_t, Text> lets_;
    std::uint32_t next_let_ = 0;
    std::set<std::uint32_t> conditions_;  ///< numbers of Lets made for guards
    std::optional<Lanes> lanes_;
    bool accesses_at_once_ = false;  ///< since it was last cleared
    std::string text_;
    int depth_ = 0;
};

}  // namespace ricci::codegen::cuda
