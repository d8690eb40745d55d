// codegen/array_sums.cpp – sums over dimensions that an array has by itself, taken first
#include "codegen/array_sums.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/equation_maker.h"
#include "dsl/affine_form.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

/// Elements that become one: of fewer, a pass more takes what it saves.
constexpr double least_summed = 8;

class ArraySums {
  public:
    ArraySums(BoundProgram program, double least_elements)
        : program_(std::move(program)), make_(program_), least_elements_(least_elements) {}

    BoundProgram run() {
        std::vector<BoundEquation> equations = std::move(program_.equations);
        program_.equations.clear();
        for (BoundEquation& equation : equations) {
            take_out(equation);
            program_.equations.push_back(std::move(equation));
        }
        return std::move(program_);
    }

  private:
    void take_out(BoundEquation& equation) {
        if (!equation.reduction || equation.reduction->reducer != Reducer::sum) return;
        const auto* cast = std::get_if<Cast>(&equation.value->term);
        const auto* access = std::get_if<Access>(&(cast ? cast->a : equation.value)->term);
        if (!access || !is_tied(equation, *access)) return;
        std::vector<IndexId> own;
        for (const Expr subscript : access->at)
            if (const auto* value = std::get_if<IndexValue>(&subscript->term))
                if (is_own(equation, *access, value->index)) own.push_back(value->index);
        double elements = 1;
        for (const std::int64_t size : program_.at(access->tensor).shape) elements *= double(size);
        double summed = 1;
        for (const IndexId id : own) summed *= double(program_.at(id).extent());
        if (own.size() == equation.reduction->indices.size() || summed < least_summed ||
            elements < least_elements_ || points(equation) < elements)
            return;
        sum_first(equation, *access, own);
    }
    [[nodiscard]] double points(const BoundEquation& equation) const {
        double all = 1;
        for (const auto* ids : {&equation.indices, &equation.reduction->indices})
            for (const IndexId id : *ids) all *= double(program_.at(id).extent());
        return all;
    }

    /// Whether the sum's indices and the result's are tied together: in a subscript, or by data.
    static bool is_tied(const BoundEquation& equation, const Access& access) {
        const auto has_any = [](const std::vector<IndexId>& ids, const std::vector<IndexId>& of) {
            return std::ranges::any_of(of, [&](IndexId id) { return has_index(ids, id); });
        };
        const auto ties = [&](Expr e) {
            const std::vector<IndexId> ids = free_indices(e);
            return has_any(ids, equation.indices) && has_any(ids, equation.reduction->indices);
        };
        // Rows that lie along lanes of the result need nothing.
        const bool has_rows =
            !access.at.empty() && has_any(free_indices(access.at.back()), equation.indices);
        if (!has_rows && std::ranges::any_of(access.at, ties)) return true;
        if (!equation.reduction->condition) return false;
        const std::vector<Expr> all = conjuncts(equation.reduction->condition);
        return std::ranges::any_of(all, [&](Expr each) {
            return is_apply(each, Op::eq) && ties(each) && !tensors_read(each).empty();
        });
    }
    /// Whether the sum goes over all of a dimension that nothing else depends on.
    [[nodiscard]] bool is_own(const BoundEquation& equation, const Access& access,
                              IndexId id) const {
        if (!has_index(equation.reduction->indices, id)) return false;
        if (equation.reduction->condition &&
            has_index(free_indices(equation.reduction->condition), id))
            return false;
        int uses = 0;
        bool is_whole = false;
        for (std::size_t d = 0; d < access.at.size(); ++d) {
            if (!has_index(free_indices(access.at[d]), id)) continue;
            ++uses;
            const BoundIndex& index = program_.at(id);
            is_whole = index.lower == 0 && index.upper == program_.at(access.tensor).shape[d];
        }
        return uses == 1 && is_whole;
    }

    void sum_first(BoundEquation& equation, const Access& access, const std::vector<IndexId>& own) {
        const BoundTensor& array = program_.at(access.tensor);
        const Shape shape = array.shape;
        const DType dtype = array.dtype;
        const DType type = equation.reduction->accumulator;
        std::vector<Expr> whole;    // the array's subscripts in the first sum
        std::vector<IndexId> kept;  // its other indices
        std::vector<Expr> places;   // where the second one reads
        Shape sizes;
        for (std::size_t d = 0; d < shape.size(); ++d) {
            const auto* value = std::get_if<IndexValue>(&access.at[d]->term);
            if (value && has_index(own, value->index)) {
                whole.push_back(access.at[d]);
                continue;
            }
            kept.push_back(make_.index("p", shape[d]));
            whole.push_back(make_.value(kept.back()));
            places.push_back(access.at[d]);
            sizes.push_back(shape[d]);
        }
        Context& context = make_.context();
        Expr element = context.access(access.tensor, whole, dtype);
        if (const auto* cast = std::get_if<Cast>(&equation.value->term))
            element = context.cast(element, equation.value->dtype, cast->wraps);
        if (element->dtype != type) element = context.cast(element, type);
        const TensorId sums =
            make_.array(program_.at(equation.target).name + "_sums", type, std::move(sizes));
        BoundEquation first = equation;
        first.target = sums;
        first.op = Assign::define;
        first.indices = kept;
        first.at.clear();
        for (const IndexId id : kept) first.at.push_back(make_.value(id));
        first.is_injective = true;
        first.value = element;
        first.reduction->indices = own;
        first.reduction->condition = Expr();
        program_.equations.push_back(std::move(first));
        equation.value = context.access(sums, places, type);
        std::erase_if(equation.reduction->indices, [&](IndexId id) { return has_index(own, id); });
    }

    BoundProgram program_;
    EquationMaker make_;
    double least_elements_;
};

}  // namespace

BoundProgram with_array_sums(BoundProgram program, double least_elements) {
    return ArraySums(std::move(program), least_elements).run();
}

}  // namespace ricci::codegen
