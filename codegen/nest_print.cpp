// codegen/nest_print.cpp – loop nests as text
#include <cmath>

#include "base/match.h"
#include "base/text.h"
#include "codegen/nest.h"
#include "codegen/nest_build.h"

namespace ricci::codegen {

namespace {

std::string_view name(Space space) {
    switch (space) {
        case Space::argument:  return "argument";
        case Space::registers: return "registers";
        case Space::scratch:   return "scratch";
        case Space::shared:    return "shared";
    }
    return {};
}

std::string_view name(Bind bind) {
    switch (bind) {
        case Bind::serial:   return "for";
        case Bind::parallel: return "parallel";
        case Bind::vector:   return "vector";
        case Bind::unroll:   return "unroll";
        case Bind::block:    return "block";
        case Bind::thread:   return "thread";
    }
    return {};
}

struct Spelling {
    Op op;
    std::string_view text;
};
constexpr Spelling infix_operators[] = {
    {Op::add, " + "}, {Op::mul, " * "},          {Op::div, " / "},        {Op::eq, " == "},
    {Op::ne, " != "}, {Op::lt, " < "},           {Op::le, " <= "},        {Op::gt, " > "},
    {Op::ge, " >= "}, {Op::logical_and, " && "}, {Op::logical_or, " || "}};
/// Operators of the language that are written as functions here.
constexpr Spelling functions[] = {{Op::floordiv, "floordiv"},
                                  {Op::mod, "mod"},
                                  {Op::pow, "pow"},
                                  {Op::logical_not, "not"},
                                  {Op::select, "select"}};

/// Empty for an operation that is not written infix.
std::string_view infix(Op op) {
    for (const Spelling& spelling : infix_operators)
        if (spelling.op == op) return spelling.text;
    return {};
}
std::string_view function_name(Op op) {
    for (const Spelling& spelling : functions)
        if (spelling.op == op) return spelling.text;
    return info(op).name;
}

class Printer {
  public:
    explicit Printer(const Nest& nest) : nest_(nest) {}

    std::string text() {
        std::vector<std::string> arguments;
        for (const Buffer& buffer : nest_.buffers)
            if (buffer.space == Space::argument)
                arguments.push_back(format("{}{}: {}[{}]{}", buffer.is_written ? "out " : "",
                                           buffer.name, ricci::name(buffer.dtype), buffer.elements,
                                           buffer.is_broadcast_anew ? " broadcast anew" : ""));
        text_ = format("kernel {}({}){}\n", nest_.name, join(arguments, ", "),
                       nest_.multiplies_in_sums ? " adds by multiply-adds" : "");
        depth_ = 1;
        for (const Buffer& buffer : nest_.buffers)
            if (buffer.space != Space::argument)
                line(format("{} {}: {}[{}]{}", name(buffer.space), buffer.name,
                            ricci::name(buffer.dtype), buffer.elements,
                            buffer.has_spare_lanes ? " with spare lanes" : ""));
        print(nest_.body);
        return std::move(text_);
    }

    [[nodiscard]] std::string value(const Value& value) const {
        return match(
            value->term, [&](const Constant& constant) { return number(constant, value->dtype); },
            [&](const VarValue& var) { return form(var.form); },
            [&](const Load& load) { return place(load.buffer, load.at); },
            [&](const Operate& operate) { return operation(operate); },
            [&](const Convert& convert) {
                return format("{}{}({})", ricci::name(value->dtype), convert.wraps ? "_bits" : "",
                              this->value(convert.a));
            },
            [&](const LetValue& let) { return format("%{}", let.number); });
    }

  private:
    void line(std::string_view text) { text_ += format("{:{}}{}\n", "", 2 * depth_, text); }

    void print(const Body& body) {
        for (const Stmt& stmt : body)
            match(stmt.node, [&](const auto& node) { this->print(node); });
    }
    void print(const Loop& loop) {
        const bool is_inside = loop.bind == Bind::parallel && nest_.runs_side_by_side;
        line(format("{} {} in {}..{}{}{}", name(loop.bind), nest_.at(loop.var).name,
                    bound(loop.lower, "max"), bound(loop.upper, "min"),
                    loop.step == 1 ? "" : format(" by {}", loop.step),
                    is_inside ? "  # side by side" : ""));
        nested(loop.body);
    }
    void print(const Guard& guard) {
        line(format("if {}", value(guard.condition)));
        nested(guard.body);
    }
    void print(const Let& let) { line(format("let %{} = {}", let.number, value(let.value))); }
    void print(const LetVar& let) {
        std::string text = form(let.form);
        if (!let.form.is_constant() && (let.divisor != 1 || let.modulus != 0) &&
            (let.form.terms.size() > 1 || let.form.constant != 0))
            text = format("({})", text);
        if (let.divisor != 1) text += format(" // {}", let.divisor);
        if (let.modulus != 0) text += format(" % {}", let.modulus);
        line(format("let {} = {}", nest_.at(let.var).name, text));
    }
    void print(const LetBound& let) {
        line(format("let {} = clamp({}, {}, {})", nest_.at(let.var).name, value(let.value),
                    let.least, let.most));
    }
    void print(const Store& store) {
        line(format("{} {}= {}{}", place(store.buffer, store.at),
                    store.combine ? ricci::name(*store.combine) : "", value(store.value),
                    store.hint == StoreHint::streaming      ? "  # streaming"
                    : store.hint == StoreHint::asynchronous ? "  # asynchronous"
                    : store.hint == StoreHint::atomic       ? "  # atomic"
                                                            : ""));
    }
    void print(const Prefetch& prefetch) {
        line(format("prefetch {} to L{}", place(prefetch.buffer, prefetch.at), prefetch.level));
    }
    void print(const TileProduct& product) {
        const auto sides = [&](const std::vector<TileSide>& all) {
            std::vector<std::string> each;
            for (const TileSide& side : all)
                each.push_back(format("{} by {} {}", place(side.buffer, {side.at}), side.step,
                                      side.block_step));
            return join(each, ", ");
        };
        std::vector<std::string> products;
        for (const auto& [row, column] : product.products)
            products.push_back(format("{}*{}", row, column));
        line(format(
            "{} by {} {}= tiles {}x{} of {} | {} blocks {}{}", place(product.sum, {product.at}),
            product.row_step, product.adds ? "sum" : "", product.rows, product.columns,
            sides(product.row_sides), sides(product.column_sides), bound(product.blocks, "min"),
            product.products.size() > 1 ? format(" products {}", join(products, " ")) : ""));
    }
    void print(const Barrier&) { line("barrier"); }
    void print(const Fold& fold) {
        if (fold.place)
            line(format("let %{}, %{} = fold {} {}: {} at {}", fold.number, fold.place_number,
                        ricci::name(fold.reducer), fold.width, value(fold.value),
                        value(fold.place)));
        else
            line(format("let %{} = fold {} {}: {}", fold.number, ricci::name(fold.reducer),
                        fold.width, value(fold.value)));
    }
    void print(const Commit&) { line("commit"); }
    void print(const Wait& wait) { line(format("wait {}", wait.pending)); }
    void nested(const Body& body) {
        ++depth_;
        print(body);
        --depth_;
    }

    [[nodiscard]] std::string form(const AffineForm& form) const {
        std::string text;
        for (const AffineForm::Term& term : form.terms) {
            const bool is_negative = term.coefficient < 0;
            const std::uint64_t size =
                is_negative ? 0 - std::uint64_t(term.coefficient) : std::uint64_t(term.coefficient);
            text += text.empty() ? (is_negative ? "-" : "") : (is_negative ? " - " : " + ");
            if (size != 1) text += format("{}*", size);
            text += nest_.at(term.var).name;
        }
        if (text.empty()) return format("{}", form.constant);
        if (form.constant > 0) text += format(" + {}", form.constant);
        if (form.constant < 0) text += format(" - {}", 0 - std::uint64_t(form.constant));
        return text;
    }
    [[nodiscard]] std::string bound(const LoopBound& bound, std::string_view combine) const {
        std::vector<std::string> terms;
        for (const BoundTerm& term : bound)
            terms.push_back(term.divisor == 1
                                ? form(term.form)
                                : format("{}({}, {})", combine == "max" ? "ceil" : "floor",
                                         form(term.form), term.divisor));
        if (terms.size() == 1) return terms[0];
        return format("{}({})", combine, join(terms, ", "));
    }
    [[nodiscard]] std::string place(BufferId buffer, const Address& at) const {
        std::string address = form(at.affine);
        if (at.computed)
            address = at.affine == AffineForm{} ? value(at.computed)
                                                : format("{} + {}", address, value(at.computed));
        return format("{}[{}]", nest_.at(buffer).name, address);
    }
    [[nodiscard]] static std::string number(const Constant& constant, DType dtype) {
        if (dtype == DType::boolean) return constant.integer != 0 ? "true" : "false";
        if (!is_floating(dtype)) return format("{}", constant.integer);
        std::string text = dtype == DType::f32 ? format("{}", static_cast<float>(constant.real))
                                               : format("{}", constant.real);
        if (std::isfinite(constant.real) && text.find_first_of(".e") == std::string::npos)
            text += ".0";
        return text;
    }
    /// Parts of an infix operation stand in parentheses when they are infix themselves.
    [[nodiscard]] std::string part(const Value& part) const {
        const auto* operate = std::get_if<Operate>(&part->term);
        const auto* var = std::get_if<VarValue>(&part->term);
        const bool is_compound =
            (operate != nullptr && (!infix(operate->op).empty() || operate->op == Op::neg)) ||
            (var != nullptr && (var->form.terms.size() > 1 || var->form.constant != 0));
        return is_compound ? format("({})", value(part)) : value(part);
    }
    [[nodiscard]] std::string operation(const Operate& operate) const {
        if (operate.op == Op::neg) return format("-{}", part(operate.args[0]));
        if (operate.op == Op::add) return sum(operate.args);
        std::vector<std::string> parts;
        if (infix(operate.op).empty() || operate.args.size() < 2) {
            for (const Value& arg : operate.args) parts.push_back(value(arg));
            return format("{}({})", function_name(operate.op), join(parts, ", "));
        }
        for (const Value& arg : operate.args) parts.push_back(part(arg));
        return join(parts, infix(operate.op));
    }
    [[nodiscard]] std::string sum(const std::vector<Value>& terms) const {
        std::string text = part(terms[0]);
        for (std::size_t i = 1; i < terms.size(); ++i) {
            if (is_operation(terms[i], Op::neg))
                text += format(" - {}", part(std::get<Operate>(terms[i]->term).args[0]));
            else
                text += format(" + {}", part(terms[i]));
        }
        return text;
    }

    const Nest& nest_;
    std::string text_;
    int depth_ = 0;
};

}  // namespace

// Nests of equal texts are compiled once (codegen/equal_nests): all that decides their code is in
// it.
std::string str(const Nest& nest) { return Printer(nest).text(); }
std::string str(const Nest& nest, const Value& value) { return Printer(nest).value(value); }

}  // namespace ricci::codegen
