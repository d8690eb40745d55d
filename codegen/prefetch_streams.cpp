// codegen/prefetch_streams.cpp – the pass `prefetch`: what loops over memory read soon
//
// Hardware fetches ahead too little where streams are read and written side by side or rows are
// short: with requests one thread of an Intel Xeon (Sapphire Rapids) takes 1.27 ms instead of 1.40
// for layer norm of 65,536 rows of 64, 11.9 instead of 14.2 for tanh(a*b+c) of 16 M, 8.8 instead
// of 9.5 to transpose 4096^2 (bench_cpu --threads 1 "layer norm 64" tanh "4096^2").
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "base/integer.h"
#include "codegen/cache_lines.h"
#include "codegen/kernel.h"
#include "codegen/nest_build.h"
#include "codegen/nest_walk.h"
#include "codegen/passes.h"

namespace ricci::codegen {

namespace {

/// Lines of all streams of a loop between a request and its load: two KiB. Half as many gain less.
constexpr std::int64_t lines_ahead = 32;
/// Arrays of up to so many second-level caches come as fast without requests.
constexpr std::int64_t caches_kept = 2;
constexpr std::int64_t caches_kept_with_fast_l3 = 8;
/// The second-level cache is to hold a row, the next one, and what is written and kept beside.
constexpr std::int64_t rows_in_l2 = 4;
/// Lines of a turn of a loop, at most, and streams of a loop.
constexpr std::int64_t most_lines = 32;
constexpr std::size_t most_streams = 8;

/// An unrolled or vector loop inside of the serial one.
struct Inner {
    VarId var{};
    std::int64_t extent = 1;
};

/// What one load reads in a turn of a serial loop.
struct Stream {
    BufferId buffer{};
    AffineForm first;               ///< the lowest place of a turn
    std::int64_t run = 1;           ///< elements side by side
    std::vector<Inner> apart = {};  ///< loops that lead to other runs
    std::int64_t lines = 1;
};

/// How far apart the bounds are at most, where constants say so: `constant_length` asks for one
/// term each.
std::optional<std::int64_t> most_length(const Loop& loop) {
    std::optional<std::int64_t> least;
    for (const BoundTerm& upper : loop.upper)
        for (const BoundTerm& lower : loop.lower) {
            if (upper.divisor != 1 || lower.divisor != 1) continue;
            const AffineForm length = upper.form - lower.form;
            if (length.is_constant())
                least = std::min(least.value_or(length.constant), length.constant);
        }
    return least;
}

bool has_serial_loop(const Body& body) {
    return std::ranges::any_of(body, [](const Stmt& stmt) {
        if (const auto* guard = std::get_if<Guard>(&stmt.node)) return has_serial_loop(guard->body);
        const auto* loop = std::get_if<Loop>(&stmt.node);
        return loop != nullptr && (loop->bind == Bind::serial || has_serial_loop(loop->body));
    });
}

double operations(const Body& body) {
    double sum = 0;
    for_each_value(body, [&](const Value& root) {
        sum += cost({root});
        for_each_node({root}, [&](const Value& value) {
            if (std::holds_alternative<Load>(value->term)) sum -= 1;
        });
    });
    for_each_store(body, [&](const Store& store) { sum += store.combine ? 1 : 0; });
    return sum;
}
/// Of an element that is read, in all loops without others inside.
double operations_of_loops(const Body& body) {
    double sum = 0;
    for (const Stmt& stmt : body) {
        if (const auto* guard = std::get_if<Guard>(&stmt.node))
            sum += operations_of_loops(guard->body);
        const auto* loop = std::get_if<Loop>(&stmt.node);
        if (loop == nullptr) continue;
        const bool is_innermost = loop->bind == Bind::serial && !has_serial_loop(loop->body);
        sum += is_innermost ? operations(loop->body) : operations_of_loops(loop->body);
    }
    return sum;
}

/// Whether little is done with arrays that come from memory, and little written: on Zen 3 hardware
/// is ahead of such loops, and requests are in its way. The sum of 50 M took 8.2 ms, with requests
/// 11.8, a sum of products 5.1, not 7.1; maxima the same, places of maxima 12.2, not 10.5, and so a
/// product of a matrix and a vector that reads four rows at a time, 2.5, not 2.3.
bool reads_quickly(const Nest& nest, const Target& target) {
    constexpr double few_operations = 4;
    constexpr std::int64_t of_memory = 32 << 20;  // 25 MB came from the third level
    bool is_some_far = false;
    for (const Buffer& buffer : nest.buffers) {
        if (buffer.space != Space::argument) continue;
        const auto element = std::int64_t(size_bytes(buffer.dtype));
        if (buffer.is_written && buffer.elements * element > target.l2_bytes) return false;
        const bool is_far = buffer.elements * element > of_memory;
        if (is_far && element < std::int64_t(sizeof(float))) return false;
        is_some_far |= is_far;
    }
    return is_some_far && operations_of_loops(nest.body) <= few_operations;
}

/// Whether some results go past the caches.
bool writes_past_caches(const Nest& nest) {
    bool is_some_past = false;
    for_each_store(nest.body,
                   [&](const Store& store) { is_some_past |= store.hint == StoreHint::streaming; });
    return is_some_past;
}

class Prefetcher {
  public:
    Prefetcher(Nest nest, const Target& target)
        : nest_(std::move(nest)),
          target_(target),
          is_quick_(has_short_vectors(target) && reads_quickly(nest_, target)),
          bytes_of_quick_rows_(target.has_fast_l3 && writes_past_caches(nest_) ? target.l1_bytes / 4
                                                                               : 0) {}

    Nest run() && {
        ask(nest_.body);
        return std::move(nest_);
    }

  private:
    /// What a loop has gone over and the caches still hold: a row, or several one after the other.
    struct Row {
        BufferId buffer{};
        AffineForm first;
        std::int64_t bytes = 0;  ///< of all rows that the loop went over at once
        /// Of the loops that go over it again the dearest, and how it asks for the next row.
        Loop* again = nullptr;
        double cost = -1;
        Body requests = {};
    };
    /// A loop around what is being looked at, and the rows that the loops before it went over.
    struct Level {
        const Loop* loop = nullptr;  ///< none: the nest
        std::vector<Row> rows = {};
    };

    void ask(Body& body, const Loop* around = nullptr) {
        levels_.push_back({around});
        ask_within(body);
        const std::vector<Row> rows = take_rows(0);
        levels_.pop_back();
        if (!around || !is_simple(*around)) return;
        for (const Row& row : rows) keep_rows(row, *around);
    }
    /// Ends what is known of the level's rows from one on, and lets loops ask for the next ones.
    std::vector<Row> take_rows(std::size_t from) {
        std::vector<Row>& all = levels_.back().rows;
        const auto begin = all.begin() + std::ptrdiff_t(from);
        std::vector<Row> rows(std::make_move_iterator(begin), std::make_move_iterator(all.end()));
        all.erase(begin, all.end());
        for (Row& row : rows)
            if (row.again) put_first(row.again->body, std::move(row.requests));
        return rows;
    }
    static void put_first(Body& body, Body requests) {
        body.insert(body.begin(), std::make_move_iterator(requests.begin()),
                    std::make_move_iterator(requests.end()));
    }
    /// Keeps what the loop goes over where each of its turns goes over a `row`.
    void keep_rows(const Row& row, const Loop& loop) {
        const std::optional<std::int64_t> length = most_length(loop);
        if (!length) return;
        const bool is_same = row.first.coefficient(loop.var) == 0;
        keep({row.buffer, start_of(row.first, loop),
              is_same ? row.bytes : row.bytes * ceil_div(*length, loop.step)});
    }
    void keep(Row row) {
        if (row.bytes <= std::max(target_.l1_bytes / 2, target_.l2_bytes / rows_in_l2))
            levels_.back().rows.push_back(std::move(row));
    }
    static bool is_simple(const Loop& loop) {
        return loop.bind == Bind::serial && loop.lower.size() == 1 && loop.lower[0].divisor == 1;
    }
    void ask_within(Body& body) {
        for (Stmt& stmt : body) {
            if (auto* guard = std::get_if<Guard>(&stmt.node)) {
                const std::size_t certain = levels_.back().rows.size();
                ask_within(guard->body);
                take_rows(certain);
            }
            auto* loop = std::get_if<Loop>(&stmt.node);
            if (loop == nullptr || loop->bind == Bind::vector || loop->bind == Bind::unroll)
                continue;
            ask(loop->body, loop);
            if (loop->bind != Bind::serial) continue;
            // Loops inside of it are looked at no more, but may be about to ask for rows.
            if (!has_serial_loop(loop->body)) put_first(loop->body, requests_of(*loop));
        }
    }

    /// Of a loop without others inside: what one reads beside others is little, and comes long
    /// before its turn.
    Body requests_of(Loop& loop) {
        std::vector<Stream> streams;
        std::vector<Inner> inner;
        collect(loop.body, loop, inner, streams);
        const std::optional<std::int64_t> length =
            loop.lower.size() == 1 ? most_length(loop) : std::nullopt;
        const std::int64_t row = length ? row_bytes(streams, loop, *length) : 0;
        if (length) {
            ask_for_next(streams, loop);
            if (row <= target_.l1_bytes / 2)
                std::erase_if(streams, [&](const Stream& each) { return is_near(each, loop); });
        }
        const bool is_plain =
            std::ranges::all_of(streams, [](const Stream& stream) { return stream.apart.empty(); });
        std::int64_t lines = 0;
        for (const Stream& stream : streams) lines += stream.lines;
        Body requests;
        if (lines == 0 || (is_quick_ && is_plain)) return requests;
        const bool is_short = length && is_plain && row <= bytes_of_quick_rows_;
        for (const Stream& stream : streams) {
            if (!is_short)
                append(requests, request(stream, loop, length, ceil_div(lines_ahead, lines)));
            if (length) keep({stream.buffer, start_of(stream.first, loop), row});
        }
        return requests;
    }

    /// Takes the streams of rows that an earlier loop has gone over. The dearest loop that goes
    /// over one again asks for as much of the next turn's or task's row: memory would be idle until
    /// the first loop comes to that. Softmax of 256 rows of 16,384 took 3.3 ms (Zen 3), now 2.9.
    void ask_for_next(std::vector<Stream>& streams, Loop& loop) {
        const double cost = operations(loop.body);
        std::erase_if(streams, [&](const Stream& stream) {
            const auto [row, around, step] = row_of(stream, loop);
            if (!row || !around || step == 0 || row->bytes < lines_ahead * line_bytes) return false;
            if (cost > row->cost && row->bytes > bytes_of_quick_rows_) {
                row->again = &loop;
                row->cost = cost;
                row->requests = requests(stream, {stream.first + form(step)}, 2);
            }
            return true;
        });
    }

    [[nodiscard]] std::int64_t kept_bytes() const {
        return (target_.has_fast_l3 ? caches_kept_with_fast_l3 : caches_kept) * target_.l2_bytes;
    }
    [[nodiscard]] std::int64_t bytes_of(BufferId buffer) const {
        return std::int64_t(size_bytes(nest_.at(buffer).dtype));
    }
    /// Of all that the loop goes over.
    [[nodiscard]] std::int64_t row_bytes(const std::vector<Stream>& streams, const Loop& loop,
                                         std::int64_t length) const {
        std::int64_t bytes = 0;
        for (const Stream& stream : streams)
            bytes +=
                std::abs(stream.first.coefficient(loop.var)) * length * bytes_of(stream.buffer);
        return bytes;
    }
    static AffineForm start_of(const AffineForm& place, const Loop& loop) {
        Substitution start;
        start.replace(loop.var, loop.lower[0].form);
        return start(place);
    }
    /// A row that an earlier loop has gone over, the loop around both, and how far one of its turns
    /// moves the row.
    struct Found {
        Row* row = nullptr;
        const Loop* around = nullptr;
        std::int64_t step = 0;
    };
    Found row_of(const Stream& stream, const Loop& loop) {
        AffineForm start = start_of(stream.first, loop);
        for (std::size_t i = levels_.size(); i-- > 0;) {
            Level& level = levels_[i];
            const auto row = std::ranges::find_if(level.rows, [&](const Row& each) {
                return each.buffer == stream.buffer && each.first == start;
            });
            const Loop* around = level.loop;
            if (row != level.rows.end())
                return {&*row, around, around ? start.coefficient(around->var) * around->step : 0};
            if (!around || !is_simple(*around)) break;
            start = start_of(start, *around);
        }
        return {};
    }
    /// Whether the first-level cache holds the row: the loop around this one goes over it in each
    /// of its turns, or an earlier loop went.
    [[nodiscard]] bool is_near(const Stream& stream, const Loop& loop) {
        const Loop* around = levels_.back().loop;
        if (around && around->bind == Bind::serial &&
            start_of(stream.first, loop).coefficient(around->var) == 0)
            return true;
        const Row* row = row_of(stream, loop).row;
        return row && row->bytes <= target_.l1_bytes / 2;
    }
    /// The streams of the loads that no other serial loop stands around.
    void collect(const Body& body, const Loop& loop, std::vector<Inner>& inner,
                 std::vector<Stream>& streams) {
        for (const Stmt& stmt : body) {
            if (const auto* each = std::get_if<Loop>(&stmt.node)) {
                const std::optional<std::int64_t> extent = most_length(*each);
                const bool is_from_0 = each->lower.size() == 1 && each->lower[0].form == form(0);
                if (!extent || !is_from_0 || each->step != 1) continue;
                inner.push_back({each->var, *extent});
                collect(each->body, loop, inner, streams);
                inner.pop_back();
            } else if (const auto* guard = std::get_if<Guard>(&stmt.node)) {
                collect(guard->body, loop, inner, streams);
            } else {
                for_each_load(stmt,
                              [&](const Load& load) { add_stream(load, loop, inner, streams); });
            }
        }
    }
    template <class Visit>
    static void for_each_load(const Stmt& stmt, const Visit& visit) {
        for_each_value({stmt}, [&](const Value& root) {
            for_each_node({root}, [&](const Value& value) {
                if (const auto* load = std::get_if<Load>(&value->term)) visit(*load);
            });
        });
    }

    void add_stream(const Load& load, const Loop& loop, const std::vector<Inner>& inner,
                    std::vector<Stream>& streams) const {
        const Buffer& buffer = nest_.at(load.buffer);
        const std::int64_t bytes = bytes_of(load.buffer);
        if (buffer.space != Space::argument || load.at.computed ||
            buffer.elements * bytes <= kept_bytes())
            return;
        const std::int64_t step = load.at.affine.coefficient(loop.var) * loop.step;
        if (4 * std::abs(step) * bytes < line_bytes) return;
        Stream stream{load.buffer, load.at.affine};
        std::vector<Inner> axes;
        for (const Inner& each : inner)
            if (load.at.affine.coefficient(each.var) != 0) axes.push_back(each);
        const auto stride = [&](const Inner& each) {
            return std::abs(load.at.affine.coefficient(each.var));
        };
        std::ranges::sort(axes, {}, stride);
        Substitution lowest;
        std::int64_t runs = 1;
        for (const Inner& each : axes) {
            const std::int64_t apart = stride(each);
            if (apart > stream.run && apart * bytes >= line_bytes) {
                stream.apart.push_back(each);
                runs *= each.extent;
                continue;
            }
            stream.run += apart * (each.extent - 1);
            const bool is_down = load.at.affine.coefficient(each.var) < 0;
            lowest.replace(each.var, form(is_down ? each.extent - 1 : 0));
        }
        stream.first = lowest(load.at.affine);
        stream.lines = runs * ceil_div(stream.run * bytes, line_bytes);
        const bool is_known = std::ranges::any_of(streams, [&](const Stream& other) {
            const AffineForm between = other.first - stream.first;
            return other.buffer == stream.buffer && between.is_constant() &&
                   std::abs(between.constant) * bytes < line_bytes && other.lines >= stream.lines;
        });
        if (stream.lines <= most_lines && !is_known && streams.size() < most_streams)
            streams.push_back(std::move(stream));
    }

    /// What the stream reads so many turns later; after the loop's last turn, what it reads in the
    /// next turn of the loop around it. What moves with slices: what the next one reads, as far as
    /// the second-level cache, which is to hold both.
    Body request(const Stream& stream, const Loop& loop, const std::optional<std::int64_t>& length,
                 std::int64_t turns) {
        // Behind the end of a task's loop, which none goes on with, requests are in vain: so many
        // times fewer than the others, at most.
        constexpr std::int64_t least_ratio = 8;
        const std::int64_t slice = nest_.slice ? stream.first.coefficient(*nest_.slice) : 0;
        if (slice != 0) return requests(stream, {stream.first + form(slice)}, 2);
        const Loop* around = levels_.back().loop;
        std::int64_t gap = 0;  // from where this run ends to where the next one begins
        Value beyond;
        if (length && around && around->bind == Bind::serial) {
            const std::int64_t all = ceil_div(*length, loop.step);
            const std::int64_t next =
                start_of(stream.first, loop).coefficient(around->var) * around->step;
            gap = next - stream.first.coefficient(loop.var) * all * loop.step;
            if (gap != 0 && turns < all) {
                const AffineForm last = loop.lower[0].form + form((all - turns) * loop.step);
                const Value is_last = make_operation(
                    Op::ge, {make_index(form(loop.var)), make_index(last)}, DType::boolean);
                beyond = make_operation(Op::select, {is_last, make_integer(gap), make_integer(0)},
                                        DType::i64);
                gap = 0;
            } else if (gap != 0) {
                turns = all;
            }
        } else if (length && *length < least_ratio * turns * loop.step) {
            return {};
        }
        Substitution later;
        later.replace(loop.var, form(loop.var) + form(turns * loop.step));
        return requests(stream, {later(stream.first) + form(gap), beyond}, target_.stream_level);
    }
    /// For all runs of the stream, of which the first is at `place`.
    Body requests(const Stream& stream, Address place, int level) {
        Substitution runs;
        std::vector<Inner> loops;
        for (const Inner& each : stream.apart) {
            const VarId u = nest_.add(Var{"u"});
            runs.replace(each.var, form(u));
            loops.push_back({u, each.extent});
        }
        place.affine = runs(place.affine);
        Body body = prefetch_lines(nest_, stream.buffer, std::move(place), stream.run, level);
        for (std::size_t i = loops.size(); i-- > 0;) {
            Body outer;
            outer.push_back(
                make_loop(loops[i].var, Bind::unroll, loops[i].extent, std::move(body)));
            body = std::move(outer);
        }
        return body;
    }

    Nest nest_;
    const Target& target_;
    bool is_quick_;
    /// Rows of up to so many bytes are not asked for: on Zen 4 requests are in the way of short
    /// ones whose results go past the caches. Layer norm of 4096 rows of 1024 took 0.80 ms without
    /// them and 1.02 with them, all its gradients 2.6 and 3.0; of 1024 rows of 4096 1.0 and
    /// 0.98, 3.6 and 3.0 (`bench_cpu --threads 1 "layer norm"`).
    std::int64_t bytes_of_quick_rows_;
    std::vector<Level> levels_;
};

}  // namespace

Nest prefetch_streams(Nest nest, const Target& target) {
    if (target.is_gpu() || target.is_plain || nest.asks_ahead) return nest;
    return Prefetcher(std::move(nest), target).run();
}

}  // namespace ricci::codegen
