// base/match.h – visit every alternative of a closed variant
#pragma once

#include <type_traits>
#include <utility>
#include <variant>

namespace ricci {

/// A callable made of several lambdas, one for each alternative.
template <class... F>
struct Overloads : F... {
    using F::operator()...;
};
template <class... F>
Overloads(F...) -> Overloads<F...>;

/// Calls the lambda that takes the variant's present alternative; a forgotten alternative does not
/// compile.
template <class V, class... F>
decltype(auto) match(V&& variant, F&&... cases) {
    return std::visit(Overloads{std::forward<F>(cases)...}, std::forward<V>(variant));
}

}  // namespace ricci
