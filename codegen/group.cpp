// codegen/group.cpp – equations to kernels: what is inlined, what is fused
#include "codegen/group.h"

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "codegen/read_points.h"
#include "codegen/term_cost.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

/// Terms of more nodes are not copied into their readers.
constexpr std::size_t max_inlined_nodes = 256;
/// A term of at most this cost is recomputed rather than stored (an add or load costs 1).
constexpr int cheap_cost = 4;
/// Of at most this one, what is chosen at one place of a long axis may be computed at all: copies
/// with borders, which pass over memory.
constexpr int moderate_cost = 16;

/// `index + offset`, or `offset` alone.
struct Plain {
    std::optional<IndexId> index;
    std::int64_t offset = 0;
};

std::optional<std::int64_t> integer_literal(Expr e) {
    const auto* literal = std::get_if<Literal>(&e->term);
    if (literal == nullptr) return std::nullopt;
    const auto* value = std::get_if<std::int64_t>(&literal->value);
    return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<Plain> plain(Expr e) {
    if (const auto value = integer_literal(e)) return Plain{std::nullopt, *value};
    if (const auto* index = std::get_if<IndexValue>(&e->term)) return Plain{index->index, 0};
    if (!is_apply(e, Op::add)) return std::nullopt;
    Plain sum;
    for (const Expr arg : std::get<Apply>(e->term).args) {
        const std::optional<Plain> part = plain(arg);
        if (!part || (part->index && sum.index)) return std::nullopt;
        if (part->index) sum.index = part->index;
        sum.offset += part->offset;
    }
    return sum;
}

class Grouper {
  public:
    explicit Grouper(const BoundProgram& program) : program_(program) {
        for (const TensorId output : program.outputs) outputs_.insert(output);
        for (const BoundCheck& check : program.checks) {
            outputs_.insert(check.verdict);
            verdicts_.insert(check.verdict);
        }
        for (const BoundEquation& equation : program.equations) groups_.push_back(start(equation));
    }

    std::vector<Group> run() {
        inline_all();
        fuse_all();
        return std::move(groups_);
    }

  private:
    Context& context() { return *program_.context; }

    Group start(const BoundEquation& equation) {
        Group group{.indices = equation.indices,
                    .reduction = equation.reduction,
                    .value = {},
                    .result = {},
                    .writes = {equation}};
        if (!equation.reduction) return group;
        BoundEquation& write = group.writes[0];
        const Reducer reducer = equation.reduction->reducer;
        const bool gives_index = reducer == Reducer::argmax || reducer == Reducer::argmin;
        const DType dtype = gives_index ? DType::i64 : equation.reduction->accumulator;
        group.value = equation.value;
        group.result = context().access(equation.target, equation.at, dtype);
        write.reduction.reset();
        write.value = converted(group.result, program_.at(equation.target).dtype);
        return group;
    }

    // What a group reads and writes.

    static std::vector<Expr> reduced_terms(const Group& group) {
        std::vector<Expr> terms;
        if (!group.reduction) return terms;
        terms.push_back(group.value);
        if (group.reduction->condition) terms.push_back(group.reduction->condition);
        if (group.reduction->carry) terms.push_back(group.reduction->carry);
        return terms;
    }
    static std::vector<Expr> terms(const Group& group) {
        std::vector<Expr> terms = reduced_terms(group);
        for (const BoundEquation& write : group.writes) {
            terms.push_back(write.value);
            terms.insert(terms.end(), write.at.begin(), write.at.end());
        }
        return terms;
    }
    static std::vector<Expr> accesses(const std::vector<Expr>& roots) {
        std::vector<Expr> found;
        for (const Expr e : postorder(roots))
            if (std::holds_alternative<Access>(e->term)) found.push_back(e);
        return found;
    }
    static bool reads(const Group& group, TensorId tensor) {
        for (const Expr e : accesses(terms(group)))
            if (std::get<Access>(e->term).tensor == tensor && e != group.result) return true;
        return false;
    }
    bool updates_something_read(const Group& group, const std::vector<Expr>& roots) const {
        for (const BoundEquation& write : group.writes) {
            if (write.op == Assign::define) continue;
            for (const Expr e : accesses(roots))
                if (storage(program_, std::get<Access>(e->term).tensor) ==
                    storage(program_, write.target))
                    return true;
        }
        return false;
    }
    /// Whether both write one storage: these keep their order.
    bool write_the_same(const Group& a, const Group& b) const {
        return std::ranges::any_of(a.writes, [&](const BoundEquation& mine) {
            return std::ranges::any_of(b.writes, [&](const BoundEquation& other) {
                return storage(program_, mine.target) == storage(program_, other.target);
            });
        });
    }
    bool is_updated(TensorId tensor) const {
        return std::ranges::any_of(
            program_.tensors, [&](const BoundTensor& other) { return other.previous == tensor; });
    }

    // Inlining.

    void inline_all() {
        for (std::size_t producer = 0; producer < groups_.size();) {
            if (inline_one(producer)) {
                groups_.erase(groups_.begin() + std::ptrdiff_t(producer));
            } else {
                ++producer;
            }
        }
    }

    bool inline_one(std::size_t producer) {
        const Group& group = groups_[producer];
        const BoundEquation& equation = group.writes[0];
        if (group.reduction || equation.op != Assign::define) return false;
        if (outputs_.contains(equation.target) || is_updated(equation.target)) return false;
        if (program_.at(equation.target).is_stored) return false;
        if (!covers_target(program_, equation)) return false;
        const std::vector<Expr> nodes = postorder({equation.value});
        if (nodes.size() > max_inlined_nodes) return false;
        std::vector<std::size_t> readers;
        for (std::size_t i = producer + 1; i < groups_.size(); ++i) {
            if (!reads(groups_[i], equation.target)) continue;
            if (!may_move(producer, i)) return false;
            readers.push_back(i);
        }
        int total_cost = 0;
        for (const Expr e : nodes) total_cost += cost(e);
        if (readers.empty()) return false;
        if (total_cost > cheap_cost &&
            (readers.size() > 1 || !is_read_once_a_point(group, groups_[readers[0]])))
            return false;
        const bool is_repeated = std::ranges::any_of(readers, [&](std::size_t reader) {
            return groups_[reader].reduction && !is_read_once_a_point(group, groups_[reader]);
        });
        if (is_repeated && is_epilogue(producer)) return false;
        for (const std::size_t reader : readers) write_out(equation, groups_[reader]);
        return true;
    }

    /// Whether an earlier reduction can store the group's term in place of its own result.
    bool is_epilogue(std::size_t consumer) {
        for (std::size_t producer = consumer; producer-- > 0;) {
            if (!reads_a_write(groups_[consumer], groups_[producer])) continue;
            if (!groups_[producer].reduction) return false;
            const std::optional<BoundEquation> joined =
                rename(groups_[consumer], groups_[producer]);
            return joined && is_safe(groups_[producer], *joined);
        }
        return false;
    }

    /// Whether the terms of `producer` mean the same when evaluated in `reader`.
    bool may_move(std::size_t producer, std::size_t reader) const {
        const std::vector<Expr> roots = terms(groups_[producer]);
        for (std::size_t i = producer + 1; i <= reader; ++i)
            if (updates_something_read(groups_[i], roots)) return false;
        return true;
    }

    /// Whether inlining evaluates the term hardly more often than storing it did.
    bool is_read_once_a_point(const Group& producer, const Group& reader) const {
        std::int64_t produced = 1;
        for (const IndexId index : producer.indices) produced *= program_.at(index).extent();
        std::int64_t evaluated = 1;
        for (const IndexId index : reader.indices) evaluated *= program_.at(index).extent();
        if (reader.reduction)
            for (const IndexId index : reader.reduction->indices)
                evaluated *= program_.at(index).extent();
        const BoundEquation& equation = producer.writes[0];
        int total_cost = 0;
        for (const Expr e : postorder({equation.value})) total_cost += cost(e);
        const std::int64_t most_places = total_cost <= moderate_cost
                                             ? std::numeric_limits<std::int64_t>::max()
                                             : most_case_places;
        double reads = 0;
        for (const Expr term : terms(reader))
            reads += read_points(program_, term, equation.target, double(evaluated), most_places);
        constexpr double hardly_more = 1.05;
        return reads <= hardly_more * double(produced);
    }

    /// Replaces the reads of the equation's target by its value.
    void write_out(const BoundEquation& equation, Group& reader) {
        const auto step = [&](Expr e) {
            const auto* access = std::get_if<Access>(&e->term);
            if (access == nullptr || access->tensor != equation.target) return e;
            std::unordered_map<std::uint32_t, Expr> at_point;
            for (std::size_t d = 0; d < equation.at.size(); ++d) {
                const Plain subscript = *plain(equation.at[d]);
                if (!subscript.index) continue;
                at_point[std::uint32_t(*subscript.index)] =
                    shifted(access->at[d], -subscript.offset);
            }
            return with_indices(equation.value, at_point);
        };
        rewrite_terms(reader, step);
    }

    /// The term with indices replaced: in bound terms their values are i64.
    Expr with_indices(Expr e, const std::unordered_map<std::uint32_t, Expr>& replacement) {
        ExprMap<Expr> values;
        for (const auto& [index, value] : replacement) values[index_value(IndexId(index))] = value;
        return substitute(context(), e, values);
    }
    Expr index_value(IndexId index) { return context().intern(IndexValue{index}, DType::i64); }
    Expr shifted(Expr e, std::int64_t offset) {
        if (offset == 0) return e;
        const Expr by = context().literal(Number(offset), DType::i64);
        return context().apply(Op::add, {e, by}, DType::i64);
    }
    /// As stored in an array of that type.
    Expr converted(Expr e, DType dtype) { return context().cast(e, dtype, true); }

    template <class Step>
    void rewrite_terms(Group& group, const Step& step) {
        const auto apply = [&](Expr& e) {
            if (e) e = rewrite(context(), e, step);
        };
        apply(group.value);
        if (group.reduction) apply(group.reduction->condition);
        if (group.reduction) apply(group.reduction->carry);
        for (BoundEquation& write : group.writes) {
            apply(write.value);
            for (Expr& subscript : write.at) apply(subscript);
        }
    }

    // Fusing.

    void fuse_all() {
        for (std::size_t consumer = 1; consumer < groups_.size();) {
            if (fuse_one(consumer)) {
                groups_.erase(groups_.begin() + std::ptrdiff_t(consumer));
            } else {
                ++consumer;
            }
        }
        // What only a group without writes read is unread in its turn.
        do
            for (Group& group : groups_) drop_unread(group);
        while (std::erase_if(groups_, [](const Group& group) { return group.writes.empty(); }) > 0);
    }

    /// Joins the consumer to the latest earlier group that can take it.
    bool fuse_one(std::size_t consumer) {
        if (groups_[consumer].reduction || groups_[consumer].writes.size() != 1) return false;
        if (are_joint_updates(groups_[consumer - 1], groups_[consumer]))
            return join_groups(consumer - 1, consumer, groups_[consumer].writes[0]);
        for (std::size_t producer = consumer; producer-- > 0;) {
            if (!reads_a_write(groups_[consumer], groups_[producer])) continue;
            const std::optional<BoundEquation> joined =
                rename(groups_[consumer], groups_[producer]);
            return joined && is_safe(groups_[producer], *joined) &&
                   join_groups(producer, consumer, *joined);
        }
        // What no group made may still be read by one: the moments of an optimiser's step.
        for (std::size_t other = consumer; other-- > 0;) {
            if (groups_[other].reduction) continue;
            const std::optional<BoundEquation> joined =
                rename_by_shared_read(groups_[consumer], groups_[other]);
            if (joined && is_safe(groups_[other], *joined) && join_groups(other, consumer, *joined))
                return true;
        }
        return false;
    }

    /// Whether updates that may meet stand right behind such that only find extremes of integers,
    /// with the same indices, and neither read what the others write: those of one point then
    /// follow each other. So do what is added to parts and what these say of its keys
    /// (codegen/own_checks.h); other updates are faster one after the other.
    bool are_joint_updates(const Group& extremes, const Group& updates) const {
        const auto is_extreme = [&](const BoundEquation& write) {
            return (write.op == Assign::min || write.op == Assign::max) && !write.is_injective &&
                   is_integer(program_.at(write.target).dtype);
        };
        return !extremes.reduction && std::ranges::all_of(extremes.writes, is_extreme) &&
               !updates.writes[0].is_injective && !updates.indices.empty() &&
               extremes.indices == updates.indices && !write_the_same(extremes, updates) &&
               !updates_something_read(extremes, terms(updates)) &&
               !updates_something_read(updates, terms(extremes));
    }

    /// The consumer's equation over the indices of a group that reads an array at the same points;
    /// nothing unless both write at the same places.
    std::optional<BoundEquation> rename_by_shared_read(const Group& consumer, const Group& other) {
        if (consumer.indices.size() != other.indices.size()) return std::nullopt;
        for (const Expr mine : accesses(terms(consumer)))
            for (const Expr theirs : accesses(terms(other))) {
                const auto& a = std::get<Access>(mine->term);
                const auto& b = std::get<Access>(theirs->term);
                std::unordered_map<std::uint32_t, Expr> renamed;
                if (a.tensor != b.tensor || !match_points(a.at, b.at, renamed) ||
                    renamed.size() != consumer.indices.size())
                    continue;
                BoundEquation equation = consumer.writes[0];
                equation.value = with_indices(equation.value, renamed);
                for (Expr& subscript : equation.at) subscript = with_indices(subscript, renamed);
                equation.indices = other.indices;
                if (equation.at == other.writes[0].at) return equation;
            }
        return std::nullopt;
    }

    static bool reads_a_write(const Group& consumer, const Group& producer) {
        return std::ranges::any_of(
            producer.writes, [&](const BoundEquation& w) { return reads(consumer, w.target); });
    }

    /// The consumer's equation over the producer's indices, its reads of the producer's writes
    /// replaced by their values; nothing unless both run over the same points.
    std::optional<BoundEquation> rename(const Group& consumer, const Group& producer) {
        BoundEquation equation = consumer.writes[0];
        if (equation.indices.size() != producer.indices.size()) return std::nullopt;
        ExprMap<Expr> values;
        std::unordered_map<std::uint32_t, Expr> renamed;
        for (const BoundEquation& write : producer.writes) {
            if (!reads(consumer, write.target)) continue;
            // Its place is no value that the group stores.
            for (const Expr e : accesses(equation.at))
                if (std::get<Access>(e->term).tensor == write.target) return std::nullopt;
            // After other updates a reader sees more than the value written.
            if (write.op != Assign::define && write.op != Assign::set) return std::nullopt;
            for (const Expr e : accesses(terms(consumer))) {
                if (std::get<Access>(e->term).tensor != write.target) continue;
                if (!match_points(std::get<Access>(e->term).at, write.at, renamed))
                    return std::nullopt;
                values[e] = write.value;
            }
        }
        if (renamed.size() != equation.indices.size()) return std::nullopt;
        // The values are over the producer's indices, which the renaming does not touch.
        const Expr value = substitute(context(), equation.value, values);
        equation.value = with_indices(value, renamed);
        for (Expr& subscript : equation.at) subscript = with_indices(subscript, renamed);
        equation.indices = producer.indices;
        return equation;
    }

    /// Extends the renaming so that `read` is the place `written`; false when it cannot be.
    bool match_points(const std::vector<Expr>& read, const std::vector<Expr>& written,
                      std::unordered_map<std::uint32_t, Expr>& renamed) {
        for (std::size_t d = 0; d < read.size(); ++d) {
            const std::optional<Plain> r = plain(read[d]);
            const std::optional<Plain> w = plain(written[d]);
            if (!r || !w || r->index.has_value() != w->index.has_value()) return false;
            const std::int64_t shift = w->offset - r->offset;
            if (!r->index) {
                if (shift != 0) return false;
                continue;
            }
            const BoundIndex& mine = program_.at(*r->index);
            const BoundIndex& theirs = program_.at(*w->index);
            if (mine.lower != theirs.lower + shift || mine.upper != theirs.upper + shift)
                return false;
            const Expr value = shifted(index_value(*w->index), shift);
            const auto [entry, is_new] = renamed.emplace(std::uint32_t(*r->index), value);
            if (!is_new && entry->second != value) return false;
        }
        return true;
    }

    /// Whether `joined` may be one of the producer's writes: what it updates, the group reads at
    /// the place of the update alone.
    bool is_safe(const Group& producer, const BoundEquation& joined) const {
        if (postorder({joined.value}).size() > max_inlined_nodes) return false;
        const TensorId place = storage(program_, joined.target);
        for (const Expr e : accesses(reduced_terms(producer)))
            if (storage(program_, std::get<Access>(e->term).tensor) == place) return false;
        std::vector<Expr> written = {joined.value};
        for (const BoundEquation& write : producer.writes) {
            if (storage(program_, write.target) == place) return false;
            written.push_back(write.value);
        }
        for (const Expr e : accesses(written)) {
            const auto& access = std::get<Access>(e->term);
            if (storage(program_, access.tensor) == place && access.at != joined.at) return false;
            for (const BoundEquation& write : producer.writes)
                if (storage(program_, access.tensor) == storage(program_, write.target) &&
                    access.at != write.at)
                    return false;
        }
        return joined.op == Assign::define || is_injective(joined);
    }
    static bool is_injective(const BoundEquation& equation) {
        std::set<std::uint32_t> named;
        for (const Expr subscript : equation.at) {
            const std::optional<Plain> p = plain(subscript);
            if (p && p->index) named.insert(std::uint32_t(*p->index));
        }
        return named.size() == equation.indices.size();
    }

    /// Places the joined group where the producer stands, or where the consumer stands.
    bool join_groups(std::size_t producer, std::size_t consumer, const BoundEquation& joined) {
        if (gives_verdict(groups_[producer])) return false;
        const bool up = can_rise(producer, consumer);
        if (!up && !can_sink(producer, consumer)) return false;
        groups_[producer].writes.push_back(joined);
        if (up) return true;
        std::rotate(groups_.begin() + std::ptrdiff_t(producer),
                    groups_.begin() + std::ptrdiff_t(producer) + 1,
                    groups_.begin() + std::ptrdiff_t(consumer));
        return true;
    }
    /// Nothing between them makes what the consumer reads or updates, or reads what it overwrites.
    bool can_rise(std::size_t producer, std::size_t consumer) const {
        for (std::size_t i = producer + 1; i < consumer; ++i) {
            if (write_the_same(groups_[consumer], groups_[i])) return false;
            if (reads_a_write(groups_[consumer], groups_[i])) return false;
            if (updates_something_read(groups_[consumer], terms(groups_[i]))) return false;
            if (updates_something_read(groups_[i], terms(groups_[consumer]))) return false;
            if (gives_verdict(groups_[i])) return false;
        }
        return true;
    }
    /// What comes after a check may rely on it.
    bool gives_verdict(const Group& group) const {
        return std::ranges::any_of(
            group.writes, [&](const BoundEquation& w) { return verdicts_.contains(w.target); });
    }
    /// Nothing between them reads or updates what the producer makes, or overwrites what it reads.
    bool can_sink(std::size_t producer, std::size_t consumer) const {
        for (std::size_t i = producer + 1; i < consumer; ++i) {
            if (write_the_same(groups_[producer], groups_[i])) return false;
            if (reads_a_write(groups_[i], groups_[producer])) return false;
            if (updates_something_read(groups_[i], terms(groups_[producer]))) return false;
            if (updates_something_read(groups_[producer], terms(groups_[i]))) return false;
        }
        return true;
    }

    /// Writes of tensors that nobody reads any more go away.
    void drop_unread(Group& group) {
        std::vector<BoundEquation> kept;
        for (const BoundEquation& write : group.writes) {
            const bool is_needed = write.op != Assign::define || outputs_.contains(write.target) ||
                                   is_updated(write.target) ||
                                   std::ranges::any_of(groups_, [&](const Group& other) {
                                       return reads(other, write.target);
                                   });
            if (is_needed) kept.push_back(write);
        }
        group.writes = std::move(kept);
    }

    const BoundProgram& program_;
    std::set<TensorId> outputs_;   ///< and what else is kept
    std::set<TensorId> verdicts_;  ///< of checks
    std::vector<Group> groups_;
};

}  // namespace

std::vector<Group> group(const BoundProgram& program) { return Grouper(program).run(); }

TensorId storage(const BoundProgram& program, TensorId tensor) {
    while (program.at(tensor).previous) tensor = *program.at(tensor).previous;
    return tensor;
}

bool covers_target(const BoundProgram& program, const BoundEquation& equation) {
    std::set<std::uint32_t> named;
    const Shape& shape = program.at(equation.target).shape;
    for (std::size_t d = 0; d < equation.at.size(); ++d) {
        const std::optional<Plain> subscript = plain(equation.at[d]);
        if (!subscript) return false;
        if (!subscript->index) {
            if (shape[d] != 1) return false;
            continue;
        }
        if (!named.insert(std::uint32_t(*subscript->index)).second) return false;
        const BoundIndex& index = program.at(*subscript->index);
        if (index.lower + subscript->offset != 0 || index.extent() != shape[d]) return false;
    }
    return true;
}

}  // namespace ricci::codegen
