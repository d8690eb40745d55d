// tests/support/random_program.cpp – seeded random programs in the language, with their arguments
//
// A statement is drawn for index ranges chosen beforehand: arrays are made to fit the subscripts
// they are read with, or taken again where an earlier one fits. Values stay of moderate size:
// functions with poles get arguments away from them.
#include "tests/support/random_program.h"

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "base/text.h"
#include "tests/support/random_forms.h"
#include "tests/support/random_layers.h"

namespace ricci::tests {
namespace {

// Points of one statement's domain, reductions included. One program in fifty is large: it fills
// vectors, register tiles and packed panels.
constexpr std::int64_t usual_points = 3'000;
constexpr std::int64_t large_points = 150'000;
constexpr std::uint64_t large_every = 50;

constexpr std::array index_names = {"i", "j", "k", "l", "m", "n", "o", "p", "q",
                                    "r", "s", "t", "u", "v", "w", "x", "y", "z"};

constexpr std::int64_t offset_value = 2;

constexpr std::array all_types = {DType::boolean, DType::i8,  DType::i16, DType::i32, DType::i64,
                                  DType::u8,      DType::u16, DType::u32, DType::u64, DType::f16,
                                  DType::bf16,    DType::f32, DType::f64};

struct Symbol {
    std::string name;
    std::int64_t lower = 0;
    std::int64_t upper = 0;
    bool is_anchored = false;  ///< has a plain subscript or a range of its own
    bool is_read = false;      ///< stands in a subscript

    [[nodiscard]] std::int64_t extent() const { return upper - lower; }
};

struct KnownArray {
    std::string name;
    Shape shape;
    bool is_argument = true;
};

/// A subscript and the extent of the dimension that it is drawn for.
struct Subscript {
    std::string text;
    std::int64_t extent = 0;
};

class Generator {
  public:
    Generator(std::uint64_t seed, const RandomForms& forms)
        : engine_(seed * 0x9e3779b97f4a7c15ULL + 1), forms_(forms) {
        program_.seed = seed;
        program_.is_large = seed % large_every == large_every - 1;
        const std::int64_t style = below(4);
        types_ = style < 2    ? std::vector{DType::f32}
                 : style == 2 ? std::vector{DType::f64}
                              : std::vector{DType::f32, DType::f64};
        if (!forms.all_types) return;
        types_.clear();
        for (std::int64_t n = style == 0 ? 1 : style; n > 0; --n)
            types_.push_back(all_types[static_cast<std::size_t>(below(std::ssize(all_types)))]);
    }

    RandomProgram run() {
        if (forms_.language) program_.text = language_definitions;
        const std::int64_t statements = 1 + (chance(40) ? 1 + below(2) : 0);
        for (std::int64_t n = 0; n < statements; ++n) {
            if (n > 0) program_.text += "\n";
            if (forms_.language && !arrays_.empty() && chance(20))
                program_.text += run_definition();
            else
                program_.text += n > 0 && chance(35) ? update() : definition();
        }
        return std::move(program_);
    }

  private:
    // --- choices ---
    std::int64_t below(std::int64_t n) {
        return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(n));
    }
    bool chance(int percent) { return below(100) < percent; }
    template <class List>
    const auto& one_of(const List& list) {
        return list[static_cast<std::size_t>(below(static_cast<std::int64_t>(std::size(list))))];
    }
    std::int64_t extent();

    // --- statements ---
    std::string definition();
    std::string run_definition();
    std::string update();
    std::string right_side(const std::string& op);
    std::string term();
    std::string where_clause();

    // --- terms ---
    std::string factor(int depth);
    std::string reducer(int depth);
    std::string access(std::vector<std::size_t> must);
    Subscript subscript(std::size_t symbol);
    Subscript compound(std::size_t symbol);
    Subscript modified(std::size_t symbol);
    Subscript gathered(std::size_t symbol);
    std::string keys(std::size_t symbol);
    std::string array_for(const std::vector<Subscript>& at);
    std::string scalar();
    std::string offset();
    std::string literal();
    std::string condition(std::size_t bound);

    std::size_t new_symbol(std::int64_t extent);
    [[nodiscard]] std::int64_t points() const;

    std::mt19937_64 engine_;
    RandomForms forms_;
    RandomProgram program_;
    std::vector<DType> types_;
    std::vector<KnownArray> arrays_;
    int targets_ = 0;

    // Of the statement being drawn:
    std::vector<Symbol> symbols_;
    std::vector<std::size_t> visible_;  ///< the symbols that the term being drawn may use
    std::vector<std::string> ranges_;   ///< of its where clause
    std::vector<std::string> locals_;
    std::string forbidden_;  ///< an array that it updates, and so must not read elsewhere
    std::int64_t reduced_points_ = 1;
};

std::int64_t Generator::extent() {
    if (program_.is_large) return 15 + below(90);
    const std::int64_t kind = below(100);
    if (kind < 1) return 0;
    if (kind < 12) return 1;
    if (kind < 80) return 2 + below(4);
    if (kind < 95) return 6 + below(4);
    return 17 + below(24);
}

std::int64_t Generator::points() const {
    std::int64_t count = reduced_points_;
    for (std::size_t n : visible_) count *= std::max<std::int64_t>(symbols_[n].extent(), 1);
    return count;
}

/// A new index that may be used from here on; small where the domain is large already.
std::size_t Generator::new_symbol(std::int64_t wanted) {
    const std::int64_t most = program_.is_large ? large_points : usual_points;
    const std::int64_t room = std::max<std::int64_t>(1, most / points());
    symbols_.push_back({index_names[symbols_.size()], 0, std::min(wanted, room), false});
    visible_.push_back(symbols_.size() - 1);
    return symbols_.size() - 1;
}

// --- statements ----------------------------------------------------------------------------------

std::string Generator::definition() {
    symbols_.clear();
    visible_.clear();
    ranges_.clear();
    locals_.clear();
    forbidden_.clear();
    const std::int64_t rank = below(100) < 12 ? 0 : 1 + below(100) / 40 + (chance(10) ? 1 : 0);
    KnownArray target{std::string(1, static_cast<char>('T' + targets_++)), {}, false};
    std::vector<std::string> slots;
    for (std::int64_t d = 0; d < rank; ++d) {
        if (d > 0 && chance(4)) {
            slots.emplace_back(chance(50) ? "_" : "0");
            target.shape.push_back(1);
            continue;
        }
        const std::size_t n = new_symbol(extent());
        slots.push_back(symbols_[n].name + (chance(5) ? "+_" : ""));
        target.shape.push_back(symbols_[n].extent());
    }
    if (slots.size() == 1 && !visible_.empty() && chance(6)) {
        slots.push_back(slots.front());
        target.shape.push_back(target.shape.front());
    }
    const std::string left = slots.empty() && chance(50)
                                 ? target.name
                                 : format("{}[{}]", target.name, ricci::join(slots, ","));
    std::string text = format("{} := {}", left, right_side(":="));
    text += where_clause();
    arrays_.push_back(std::move(target));
    return text;
}

/// A statement for arrays of any rank: an earlier array, one like it, and at times a sum over its
/// last dimension.
std::string Generator::run_definition() {
    forbidden_.clear();
    const KnownArray from = one_of(arrays_);
    KnownArray target{std::string(1, static_cast<char>('T' + targets_++)), from.shape, false};
    std::vector<Subscript> at;
    for (const std::int64_t extent : from.shape) at.push_back({"", extent});
    const std::string like = array_for(at);
    const bool sums = !from.shape.empty() && chance(40);
    if (sums) target.shape.pop_back();
    const std::string_view run = sums ? "[..,z]" : "[..]";
    const std::string value = format("{}{}*{}{}", from.name, run, like, run);
    std::string text = format("{}[..] := {}", target.name, value);
    if (!sums) text += format(" + {}", literal());
    arrays_.push_back(std::move(target));
    return text;
}

std::string Generator::update() {
    symbols_.clear();
    visible_.clear();
    ranges_.clear();
    locals_.clear();
    const KnownArray target = one_of(arrays_);
    forbidden_ = target.name;
    constexpr std::array operators = {"=", "+=", "+=", "-=", "*=", "max=", "min="};
    const std::string op = one_of(operators);
    std::vector<std::string> slots;
    for (const std::int64_t extent : target.shape) {
        const std::int64_t kind = extent < 2 ? 0 : below(100);
        if (kind < 75) {
            const std::size_t n = new_symbol(extent);
            symbols_[n].upper = extent;
            symbols_[n].is_anchored = true;
            slots.push_back(symbols_[n].name);
        } else if (forms_.subscripts && kind < 90 && op != "=" && extent > 2) {
            const std::size_t n = new_symbol(this->extent());
            const std::string J = keys(n);
            slots.push_back(chance(50) ? J + " + 1" : format("wrap({} + {})", J, symbols_[n].name));
        } else if (kind < 85) {
            slots.push_back(format("{}", below(extent)));
        } else {
            const std::size_t n = new_symbol(extent - 1);
            symbols_[n].upper = extent - 1;
            slots.push_back(symbols_[n].name + "+1");
        }
    }
    const std::string left =
        slots.empty() ? target.name : format("{}[{}]", target.name, ricci::join(slots, ","));
    const std::string value = right_side(op);
    return format("{} {} {}{}", left, op, value, where_clause());
}

/// One to three terms; with `*= max= min=` an implied reduction takes all of them.
std::string Generator::right_side(const std::string& op) {
    const bool has_own_terms = op == ":=" || op == "=" || op == "+=" || op == "-=";
    const std::int64_t terms = has_own_terms ? 1 + below(100) / 55 + (chance(10) ? 1 : 0) : 1;
    std::string text;
    for (std::int64_t n = 0; n < terms; ++n) {
        if (n > 0) text += chance(60) ? " + " : " - ";
        text += term();
    }
    return text;
}

/// A product; often with an index or two that the left side lacks.
std::string Generator::term() {
    const std::vector<std::size_t> outer = visible_;
    const std::int64_t outer_points = reduced_points_;
    std::vector<std::size_t> implied;
    const bool has_names = symbols_.size() + 4 < index_names.size();
    if (has_names && chance(45)) implied.push_back(new_symbol(std::max<std::int64_t>(extent(), 1)));
    if (!implied.empty() && chance(25)) implied.push_back(new_symbol(1 + below(4)));

    std::vector<std::string> factors;
    if (chance(15)) factors.push_back(literal());
    if (!implied.empty()) {
        factors.push_back(access(implied));
        if (chance(70)) factors.push_back(access({one_of(implied)}));
    }
    const std::int64_t more = implied.empty() ? 1 + below(2) : below(2);
    for (std::int64_t n = 0; n < more; ++n) factors.push_back(factor(2));
    if (chance(6)) factors.push_back(scalar());

    if (locals_.empty() && factors.size() > 1 && chance(8)) {
        locals_.push_back(format("local = {}", factors.back()));
        factors.back() = "local";
    }
    for (std::size_t n : implied)
        if (!symbols_[n].is_anchored && chance(70)) {
            ranges_.push_back(
                format("{} in {}:{}", symbols_[n].name, symbols_[n].lower, symbols_[n].upper));
            symbols_[n].is_anchored = true;
        }
    visible_ = outer;
    reduced_points_ = outer_points;
    std::string text = ricci::join(factors, "*");
    return factors.size() == 1 && chance(25) ? format("sin({})", text) : text;
}

/// Ranges for the target's indices that have none; now and then they are left to be solved.
std::string Generator::where_clause() {
    for (std::size_t n : visible_) {
        const Symbol& symbol = symbols_[n];
        if (symbol.is_anchored && (symbol.extent() == 0 || !chance(5))) continue;
        if (!symbol.is_anchored && symbol.is_read && chance(25)) continue;
        ranges_.push_back(format("{} in {}:{}", symbol.name, symbol.lower, symbol.upper));
    }
    std::vector<std::string> clauses = ranges_;
    clauses.insert(clauses.end(), locals_.begin(), locals_.end());
    return clauses.empty() ? "" : " where " + ricci::join(clauses, ", ");
}

// --- terms ---------------------------------------------------------------------------------------

std::string Generator::factor(int depth) {
    const std::int64_t kind = depth <= 0 ? below(62) : below(100);
    if (kind < 50) return access({});
    if (kind < 54) return literal();
    if (kind < 58) return scalar();
    // Values of indices that narrow integers hold the low bits of.
    if (kind < 62 && !visible_.empty() && forms_.all_types && chance(50))
        return format("({}*{} - {})", symbols_[one_of(visible_)].name, 1 + below(300), below(200));
    if (kind < 62 && !visible_.empty())
        return format("({} + {})", symbols_[one_of(visible_)].name, 1 + below(3));
    if (kind < 62) return literal();
    if (kind < 75)
        return fmt::format(fmt::runtime(one_of(unary_forms)), "(" + factor(depth - 1) + ")");
    if (kind < 86 && forms_.language && chance(60))
        return fmt::format(fmt::runtime(one_of(language_forms)), factor(depth - 1),
                           factor(depth - 1));
    if (kind < 86)
        return fmt::format(fmt::runtime(one_of(binary_forms)), factor(depth - 1),
                           factor(depth - 1));
    if (kind < 91) return format("({} - {})", factor(depth - 1), factor(depth - 1));
    return reducer(depth - 1);
}

std::string Generator::reducer(int depth) {
    constexpr std::array names = {"sum", "sum", "sum", "max", "min", "mean", "prod"};
    constexpr std::array others = {"any", "all", "count", "argmax", "argmin", "logsumexp", "norm"};
    if (symbols_.size() + 4 > index_names.size()) return access({});
    const std::vector<std::size_t> outer = visible_;
    const std::int64_t outer_points = reduced_points_;
    const std::string name = forms_.language && chance(50) ? one_of(others) : one_of(names);
    const bool is_position = name.starts_with("arg");
    const std::size_t first = new_symbol(std::max<std::int64_t>(extent(), 1));
    std::vector<std::size_t> bound{first};
    if (chance(20) && !is_position) bound.push_back(new_symbol(1 + below(3)));
    std::string where = chance(25) ? format(" | {}", condition(first)) : "";
    // Data leaves these a point.
    if ((name == "mean" || is_position) && where.find('[') != std::string::npos)
        where += format(" || {} == {}", symbols_[first].name, symbols_[first].lower);
    std::string body = access(bound);
    if (chance(40)) body += format("*{}", factor(depth));
    if (name == "prod") body = format("(1 + 0.2*sin({}))", body);
    if (name == "any" || name == "all" || name == "count") body = format("{} > 0.25", body);
    std::vector<std::string> binders;
    for (std::size_t n : bound) {
        const Symbol& symbol = symbols_[n];
        binders.push_back(symbol.is_anchored && !chance(10)
                              ? symbol.name
                              : format("{} in {}:{}", symbol.name, symbol.lower, symbol.upper));
    }
    visible_ = outer;
    reduced_points_ = outer_points;
    return format("{}[{}{}]({})", name, ricci::join(binders, ","), where, body);
}

/// A condition on the bound index: affine, or on data.
std::string Generator::condition(std::size_t bound) {
    const std::string k = symbols_[bound].name;
    const std::string other =
        visible_.size() > 1 ? symbols_[one_of(visible_)].name : format("{}", below(4));
    switch (below(6)) {
        case 0:  return format("{} <= {}", k, other);
        case 1:  return format("{} != {}", k, other);
        case 2:  return format("{} + 1 > {}", k, other);
        case 3:  return format("{} - {} < 2 && {} > -1", k, other, k);
        case 4:  return format("{} > {}", access({bound}), chance(50) ? "0" : "0.1*" + scalar());
        default: return format("{} >= {}", k, below(3));
    }
}

/// A read whose subscripts use at least the symbols `must`, and some others that are visible.
std::string Generator::access(std::vector<std::size_t> must) {
    for (std::size_t n : visible_) {
        const bool is_there = std::find(must.begin(), must.end(), n) != must.end();
        if (!is_there && must.size() < 4 && chance(45)) must.push_back(n);
    }
    if (must.empty() && !visible_.empty()) must.push_back(one_of(visible_));
    if (must.empty()) return scalar();
    for (std::size_t n = must.size(); n > 1; --n)
        std::swap(must[n - 1], must[static_cast<std::size_t>(below(static_cast<std::int64_t>(n)))]);
    std::vector<Subscript> at;
    for (std::size_t n = 0; n < must.size(); ++n) {
        Subscript s = subscript(must[n]);
        if (chance(3) && at.size() < 3) at.push_back(s);
        at.push_back(std::move(s));
    }
    if (at.size() < 4 && chance(4)) {
        const std::int64_t size = 1 + below(3);
        const std::int64_t kind = below(3);
        at.push_back({kind == 0 ? format("{}", below(size)) : kind == 1 ? "end" : "-1", size});
    }
    const std::string array = array_for(at);
    std::vector<std::string> texts;
    for (const Subscript& s : at) texts.push_back(s.text);
    return format("{}[{}]", array, ricci::join(texts, ","));
}

Subscript Generator::subscript(std::size_t n) {
    symbols_[n].is_read = true;
    if (forms_.subscripts && symbols_[n].extent() > 0 && chance(25))
        return chance(60) ? modified(n) : gathered(n);
    if (chance(80) || symbols_[n].extent() == 0) {
        symbols_[n].is_anchored = true;
        return {symbols_[n].name, symbols_[n].upper};
    }
    return compound(n);
}

Subscript Generator::compound(std::size_t n) {
    const Symbol& symbol = symbols_[n];
    const std::size_t m = one_of(visible_);
    const Symbol& other = symbols_[m];
    const std::int64_t c = below(3);
    const bool has_other = m != n && other.extent() > 0;
    if (chance(10)) return {format("{}+${}", symbol.name, offset()), symbol.upper + offset_value};
    if (forms_.language && chance(20)) {
        if (chance(50)) return {format("{}//2", symbol.name), (symbol.upper + 1) / 2};
        return {format("{}%{}", symbol.name, c + 1), c + 1};
    }
    switch (below(has_other ? 7 : 4)) {
        case 0: return {format("{}+{}", symbol.name, c + 1), symbol.upper + c + 1};
        case 1: return {format("2*{}+{}", symbol.name, c), 2 * (symbol.upper - 1) + c + 1};
        case 2: return {format("{}-{}", symbol.upper - 1 + c, symbol.name), symbol.upper + c};
        case 3: return {format("3*{}", symbol.name), 3 * (symbol.upper - 1) + 1};
        case 4: return {format("{}+{}", symbol.name, other.name), symbol.upper + other.upper - 1};
        case 5:
            return {format("{}-{}+{}", symbol.name, other.name, other.upper - 1 + c),
                    symbol.upper + other.upper - 1 + c};
        default:
            return {format("{}+2*{}+{}", symbol.name, other.name, c),
                    symbol.upper + 2 * (other.upper - 1) + c};
    }
}

/// A subscript that may lie outside of the dimension, or may not but for its padding.
Subscript Generator::modified(std::size_t n) {
    constexpr std::array names = {"pad", "clamp", "wrap", "reflect"};
    const std::string name = one_of(names);
    const std::int64_t c = below(7) - 3;
    const std::string i = symbols_[n].name;
    const std::string inside = chance(70)   ? format("{} + {}", i, c)
                               : chance(50) ? format("{} - {}", c, i)
                                            : format("2*{} - {}", i, 1 + below(4));
    const std::int64_t extent = 1 + below(6);
    if (name != "pad" || chance(50)) {
        const std::string value = name == "pad" && chance(30) ? ", value=1.5" : "";
        return {format("{}({}{})", name, inside, value), extent};
    }
    // With widths that hold the index's range.
    const std::int64_t low = below(3);
    const std::int64_t high = below(3);
    symbols_[n].is_anchored = symbols_[n].is_anchored || symbols_[n].upper <= high;
    const std::int64_t least = std::max<std::int64_t>(symbols_[n].upper - low - high, 0);
    return {format("pad({} - {}, {}, {}{})", i, low, low, high, chance(30) ? ", -0.5" : ""), least};
}

/// A subscript read from an array of whole numbers, which are -1, 0 or 1.
Subscript Generator::gathered(std::size_t n) {
    const std::string J = keys(n);
    const std::int64_t extent = 3 + below(3);
    switch (below(7)) {
        case 0:  return {format("{} + {}", J, 1 + below(extent - 2)), extent};
        case 1:  return {format("{}*{} + 1", J, J), extent};
        case 2:  return {format("wrap({} + {})", J, symbols_[n].name), extent};
        case 3:  return {format("clamp(2*{})", J), extent};
        case 4:  return {format("reflect(3*{} + 1)", J), extent};
        case 5:  return {format("pad({} - {})", J, below(2)), extent};
        default: return {format("{} > 0 ? {} + 1 : 0", J, J), extent};
    }
}

/// An element of a new or earlier array of whole numbers at the index.
std::string Generator::keys(std::size_t n) {
    symbols_[n].is_anchored = true;
    const std::int64_t extent = symbols_[n].upper;
    const std::string name = format("Keys{}", extent);
    ArgumentSpec spec;
    spec.dtype = DType::i64;
    spec.shape = {extent};
    program_.signature.emplace(name, spec);
    return format("{}[{}]", name, symbols_[n].name);
}

/// An array that the subscripts fit: an earlier one, or a new argument.
std::string Generator::array_for(const std::vector<Subscript>& at) {
    std::vector<std::string> fitting;
    for (const KnownArray& array : arrays_) {
        if (array.shape.size() != at.size() || array.name == forbidden_) continue;
        bool fits = true;
        for (std::size_t d = 0; d < at.size(); ++d) fits &= array.shape[d] == at[d].extent;
        if (fits) fitting.push_back(array.name);
    }
    if (!fitting.empty() && chance(55)) return one_of(fitting);
    KnownArray array{std::string(1, static_cast<char>('A' + program_.signature.size())), {}};
    if (program_.signature.size() > 15 && !fitting.empty()) return one_of(fitting);
    for (const Subscript& s : at) array.shape.push_back(s.extent);
    ArgumentSpec spec;
    spec.dtype = one_of(types_);
    spec.shape = array.shape;
    program_.signature.emplace(array.name, spec);
    arrays_.push_back(array);
    return array.name;
}

std::string Generator::scalar() {
    const std::string name = chance(60) ? "alpha" : "beta";
    ArgumentSpec spec;
    spec.dtype = DType::f64;
    spec.is_weak = true;
    program_.signature.emplace(name, spec);
    return chance(30) ? "$" + name : name;
}

/// A scalar argument that is a whole number, for subscripts.
std::string Generator::offset() {
    ArgumentSpec spec;
    spec.dtype = DType::i64;
    spec.is_weak = true;
    spec.value = offset_value;
    program_.signature.emplace("offset", spec);
    return "offset";
}

std::string Generator::literal() {
    constexpr std::array literals = {"2", "0.5", "3", "1.5", "0.25", "1", "1e-1", "pi"};
    return one_of(literals);
}

}  // namespace

RandomProgram random_program(std::uint64_t seed, const RandomForms& forms) {
    if (forms.products) return random_product(seed);
    if (forms.rows) return random_rows(seed);
    return Generator(seed, forms).run();
}

std::string str(const RandomProgram& program) {
    std::string text = format("seed {}\n{}\n", program.seed, program.text);
    for (const auto& [name, spec] : program.signature)
        text += format("  {}: {} {}\n", name, ricci::name(spec.dtype), ricci::str(spec.shape));
    return text;
}

}  // namespace ricci::tests
