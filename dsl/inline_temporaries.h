// dsl/inline_temporaries.h – temporaries that are used once, written where they are used
#pragma once

#include "dsl/program.h"

namespace ricci {

/// The program with temporaries used once replaced by their values, where that reads the same
/// elements and computes nothing more often; `c ? x : 0` by x where c is known to hold. Terms are
/// built in the program's context.
[[nodiscard]] Program inline_temporaries(Program program);

}  // namespace ricci
