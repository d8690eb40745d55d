// grad/account.cpp – how the reads of a forward were inverted, told in words
#include "grad/account.h"

#include <cstdlib>
#include <set>

#include "base/text.h"
#include "dsl/extent.h"
#include "dsl/subscript.h"
#include "dsl/walk.h"

namespace ricci::grad {

namespace {

class Describer {
  public:
    Describer(const Program& program, const std::string& cotangent, const Relation& relation,
              const Inversion& inversion)
        : program_(program), cotangent_(cotangent), relation_(relation), inversion_(inversion) {}

    [[nodiscard]] std::vector<std::string> lines() const {
        std::vector<std::string> lines = {adjoint()};
        std::vector<std::string> names;
        for (const Inversion::Dimension& dimension : inversion_.dimensions)
            if (dimension.way == Inversion::Way::name) names.push_back(name(dimension.target));
        if (!names.empty()) lines.push_back(format("  {}: by name", join(names, ", ")));
        for (const Inversion::Dimension& dimension : inversion_.dimensions)
            if (dimension.way != Inversion::Way::name) lines.push_back(line(dimension));
        for (const auto& [index, value] : inversion_.by_condition)
            lines.push_back(format("  {} = {} by the condition", name(index), term(value)));
        lines.push_back(sum());
        return lines;
    }

  private:
    [[nodiscard]] std::string name(IndexId index) const { return program_.at(index).name; }
    [[nodiscard]] std::string term(Expr e) const { return str(program_, e); }
    [[nodiscard]] std::string names(const std::vector<IndexId>& indices) const {
        std::vector<std::string> each;
        for (const IndexId index : indices) each.push_back(name(index));
        return join(each, ", ");
    }

    [[nodiscard]] std::string adjoint() const {
        std::vector<std::string> subscripts;
        for (const Expr subscript : relation_.at) subscripts.push_back(term(subscript));
        const std::string condition =
            relation_.condition ? format(" where {}", term(relation_.condition)) : "";
        const std::string guard =
            relation_.d.guard ? format(" if {}", term(relation_.d.guard)) : "";
        const std::string indices = relation_.indices.empty()
                                        ? ""
                                        : format("for {}{}: ", names(relation_.indices), condition);
        const std::string place =
            subscripts.empty() ? std::string() : format("[{}]", join(subscripts, ","));
        return format("{}{}{} {} {}{}", indices, cotangent_, place,
                      is_update() ? "becomes" : "+=", term(relation_.d.value), guard);
    }
    /// Whether the cotangent of an array before an update is made of that behind it, its namesake.
    [[nodiscard]] bool is_update() const {
        return contains(relation_.d.value, [&](Expr e) {
            const auto* access = std::get_if<Access>(&e->term);
            return access != nullptr && program_.at(access->tensor).name == cotangent_;
        });
    }

    [[nodiscard]] std::string line(const Inversion::Dimension& dimension) const {
        const std::string equation =
            format("{} == {}", name(dimension.target), term(dimension.subscript));
        if (dimension.way == Inversion::Way::pivot)
            return format("  {}: {} = {}{}", equation, name(*dimension.solved),
                          term(dimension.solution), classes(dimension));
        if (reads_data(program_, dimension.subscript))
            return format("  {}: data decides, the points of each key are summed", equation);
        if (free_indices(dimension.subscript).empty()) return format("  {}: one place", equation);
        return format("  {}: kept as a condition of the sum", equation);
    }

    /// Where a summed index moves in steps, compiled code takes the elements of each residue
    /// together.
    [[nodiscard]] std::string classes(const Inversion::Dimension& dimension) const {
        const auto form = linear_form(dimension.solution);
        std::string text;
        if (!form) return text;
        std::set<std::int64_t> steps;
        for (const LinearForm::Part& part : form->parts) {
            const auto* index = std::get_if<IndexValue>(&part.atom->term);
            const std::int64_t step = std::abs(part.coefficient);
            if (index == nullptr || step < 2 || !has_index(inversion_.summed, index->index))
                continue;
            if (steps.insert(step).second)
                text += format(", by residue classes mod {} where it pays", step);
        }
        return text;
    }

    [[nodiscard]] std::string sum() const {
        const std::string condition = inversion_.condition ? term(inversion_.condition) : "";
        if (!inversion_.summed.empty())
            return format("  sum over {}{}{}", names(inversion_.summed),
                          condition.empty() ? "" : " where ", condition);
        if (condition.empty()) return "  one point for each element";
        return format("  one point for each element where {}", condition);
    }

    const Program& program_;
    const std::string& cotangent_;
    const Relation& relation_;
    const Inversion& inversion_;
};

}  // namespace

std::vector<std::string> describe(const Program& program, const std::string& name,
                                  const Relation& relation, const Inversion& inversion) {
    return Describer(program, name, relation, inversion).lines();
}

}  // namespace ricci::grad
