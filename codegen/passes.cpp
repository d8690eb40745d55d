// codegen/passes.cpp – the ordered list of rewritings of a finished nest
#include "codegen/passes.h"

#include "codegen/nest_verify.h"

namespace ricci::codegen {

const std::vector<Pass>& passes() {
    static const std::vector<Pass> list = {
        {"simplify", simplify},
        {"bounds", data_bounds},
        {"powers", small_powers},
        {"narrow", narrow_integers},
        {"rows", rows_of_lanes},
        {"prefetch", prefetch_streams},
        {"interleave", interleave_vectors},
    };
    return list;
}

Nest run_passes(Nest nest, const Target& target, const DumpHook& dump) {
    verify(nest, "lower");
    if (dump) dump(nest.name, "lower", nest);
    for (const Pass& pass : passes()) {
        nest = pass.run(std::move(nest), target);
        verify(nest, pass.name);
        if (dump) dump(nest.name, pass.name, nest);
    }
    return nest;
}

}  // namespace ricci::codegen
