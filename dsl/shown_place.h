// dsl/shown_place.h – terms as the user wrote them, and where: for messages about typed programs
#pragma once

#include "dsl/program.h"

namespace ricci {

/// The term with what temporaries stand for in their place, as far as that is one term.
[[nodiscard]] Expr in_users_terms(const Program& program, Expr e);

/// Where the statement at `statement` holds the term, word for word but for blanks; else the whole
/// statement.
/// Cost: reads the source again; for errors.
[[nodiscard]] Span shown_place(const Program& program, Span statement, Expr e);

}  // namespace ricci
