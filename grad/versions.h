// grad/versions.h – a program whose updates leave older versions as they were
#pragma once

#include "dsl/program.h"
#include "grad/extents.h"
#include "grad/names.h"

namespace ricci::grad {

/// The canonical program with every update made on an array of its own, so that each version of a
/// tensor can be read at any time and no argument is written: an update of every element becomes a
/// definition, another one updates a copy of the version before. All targets become temporaries.
[[nodiscard]] Program with_lasting_versions(Program program, Names& names, const Extents& extents);

}  // namespace ricci::grad
