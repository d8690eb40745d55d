// tests/support/nest_machine.cpp – one kernel executed scalar by scalar: tasks, or blocks of
// threads
#include "tests/support/nest_machine.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <random>
#include <unordered_set>

#include "base/error.h"
#include "base/match.h"
#include "base/text.h"
#include "codegen/nest_build.h"

namespace ricci::tests {

using namespace codegen;
using runtime::Scalar;

bool Touched::reads(std::int64_t who) {
    const bool meets = writer >= 0 && writer != who;
    has_more_readers |= reader >= 0 && reader != who;
    reader = who;
    return meets;
}

bool Touched::writes(std::int64_t who) {
    const bool meets =
        (writer >= 0 && writer != who) || (reader >= 0 && reader != who) || has_more_readers;
    writer = who;
    is_sum = false;
    return meets;
}

bool Touched::adds(std::int64_t who) {
    constexpr std::int64_t several = INT64_MAX;
    const bool meets_another = writer >= 0 && writer != who;
    const bool meets =
        (meets_another && !is_sum) || (reader >= 0 && reader != who) || has_more_readers;
    // Its own plain store is still one that others may not add to.
    is_sum |= writer != who;
    writer = meets_another ? several : who;
    return meets;
}

namespace {

[[noreturn]] void fail(const std::string& message) {
    throw Error({.kind = ErrorKind::internal, .message = message});
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

/// What an asynchronous store brings.
struct Arrival {
    BufferId buffer{};
    std::size_t place = 0;
    Scalar value;
};

/// A thread of a block, or the one thread of a task: its variables and its own memory.
struct Thread {
    std::int64_t number = 0;
    std::vector<std::int64_t> vars;
    std::vector<Scalar> lets;
    std::vector<std::vector<std::optional<Scalar>>> own;  ///< registers and scratch
    std::vector<Arrival> open;                            ///< asynchronous stores, no group yet
    std::deque<std::vector<Arrival>> groups;

    void set(VarId var, std::int64_t value) { vars[std::size_t(var)] = value; }
    void let(std::uint32_t number_of_let, const Scalar& value) {
        if (lets.size() <= number_of_let) lets.resize(number_of_let + 1);
        lets[number_of_let] = value;
    }

    [[nodiscard]] std::int64_t value(const AffineForm& form) const {
        std::int64_t sum = form.constant;
        for (const AffineForm::Term& term : form.terms)
            sum += term.coefficient * vars[std::size_t(term.var)];
        return sum;
    }
    [[nodiscard]] std::int64_t lower(const LoopBound& bound) const {
        std::int64_t result = INT64_MIN;
        for (const BoundTerm& term : bound)
            result = std::max(result, -floor_div(-value(term.form), term.divisor));
        return result;
    }
    [[nodiscard]] std::int64_t upper(const LoopBound& bound) const {
        std::int64_t result = INT64_MAX;
        for (const BoundTerm& term : bound)
            result = std::min(result, floor_div(value(term.form), term.divisor));
        return result;
    }
};

class Machine {
  public:
    Machine(const Nest& nest, const std::vector<Memory*>& arguments, std::uint64_t order)
        : nest_(nest), own_(nest.buffers.size()), order_(order), random_(order) {
        auto argument = arguments.begin();
        for (std::size_t b = 0; b < nest.buffers.size(); ++b)
            memory_.push_back(nest.buffers[b].space == Space::argument ? *argument++ : &own_[b]);
        for (Memory* memory : memory_)
            for (Cell& cell : *memory) cell.tasks = cell.threads = Touched{};
        find_together(nest.body);
    }

    void run(std::optional<std::pair<std::int64_t, std::int64_t>> tasks) {
        const auto& root = std::get<Loop>(nest_.body.at(0).node);
        const auto [first, last] = tasks.value_or(std::pair(0, root.upper.at(0).form.constant));
        const bool is_block = root.bind == Bind::block;
        const auto* threads = is_block ? &std::get<Loop>(root.body.at(0).node) : nullptr;
        threads_.resize(threads != nullptr ? std::size_t(threads->upper.at(0).form.constant) : 1);
        for (const std::size_t task : turns(std::size_t(last - first))) {
            task_ = first + std::int64_t(task);
            begin_task();
            for (std::size_t t = 0; t < threads_.size(); ++t) {
                threads_[t].set(root.var, task_);
                if (threads != nullptr) threads_[t].set(threads->var, std::int64_t(t));
            }
            run_together(threads != nullptr ? threads->body : root.body);
        }
    }

  private:
    /// Numbers below `count` in the order of this run.
    std::vector<std::size_t> turns(std::size_t count) {
        std::vector<std::size_t> result(count);
        std::iota(result.begin(), result.end(), std::size_t{0});
        if (order_ == 1) std::reverse(result.begin(), result.end());
        if (order_ > 1) std::shuffle(result.begin(), result.end(), random_);
        return result;
    }

    /// Nothing is left of the task before: what is not written yet has no value.
    void begin_task() {
        ++barrier_;
        for (std::size_t b = 0; b < nest_.buffers.size(); ++b)
            if (nest_.buffers[b].space == Space::shared)
                own_[b].assign(std::size_t(nest_.buffers[b].elements), Cell{});
        for (std::size_t t = 0; t < threads_.size(); ++t) {
            Thread& thread = threads_[t];
            thread = Thread{};
            thread.number = std::int64_t(t);
            thread.vars.resize(nest_.vars.size());
            thread.own.resize(nest_.buffers.size());
            for (std::size_t b = 0; b < nest_.buffers.size(); ++b)
                if (is_private(BufferId(b)))
                    thread.own[b].resize(std::size_t(nest_.buffers[b].elements));
        }
    }

    [[nodiscard]] bool is_private(BufferId buffer) const {
        const Space space = nest_.at(buffer).space;
        return space == Space::registers || space == Space::scratch;
    }

    /// Remembers the statements that all threads enter together.
    bool find_together(const Body& body) {
        bool any = false;
        for (const Stmt& stmt : body) {
            const bool is = match(
                stmt.node, [&](const Loop& loop) { return find_together(loop.body); },
                [&](const Guard& guard) { return find_together(guard.body); },
                [](const Barrier&) { return true; }, [](const Fold&) { return true; },
                [](const Commit&) { return true; }, [](const Wait&) { return true; },
                [](const auto&) { return false; });
            if (is) together_.insert(&stmt);
            any |= is;
        }
        return any;
    }

    void run_together(const Body& body) {
        for (std::size_t i = 0; i < body.size();) {
            if (together_.contains(&body[i])) {
                step_together(body[i++]);
                continue;
            }
            std::size_t end = i;
            while (end < body.size() && !together_.contains(&body[end])) ++end;
            for (const std::size_t t : turns(threads_.size())) {
                now_ = &threads_[t];
                for (std::size_t k = i; k < end; ++k) run(body[k]);
            }
            i = end;
        }
    }

    void step_together(const Stmt& stmt) {
        match(
            stmt.node, [&](const Loop& loop) { loop_together(loop); },
            [&](const Guard&) { fail("threads part where all must arrive"); },
            [&](const Barrier&) { ++barrier_; }, [&](const Fold& fold) { this->fold(fold); },
            [&](const Commit&) {
                for (Thread& thread : threads_) {
                    thread.groups.push_back(std::move(thread.open));
                    thread.open.clear();
                }
            },
            [&](const Wait& wait) { this->wait(wait.pending); }, [](const auto&) {});
    }

    void loop_together(const Loop& loop) {
        const std::int64_t begin = threads_[0].lower(loop.lower);
        const std::int64_t end = threads_[0].upper(loop.upper);
        for (const Thread& thread : threads_)
            if (thread.lower(loop.lower) != begin || thread.upper(loop.upper) != end)
                fail("threads part where all must arrive");
        for (std::int64_t i = begin; i < end; i += loop.step) {
            for (Thread& thread : threads_) thread.set(loop.var, i);
            run_together(loop.body);
        }
    }

    struct Pair {
        Scalar value;
        Scalar place;
    };

    void fold(const Fold& fold) {
        std::vector<Pair> pairs;
        for (Thread& thread : threads_) {
            now_ = &thread;
            pairs.push_back({evaluate(fold.value), fold.place ? evaluate(fold.place) : Scalar{}});
        }
        for (auto bit = std::size_t(fold.width / 2); bit > 0; bit /= 2) {
            const std::vector<Pair> before = pairs;
            for (std::size_t t = 0; t < pairs.size(); ++t)
                pairs[t] = combined(fold, before[t], before.at(t ^ bit));
        }
        for (std::size_t t = 0; t < pairs.size(); ++t) {
            threads_[t].let(fold.number, pairs[t].value);
            if (fold.place) threads_[t].let(fold.place_number, pairs[t].place);
        }
    }

    static Pair combined(const Fold& fold, const Pair& mine, const Pair& other) {
        const DType dtype = fold.value->dtype;
        if (!fold.place) {
            const Scalar args[] = {mine.value, other.value};
            return {runtime::operate(combining_op(fold.reducer, dtype), dtype, dtype, args), {}};
        }
        const auto test = [&](Op op, const Scalar& a, const Scalar& b) {
            const Scalar args[] = {a, b};
            return runtime::operate(op, dtype, DType::boolean, args).integer != 0;
        };
        const auto is_nan = [&](const Scalar& a) { return test(Op::ne, a, a); };
        const bool is_earlier = other.place.integer < mine.place.integer;
        const Op beyond = fold.reducer == Reducer::max ? Op::gt : Op::lt;
        const bool is_better = test(beyond, other.value, mine.value) ||
                               (test(Op::eq, other.value, mine.value) && is_earlier) ||
                               (is_nan(other.value) && (!is_nan(mine.value) || is_earlier));
        return is_better ? other : mine;
    }

    void wait(std::int64_t pending) {
        for (Thread& thread : threads_) {
            now_ = &thread;
            while (std::int64_t(thread.groups.size()) > pending) {
                for (const Arrival& arrival : thread.groups.front()) {
                    Cell& cell = (*memory_[std::size_t(arrival.buffer)])[arrival.place];
                    touch(arrival.buffer, cell, &Touched::writes);
                    cell.value = arrival.value;
                    cell.is_arriving = false;
                }
                thread.groups.pop_front();
            }
        }
    }

    void run(const Body& body) {
        for (const Stmt& stmt : body) run(stmt);
    }

    void run(const Stmt& stmt) {
        match(
            stmt.node,
            [&](const Loop& loop) {
                const std::int64_t end = now_->upper(loop.upper);
                for (std::int64_t i = now_->lower(loop.lower); i < end; i += loop.step) {
                    now_->set(loop.var, i);
                    run(loop.body);
                }
            },
            [&](const Guard& guard) {
                if (evaluate(guard.condition).integer != 0) run(guard.body);
            },
            [&](const Let& let) { now_->let(let.number, evaluate(let.value)); },
            [&](const LetVar& let) {
                const std::int64_t number = now_->value(let.form);
                if (number < 0) fail("a quotient of a negative number");
                const std::int64_t quotient = number / let.divisor;
                now_->set(let.var, let.modulus == 0 ? quotient : quotient % let.modulus);
            },
            [&](const LetBound& let) {
                const std::int64_t value = evaluate(let.value).integer;
                now_->set(let.var, std::clamp(value, let.least, let.most));
            },
            [&](const Store& store) { this->store(store); },
            [&](const TileProduct& product) { multiply(product); },
            [&](const Prefetch& prefetch) {
                if (prefetch.at.computed) evaluate(prefetch.at.computed);
            },
            [](const auto&) { fail("threads part where all must arrive"); });
    }

    /// Of single numbers, rounded to f32 after each product.
    void multiply(const TileProduct& product) {
        constexpr std::int64_t block = block_points;
        const std::int64_t blocks = now_->upper(product.blocks);
        if (blocks < 1) fail("a product of tiles of no points");
        for (std::int64_t r = 0; r < product.rows; ++r)
            for (std::int64_t c = 0; c < product.columns; ++c) {
                const std::size_t at =
                    place(product.sum, {product.at + form(product.row_step * r + c)});
                auto sum = product.adds ? float(read(product.sum, at).real) : 0.0F;
                for (std::int64_t first = 0; first < block * blocks; first += block)
                    for (const auto& [i, j] : product.products)
                        for (std::int64_t k = first; k < first + block; ++k) {
                            const TileSide& row = product.row_sides[i];
                            const TileSide& column = product.column_sides[j];
                            const auto element = [&](const TileSide& side, std::int64_t offset) {
                                const AffineForm from =
                                    side.at + form(side.block_step * (first / block) + offset);
                                return float(read(side.buffer, place(side.buffer, {from})).real);
                            };
                            const std::int64_t point = k - first;
                            sum += element(row, row.step * r + point) *
                                   element(column, column.step * (point / 2) + 2 * c + point % 2);
                        }
                now_->own[std::size_t(product.sum)][at] = Scalar{.real = sum};
            }
    }

    void store(const Store& store) {
        const DType dtype = nest_.at(store.buffer).dtype;
        Scalar result = evaluate(store.value);
        const std::size_t at = place(store.buffer, store.at);
        const bool is_atomic = store.hint == StoreHint::atomic;
        if (store.combine) {
            const Scalar before = is_atomic ? written(store.buffer, at) : read(store.buffer, at);
            const Scalar args[] = {before, result};
            result = runtime::operate(combining_op(*store.combine, dtype), dtype, dtype, args);
        }
        if (is_private(store.buffer)) {
            now_->own[std::size_t(store.buffer)][at] = result;
            return;
        }
        Cell& cell = (*memory_[std::size_t(store.buffer)])[at];
        if (cell.is_arriving)
            fail(format("{} is written before an asynchronous store to it has arrived",
                        name(store.buffer, at)));
        touch(store.buffer, cell, is_atomic ? &Touched::adds : &Touched::writes);
        if (store.hint == StoreHint::asynchronous) {
            cell.is_arriving = true;
            cell.value.reset();
            now_->open.push_back({store.buffer, at, result});
            return;
        }
        cell.value = result;
    }

    [[nodiscard]] std::string name(BufferId buffer, std::size_t at) const {
        return format("kernel {}: {}[{}]", nest_.name, nest_.at(buffer).name, at);
    }

    void touch(BufferId buffer, Cell& cell, bool (Touched::*meets)(std::int64_t who)) {
        if (nest_.at(buffer).space == Space::argument && (cell.tasks.*meets)(task_))
            fail(format("kernel {}: two tasks meet in {}", nest_.name, nest_.at(buffer).name));
        if (threads_.size() == 1) return;
        if (cell.since != barrier_) {
            cell.threads = {};
            cell.since = barrier_;
        }
        if ((cell.threads.*meets)(now_->number))
            fail(format("kernel {}: two threads meet in {}", nest_.name, nest_.at(buffer).name));
    }

    std::size_t place(BufferId buffer, const Address& at) {
        std::int64_t place = now_->value(at.affine);
        if (at.computed) place += evaluate(at.computed).integer;
        const std::size_t size = is_private(buffer) ? now_->own[std::size_t(buffer)].size()
                                                    : memory_[std::size_t(buffer)]->size();
        if (place < 0 || place >= std::int64_t(size))
            fail(format("kernel {}: element {} of {}[{}]", nest_.name, place, nest_.at(buffer).name,
                        size));
        return std::size_t(place);
    }

    Scalar read(BufferId buffer, std::size_t at) {
        if (is_private(buffer)) {
            const std::optional<Scalar>& slot = now_->own[std::size_t(buffer)][at];
            if (!slot) fail(format("{} is read and not written", name(buffer, at)));
            return *slot;
        }
        const Scalar value = written(buffer, at);
        touch(buffer, (*memory_[std::size_t(buffer)])[at], &Touched::reads);
        return value;
    }
    [[nodiscard]] Scalar written(BufferId buffer, std::size_t at) const {
        const Cell& cell = (*memory_[std::size_t(buffer)])[at];
        if (cell.is_arriving) fail(format("{} is read before it has arrived", name(buffer, at)));
        if (!cell.value) fail(format("{} is read and not written", name(buffer, at)));
        return *cell.value;
    }

    Scalar evaluate(const Value& value) {
        return match(
            value->term,
            [&](const Constant& constant) {
                return Scalar{.real = constant.real, .integer = constant.integer};
            },
            [&](const VarValue& var) { return Scalar{.integer = now_->value(var.form)}; },
            [&](const Load& load) { return read(load.buffer, place(load.buffer, load.at)); },
            [&](const LetValue& let) { return now_->lets.at(let.number); },
            [&](const Convert& convert) {
                return runtime::convert_scalar(
                    evaluate(convert.a), convert.a->dtype, value->dtype,
                    convert.wraps ? runtime::Narrowing::wraps : runtime::Narrowing::saturates);
            },
            [&](const Operate& operate) {
                std::vector<Scalar> args;
                args.reserve(operate.args.size());
                for (const Value& arg : operate.args) args.push_back(evaluate(arg));
                return runtime::operate(operate.op, operate.args.back()->dtype, value->dtype, args);
            });
    }

    const Nest& nest_;
    std::vector<Memory> own_;  ///< shared buffers
    std::vector<Memory*> memory_;
    std::unordered_set<const Stmt*> together_;
    std::vector<Thread> threads_;
    Thread* now_ = nullptr;
    std::int64_t task_ = 0;
    std::int64_t barrier_ = 0;
    std::uint64_t order_;
    std::mt19937_64 random_;
};

}  // namespace

void execute(const Nest& nest, const std::vector<Memory*>& arguments, std::uint64_t order,
             std::optional<std::pair<std::int64_t, std::int64_t>> tasks) {
    Machine(nest, arguments, order).run(tasks);
}

}  // namespace ricci::tests
