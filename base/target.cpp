// base/target.cpp – the machine that code is generated for
#include "base/target.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace ricci {

namespace {

struct PrecisionName {
    Precision precision;
    std::string_view name;
};
constexpr PrecisionName precision_names[] = {
    {Precision::f32, "f32"}, {Precision::bf16x3, "bf16x3"}, {Precision::bf16x6, "bf16x6"}};

}  // namespace

std::string_view name(Precision precision) noexcept {
    return precision_names[std::size_t(precision)].name;
}

std::optional<Precision> precision_from_name(std::string_view name) noexcept {
    const auto* const found = std::ranges::find(precision_names, name, &PrecisionName::name);
    if (found == std::end(precision_names)) return std::nullopt;
    return found->precision;
}

std::string str(const Target& target) {
    return format(
        "{} {}-bit{}{}{}{}{}", target.cpu.empty() ? "generic" : target.cpu, 8 * target.vector_bytes,
        target.has_fma ? " fma" : "", target.has_bf16_dot ? " bf16-dot" : "",
        target.has_integer_dot ? " integer-dot" : "", target.has_bf16_tiles ? " bf16-tiles" : "",
        target.precision == Precision::f32 ? "" : format(" {}", name(target.precision)));
}

}  // namespace ricci
