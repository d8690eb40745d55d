// dsl/versions.h – values of a tensor that are needed after it was updated
#pragma once

#include "dsl/program.h"

namespace ricci {

/// The program with a copy made before each update whose old values are read later, and read from
/// there. Text has one name for all versions: it can speak of the latest alone.
[[nodiscard]] Program keep_old_versions(Program program);

}  // namespace ricci
