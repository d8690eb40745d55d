// dsl/bind.cpp – shapes and types to a program: ranges as numbers, proofs, typed terms
#include <algorithm>
#include <map>
#include <ranges>
#include <set>

#include "base/text.h"
#include "dsl/bound.h"
#include "dsl/canonical.h"
#include "dsl/domain_limits.h"
#include "dsl/evaluate_size.h"
#include "dsl/gather_check.h"
#include "dsl/lower_access.h"
#include "dsl/neutral.h"
#include "dsl/prove.h"
#include "dsl/ranks.h"
#include "dsl/requirement.h"
#include "dsl/safe_condition.h"
#include "dsl/shown_place.h"
#include "dsl/subscript.h"
#include "dsl/typing.h"
#include "dsl/walk.h"

namespace ricci {
namespace {

std::vector<const ArgumentSpec*> match_arguments(const Program& program,
                                                 const Signature& signature);

class Binder {
  public:
    Binder(const Program& program, const Signature& signature)
        : program_(program),
          context_(*program.context),
          arguments_(match_arguments(program, signature)),
          sizes_(program, arguments_),
          typing_(program, bound_.tensors),
          gather_labels_(gather_labels()),
          lowering_(program, bound_.tensors, gather_labels_),
          checks_(program, bound_, typing_, gather_labels_) {
        for (TensorId id : structural_scalars(program)) structural_.insert(id);
        bound_.context = program.context;
        bound_.arguments = program.arguments;
        bound_.tensors.resize(program.tensors.size());
        bound_.indices.resize(program.indices.size());
    }

    BoundProgram run(const std::vector<std::string>& outputs) {
        choose_outputs(outputs);
        for (TensorId id : program_.arguments) bind_argument(id);
        for (Requirement& open : check_requirements(program_, sizes_, structural_, range_of())) {
            const TensorId verdict = std::get<Access>(open.a->term).tensor;
            for (TensorId reader : open.readers) verdicts_of_.emplace(reader, verdict);
            verdicts_.emplace(verdict, std::move(open.otherwise));
        }
        for (const Equation* equation : needed_equations())
            at_place(program_.source, equation->span, [&] { bind_equation(*equation); });
        checks_.hoist();
        return std::move(bound_);
    }

  private:
    void choose_outputs(const std::vector<std::string>& names) {
        if (names.empty()) {
            bound_.outputs = {program_.result()};
            return;
        }
        for (const std::string& name : names) {
            const auto id = program_.output(name);
            if (!id) unknown_output(name);
            bound_.outputs.push_back(*id);
        }
    }

    [[noreturn]] void unknown_output(const std::string& name) const {
        std::vector<std::string> known;
        for (TensorId id : program_.outputs) known.push_back(program_.at(id).name);
        const std::string near = nearest(name, known);
        throw Error({.kind = ErrorKind::name,
                     .message = format("the program makes no `{}`", name),
                     .source = program_.source,
                     .labels = {},
                     .hint = near.empty() ? format("it makes {}", join(known, ", "))
                                          : format("did you mean `{}`?", near)});
    }

    void bind_argument(TensorId id) {
        const Tensor& tensor = program_.at(id);
        const ArgumentSpec& spec = *arguments_.at(position(id));
        (void)element_count(spec.shape);
        bound_.tensors[position(id)] = {
            .name = tensor.name,
            .dtype = spec.dtype,
            .shape = spec.shape,
            .strides = spec.strides.empty() ? row_major_strides(spec.shape) : spec.strides,
            .role = tensor.role,
            .is_weak = spec.is_weak,
            .previous = {}};
        for (std::size_t d = 0; d < tensor.shape.size(); ++d) check_extent(id, d);
    }

    /// A cotangent's extents are those of its output, a tangent's those of its argument.
    void check_extent(TensorId id, std::size_t d) {
        const Tensor& tensor = program_.at(id);
        const std::int64_t given = arguments_.at(position(id))->shape.at(d);
        const std::int64_t wanted = sizes_.value(tensor.shape[d]);
        if (given == wanted) return;
        RICCI_ASSERT(tensor.dtype_of, "other arguments have the extents that they are given with");
        throw Error({.kind = ErrorKind::shape,
                     .message = format("dimension {} of `{}` has the extent {}, not {}", d,
                                       tensor.name, given, wanted),
                     .source = program_.source,
                     .labels = {},
                     .hint = format("give `{}` the shape of `{}`", tensor.name,
                                    program_.at(*tensor.dtype_of).name)});
    }

    [[nodiscard]] std::function<BoundIndex(IndexId)> range_of() {
        return [this](IndexId id) { return bind_index(id); };
    }

    const BoundIndex& bind_index(IndexId id) {
        BoundIndex& index = bound_.indices[position(id)];
        if (!index.name.empty()) return index;
        const Index& entry = program_.at(id);
        RICCI_ASSERT(entry.lower && entry.upper, "an index has no range");
        index = {.name = entry.name,
                 .lower = sizes_.value(entry.lower),
                 .upper = sizes_.value(entry.upper)};
        check_range(index, program_.source);
        return index;
    }

    /// The equations that the outputs depend on, in order.
    [[nodiscard]] std::vector<const Equation*> needed_equations() const {
        std::set<TensorId> needed(bound_.outputs.begin(), bound_.outputs.end());
        std::vector<const Equation*> list;
        // A verdict may stand behind one of its readers: then it is found in a second pass.
        for (bool grows = true; grows;) {
            grows = false;
            list.clear();
            for (const Equation& equation : program_.equations | std::views::reverse) {
                if (!needed.contains(equation.target)) continue;
                list.push_back(&equation);
                if (equation.previous) needed.insert(*equation.previous);
                const auto [begin, end] = verdicts_of_.equal_range(equation.target);
                for (auto verdict = begin; verdict != end; ++verdict)
                    grows |= needed.insert(verdict->second).second;
                for (TensorId id : tensors_read(equation.value)) needed.insert(id);
                for (Expr subscript : equation.at)
                    for (TensorId id : tensors_read(subscript)) needed.insert(id);
            }
        }
        std::ranges::reverse(list);
        return list;
    }

    void bind_equation(const Equation& equation) {
        BoundEquation result;
        result.target = equation.target;
        result.op = equation.op;
        result.indices = equation.indices;
        for (IndexId id : equation.indices) bind_index(id);
        std::vector<IndexId> domain = equation.indices;
        Expr value = equation.value;
        Expr condition;
        Integers integers = Integers::promoted;
        typing_.set_place(equation.span);
        if (const auto* reduce = std::get_if<Reduce>(&value->term)) {
            result.reduction = Reduction{.reducer = reduce->reducer,
                                         .indices = reduce->indices,
                                         .condition = Expr(),
                                         .accumulator = DType::none};
            for (IndexId id : reduce->indices) bind_index(id);
            domain.insert(domain.end(), reduce->indices.begin(), reduce->indices.end());
            if (reduce->condition) {
                condition =
                    lowering_.term(numbers(with_structural_scalars(reduce->condition)), Expr());
                result.reduction->condition =
                    typing_.truth(typing_.type(condition, Integers::subscripts).term);
            }
            value = reduce->body;
            if (reduce->reducer == Reducer::sum || reduce->reducer == Reducer::prod)
                integers = Integers::wide;
        }
        const Expr lowered = lowering_.term(numbers(value), condition);
        bind_target(equation, typing_.type(lowered, integers), result);
        check_points(bound_, result, program_.source);
        check_gathers(equation, domain);
        bind_place(equation, result);
        check_reads(result, domain);
        if (result.reduction)
            result.reduction->condition =
                safe_condition(bound_, domain, result.reduction->condition);
        check_writes(equation, result);
        if (const auto verdict = verdicts_.find(equation.target); verdict != verdicts_.end())
            checks_.add_has_points(std::move(result), verdict->second);
        else
            bound_.equations.push_back(std::move(result));
    }

    /// The subscripts of the target. What lies in its padding does not change it.
    void bind_place(const Equation& equation, BoundEquation& result) {
        std::vector<Expr> at;
        for (Expr subscript : equation.at) at.push_back(sizes_.subscript_with_numbers(subscript));
        const AccessLowering::Target target = lowering_.target(equation.target, at);
        for (Expr subscript : target.at)
            result.at.push_back(
                typing_.convert(typing_.type(subscript, Integers::subscripts).term, DType::i64));
        check_gathers(equation, equation.indices);
        if (!target.inside) return;
        RICCI_ASSERT(!result.reduction, "what is added to a padded target is no reduction");
        const Expr inside = typing_.truth(typing_.type(target.inside, Integers::subscripts).term);
        const DType dtype = result.value->dtype;
        result.value = context_.apply(
            Op::select, {inside, result.value, neutral(context_, result.op, dtype)}, dtype);
        const Shape& shape = bound_.at(equation.target).shape;
        if (std::ranges::find(shape, 0) != shape.end()) add_empty_index(result);
    }

    /// There is no element to write.
    void add_empty_index(BoundEquation& equation) {
        bound_.indices.push_back({.name = "none", .lower = 0, .upper = 0});
        equation.indices.push_back(IndexId{static_cast<std::uint32_t>(bound_.indices.size() - 1)});
    }

    /// Adds the checks that the terms lowered last need, in front of the equation.
    void check_gathers(const Equation& equation, const std::vector<IndexId>& domain) {
        for (const EmptyDimension& empty : lowering_.take_empty()) {
            const bool has_points =
                std::ranges::all_of(domain, [&](IndexId id) { return bound_.at(id).extent() > 0; });
            if (!has_points) continue;
            const std::string& name = bound_.at(empty.tensor).name;
            throw Error({.kind = ErrorKind::range,
                         .message = format("`{}` finds no element: dimension {} of `{}` has the "
                                           "extent 0",
                                           ricci::name(empty.outside), empty.dimension, name),
                         .source = program_.source,
                         .labels = {{equation.span, ""}},
                         .hint = format("give `{}` elements, or use `pad`", name)});
        }
        for (const GatherSite& site : lowering_.take_sites())
            checks_.add_inside(site, domain, equation.span);
    }

    /// Where the gathered subscripts stand in the source.
    [[nodiscard]] ExprMap<Diagnosis> gather_labels() {
        ExprMap<Diagnosis> labels;
        for (const Requirement& requirement : program_.requirements)
            if (requirement.kind == Requirement::Kind::gathered)
                labels.emplace(sizes_.subscript_with_numbers(requirement.a), requirement.otherwise);
        return labels;
    }

    /// Scalars that stand in subscripts are numbers in conditions, too, where they bound the
    /// subscripts.
    Expr with_structural_scalars(Expr condition) {
        return rewrite(context_, condition, [&](Expr node) {
            const auto* access = std::get_if<Access>(&node->term);
            const bool is_structural =
                access && access->at.empty() && structural_.contains(access->tensor);
            return is_structural ? context_.integer(sizes_.value(node)) : node;
        });
    }

    /// Sizes become numbers, and scalars where they stand in subscripts.
    Expr numbers(Expr e) {
        return rewrite(context_, sizes_.with_numbers(e, false), [&](Expr node) {
            const auto* access = std::get_if<Access>(&node->term);
            if (!access || access->at.empty()) return node;
            std::vector<Expr> at;
            for (Expr subscript : access->at)
                at.push_back(sizes_.subscript_with_numbers(subscript));
            return context_.access(access->tensor, std::move(at));
        });
    }

    void bind_target(const Equation& equation, Typing::Typed value, BoundEquation& result) {
        const Tensor& tensor = program_.at(equation.target);
        if (result.reduction) reduce(value, equation, result);
        BoundTensor& bound = bound_.tensors[position(equation.target)];
        bound.name = tensor.name;
        bound.role = tensor.role;
        bound.previous = equation.previous;
        for (Expr extent : tensor.shape) bound.shape.push_back(sizes_.value(extent));
        (void)element_count(bound.shape);
        bound.strides = equation.previous ? bound_.at(*equation.previous).strides
                                          : row_major_strides(bound.shape);
        if (const DType dtype = prescribed_type(equation, tensor, value.type);
            dtype != DType::none) {
            const bool adds = equation.op == Assign::add || equation.op == Assign::mul;
            const bool adds_truths = value.type == DType::boolean && adds;
            check_storable(equation, tensor.name, adds_truths ? DType::i64 : value.type, dtype);
            bound.dtype = dtype;
        } else if (tensor.role == Role::temporary) {
            bound.dtype = computed_in(value.type, Integers::promoted);
            if (bound.dtype != value.type) bound.counts_as = value.type;
            bound.is_weak = value.is_weak && !tensor.dtype_of;
        } else {
            bound.dtype = value.type;
        }
        if (is_complex(bound.dtype) && (equation.op == Assign::max || equation.op == Assign::min))
            refuse_order(equation.op == Assign::max ? "max=" : "min=", equation.span);
        if (!result.reduction)
            result.value = typing_.stored(value, bound.dtype, equation.op == Assign::add);
    }

    /// The type that the target has whatever its value, or none: an updated array's own, for a
    /// gradient its argument's. That of a number given by the caller is floating like its value.
    [[nodiscard]] DType prescribed_type(const Equation& equation, const Tensor& tensor,
                                        DType value) const {
        if (!tensor.dtype_of) return DType::none;
        const BoundTensor& of = bound_.at(*tensor.dtype_of);
        if (of.is_weak && !equation.previous)
            return is_integer(value) || value == DType::boolean ? DType::f64 : DType::none;
        const bool is_gradient = !equation.previous && of.role != Role::target;
        if (is_gradient && (is_integer(of.dtype) || of.dtype == DType::boolean))
            throw Error({.kind = ErrorKind::gradient,
                         .message = format("the argument `{}` has type {}, which has no gradient",
                                           of.name, ricci::name(of.dtype)),
                         .source = program_.source,
                         .labels = program_.place(*tensor.dtype_of),
                         .hint = "convert it to f32 or f64"});
        return of.dtype;
    }

    /// Makes the value that of a reduction.
    void reduce(Typing::Typed& value, const Equation& equation, BoundEquation& result) {
        Reduction& reduction = *result.reduction;
        const bool by_place =
            reduction.reducer == Reducer::argmax || reduction.reducer == Reducer::argmin;
        const bool orders =
            by_place || reduction.reducer == Reducer::max || reduction.reducer == Reducer::min;
        if (orders && is_complex(value.type))
            refuse_order(name(reduction.reducer),
                         shown_place(program_, equation.span, equation.value));
        const DType type = result_type(reduction.reducer, value.type);
        reduction.accumulator = computed_in(by_place ? value.type : type, Integers::promoted);
        result.value = typing_.convert(value.term, reduction.accumulator);
        value.type = type;
        value.is_weak = value.is_weak && !by_place;
    }

    [[noreturn]] void refuse_order(std::string_view what, Span place) const {
        throw Error({.kind = ErrorKind::type,
                     .message = format("`{}` orders complex numbers", what),
                     .source = program_.source,
                     .labels = {{place, ""}},
                     .hint = "compare their parts: `real(…)`, `abs(…)`"});
    }

    /// A value of a higher kind (bool, integer, floating, complex) is not stored in a lower one.
    void check_storable(const Equation& equation, const std::string& name, DType value,
                        DType target) const {
        const auto kind = [](DType dtype) {
            return is_complex(dtype) ? 3 : is_floating(dtype) ? 2 : int{is_integer(dtype)};
        };
        if (kind(value) <= kind(target)) return;
        throw Error({.kind = ErrorKind::type,
                     .message = format("`{}` has the type {} and cannot take {} values", name,
                                       ricci::name(target), ricci::name(value)),
                     .source = program_.source,
                     .labels = {{equation.span, ""}},
                     .hint = is_complex(value)
                                 ? "store a real part: `real(…)`, `abs(…)`"
                                 : format("convert the value: `{}(…)`", ricci::name(target))});
    }

    /// Every read is proved in bounds again, whatever made the equation.
    void check_reads(const BoundEquation& equation, const std::vector<IndexId>& domain) const {
        const Expr condition = equation.reduction ? equation.reduction->condition : Expr();
        check_accesses(equation.value, domain, condition);
        if (condition) check_accesses(condition, domain, condition);
    }

    void check_accesses(Expr root, const std::vector<IndexId>& domain, Expr condition) const {
        for (Expr e : postorder({root})) {
            const auto* access = std::get_if<Access>(&e->term);
            if (!access) continue;
            check_place(access->tensor, access->at, domain, condition);
        }
    }

    void check_place(TensorId id, const std::vector<Expr>& at, const std::vector<IndexId>& domain,
                     Expr condition) const {
        const BoundTensor& tensor = bound_.at(id);
        RICCI_ASSERT(at.size() == tensor.shape.size(), "an access has the wrong rank");
        for (std::size_t d = 0; d < at.size(); ++d) {
            // Data is checked when the program runs, or brought inside.
            if (!tensors_read(at[d]).empty()) continue;
            const SubscriptBounds bounds =
                prove_in_bounds(bound_.indices, domain, condition, at[d], tensor.shape[d]);
            if (bounds.in_bounds) continue;
            const std::string text = subscript_text(program_, at[d]);
            throw Error(
                {.kind = ErrorKind::range,
                 .message =
                     bounds.is_affine
                         ? format("`{}[…{}…]` can leave its array: dimension {} has the extent {}",
                                  tensor.name, text, d, tensor.shape[d])
                         : format("the subscript `{}` of `{}` is not affine within 64 bits", text,
                                  tensor.name),
                 .source = program_.source,
                 .labels = {},
                 .hint =
                     bounds.is_affine
                         ? "restrict the range with `where`, or the sum with a condition"
                         : "use sums of integer multiples of indices, and `//`, `%` by positive "
                           "numbers"});
        }
    }

    void check_writes(const Equation& equation, BoundEquation& result) {
        check_place(result.target, result.at, result.indices, Expr());
        result.is_injective = prove_injective(bound_.indices, result.indices, result.at);
        if (result.is_injective) return;
        const bool is_open = std::ranges::any_of(equation.at, [&](Expr at) {
            return std::holds_alternative<Modified>(at->term) || reads_data(program_, at);
        });
        // What each point reads there before has to be its own.
        const bool overwrites = result.op == Assign::set || reads_updated(equation);
        if (!overwrites) return;
        if (is_open) {
            checks_.add_distinct(result, equation.span);
            result.is_injective = true;
            return;
        }
        if (result.op != Assign::set) updates_what_it_reads(equation);
        throw Error({.kind = ErrorKind::range,
                     .message = format("`=` gives an element of `{}` several values",
                                       program_.at(equation.target).name),
                     .source = program_.source,
                     .labels = {{equation.span, ""}},
                     .hint = "use `+=` to add them up"});
    }

    [[nodiscard]] static bool reads_updated(const Equation& equation) {
        return equation.previous && contains(equation.value, [&](Expr e) {
                   const auto* access = std::get_if<Access>(&e->term);
                   return access && access->tensor == *equation.previous;
               });
    }

    /// Where several points update one element, it has no one value before.
    [[noreturn]] void updates_what_it_reads(const Equation& equation) const {
        const std::string& name = program_.at(equation.target).name;
        throw Error(
            {.kind = ErrorKind::range,
             .message = format("`{}` is read, and several points update one element of it", name),
             .source = program_.source,
             .labels = {{equation.span, ""}},
             .hint = format("make a copy of `{}` first, and read that", name)});
    }

    const Program& program_;
    Context& context_;
    std::vector<const ArgumentSpec*> arguments_;
    SizeEvaluator sizes_;
    std::set<TensorId> structural_;  ///< scalars that stand in subscripts and ranges
    std::multimap<TensorId, TensorId> verdicts_of_;  ///< that reducers have points, as data decides
    std::map<TensorId, Diagnosis> verdicts_;         ///< what is wrong where one is negative
    BoundProgram bound_;
    Typing typing_;
    ExprMap<Diagnosis> gather_labels_;
    AccessLowering lowering_;
    GatherChecks checks_;
};

[[noreturn]] void fail(const Program& program, ErrorKind kind, std::string message,
                       std::string hint, std::vector<Label> labels = {}) {
    throw Error({.kind = kind,
                 .message = std::move(message),
                 .source = program.source,
                 .labels = std::move(labels),
                 .hint = std::move(hint)});
}

/// A given name that is no argument: an index, a target, or a misspelling.
[[noreturn]] void unknown_argument(const Program& program, const std::string& name) {
    for (const Index& index : program.indices)
        if (index.name == name)
            fail(program, ErrorKind::name, format("`{}` is an index, and was given a value", name),
                 format("write `${}` where the number is meant", name));
    if (program.output(name))
        fail(program, ErrorKind::name, format("`{}` is made by the program, not given", name),
             "leave it out, or choose another name");
    std::vector<std::string> known;
    for (TensorId id : program.arguments) known.push_back(program.at(id).name);
    const std::string near = nearest(name, known);
    fail(program, ErrorKind::name, format("the program has no argument `{}`", name),
         near.empty() ? format("its arguments are {}", join(known, ", "))
                      : format("did you mean `{}`?", near));
}

void check_rank(const Program& program, TensorId id, const ArgumentSpec& spec) {
    const Tensor& tensor = program.at(id);
    const std::vector<Label> place = program.place(id);
    const auto given = spec.shape.size();
    if (tensor.role == Role::scalar) {
        if (given != 0)
            fail(
                program, ErrorKind::shape,
                format("`{}` is a number, and was given an array {}", tensor.name, str(spec.shape)),
                format("give a number, or write `{}` with subscripts", tensor.name), place);
        return;
    }
    const bool fits = tensor.rank < 0 ? given >= tensor.shape.size()
                                      : given == static_cast<std::size_t>(tensor.rank);
    if (fits) return;
    const std::size_t wanted =
        tensor.rank < 0 ? tensor.shape.size() : static_cast<std::size_t>(tensor.rank);
    fail(program, ErrorKind::shape,
         tensor.rank < 0 ? format("`{}` {} has {}, and no dimension {}", tensor.name,
                                  str(spec.shape), plural(given, "dimension"), wanted - 1)
                         : format("`{}` {} has {}, its subscripts are {}", tensor.name,
                                  str(spec.shape), plural(given, "dimension"), wanted),
         given == 0 ? format("give an array for `{0}`: of the command line, `{0}=30` is a number, "
                             "`{0}=30:f32` an array",
                             tensor.name)
         : tensor.rank < 0 ? dimensions_hint(tensor.name, given)
                           : "give as many subscripts as the array has dimensions",
         place);
}

std::vector<const ArgumentSpec*> match_arguments(const Program& program,
                                                 const Signature& signature) {
    for (const auto& [name, spec] : signature)
        if (!program.argument(name)) unknown_argument(program, name);
    std::vector<const ArgumentSpec*> arguments(program.tensors.size(), nullptr);
    for (TensorId id : program.arguments) {
        const Tensor& tensor = program.at(id);
        const auto found = signature.find(tensor.name);
        if (found == signature.end())
            fail(program, ErrorKind::name, format("the argument `{}` is missing", tensor.name),
                 tensor.role == Role::scalar
                     ? format("give a number for `{}`", tensor.name)
                     : format("give an array with {} for `{}`{}",
                              plural(tensor.shape.size(), "dimension"), tensor.name,
                              program.updates(id) ? ", or make a new one with `:=`" : ""),
                 program.place(id));
        check_rank(program, id, found->second);
        arguments[position(id)] = &found->second;
    }
    return arguments;
}

/// Whether an array that is given has another rank than the program is for.
bool has_other_ranks(const Program& program, const Signature& signature) {
    return std::ranges::any_of(program.arguments, [&](TensorId id) {
        const auto found = signature.find(program.at(id).name);
        return program.at(id).role == Role::argument && found != signature.end() &&
               std::ssize(found->second.shape) != program.at(id).rank;
    });
}

}  // namespace

BoundProgram bind(const Program& program, const Signature& signature,
                  const std::vector<std::string>& outputs) {
    if (!program.for_ranks || !has_other_ranks(program, signature))
        return Binder(program, signature).run(outputs);
    Ranks ranks;
    for (const auto& [name, spec] : signature)
        ranks.emplace(name, static_cast<int>(spec.shape.size()));
    return Binder(canonicalise(program.for_ranks(ranks)), signature).run(outputs);
}

std::vector<TensorId> structural_scalars(const Program& program) {
    std::set<TensorId> found;
    const auto collect = [&](Expr e) {
        if (!e) return;
        for (TensorId id : tensors_read(e))
            if (program.at(id).role == Role::scalar) found.insert(id);
    };
    for (const Index& index : program.indices) {
        collect(index.lower);
        collect(index.upper);
    }
    for (const Tensor& tensor : program.tensors)
        for (Expr extent : tensor.shape) collect(extent);
    const auto collect_subscript = [&](Expr subscript) {
        for (TensorId id : scalars_in_place(program, subscript)) found.insert(id);
    };
    for (const Equation& equation : program.equations) {
        for (Expr subscript : equation.at) collect_subscript(subscript);
        for (Expr e : postorder({equation.value}))
            if (const auto* access = std::get_if<Access>(&e->term))
                for (Expr subscript : access->at) collect_subscript(subscript);
    }
    for (const Requirement& requirement : program.requirements) {
        if (requirement.kind == Requirement::Kind::gathered ||
            requirement.kind == Requirement::Kind::has_points)
            continue;
        collect(requirement.a);
        collect(requirement.b);
    }
    return {found.begin(), found.end()};
}

}  // namespace ricci
