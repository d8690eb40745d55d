// dsl/check.cpp – syntax tree to program: names, ranks, implied sums
#include "dsl/check.h"

#include <algorithm>

#include "base/match.h"
#include "base/shape.h"
#include "base/text.h"
#include "dsl/convert.h"
#include "dsl/implied_sums.h"

namespace ricci {
namespace {

class Checker {
  public:
    explicit Checker(const ast::Program& tree) : program_(start(tree)), symbols_(program_, tree) {
        program_.context->set_limit(Context::max_written_nodes);
        for (const auto& item : tree.items)
            if (const auto* statement = std::get_if<ast::Statement>(&item))
                at_place(program_.source, statement->span, [&] { check(*statement); });
        program_.context->set_limit(Context::max_nodes);
        if (program_.equations.empty())
            throw Error({.kind = ErrorKind::syntax,
                         .message = "the program has no statement",
                         .source = tree.source,
                         .labels = {},
                         .hint = "write one such as `C[i,j] := A[i,k]*B[k,j]`"});
    }

    Program result() { return std::move(program_); }

  private:
    static Program start(const ast::Program& tree) {
        Program program;
        program.context = std::make_shared<Context>();
        program.source = tree.source;
        return program;
    }

    [[noreturn]] void fail(ErrorKind kind, std::string message, std::vector<Label> labels,
                           std::string hint = {}) const {
        throw Error({.kind = kind,
                     .message = std::move(message),
                     .source = program_.source,
                     .labels = std::move(labels),
                     .hint = std::move(hint)});
    }

    void check(const ast::Statement& statement) {
        symbols_.declare(statement);
        Converter converter(program_, symbols_, statement);
        Equation equation{.target = {},
                          .at = {},
                          .op = statement.op,
                          .previous = {},
                          .indices = {},
                          .value = Expr(),
                          .span = statement.span};
        StatementScope scope;
        check_target(statement, converter, equation, scope);
        const Expr value = converter.value(statement.value);
        ExprMap<Expr> renamed;
        const ImpliedSums sums =
            imply_sums(program_, value, statement.op, equation.indices, converter.spans(), renamed);
        equation.value = sums.value;
        if (free_indices(equation.value).size() > equation.indices.size())
            RICCI_ASSERT(false, "an index is not bound");
        for (IndexId id : equation.indices)
            scope.bindings.push_back({id, Binding::Kind::target, converter.provisional_span(id)});
        for (IndexId id : sums.bound) {
            converter.apply_where(id);
            scope.bindings.push_back({id, Binding::Kind::implied, converter.provisional_span(id)});
        }
        for (const Binding& binding : converter.reducer_bindings())
            scope.bindings.push_back(binding);
        converter.check_where_used();
        if (scope.bindings.size() > max_bindings)
            fail(ErrorKind::limit,
                 format("the statement sums {} times; at most {} are allowed",
                        scope.bindings.size() - equation.indices.size(), max_bindings),
                 {{statement.target.span, ""}}, "split it into several statements");
        scope.spans = converter.access_spans();
        for (const auto& [now, before] : renamed)
            if (const auto found = scope.spans.find(before); found != scope.spans.end())
                scope.spans.emplace(now, AccessSpans(found->second));
        check_reads_of_target(statement, equation, scope);
        infer_ranges(program_, equation, scope);
        finish(statement, std::move(equation));
    }

    void check_target(const ast::Statement& statement, Converter& converter, Equation& equation,
                      StatementScope& scope) {
        const ast::Target& target = statement.target;
        const bool defines = statement.op == Assign::define;
        if (find_function(target.name) == nullptr && is_constant(target.name))
            fail(ErrorKind::name, format("`{}` is a constant", target.name),
                 {{target.name_span, ""}}, "choose another name");
        if (defines && symbols_.has(target.name))
            fail(ErrorKind::name,
                 format("`{}` exists already; `:=` makes a new array", target.name),
                 {{target.name_span, ""}},
                 format("choose another name, or update it with `=` or `+=`"));
        if (target.slots.size() > max_rank)
            fail(ErrorKind::limit,
                 format("{} dimensions; at most {} are allowed", target.slots.size(), max_rank),
                 {{target.span, ""}});
        Tensor tensor{.name = target.name,
                      .rank = static_cast<int>(target.slots.size()),
                      .role = Role::target};
        if (!defines) {
            const TensorId previous = symbols_.tensor(target.name);
            equation.previous = previous;
            tensor.shape = program_.at(previous).shape;
            tensor.dtype_of = previous;
        }
        scope.target_spans.whole = target.span;
        for (std::size_t d = 0; d < target.slots.size(); ++d) {
            const ast::Slot& slot = target.slots[d];
            scope.target_spans.at.push_back(slot.span);
            scope.is_shifted.push_back(slot.kind == ast::Slot::Kind::shifted);
            equation.at.push_back(
                defines ? new_slot(slot, converter)
                        : old_slot(slot, statement.op, converter, *equation.previous, d));
        }
        equation.indices = converter.target_indices();
        equation.target = program_.add(std::move(tensor));
    }

    /// A slot of `:=`: a plain index, `_`, the literal 0, or `i+_`.
    Expr new_slot(const ast::Slot& slot, Converter& converter) {
        if (slot.kind == ast::Slot::Kind::unit) return program_.context->integer(0);
        RICCI_ASSERT(slot.kind != ast::Slot::Kind::ellipsis, "`..` has not been written out");
        const auto* name = std::get_if<ast::Name>(&slot.expr->node);
        const auto* number = std::get_if<ast::Number>(&slot.expr->node);
        if (number && number->text == "0") return program_.context->integer(0);
        if (!name || name->dollar || is_constant(name->name))
            fail(ErrorKind::syntax, "a new array is made with plain indices", {{slot.span, ""}},
                 "use an index, `_`, or `i+_`; for other places make the array first and update it "
                 "with `=` or `+=`");
        return program_.context->index(converter.bind_target(name->name, slot.span));
    }

    Expr old_slot(const ast::Slot& slot, Assign op, Converter& converter, TensorId previous,
                  std::size_t d) {
        if (slot.kind == ast::Slot::Kind::unit) return program_.context->integer(0);
        RICCI_ASSERT(slot.kind != ast::Slot::Kind::ellipsis, "`..` has not been written out");
        if (slot.kind == ast::Slot::Kind::shifted)
            fail(ErrorKind::syntax, "`i+_` shifts a new array only", {{slot.span, ""}},
                 "write the subscript out, or make a new array with `:=`");
        bind_names(slot.expr, converter);
        Expr value;
        const Expr subscript = converter.subscript(slot.expr, previous, static_cast<int>(d), value);
        const auto* modified = std::get_if<Modified>(&subscript->term);
        const bool is_padded = modified && modified->outside == Outside::pad;
        if (is_padded && op == Assign::set)
            fail(ErrorKind::syntax, "`pad` leaves it open which elements `=` overwrites",
                 {{slot.span, ""}}, "restrict the range with `where`, or update with `+=`");
        if (value || (is_padded && modified->value != program_.context->integer(0)))
            fail(ErrorKind::syntax, "what lies outside of a target is not written",
                 {{slot.span, ""}}, "leave the value of `pad` out");
        return subscript;
    }

    /// Every index name in a target's subscript is bound by the target.
    void bind_names(const ast::ExprPtr& root, Converter& converter) {
        symbols_.for_each_name(root, [&](const ast::Name& name, Span span) {
            if (!name.dollar && symbols_.indices().contains(name.name))
                converter.bind_target(name.name, span);
        });
    }

    /// An updated array may be read only at the place that is written.
    void check_reads_of_target(const ast::Statement& statement, const Equation& equation,
                               const StatementScope& scope) const {
        if (!equation.previous) return;
        std::vector<Expr> roots = equation.at;
        roots.push_back(equation.value);
        for (Expr e : postorder(roots)) {
            const auto* access = std::get_if<Access>(&e->term);
            if (!access || access->tensor != *equation.previous || access->at == equation.at)
                continue;
            const auto found = scope.spans.find(e);
            fail(ErrorKind::range,
                 format("`{}` is read at another place than it is written", statement.target.name),
                 {{found == scope.spans.end() ? statement.span : found->second.whole, "read here"},
                  {statement.target.span, "written here"}},
                 format("copy it first, or make a new array with `:=`"));
        }
    }

    void finish(const ast::Statement& statement, Equation equation) {
        const TensorId target = equation.target;
        symbols_.set(statement.target.name, target);
        std::erase_if(program_.outputs,
                      [&](TensorId id) { return program_.at(id).name == statement.target.name; });
        program_.outputs.push_back(target);
        program_.equations.push_back(std::move(equation));
    }

    static constexpr std::size_t max_bindings = 10'000;

    Program program_;
    Symbols symbols_;
};

}  // namespace

Program check(const ast::Program& tree) { return Checker(tree).result(); }

}  // namespace ricci
