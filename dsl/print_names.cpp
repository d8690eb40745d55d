// dsl/print_names.cpp – names for printing: one for each thing, apart where they meet
#include "dsl/print_names.h"

#include <algorithm>
#include <map>

#include "base/text.h"

namespace ricci {
namespace {

using NameSet = std::set<std::string, std::less<>>;

/// The name itself, or the first of `i2`, `i3`, … that is free.
template <class IsTaken>
std::string free_name(const std::string& name, IsTaken is_taken) {
    if (!is_taken(name)) return name;
    const bool ends_in_digit = name.back() >= '0' && name.back() <= '9';
    for (int n = 2;; ++n) {
        const std::string tried = format("{}{}{}", name, ends_in_digit ? "_" : "", n);
        if (!is_taken(tried)) return tried;
    }
}

/// The reductions in the terms, users before operands.
std::vector<Expr> reductions(const std::vector<Expr>& terms) {
    std::vector<Expr> found = postorder(terms);
    std::erase_if(found, [](Expr e) { return !std::holds_alternative<Reduce>(e->term); });
    std::ranges::reverse(found);
    return found;
}

}  // namespace

std::shared_ptr<const TensorNames> tensor_names(const Program& program) {
    auto names = std::make_shared<TensorNames>();
    names->by_id.resize(program.tensors.size());
    std::vector<bool> is_version(program.tensors.size(), false);
    for (const Equation& equation : program.equations)
        if (equation.previous) is_version[position(equation.target)] = true;
    for (std::size_t n = 0; n < program.tensors.size(); ++n) {
        if (is_version[n]) continue;
        std::string name = program.tensors[n].name;
        while (!names->all.insert(name).second) name += '_';
        names->by_id[n] = name;
    }
    for (const Equation& equation : program.equations)
        if (equation.previous)
            names->by_id[position(equation.target)] = names->by_id[position(*equation.previous)];
    return names;
}

void name_indices(PrintNames& names, const Program& program, const std::vector<IndexId>& free,
                  const std::vector<Expr>& terms) {
    NameSet free_names;
    const auto is_taken_everywhere = [&](const std::string& name) {
        return names.tensors->all.contains(name) || free_names.contains(name);
    };
    for (IndexId index : free) {
        const std::string name = free_name(program.at(index).name, is_taken_everywhere);
        free_names.insert(name);
        names.indices[std::uint32_t(index)] = name;
    }
    std::map<std::uint32_t, NameSet> around;  // by id of a reduction: names bound around it
    for (Expr e : reductions(terms)) {
        const auto& reduce = std::get<Reduce>(e->term);
        NameSet& outer = around[e->id];
        for (IndexId index : reduce.indices) {
            if (names.indices.contains(std::uint32_t(index))) continue;
            const auto is_taken = [&](const std::string& name) {
                return is_taken_everywhere(name) || outer.contains(name);
            };
            const std::string name = free_name(program.at(index).name, is_taken);
            names.indices[std::uint32_t(index)] = name;
            outer.insert(name);
        }
        for (Expr inner : reductions(operands(e)))
            around[inner->id].insert(outer.begin(), outer.end());
        around.erase(e->id);
    }
}

}  // namespace ricci
