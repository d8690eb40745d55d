// dsl/size_relations.h – which formulas of sizes are equal whenever a program may run
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "dsl/program.h"

namespace ricci {

/// Linear relations between sizes: what the program requires to be equal, and what it says of the
/// shapes of its arguments (a cotangent has the shape of its output). Each is solved for one of its
/// sizes; a formula is reduced by putting the solutions in.
class SizeRelations {
  public:
    explicit SizeRelations(const Program& program);

    /// Proved equal for all arguments that the program accepts. The terms are of its context.
    [[nodiscard]] bool are_equal(Expr a, Expr b) const;

  private:
    /// `constant + sum of coefficient * node`, by the nodes' ids.
    struct Form {
        std::int64_t constant = 0;
        std::map<std::uint32_t, std::int64_t> parts;
    };
    static std::optional<Form> difference(Expr a, Expr b);
    /// form += factor * other. False on overflow.
    static bool add(Form& form, const Form& other, std::int64_t factor);

    void learn(Expr a, Expr b);
    bool reduce(Form& form) const;

    std::set<std::pair<std::uint32_t, std::uint32_t>> stated_;  ///< as they stand, by node
    std::map<std::uint32_t, Form> solutions_;  ///< node = form, forms free of solved nodes
    std::map<std::uint32_t, std::set<std::uint32_t>> users_;  ///< whose solutions may hold a node
};

}  // namespace ricci
