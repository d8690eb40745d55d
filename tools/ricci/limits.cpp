// tools/ricci/limits.cpp – which of the CPU's rates is the limit of a kernel
#include "tools/ricci/limits.h"

#include <algorithm>

#include "base/text.h"
#include "codegen/nest_walk.h"
#include "runtime/cpu_rates.h"

namespace ricci::tool {
namespace {

using Unit = Arithmetic::Unit;

constexpr double seconds = 0.06;

double multiply_add_rate(Unit unit, int threads) {
    switch (unit) {
        case Unit::f32:        return runtime::multiply_add_rate(DType::f32, threads, seconds);
        case Unit::f64:        return runtime::multiply_add_rate(DType::f64, threads, seconds);
        case Unit::bf16_pairs: return runtime::bf16_pair_rate(threads, seconds);
        case Unit::bf16_tiles: return runtime::bf16_tile_rate(threads, seconds);
    }
    return 0;
}

}  // namespace

Arithmetic arithmetic_of(const codegen::Plan& plan, std::size_t kernel) {
    const codegen::Nest& nest = plan.nests.at(kernel);
    Arithmetic arithmetic;
    if (std::ranges::any_of(
            nest.buffers, [](const codegen::Buffer& buffer) { return buffer.dtype == DType::f64; }))
        arithmetic.unit = Unit::f64;
    if (std::ranges::find(plan.schedules.at(kernel).directives, "pair",
                          &codegen::Directive::verb) != plan.schedules.at(kernel).directives.end())
        arithmetic.unit = Unit::bf16_pairs;
    codegen::for_each_tile_product(nest.body, [&](const codegen::TileProduct& product) {
        arithmetic = {Unit::bf16_tiles, std::int64_t(product.products.size())};
    });
    return arithmetic;
}

Arithmetic arithmetic_of(const codegen::Plan& plan) {
    const auto most = std::ranges::max_element(
        plan.schedules, {},
        [](const codegen::Schedule& schedule) { return schedule.work.operations; });
    if (most == plan.schedules.end()) return {};
    return arithmetic_of(plan, std::size_t(most - plan.schedules.begin()));
}

std::string str(const Arithmetic& arithmetic) {
    switch (arithmetic.unit) {
        case Unit::f32:        return "f32";
        case Unit::f64:        return "f64";
        case Unit::bf16_pairs: return "pairs of bf16";
        case Unit::bf16_tiles: break;
    }
    return arithmetic.products == 1 ? "tiles of bf16"
                                    : format("{} tiles of bf16 each", arithmetic.products);
}

Limits measure_limits(const Arithmetic& arithmetic, int threads) {
    return {.flops = multiply_add_rate(arithmetic.unit, threads) / double(arithmetic.products),
            .bytes_per_second = runtime::copy_rate(threads, seconds)};
}

}  // namespace ricci::tool
