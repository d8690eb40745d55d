// runtime/settings.cpp – what a program asks for of all that it calls: the environment's at first
#include <atomic>

#include "base/env.h"
#include "runtime/function.h"

namespace ricci {

namespace {

template <auto from_environment>
auto& setting() {
    static std::atomic value = from_environment();
    return value;
}

}  // namespace

void set_tuning(bool is_wanted) { setting<env::is_tuning>() = is_wanted; }

bool is_tuning() { return setting<env::is_tuning>(); }

void set_precision(Precision allowed) { setting<env::precision>() = allowed; }

Precision precision() { return setting<env::precision>(); }

}  // namespace ricci
