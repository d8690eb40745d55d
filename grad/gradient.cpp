// grad/gradient.cpp – the gradient of one argument
#include "grad/gradient.h"

#include "dsl/canonical.h"
#include "grad/joint.h"

namespace ricci::grad {

Program gradient(const Program& forward, const std::string& argument, const Options& options) {
    return without_unused(differentiate(canonicalise(forward), {argument}, options).program);
}

}  // namespace ricci::grad
