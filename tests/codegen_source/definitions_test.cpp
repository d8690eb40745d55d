// tests/codegen_source/definitions_test.cpp – the parts of a prelude that a text needs
#include "codegen/source/definitions.h"

#include <doctest/doctest.h>

#include "base/text.h"
#include "codegen/cuda/emit.h"

namespace ricci::tests {
namespace {

using codegen::source::Definition;
using codegen::source::definitions;
using codegen::source::needed;

std::string joined(const std::vector<Definition>& all) {
    std::string text;
    for (const Definition& each : all) text += format("[{}] {}", each.name, each.text);
    return text;
}

constexpr std::string_view example = R"(// About the whole.

// Twice.
template <class T> RC_INLINE T rc_twice(T x) { return x + x; }
struct rc_pair {
    float a;
    float b;
};
#define RC_BOTH(name, op)                 \
    RC_INLINE float rc_##name(float a) {  \
        return rc_twice(a op a);          \
    }
RC_BOTH(sum, +)
RC_BOTH(product, *)
#undef RC_BOTH
)";

TEST_CASE("a prelude is split into definitions with their comments, macros written out") {
    CHECK(joined(definitions(example)) == R"([rc_twice] // Twice.
template <class T> RC_INLINE T rc_twice(T x) { return x + x; }
[rc_pair] struct rc_pair {
    float a;
    float b;
};
[rc_sum] RC_INLINE float rc_sum(float a) {
    return rc_twice(a + a);
}
[rc_product] RC_INLINE float rc_product(float a) {
    return rc_twice(a * a);
}
)");
}

TEST_CASE("a text needs what it names and what that names") {
    std::vector<std::string> names;
    for (const Definition& each : needed(definitions(example), "y = rc_sum(x);  // rc_pair"))
        names.push_back(each.name);
    CHECK(names == std::vector<std::string>{"rc_twice", "rc_sum"});
}

TEST_CASE("every definition of the CUDA prelude has a name") {
    for (const Definition& each : definitions(codegen::cuda::prelude())) {
        CAPTURE(each.text);
        CHECK((each.name.starts_with("rc_") || each.name.starts_with("RC_")));
    }
}

}  // namespace
}  // namespace ricci::tests
