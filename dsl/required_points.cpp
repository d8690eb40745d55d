// dsl/required_points.cpp – reducers that have no value of nothing: mean, argmax, argmin
#include "dsl/required_points.h"

#include <algorithm>

#include "base/text.h"
#include "dsl/derived_reducer.h"
#include "dsl/extent.h"
#include "dsl/path_guards.h"

namespace ricci {
namespace {

bool has_value_of_nothing(Reducer reducer) {
    return reducer != Reducer::mean && reducer != Reducer::argmax && reducer != Reducer::argmin;
}

class RequiredPoints {
  public:
    RequiredPoints(Program& program, const Equation& equation)
        : program_(program), context_(*program.context), equation_(equation) {}

    std::vector<PointVerdict> run() {
        const PathGuards guards(context_, equation_.value, equation_.indices, Nesting::any);
        std::vector<PointVerdict> verdicts;
        for (Expr e : guards.reductions()) {
            const auto& reduce = std::get<Reduce>(e->term);
            if (has_value_of_nothing(reduce.reducer)) continue;
            if (!guards.of(e)) require_ranges(reduce, guards.around(e));
            if (reduce.condition || guards.of(e))
                verdicts.push_back(verdict(reduce, guards.of(e), guards.around(e)));
        }
        return verdicts;
    }

  private:
    Diagnosis diagnosis(std::string message, std::string hint) const {
        Diagnosis result{.kind = ErrorKind::range,
                         .message = std::move(message),
                         .source = program_.source,
                         .labels = {},
                         .hint = std::move(hint)};
        if (!equation_.span.is_empty()) result.labels.push_back({equation_.span, ""});
        return result;
    }

    void require_ranges(const Reduce& reduce, const std::vector<IndexId>& around) {
        const std::string_view reducer = name(reduce.reducer);
        for (IndexId i : reduce.indices) {
            const Index& index = program_.at(i);
            program_.requirements.push_back(
                {.kind = Requirement::Kind::not_empty,
                 .a = index.lower,
                 .b = index.upper,
                 .indices = around,
                 .condition = {},
                 .otherwise =
                     diagnosis(format("`{}` over nothing: index `{}` runs over {{a}}:{{b}}",
                                      reducer, index.name),
                               format("`{}` has no value for an empty range", reducer))});
        }
    }

    PointVerdict verdict(const Reduce& reduce, Expr guard, const std::vector<IndexId>& around) {
        Expr has_points = reduce.condition;
        for (IndexId i : reduce.indices)
            has_points = context_.logical_and(is_not_empty(i), has_points);
        const Expr points = reduce.condition
                                ? context_.reduce(Reducer::sum, reduce.indices, reduce.condition,
                                                  context_.integer(1))
                                : box_size(program_, reduce);
        const Expr missing = context_.add(points, context_.integer(-1));
        const std::string_view reducer = name(reduce.reducer);
        return {over_all(missing, guard, around),
                {.kind = Requirement::Kind::has_points,
                 .a = {},
                 .b = {},
                 .indices = around,
                 .condition =
                     guard ? context_.apply(Op::logical_or,
                                            {context_.apply(Op::logical_not, {guard}), has_points})
                           : has_points,
                 .otherwise = diagnosis(
                     format("`{}` over nothing: `{{term}}` holds nowhere{{where}}", reducer),
                     format("`{}` has no value there: restrict the range with `where`, or choose "
                            "another value with `?:`",
                            reducer)),
                 .term = reduce.condition ? reduce.condition : has_points}};
    }

    Expr is_not_empty(IndexId i) {
        const Index& index = program_.at(i);
        return context_.apply(Op::lt, {index.lower, index.upper});
    }

    /// The least value where the guard holds.
    Expr over_all(Expr value, Expr guard, const std::vector<IndexId>& around) {
        std::vector<IndexId> used = free_indices(value);
        if (guard) {
            const std::vector<IndexId> more = free_indices(guard);
            used.insert(used.end(), more.begin(), more.end());
        }
        std::vector<IndexId> indices;
        for (IndexId i : around)
            if (std::ranges::find(used, i) != used.end()) indices.push_back(i);
        if (!indices.empty())
            return with_new_indices(program_, Reduce{Reducer::min, indices, guard, value});
        return guard ? context_.apply(Op::select, {guard, value, context_.integer(0)}) : value;
    }

    Program& program_;
    Context& context_;
    const Equation& equation_;
};

}  // namespace

std::vector<PointVerdict> require_points(Program& program, const Equation& equation) {
    return RequiredPoints(program, equation).run();
}

}  // namespace ricci
