// dsl/print_bound.cpp – text of bound programs: complete, so that equal texts mean equal programs
#include <algorithm>

#include "base/match.h"
#include "base/text.h"
#include "dsl/bound.h"
#include "dsl/print_names.h"
#include "dsl/print_term.h"
#include "dsl/walk.h"

namespace ricci {
namespace {

std::string_view name(Role role) {
    switch (role) {
        case Role::argument:  return "argument";
        case Role::scalar:    return "scalar";
        case Role::target:    return "target";
        case Role::temporary: return "temporary";
    }
    return "";
}

class BoundPrinter {
  public:
    explicit BoundPrinter(const BoundProgram& program) : program_(program) {
        // Terms are printed by the printer of symbolic programs, with names that tell apart
        // versions of a tensor and indices of one name.
        names_.context = program.context;
        for (std::size_t n = 0; n < program.tensors.size(); ++n)
            names_.add(Tensor{.name = format("{}.{}", program.tensors[n].name, n),
                              .rank = static_cast<int>(program.tensors[n].shape.size())});
        for (std::size_t n = 0; n < program.indices.size(); ++n)
            names_.add(Index{.name = format("{}.{}", program.indices[n].name, n),
                             .lower = Expr(),
                             .upper = Expr()});
        tensor_names_ = tensor_names(names_);
    }

    std::string text() {
        std::string result;
        for (std::size_t n = 0; n < program_.tensors.size(); ++n)
            if (program_.tensors[n].dtype != DType::none) result += tensor(n) + "\n";
        for (const BoundEquation& e : program_.equations) result += equation(e);
        result += "outputs";
        for (TensorId id : program_.outputs) result += " " + names_.at(id).name;
        return result + "\n";
    }

  private:
    std::string tensor(std::size_t n) const {
        const BoundTensor& tensor = program_.tensors[n];
        std::string line = format("{} {}: {} {}", name(tensor.role), names_.tensors[n].name,
                                  ricci::name(tensor.dtype), str(tensor.shape));
        if (tensor.strides != row_major_strides(tensor.shape))
            line += " strides " + str(tensor.strides);
        if (tensor.is_weak) line += " weak";
        if (tensor.previous) line += " updates " + names_.at(*tensor.previous).name;
        return line;
    }

    std::string equation(const BoundEquation& e) const {
        std::string at;
        for (Expr subscript : e.at) at += (at.empty() ? "" : ",") + term(subscript);
        std::string value = term(e.value);
        if (e.reduction) {
            const Reduction& r = *e.reduction;
            value = format("{} {}[{}{}]({})", ricci::name(r.accumulator), ricci::name(r.reducer),
                           ranges(r.indices),
                           r.condition ? " | " + term(r.condition) : std::string(), value);
        }
        return format("for {}{}:\n  {}[{}] {} {}\n", ranges(e.indices),
                      e.is_injective ? "" : " in order", names_.at(e.target).name, at,
                      ricci::name(e.op), value);
    }

    /// The term in the language; where that is long since parts are shared, its nodes in order.
    std::string term(Expr root) const {
        constexpr std::size_t most = 1000;
        ExprMap<std::size_t> sizes;  // written out
        const std::vector<Expr> nodes = postorder({root});
        for (Expr e : nodes) {
            std::size_t size = 1;
            for (Expr operand : operands(e)) size = std::min(size + sizes.at(operand), most + 1);
            sizes.emplace(e, size);
        }
        if (sizes.at(root) <= most) {
            PrintNames names{.tensors = tensor_names_};
            name_indices(names, names_, free_indices(root), {root});
            return TermPrinter(names_, names).print(root);
        }
        ExprMap<std::size_t> numbers;
        std::string text;
        for (Expr e : nodes) {
            numbers.emplace(e, numbers.size());
            text += format("\n    %{} = {}", numbers.at(e), ricci::name(e->dtype));
            text += node(e);
            for (Expr operand : operands(e)) text += format(" %{}", numbers.at(operand));
        }
        return text;
    }

    /// What a node is, but for its operands.
    std::string node(Expr e) const {
        return match(
            e->term, [](const Literal& t) { return " " + str(t.value); },
            [&](const IndexValue& t) { return " " + names_.at(t.index).name; },
            [&](const Size& t) { return format(" size {} {}", position(t.tensor), t.dimension); },
            [&](const Access& t) { return format(" {}[]", names_.at(t.tensor).name); },
            [](const Apply& t) { return format(" {}", info(t.op).name); },
            [](const Reduce& t) { return format(" {}", ricci::name(t.reducer)); },
            [](const Cast& t) { return std::string(t.wraps ? " wrapped" : " cast"); },
            [](const Modified& t) { return format(" {}", ricci::name(t.outside)); });
    }

    std::string ranges(const std::vector<IndexId>& indices) const {
        std::vector<std::string> list;
        for (IndexId id : indices)
            list.push_back(format("{} in {}:{}", names_.at(id).name, program_.at(id).lower,
                                  program_.at(id).upper));
        return join(list, ", ");
    }

    const BoundProgram& program_;
    Program names_;
    std::shared_ptr<const TensorNames> tensor_names_;  ///< of `names_`
};

}  // namespace

std::string str(const BoundProgram& program) { return BoundPrinter(program).text(); }

}  // namespace ricci
