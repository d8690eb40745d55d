// tests/hostile/untouched_test.cpp – a call that is refused leaves every array as it was
#include "tests/hostile/untouched.h"

#include <doctest/doctest.h>

namespace ricci::tests {

TEST_CASE("a refused call leaves every array as it was, evaluated by the reference") {
    check_untouched(Device::reference);
}

TEST_CASE("a refused call leaves every array as it was, compiled for the CPU") {
    check_untouched(Device::cpu);
}

}  // namespace ricci::tests
