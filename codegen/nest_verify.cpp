// codegen/nest_verify.cpp – every invariant of codegen/nest.h, checked
#include "codegen/nest_verify.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/match.h"
#include "base/text.h"
#include "codegen/nest_build.h"

namespace ricci::codegen {

namespace {

/// The values a variable can take where that is known at compile time (unrolled, lanes).
struct Bounds {
    Bind bind = Bind::serial;
    std::int64_t lower = 0;
    std::int64_t upper = 0;
    bool varies = false;  ///< from thread to thread
};

class Verifier {
  public:
    Verifier(const Nest& nest, std::string_view stage) : nest_(nest), stage_(stage) {}

    void run() {
        require(nest_.body.size() == 1, "a nest is one parallel loop");
        const auto* root = std::get_if<Loop>(&nest_.body[0].node);
        is_gpu_ = codegen::is_gpu(nest_);
        require(is_gpu_ || (root != nullptr && root->bind == Bind::parallel),
                "a nest is one parallel loop");
        require_launch(*root);
        if (is_gpu_) {
            const auto* threads =
                root->body.size() == 1 ? std::get_if<Loop>(&root->body[0].node) : nullptr;
            require(threads != nullptr && threads->bind == Bind::thread,
                    "a block is one loop over threads");
            require_launch(*threads);
            const std::int64_t count = threads->upper[0].form.constant;
            require(count % 32 == 0 && count >= 32 && count <= 1024,
                    "threads are a multiple of 32, at most 1024");
        }
        check(nest_.body);
        for (const BufferId buffer : atomic_)
            require(!ordinary_.contains(buffer),
                    "what atomic stores add to is not touched otherwise", nest_.at(buffer).name);
    }

  private:
    void require(bool holds, std::string_view rule, std::string_view detail = {}) const {
        if (holds) return;
        throw Error({.kind = ErrorKind::internal,
                     .message = format("kernel `{}` after `{}`: {}{}{}", nest_.name, stage_, rule,
                                       detail.empty() ? "" : ": ", detail)});
    }

    void require_launch(const Loop& loop) const {
        require(is_constant(loop.lower) && loop.lower[0].form.constant == 0 && loop.step == 1,
                "the parallel loop runs from 0 by 1");
        require(is_constant(loop.upper), "the number of tasks is a constant");
    }

    static bool is_constant(const LoopBound& bound) {
        return bound.size() == 1 && bound[0].form.is_constant() && bound[0].divisor == 1;
    }

    void check(const Body& body) {
        const auto vars = vars_;
        const auto lets = lets_;
        for (const Stmt& stmt : body) match(stmt.node, [&](const auto& node) { check(node); });
        vars_ = vars;
        lets_ = lets;
    }

    void check(const Loop& loop) {
        const std::string& name = nest_.at(loop.var).name;
        require(loop.step >= 1, "a loop's step is positive", name);
        require(!loop.lower.empty() && !loop.upper.empty(), "a loop has both bounds", name);
        check(loop.lower);
        check(loop.upper);
        Bounds bounds{.bind = loop.bind};
        switch (loop.bind) {
            case Bind::serial: require(!in_vector_, "no loop inside a vector loop", name); break;
            case Bind::parallel:
            case Bind::block:
                require(!in_task_, "one parallel loop", name);
                in_task_ = true;
                break;
            case Bind::thread:
                require(is_gpu_ && !in_thread_, "one loop over threads, on a GPU", name);
                in_thread_ = true;
                bounds.varies = true;
                break;
            case Bind::vector:
                require(!in_vector_, "no loop inside a vector loop", name);
                bounds.upper = lanes(loop);
                break;
            case Bind::unroll:
                bounds.lower = loop.lower[0].form.constant;
                bounds.upper = last_end(loop);
                break;
        }
        bounds.varies |= varies(loop.lower) || varies(loop.upper);
        require(!vars_.contains(loop.var), "a variable is bound once", name);
        const auto vars = vars_;
        const bool was_in_vector = in_vector_;
        const bool was_apart = is_apart_;
        in_vector_ |= loop.bind == Bind::vector;
        is_apart_ |= in_vector_ || (loop.bind != Bind::thread && bounds.varies);
        vars_[loop.var] = bounds;
        check(loop.body);
        vars_ = vars;
        in_vector_ = was_in_vector;
        is_apart_ = was_apart;
    }

    /// The constant term of an unrolled loop's upper bound; the other ones are known where the
    /// loops around it are unrolled.
    [[nodiscard]] std::int64_t last_end(const Loop& loop) const {
        std::optional<std::int64_t> most;
        bool is_known = is_constant(loop.lower);
        for (const auto& [form, divisor] : loop.upper) {
            is_known &= divisor == 1 && std::ranges::all_of(form.terms, [&](const auto& term) {
                            const auto outer = vars_.find(term.var);
                            return outer != vars_.end() && outer->second.bind == Bind::unroll;
                        });
            if (form.is_constant()) most = std::min(most.value_or(form.constant), form.constant);
        }
        require(is_known && most, "an unrolled loop has constant bounds", nest_.at(loop.var).name);
        return *most;
    }

    /// The first term of a vector loop's upper bound.
    [[nodiscard]] std::int64_t lanes(const Loop& loop) const {
        require(is_constant(loop.lower) && loop.lower[0].form.constant == 0 && loop.step == 1,
                "a vector loop runs from 0 by 1");
        const BoundTerm& first = loop.upper[0];
        require(first.form.is_constant() && first.divisor == 1,
                "the number of lanes is a constant");
        const std::int64_t lanes = first.form.constant;
        require(lanes >= 1 && (lanes & (lanes - 1)) == 0, "lanes are a power of two");
        return lanes;
    }

    void check(const Guard& guard) {
        check(guard.condition);
        require(guard.condition->dtype == DType::boolean, "a condition is bool");
        const bool was_apart = is_apart_;
        const bool was_guarded = is_guarded_;
        is_apart_ = true;
        is_guarded_ |= in_vector_;
        check(guard.body);
        is_apart_ = was_apart;
        is_guarded_ = was_guarded;
    }
    void check(const Let& let) {
        check(let.value);
        require(numbers_.insert(let.number).second, "numbers of Lets are unique");
        lets_[let.number] = let.value->dtype;
    }
    void check(const LetVar& let) {
        check(let.form);
        require(let.divisor >= 1 && let.modulus >= 0, "a quotient has a positive divisor");
        require(!vars_.contains(let.var), "a variable is bound once", nest_.at(let.var).name);
        vars_[let.var] = {.varies = varies(let.form)};
    }
    void check(const LetBound& let) {
        check(let.value);
        require(!is_gpu_ && !in_vector_, "a bound that is data is a CPU's, the same in all lanes");
        require(let.value->dtype == DType::i64, "a bound that is data is i64");
        require(let.least <= let.most, "a bound that is data has a range");
        require(!vars_.contains(let.var), "a variable is bound once", nest_.at(let.var).name);
        vars_[let.var] = {};
    }
    /// What all threads of a block do together.
    void check_together(std::string_view what) const {
        require(is_gpu_, "threads of a block are a GPU's", what);
        require(!is_apart_, "all threads of a block arrive", what);
    }
    void check(const Prefetch& prefetch) {
        check_place(prefetch.buffer, prefetch.at);
        require(!is_gpu_, "a prefetch is a CPU's");
        require(prefetch.level == 1 || prefetch.level == 2,
                "a prefetch goes as far as the first- or second-level cache");
        require(nest_.at(prefetch.buffer).space == Space::argument, "a prefetch is of an argument",
                nest_.at(prefetch.buffer).name);
    }
    void check(const TileProduct& product) {
        const Buffer& sum = nest_.at(product.sum);
        check_place(product.sum, {product.at});
        check(product.blocks);
        require(!is_gpu_ && !in_vector_, "a product of tiles is a CPU's, outside of vector loops");
        require(sum.space == Space::scratch && sum.dtype == DType::f32 && sum.is_written,
                "a product of tiles is of f32, in scratch", sum.name);
        for (const std::int64_t side : {product.rows, product.columns})
            require(side == tile_side || side == 2 * tile_side,
                    "a product of tiles is of one or two a side");
        require(product.row_step >= product.columns, "rows of a sum do not overlap", sum.name);
        for (const auto* sides : {&product.row_sides, &product.column_sides})
            for (const TileSide& side : *sides) {
                check_place(side.buffer, {side.at});
                ordinary_.insert(side.buffer);
                require(nest_.at(side.buffer).dtype == DType::bf16, "tiles are of bf16",
                        nest_.at(side.buffer).name);
            }
        require(!product.products.empty(), "a product of tiles has products");
        for (const BoundTerm& term : product.blocks)
            require(!term.form.is_constant() || term.form.constant >= 1,
                    "a product of tiles has a block of points");
        for (const auto& [row, column] : product.products)
            require(row < product.row_sides.size() && column < product.column_sides.size(),
                    "products are of the sides");
    }
    void check(const Barrier&) { check_together("barrier"); }
    void check(const Commit&) { check_together("commit"); }
    void check(const Wait& wait) {
        check_together("wait");
        require(wait.pending >= 0, "a wait leaves 0 groups or more");
    }
    void check(const Fold& fold) {
        check_together("fold");
        check(fold.value);
        require(fold.width >= 1 && fold.width <= 32 && (fold.width & (fold.width - 1)) == 0,
                "a fold is over a power of two of threads, at most 32");
        require(combines(fold.reducer), "folds combine by sum, prod, max or min");
        require(numbers_.insert(fold.number).second, "numbers of Lets are unique");
        lets_[fold.number] = fold.value->dtype;
        if (!fold.place) return;
        check(fold.place);
        require(fold.place->dtype == DType::i64, "a place is an i64");
        require(fold.reducer == Reducer::max || fold.reducer == Reducer::min,
                "places go with max and min");
        require(numbers_.insert(fold.place_number).second, "numbers of Lets are unique");
        lets_[fold.place_number] = DType::i64;
    }
    static bool combines(Reducer reducer) {
        return reducer == Reducer::sum || reducer == Reducer::prod || reducer == Reducer::max ||
               reducer == Reducer::min;
    }
    void check(const Store& store) {
        const Buffer& buffer = nest_.at(store.buffer);
        check_place(store.buffer, store.at);
        check(store.value);
        require(buffer.is_written, "a store needs a written buffer", buffer.name);
        require(store.value->dtype == buffer.dtype, "a store has its buffer's type", buffer.name);
        const bool is_atomic = store.hint == StoreHint::atomic;
        require(store.hint == StoreHint::normal || is_atomic || !store.combine,
                "a combining store is not streaming", buffer.name);
        if (is_atomic)
            require(is_gpu_ && buffer.space == Space::argument && store.combine == Reducer::sum &&
                        has_atomic_sum(buffer.dtype),
                    "an atomic store adds to an argument", buffer.name);
        (is_atomic ? atomic_ : ordinary_).insert(store.buffer);
        if (buffer.has_spare_lanes) {
            require(buffer.space == Space::scratch, "spare lanes are of scratch", buffer.name);
            require(!store.combine && !is_guarded_, "what has spare lanes is stored as it is",
                    buffer.name);
        }
        if (store.combine)
            require(combines(*store.combine), "stores combine by sum, prod, max or min",
                    buffer.name);
        if (store.hint == StoreHint::asynchronous) {
            const auto* load = std::get_if<Load>(&store.value->term);
            require(is_gpu_ && buffer.space == Space::shared && load != nullptr &&
                        nest_.at(load->buffer).space == Space::argument,
                    "an asynchronous store copies an argument to shared memory", buffer.name);
        }
    }
    [[nodiscard]] bool varies(const AffineForm& form) const {
        return std::ranges::any_of(form.terms, [&](const AffineForm::Term& term) {
            const auto found = vars_.find(term.var);
            return found != vars_.end() && found->second.varies;
        });
    }
    [[nodiscard]] bool varies(const LoopBound& bound) const {
        return std::ranges::any_of(bound, [&](const BoundTerm& t) { return varies(t.form); });
    }

    void check(const AffineForm& form) {
        for (const AffineForm::Term& term : form.terms) {
            require(std::size_t(term.var) < nest_.vars.size(), "variables are the nest's");
            require(vars_.contains(term.var), "a variable is used inside its loop",
                    nest_.at(term.var).name);
        }
    }
    void check(const LoopBound& bound) {
        for (const BoundTerm& term : bound) {
            require(term.divisor >= 1, "a bound's divisor is positive");
            check(term.form);
        }
    }

    void check_place(BufferId id, const Address& at) {
        require(std::size_t(id) < nest_.buffers.size(), "buffers are the nest's");
        check(at.affine);
        if (at.computed) {
            check(at.computed);
            require(at.computed->dtype == DType::i64, "a computed offset is i64");
        }
        const Buffer& buffer = nest_.at(id);
        if (buffer.space == Space::registers) check_slot(id, at);
    }

    /// Registers have addresses: constants after unrolling, plus the lane or not.
    void check_slot(BufferId id, const Address& at) {
        const Buffer& buffer = nest_.at(id);
        require(!at.computed, "a register has a constant address", buffer.name);
        std::int64_t low = at.affine.constant;
        std::int64_t high = at.affine.constant;
        std::int64_t lanes = 0;
        for (const AffineForm::Term& term : at.affine.terms) {
            const Bounds& bounds = vars_.at(term.var);
            require(bounds.bind == Bind::unroll || bounds.bind == Bind::vector,
                    "a register has a constant address", buffer.name);
            if (bounds.bind == Bind::vector) {
                require(term.coefficient == 1, "lanes of a register follow each other",
                        buffer.name);
                lanes = bounds.upper;
                continue;
            }
            const std::int64_t last = bounds.upper - 1;
            low += term.coefficient * (term.coefficient > 0 ? bounds.lower : last);
            high += term.coefficient * (term.coefficient > 0 ? last : bounds.lower);
        }
        require(low >= 0 && high + std::max<std::int64_t>(lanes, 1) <= buffer.elements,
                "a register lies in its buffer", buffer.name);
        const auto [entry, is_new] = slot_lanes_.emplace(id, lanes);
        require(is_new || is_gpu_ || (entry->second == 0) == (lanes == 0),
                "slots of a buffer are all scalars or all vectors", buffer.name);
    }

    void check(const Value& value) {
        require(value != nullptr, "a value is missing");
        for (const Value& operand : operands(value)) {
            require(operand != nullptr, "an operand is missing");
            if (!std::holds_alternative<Load>(value->term)) check(operand);
        }
        match(
            value->term, [](const Constant&) {},
            [&](const VarValue& var) {
                require(value->dtype == DType::i64, "an index value is i64");
                check(var.form);
            },
            [&](const Load& load) {
                check_place(load.buffer, load.at);
                ordinary_.insert(load.buffer);
                require(value->dtype == nest_.at(load.buffer).dtype, "a load has its buffer's type",
                        nest_.at(load.buffer).name);
            },
            [&](const Operate& operate) { check_operation(value, operate); }, [](const Convert&) {},
            [&](const LetValue& let) {
                const auto found = lets_.find(let.number);
                require(found != lets_.end(), "a Let is used in its body");
                require(found->second == value->dtype, "a Let has one type");
            });
    }

    void check_operation(const Value& value, const Operate& operate) {
        const OpInfo& row = info(operate.op);
        const auto count = int(operate.args.size());
        require(count >= row.min_arity && (row.max_arity < 0 || count <= row.max_arity),
                "an operation has its number of operands", row.name);
        const bool is_select = operate.op == Op::select;
        const DType common = operate.args[is_select ? 1 : 0]->dtype;
        for (std::size_t i = is_select ? 1 : 0; i < operate.args.size(); ++i)
            require_of(value, operate.args[i]->dtype == common, "operands have one type");
        if (is_select)
            require(operate.args[0]->dtype == DType::boolean, "a select has a bool condition");
        const DType expected = row.type == TypeRule::boolean ? DType::boolean : common;
        require_of(value, value->dtype == expected, "an operation has its operands' type");
    }
    /// The text of a value is as long as the value: it is made for a failure alone.
    void require_of(const Value& value, bool holds, std::string_view rule) const {
        if (!holds) require(false, rule, str(nest_, value));
    }

    const Nest& nest_;
    std::string_view stage_;
    std::map<VarId, Bounds> vars_;
    std::map<std::uint32_t, DType> lets_;
    std::set<std::uint32_t> numbers_;
    std::map<BufferId, std::int64_t> slot_lanes_;
    std::set<BufferId> atomic_;    ///< what atomic stores add to
    std::set<BufferId> ordinary_;  ///< what is loaded or stored otherwise
    bool in_vector_ = false;
    bool in_task_ = false;
    bool is_gpu_ = false;
    bool in_thread_ = false;
    bool is_guarded_ = false;  ///< lanes may be left out one by one
    bool is_apart_ = false;    ///< threads of a block may be here one without the other
};

}  // namespace

void verify(const Nest& nest, std::string_view stage) { Verifier(nest, stage).run(); }

}  // namespace ricci::codegen
