// dsl/convert_call.cpp – calls in expressions: sizes, conversions, functions
#include <algorithm>
#include <array>

#include "base/shape.h"
#include "base/text.h"
#include "dsl/convert.h"
#include "dsl/ranks.h"
#include "dsl/scalar_function.h"

namespace ricci {

Expr Converter::size(const ast::Call& c, Span span) {
    const auto* array = c.args.empty() ? nullptr : std::get_if<ast::Name>(&c.args[0].value->node);
    if (c.args.size() != 2 || !array)
        fail(ErrorKind::syntax, "`size` takes an array's name and a dimension", span,
             "write `size(A, 0)`");
    refuse_in_def(format("the size of `{}`", array->name), span);
    const auto* sign = std::get_if<ast::Unary>(&c.args[1].value->node);
    const ast::Expr& digits = sign && sign->op == Op::neg ? *sign->a : *c.args[1].value;
    const auto* literal = std::get_if<ast::Number>(&digits.node);
    const Expr written = literal ? number(*literal, digits.span) : context_.literal(false);
    const auto* dimension = std::get_if<std::int64_t>(&std::get<Literal>(written->term).value);
    if (!dimension)
        fail(ErrorKind::syntax, "the dimension of `size` is a literal", c.args[1].value->span,
             format("write `size({}, 0)`", array->name));
    const TensorId id = symbols_.tensor(array->name);
    Tensor& tensor = program_.tensors[position(id)];
    const std::int64_t asked = &digits == c.args[1].value.get() ? *dimension : -*dimension;
    std::int64_t d = asked;
    if (tensor.rank < 0) {
        // Only measured so far: any rank that has the dimension will do.
        if (d >= static_cast<std::int64_t>(max_rank))
            fail(ErrorKind::limit,
                 format("dimension {} of `{}`; an array has at most {}", d, array->name, max_rank),
                 span, format("count from 0: `size({}, 0)` is the first", array->name));
        if (d < 0)
            fail(ErrorKind::shape, format("the rank of `{}` is not known here", array->name), span,
                 "count the dimension from 0");
        while (std::ssize(tensor.shape) <= d)
            tensor.shape.push_back(context_.size(id, static_cast<int>(tensor.shape.size())));
        return tensor.shape[std::size_t(d)];
    }
    if (d < 0) d += tensor.rank;
    if (d < 0 || d >= tensor.rank)
        throw Error(no_dimension(program_.source, span, array->name, tensor.rank, asked));
    return tensor.shape[std::size_t(d)];
}

Expr Converter::call(const ast::Call& c, Span span) {
    if (c.name == "size") return size(c, span);
    const OpInfo* row = symbols_.def(c.name) ? nullptr : find_function(c.name);
    const std::vector<ast::ExprPtr> given = in_order(c, row);
    if (const ast::Def* def = symbols_.def(c.name)) return inlined(*def, c, span);
    if (const auto dtype = dtype_from_name(c.name)) {
        if (c.args.size() != 1) wrong_arity(c, "1 argument");
        return context_.cast(convert(c.args.front().value), *dtype);
    }
    if (!row) unknown_function(c);
    std::vector<Expr> args;
    for (const ast::ExprPtr& argument : given) args.push_back(convert(argument));
    const auto count = static_cast<int>(args.size());
    if (count < row->min_arity || (row->max_arity >= 0 && count > row->max_arity))
        wrong_arity(c, row->min_arity == row->max_arity
                           ? plural(static_cast<std::size_t>(row->min_arity), "argument")
                       : row->max_arity < 0
                           ? format("{} or more",
                                    plural(static_cast<std::size_t>(row->min_arity), "argument"))
                           : format("{} to {} arguments", row->min_arity, row->max_arity));
    if (row->op == Op::leaky_relu && count == 1) args.push_back(context_.literal(0.01));
    return context_.apply(row->op, std::move(args));
}

/// The arguments in the order of the function's parameters: `leaky_relu(x, slope=0.1)`.
std::vector<ast::ExprPtr> Converter::in_order(const ast::Call& c, const OpInfo* row) const {
    std::vector<ast::ExprPtr> given;
    const std::span<const std::string_view> names =
        row ? parameters(row->op) : std::span<const std::string_view>();
    std::string named;
    for (const ast::Argument& argument : c.args) {
        const Span place = argument.value->span;
        if (argument.keyword.empty()) {
            if (!named.empty())
                fail(ErrorKind::syntax, "an argument without a name follows one with a name", place,
                     format("write it before `{}=`", named));
            given.push_back(argument.value);
            continue;
        }
        if (named.empty()) named = argument.keyword;
        const auto found = std::ranges::find(names, argument.keyword);
        if (found == names.end())
            fail(ErrorKind::syntax,
                 format("`{}` takes no argument named `{}`", c.name, argument.keyword), place,
                 names.empty() ? format("give it without a name: `{}(…)`", c.name)
                               : format("its arguments are {}", join(names, ", ")));
        const auto position = static_cast<std::size_t>(found - names.begin());
        if (position >= given.size()) given.resize(position + 1);
        if (given[position])
            fail(ErrorKind::syntax, format("`{}` is given `{}` twice", c.name, argument.keyword),
                 place);
        given[position] = argument.value;
    }
    for (std::size_t n = 0; n < given.size(); ++n)
        if (!given[n])
            fail(ErrorKind::syntax, format("`{}` is not given `{}`", c.name, names[n]), c.name_span,
                 format("write `{}({})`", c.name, join(names, ", ")));
    return given;
}

void Converter::wrong_arity(const ast::Call& c, std::string wanted) const {
    std::vector<std::string> names;
    const ast::Def* def = symbols_.def(c.name);
    const OpInfo* row = def ? nullptr : find_function(c.name);
    if (def) {
        names = def->parameters;
    } else if (row && !parameters(row->op).empty()) {
        names.assign(parameters(row->op).begin(), parameters(row->op).end());
    } else {
        constexpr std::array letters = {"x", "y", "z"};
        const int count = row ? row->min_arity : 1;
        for (int n = 0; n < count; ++n) names.emplace_back(letters.at(std::size_t(n)));
        if (row && row->max_arity < 0) names.emplace_back("…");
    }
    fail(ErrorKind::syntax, format("`{}` takes {}, not {}", c.name, wanted, c.args.size()),
         c.name_span, format("write `{}({})`", c.name, join(names, ", ")));
}

void Converter::unknown_function(const ast::Call& c) const {
    if (outside_from_name(c.name))
        fail(ErrorKind::syntax, format("`{}` is a modifier of a whole subscript", c.name),
             c.name_span, format("write it as `A[{}(…)]`", c.name));
    std::vector<std::string> names;
    for (const OpInfo& row : all_ops())
        if (row.is_function) names.emplace_back(row.name);
    for (const ScalarFunction* function : registered_functions()) names.push_back(function->name);
    const std::string near = nearest(c.name, names);
    const std::size_t begin = c.args.empty() ? 0 : c.args.front().value->span.begin;
    const std::size_t end = c.args.empty() ? 0 : c.args.back().value->span.end;
    const std::string args = program_.source->text.substr(begin, end - begin);
    std::string hint = near.empty()
                           ? format("write `{}[{}]` for an element of an array", c.name, args)
                           : format("did you mean `{}`?", near);
    fail(ErrorKind::name, format("there is no function `{}`", c.name), c.name_span,
         std::move(hint));
}

}  // namespace ricci
