// dsl/program.cpp – tables of a program, and text to program
#include "dsl/program.h"

#include <algorithm>

#include "dsl/check.h"
#include "dsl/parser.h"
#include "dsl/ranks.h"

namespace ricci {

TensorId Program::add(Tensor tensor) {
    tensors.push_back(std::move(tensor));
    return TensorId{static_cast<std::uint32_t>(tensors.size() - 1)};
}

IndexId Program::add(Index index) {
    indices.push_back(std::move(index));
    return IndexId{static_cast<std::uint32_t>(indices.size() - 1)};
}

std::optional<TensorId> Program::argument(std::string_view name) const {
    for (TensorId id : arguments)
        if (at(id).name == name) return id;
    return std::nullopt;
}

std::vector<Label> Program::place(TensorId id) const {
    const Span span = at(id).span;
    if (!source || span.end <= span.begin) return {};
    return {{span, ""}};
}

bool Program::updates(TensorId argument) const {
    return std::ranges::any_of(
        equations, [&](const Equation& equation) { return equation.previous == argument; });
}

std::optional<TensorId> Program::output(std::string_view name) const {
    for (TensorId id : outputs)
        if (at(id).name == name) return id;
    return std::nullopt;
}

Program parse_program(const SourcePtr& source) {
    ast::Program tree = ast::parse(source);
    if (!depends_on_ranks(tree)) return check(tree);
    Program example = check(write_out_runs(tree, {}));
    example.for_ranks = [tree = std::make_shared<const ast::Program>(std::move(tree))](
                            const Ranks& ranks) { return check(write_out_runs(*tree, ranks)); };
    return example;
}
Program parse_program(std::string text) { return parse_program(make_source(std::move(text))); }

}  // namespace ricci
