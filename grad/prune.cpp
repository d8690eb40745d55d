// grad/prune.cpp – dead code elimination
#include <algorithm>
#include <map>
#include <ranges>

#include "base/match.h"
#include "dsl/walk.h"
#include "grad/joint.h"

namespace ricci::grad {

namespace {

/// Marks tensors that are read or measured.
class Needs {
  public:
    explicit Needs(const Program& program) : program_(program), needed_(program.tensors.size()) {}

    void add(TensorId tensor) { needed_[position(tensor)] = true; }
    [[nodiscard]] bool contain(TensorId tensor) const { return needed_[position(tensor)]; }

    void add(Expr term) {
        for (const Expr e : postorder({term})) {
            match(
                e->term, [](const Literal&) {}, [](const Apply&) {}, [](const Cast&) {},
                [](const Modified&) {}, [&](const IndexValue& value) { add(value.index); },
                [&](const Size& size) { add(size.tensor); },
                [&](const Access& access) { add(access.tensor); },
                [&](const Reduce& reduce) {
                    for (const IndexId index : reduce.indices) add(index);
                });
        }
    }

    /// The shape of a tensor, and what gives it its type.
    void add_declaration(TensorId tensor) {
        for (const Expr extent : program_.at(tensor).shape) add(extent);
        if (program_.at(tensor).dtype_of) add(*program_.at(tensor).dtype_of);
    }

  private:
    void add(IndexId index) {
        add(program_.at(index).lower);
        add(program_.at(index).upper);
    }

    const Program& program_;
    std::vector<bool> needed_;
};

/// Gives an argument its own sizes where its shape is that of tensors no longer there.
void declare_alone(Program& program, TensorId id, const Needs& needs) {
    Tensor& tensor = program.tensors[position(id)];
    for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
        const bool is_known = !contains(tensor.shape[d], [&](Expr e) {
            const auto* size = std::get_if<Size>(&e->term);
            const auto* scalar = std::get_if<Access>(&e->term);
            return (size != nullptr && !needs.contain(size->tensor)) ||
                   (scalar != nullptr && !needs.contain(scalar->tensor));
        });
        if (!is_known) tensor.shape[d] = program.context->size(id, static_cast<int>(d));
    }
}

/// Whether the requirement speaks of the program's arguments alone.
bool can_be_checked(const Program& program, const Requirement& requirement, const Needs& needs) {
    Needs mentioned(program);
    for (const Expr e : {requirement.a, requirement.b, requirement.condition}) {
        if (e) mentioned.add(e);
    }
    std::vector<IndexId> indices = requirement.indices;
    if (requirement.condition)
        for (const IndexId index : free_indices(requirement.condition)) indices.push_back(index);
    for (const IndexId index : indices) {
        mentioned.add(program.at(index).lower);
        mentioned.add(program.at(index).upper);
    }
    for (std::size_t n = 0; n < program.tensors.size(); ++n) {
        const TensorId tensor{static_cast<std::uint32_t>(n)};
        if (mentioned.contain(tensor) && !needs.contain(tensor)) return false;
    }
    return true;
}

}  // namespace

Program without_point_checks(Program program) {
    std::erase_if(program.requirements, [](const Requirement& requirement) {
        return requirement.kind == Requirement::Kind::has_points;
    });
    return program;
}

Program without_unused(Program program) {
    Needs needs(program);
    for (const TensorId output : program.outputs) {
        needs.add(output);
        needs.add_declaration(output);
    }
    std::multimap<TensorId, Expr> verdicts_of;
    for (const Requirement& requirement : program.requirements)
        if (requirement.kind == Requirement::Kind::has_points)
            for (const TensorId reader : requirement.readers)
                verdicts_of.emplace(reader, requirement.a);
    // A verdict may stand behind one of its readers: then it is found in a second pass.
    for (bool grows = true; grows;) {
        grows = false;
        for (const Equation& equation : program.equations | std::views::reverse) {
            if (!needs.contain(equation.target)) continue;
            needs.add_declaration(equation.target);
            for (const Expr e : equation.at) needs.add(e);
            needs.add(equation.value);
            if (equation.previous) needs.add(*equation.previous);
            const auto [begin, end] = verdicts_of.equal_range(equation.target);
            for (auto verdict = begin; verdict != end; ++verdict) {
                grows |= !needs.contain(std::get<Access>(verdict->second->term).tensor);
                needs.add(verdict->second);
            }
        }
    }
    std::erase_if(program.equations,
                  [&](const Equation& equation) { return !needs.contain(equation.target); });
    std::erase_if(program.arguments, [&](TensorId id) { return !needs.contain(id); });
    for (const TensorId id : program.arguments) declare_alone(program, id, needs);
    std::erase_if(program.requirements, [&](const Requirement& requirement) {
        return !can_be_checked(program, requirement, needs);
    });
    return program;
}

}  // namespace ricci::grad
