// codegen/cuda/write_statement.cpp – kernels, loops, guards and stores as text
#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/match.h"
#include "base/text.h"
#include "codegen/cuda/nest_writer.h"
#include "codegen/nest_build.h"
#include "codegen/nest_walk.h"

namespace ricci::codegen::cuda {

namespace {

constexpr std::size_t widest_line = 100;
constexpr int indentation = 4;

/// Above the numbers of all Lets in the body.
std::uint32_t lets_end(const Body& body) {
    std::uint32_t end = 0;
    const auto use = [&](std::uint32_t number) { end = std::max(end, number + 1); };
    for (const Stmt& stmt : body) {
        if (const auto* let = std::get_if<Let>(&stmt.node)) use(let->number);
        if (const auto* fold = std::get_if<Fold>(&stmt.node)) {
            use(fold->number);
            use(fold->place_number);
        }
        if (const auto* loop = std::get_if<Loop>(&stmt.node))
            end = std::max(end, lets_end(loop->body));
        if (const auto* guard = std::get_if<Guard>(&stmt.node))
            end = std::max(end, lets_end(guard->body));
    }
    return end;
}

/// Every statement's values as trees: what occurs in one more than once gets a Let of its own.
Body as_trees(const Body& body, std::uint32_t& next) {
    Body result;
    for (Stmt stmt : body) {
        match(
            stmt.node, [&](Loop& loop) { loop.body = as_trees(loop.body, next); },
            [&](Guard& guard) {
                guard.condition = share(result, {guard.condition}, next)[0];
                guard.body = as_trees(guard.body, next);
            },
            [&](Let& let) { let.value = share(result, {let.value}, next)[0]; },
            [&](Store& store) {
                if (!store.at.computed) {
                    store.value = share(result, {store.value}, next)[0];
                    return;
                }
                const auto values = share(result, {store.value, store.at.computed}, next);
                store.value = values[0];
                store.at.computed = values[1];
            },
            [&](Fold& fold) { fold.value = share(result, {fold.value}, next)[0]; }, [](auto&) {});
        result.push_back(std::move(stmt));
    }
    return result;
}

/// Neither a declaration, which would have no use, nor itself a statement with another one inside.
bool is_plain(std::string_view statement) {
    return std::ranges::none_of(
        std::initializer_list<std::string_view>{"const ", "RC_", "rc_vec<", "for ", "if ", "else "},
        [&](std::string_view begin) { return statement.starts_with(begin); });
}

bool is_name(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// Whether the identifier stands in the text.
bool names(std::string_view text, std::string_view name) {
    for (std::size_t at = text.find(name); at < text.size(); at = text.find(name, at + 1)) {
        const std::size_t end = at + name.size();
        if ((at == 0 || !is_name(text[at - 1])) && (end == text.size() || !is_name(text[end])))
            return true;
    }
    return false;
}

std::string described(const Nest& nest, const LaunchShape& shape) {
    std::string text = format("// {}: {} of {} threads", nest.name,
                              plural(std::size_t(shape.blocks), "block"), shape.threads);
    if (shape.shared_bytes != 0) text += format(", {} bytes of shared memory", shape.shared_bytes);
    for (char& c : text)
        if (c == '\n' || c == '\\') c = ' ';
    return text;
}

}  // namespace

NestWriter::NestWriter(Nest nest, std::string symbol)
    : nest_(std::move(nest)), symbol_(std::move(symbol)), ranges_(nest_), vars_(nest_.vars.size()) {
    next_let_ = lets_end(nest_.body);
    nest_.body = as_trees(nest_.body, next_let_);
}

namespace {

bool has_word(std::string_view text, std::string_view word) {
    const auto is_part = [&](std::size_t at) {
        return at < text.size() &&
               (text[at] == '_' || std::isalnum(static_cast<unsigned char>(text[at])) != 0);
    };
    for (std::size_t at = text.find(word); at != std::string_view::npos;
         at = text.find(word, at + 1))
        if ((at == 0 || !is_part(at - 1)) && !is_part(at + word.size())) return true;
    return false;
}

}  // namespace

std::string NestWriter::kernel() {
    RICCI_ASSERT(is_gpu(nest_), format("nest `{}` is not one block loop", nest_.name));
    const LaunchShape shape = launch_shape(nest_);
    const std::vector<std::string> arguments = parameters([](const Buffer& buffer) {
        return format("RC_{}({}) ", buffer.is_written ? "OUT" : "IN", type_name(buffer.dtype));
    });
    line(described(nest_, shape));
    const std::string at_once =
        nest_.blocks_at_once > 1 ? format(", {}", nest_.blocks_at_once) : "";
    signature(format("RC_KERNEL({}{}) {}(", shape.threads, at_once, symbol_), arguments, [&] {
        declare_buffers();
        const auto& blocks = std::get<Loop>(nest_.body[0].node);
        const auto& threads = std::get<Loop>(blocks.body.at(0).node);
        const std::string block = declare(blocks.var, false);
        const std::size_t begin = text_.size();
        line(format("const int {} = RC_BLOCK;", block));
        const std::size_t end = text_.size();
        line(format("const int {} = RC_THREAD;", declare(threads.var, false)));
        body(threads.body);
        if (!has_word(std::string_view(text_).substr(end), block)) text_.erase(begin, end - begin);
    });
    line(format("RC_ENTRY({})", symbol_));
    return std::move(text_);
}

std::string NestWriter::function() {
    const auto& task = std::get<Loop>(nest_.body.at(0).node);
    RICCI_ASSERT(task.bind == Bind::parallel && task.upper.at(0).form == codegen::form(1),
                 format("nest `{}` is not one task", nest_.name));
    std::vector<std::string> arguments = parameters([](const Buffer& buffer) {
        return format("{}{}* ", buffer.is_written ? "" : "const ", type_name(buffer.dtype));
    });
    for (std::size_t b = 0; b < nest_.buffers.size(); ++b)
        if (nest_.buffers[b].space == Space::registers && nest_.buffers[b].elements == 1)
            scalars_.insert(BufferId(b));
    vars_.at(std::size_t(task.var)).constant = 0;
    ++depth_;
    body(task.body);
    // Where a term does not depend on what it reads, as `imag` of a real number, nothing is read.
    for (std::string& argument : arguments) {
        const std::size_t name = argument.rfind(' ') + 1;
        if (!names(text_, argument.substr(name))) argument.resize(name - 1);
    }
    return format("void {}({}) {{\n{}}}\n", symbol_, join(arguments, ", "), text_);
}

/// Names the buffers; the parameters are the arguments among them.
std::vector<std::string> NestWriter::parameters(
    const std::function<std::string(const Buffer& buffer)>& type) {
    std::vector<std::string> result;
    for (const Buffer& buffer : nest_.buffers) {
        buffers_.push_back(names_.take(buffer.name));
        if (buffer.space == Space::argument) result.push_back(type(buffer) + buffers_.back());
    }
    return result;
}

/// `head` ends with the opening parenthesis.
void NestWriter::signature(std::string head, const std::vector<std::string>& parameters,
                           const std::function<void()>& inside) {
    const bool is_wide = head.size() + join(parameters, ", ").size() + 3 > widest_line;
    if (is_wide) head += "\n    ";
    block(head + join(parameters, is_wide ? ",\n    " : ", ") + ")", inside);
}

void NestWriter::line(std::string_view text) {
    text_ += format("{:{}}{}\n", "", indentation * depth_, text);
}

/// `head { … }`; on one line when what is inside is one line that fits.
void NestWriter::block(std::string_view head, const std::function<void()>& inside) {
    const std::string end_before = format("{:{}}}}\n", "", indentation * depth_);
    const bool continues = head.starts_with("else ") && text_.ends_with('\n' + end_before);
    if (continues) text_.resize(text_.size() - 2);
    const std::size_t begin = text_.size();
    if (continues)
        text_ += format("}} {} {{\n", head);
    else
        line(head.empty() ? "{" : format("{} {{", head));
    const std::size_t content = text_.size();
    const Names outer = names_;
    const std::set<BufferId> outside = declared_;
    ++depth_;
    inside();
    --depth_;
    names_ = outer;
    declared_ = outside;
    const std::string_view written = std::string_view(text_).substr(content);
    const std::size_t margin = std::size_t(indentation) * std::size_t(depth_ + 1);
    const bool is_one_line = std::ranges::count(written, '\n') == 1 && written.ends_with(";\n");
    if (depth_ > 0 && is_one_line && !continues &&
        head.size() + written.size() <= widest_line + indentation && !head.empty() &&
        is_plain(written.substr(margin))) {
        const std::string only(written.substr(margin));
        text_.resize(begin);
        return line(format("{} {}", head, only.substr(0, only.size() - 1)));
    }
    line("}");
}

void NestWriter::declare_buffers() {
    for (std::size_t b = 0; b < nest_.buffers.size(); ++b) {
        const Buffer& buffer = nest_.buffers[b];
        const std::string_view type = type_name(buffer.dtype);
        if (buffer.space == Space::shared)
            line(format("RC_SHARED({}, {}, {}, {});", type, buffers_[b],
                        shared_offset(nest_, BufferId(b)), buffer.elements));
        if (buffer.space == Space::registers || buffer.space == Space::scratch)
            line(format("RC_LOCAL({}, {}, {});", type, buffers_[b], buffer.elements));
    }
}

const std::string& NestWriter::declare(VarId var, bool is_wide) {
    Variable& entry = vars_.at(std::size_t(var));
    entry = {.name = names_.take(nest_.at(var).name), .is_wide = is_wide, .constant = {}};
    return entry.name;
}

void NestWriter::body(const Body& body) {
    for (const Stmt& each : body) statement(each);
}

void NestWriter::statement(const Stmt& stmt) {
    match(
        stmt.node, [&](const Loop& l) { loop(l); },
        [&](const Guard& guard) {
            const std::string condition = value(guard.condition).text;
            if (condition == "true") return body(guard.body);
            if (condition != "false")
                block(format("if ({})", condition), [&] { body(guard.body); });
        },
        [&](const Let& l) { let(l); }, [&](const LetVar& l) { let_var(l); },
        [](const LetBound&) { RICCI_ASSERT(false, "a bound that is data on a GPU"); },
        [&](const Store& s) { store(s); }, [&](const Barrier&) { line("RC_BARRIER();"); },
        [&](const Fold& f) { fold(f); }, [&](const Commit&) { line("rc_copy_commit();"); },
        [&](const Wait& wait) { line(format("rc_copy_wait<{}>();", wait.pending)); },
        [](const Prefetch&) {},
        [](const TileProduct&) { RICCI_ASSERT(false, "a product of tiles is a CPU's"); });
}

void NestWriter::loop(const Loop& loop) {
    switch (loop.bind) {
        case Bind::serial:   return serial_loop(loop);
        case Bind::unroll:   return unrolled_loop(loop, [&] { body(loop.body); });
        case Bind::vector:   return vector_loop(loop);
        case Bind::parallel:
        case Bind::block:
        case Bind::thread:   break;
    }
    RICCI_ASSERT(
        false, format("the loop over `{}` cannot stand inside a kernel", nest_.at(loop.var).name));
}

void NestWriter::serial_loop(const Loop& loop) {
    const Text lower = bound(loop.lower, true);
    const Text upper = bound(loop.upper, false);
    const Range first = ranges_.of(loop.lower, true);
    const Range last = ranges_.of(loop.upper, false);
    const bool runs_once = last.high - first.low <= loop.step;  // or not at all
    const std::int64_t past = last.high + (runs_once ? 0 : loop.step);
    const bool is_wide = !lower.range || !upper.range || !Range{first.low, past, 1}.is_narrow();
    const std::string_view type = index_type(is_wide);

    const Names outer = names_;
    const std::string name = declare(loop.var, is_wide);
    const auto inside = [&] { body(loop.body); };
    const std::string test = format("{} < {}", name, at_least(Strength::sum, upper));
    if (runs_once && last.low > first.high) {
        block("", [&] {
            line(format("const {} {} = {};", type, name, lower.text));
            inside();
        });
    } else if (runs_once) {
        block(format("if (const {} {} = {}; {})", type, name, lower.text, test), inside);
    } else {
        const std::string step =
            loop.step == 1 ? format("++{}", name) : format("{} += {}", name, loop.step);
        block(format("for ({} {} = {}; {}; {})", type, name, lower.text, test, step), inside);
    }
    names_ = outer;
}

void NestWriter::unrolled_loop(const Loop& loop, const std::function<void()>& inside) {
    const Names outer = names_;
    const std::string name = declare(loop.var, false);
    const std::string step =
        loop.step == 1 ? format("++{}", name) : format("{} += {}", name, loop.step);
    block(format("RC_UNROLL for (int {} = {}; {} < {}; {})", name, bound(loop.lower, true).text,
                 name, bound(loop.upper, false).text, step),
          inside);
    names_ = outer;
}

/// A name for a Let; what a guard asks is called so.
std::string NestWriter::take_name(std::uint32_t let) {
    return names_.take(conditions_.contains(let) ? "holds" : format("t{}", let));
}

void NestWriter::let(const Let& let) {
    const Text text = value(let.value);
    const std::string name = take_name(let.number);
    line(format("const {} {} = {};", text.range ? "int" : type_name(let.value->dtype), name,
                text.text));
    lets_[let.number] = {name, Strength::primary, text.range};
}

void NestWriter::let_var(const LetVar& let) {
    const Range range = ranges_.at(let.var);
    if (range.low == range.high) {
        vars_.at(std::size_t(let.var)) = {.name = {}, .is_wide = false, .constant = range.low};
        return;
    }
    const BoundTerm quotient_of{let.form, let.divisor};
    Text text = quotient(quotient_of, false);
    const Range before = ranges_.of(quotient_of, false);
    if (let.modulus != 0 && before.high >= let.modulus)
        text.text = format("{} % {}", at_least(Strength::product, text), let.modulus);
    // A remainder in 64 bits may be small.
    const bool is_wide = !text.range && !range.is_narrow();
    if (!text.range && !is_wide) text.text = format("int({})", text.text);
    const std::string content = text.text;
    line(format("const {} {} = {};", index_type(is_wide), declare(let.var, is_wide), content));
}

void NestWriter::store(const Store& store) {
    if (store.hint == StoreHint::asynchronous) {
        const auto& load = std::get<Load>(store.value->term);
        if (size_bytes(nest_.at(store.buffer).dtype) >= 4)
            return line(copied(store.buffer, store.at, load.buffer, load.at, 1));
    }
    this->store(store, value(store.value));
}

/// An asynchronous copy of `width` neighbours. Constants of both addresses stand apart, where the
/// instruction has room for them: 18 bits in shared memory, 12 in global memory, in bytes.
std::string NestWriter::copied(BufferId to, Address at, BufferId from, Address source,
                               std::int64_t width) {
    const auto size = std::int64_t(size_bytes(nest_.at(to).dtype));
    const auto taken_out = [&](Address& address, std::int64_t most_bytes) {
        const std::int64_t constant = address.affine.constant;
        if (constant <= -most_bytes / size || constant >= most_bytes / size) return std::int64_t{0};
        address.affine.constant = 0;
        return constant;
    };
    const std::int64_t to_constant = taken_out(at, 1 << 18);
    const std::int64_t from_constant = taken_out(source, 1 << 12);
    const std::string constants = to_constant == 0 && from_constant == 0
                                      ? ""
                                      : format(", {}, {}", to_constant, from_constant);
    return format("rc_copy_async<{}{}>({}, {}, {}, {});", width, constants,
                  buffers_[std::size_t(to)], index(at), buffers_[std::size_t(from)], index(source));
}

void NestWriter::store(const Store& store, const Text& text) {
    const DType dtype = nest_.at(store.buffer).dtype;
    const std::string target = element(store.buffer, store.at);
    if (store.hint == StoreHint::streaming && nest_.at(store.buffer).space == Space::argument)
        return line(format("rc_store_stream({}, {}, {});", buffers_[std::size_t(store.buffer)],
                           index(store.at), text.text));
    if (store.hint == StoreHint::atomic)
        return line(format("rc_add_atomic({}, {}, {});", buffers_[std::size_t(store.buffer)],
                           index(store.at), text.text));
    if (scalars_.contains(store.buffer) && declared_.insert(store.buffer).second)
        return line(format("{} {} = {};", type_name(dtype), target, text.text));
    if (!store.combine) return line(format("{} = {};", target, text.text));
    const bool is_sum = store.combine == Reducer::sum;
    if (is_floating(dtype) && !is_half(dtype) && (is_sum || store.combine == Reducer::prod)) {
        const bool is_difference =
            is_sum && text.strength == Strength::unary && text.text[0] == '-';
        return line(is_difference ? format("{} -= {};", target, text.text.substr(1))
                                  : format("{} {}= {};", target, is_sum ? '+' : '*', text.text));
    }
    line(format("{} = {};", target, combined_text(*store.combine, dtype, {target}, text).text));
}

void NestWriter::fold(const Fold& fold) {
    const DType dtype = fold.value->dtype;
    const Text start = value(fold.value);
    const std::string name = take_name(fold.number);
    line(format("{} {} = {};", type_name(dtype), name, start.text));
    std::string place;
    if (fold.place) {
        const Text at = value(fold.place);
        place = take_name(fold.place_number);
        line(format("rc_i64 {} = {};", place, at.text));
        lets_[fold.place_number] = {place};
    }
    lets_[fold.number] = {name};
    if (fold.width == 1) return;
    // Narrow types travel as `int`s.
    const bool is_direct = is_floating(dtype) || dtype == DType::i32 || dtype == DType::i64;
    const std::string_view as = size_bytes(dtype) == 8 ? "rc_i64" : "int";
    const auto shuffled = [&](const std::string& mask) {
        const std::string call = is_direct ? format("rc_shuffle_xor({}, {})", name, mask)
                                           : format("rc_shuffle_xor({}({}), {})", as, name, mask);
        return is_direct ? call : format("{}({})", type_name(dtype), call);
    };
    const Names outer = names_;
    const std::string mask = names_.take("mask");
    block(format("RC_UNROLL for (int {} = {}; {} > 0; {} /= 2)", mask, fold.width / 2, mask, mask),
          [&] {
              if (!fold.place) {
                  const Text next = combined_text(fold.reducer, dtype, {name}, {shuffled(mask)});
                  return line(format("{} = {};", name, next.text));
              }
              const std::string other = names_.take("other");
              const std::string other_place = names_.take("other_place");
              const std::string_view test =
                  fold.reducer == Reducer::max ? "rc_is_above" : "rc_is_below";
              line(format("const {} {} = {};", type_name(dtype), other, shuffled(mask)));
              line(format("const rc_i64 {} = rc_shuffle_xor({}, {});", other_place, place, mask));
              block(format("if ({}<{}>({}, {}, {}, {}))", test, type_name(dtype), other,
                           other_place, name, place),
                    [&] {
                        line(format("{} = {};", name, other));
                        line(format("{} = {};", place, other_place));
                    });
          });
    names_ = outer;
}

}  // namespace ricci::codegen::cuda
