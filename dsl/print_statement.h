// dsl/print_statement.h – one equation as a statement of the language
#pragma once

#include <set>
#include <string>

#include "dsl/print_term.h"
#include "dsl/size_relations.h"

namespace ricci {

/// How explicit a statement is written.
struct StatementStyle {
    bool has_implied_sums = false;  ///< sums that the convention implies are left out
    bool has_all_ranges = false;    ///< every range is written
    std::set<IndexId> ranges = {};  ///< indices whose range is written besides the user's
};

/// The statement; `relations` are those of the program, `names` gives the tensors' names and
/// receives the indices'.
[[nodiscard]] std::string print_statement(const Program& program, const Equation& equation,
                                          const StatementStyle& style,
                                          const SizeRelations& relations, PrintNames& names);

}  // namespace ricci
