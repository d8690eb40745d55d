// codegen/tuned_contraction.cpp – the contraction that measurements chose among those of equal bits
#include "codegen/tuned_contraction.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "codegen/choose_contraction.h"

namespace ricci::codegen {

namespace {

/// Candidates that by estimate cost more than this times the usual one are not measured, ...
constexpr double most_cost = 1.5;
/// ... and of those that differ in rows alone, only the cheapest few.
constexpr std::size_t most_alike = 2;
constexpr std::size_t most_candidates = 32;
constexpr double block_sizes[] = {1, 0.25, 4};

/// All that decides what the kernel computes, without the names that people gave.
std::string text_of(const Kernel& kernel) {
    Nest nest = serial_nest(kernel);
    nest.name = "kernel";
    for (std::size_t i = 0; i < nest.buffers.size(); ++i) nest.buffers[i].name = format("b{}", i);
    for (std::size_t i = 0; i < nest.vars.size(); ++i) nest.vars[i].name = format("v{}", i);
    return str(nest);
}

std::string_view name(Reading reading) {
    switch (reading) {
        case Reading::packed:   return "packed";
        case Reading::in_place: return "direct";
    }
    return {};
}

std::string readings(const std::vector<Reading>& all) {
    std::string text;
    for (const Reading reading : all) text += format(" {}", name(reading));
    return text;
}

/// `lanes 1 tile 14 2 16 rows packed columns direct blocks 1`: the lanes' position among the axes.
std::string name_of(const Kernel& kernel, const ContractionChoice& choice) {
    const TileShape& tile = choice.tile;
    return format("lanes {} tile {} {} {}{} rows{} columns{} blocks {}",
                  std::ranges::find(kernel.free, choice.contraction.lane) - kernel.free.begin(),
                  tile.rows, tile.vectors, tile.lanes,
                  choice.whole_rows.empty() ? "" : format(" of {} rows", choice.rows_of_tile()),
                  readings(choice.rows), readings(choice.columns), choice.blocks);
}

/// The usual choice, and what has some chance to be faster.
std::vector<ContractionChoice> worth_measuring(std::vector<ContractionChoice> all,
                                               const ContractionChoice& usual) {
    std::erase_if(
        all, [&](const ContractionChoice& each) { return each.cycles > most_cost * usual.cycles; });
    std::ranges::stable_sort(all.begin() + 1, all.end(), {}, &ContractionChoice::cycles);
    std::map<std::tuple<VarId, std::int64_t, std::vector<Reading>, std::vector<Reading>>,
             std::size_t>
        alike;
    std::erase_if(all, [&](const ContractionChoice& each) {
        return alike[{each.contraction.lane.var, each.tile.vectors, each.rows, each.columns}]++ >=
               most_alike;
    });
    if (all.size() > most_candidates) all.resize(most_candidates);
    return all;
}

std::string milliseconds(double seconds) { return format("{:.3g} ms", 1e3 * seconds); }

}  // namespace

TunedContraction tuned_contraction(const Kernel& kernel, const ContractionChoice& usual,
                                   const LanePlan& otherwise, const PlanBuilder& builder) {
    const std::optional<Axis> lane = otherwise.is_reduced_axis ? std::nullopt : otherwise.axis;
    const std::vector<ContractionChoice> all = equal_choices(kernel, usual, builder.target(), lane);
    TunedContraction result{.choice = usual, .record = {.kernel = text_of(kernel)}};
    const std::optional<Tuned> known = builder.tunings()(result.record.kernel);
    bool is_known = false;
    for (ContractionChoice each : all)
        for (const double blocks : block_sizes) {
            each.blocks = blocks;
            if (!known || is_known || name_of(kernel, each) != known->candidate) continue;
            result.choice = each;
            is_known = true;
        }
    result.record.taken = name_of(kernel, result.choice);
    // Of each tile the usual blocks, and of the one taken the others.
    const auto add = [&](const ContractionChoice& each) {
        std::string name = name_of(kernel, each);
        std::vector<std::string>& names = result.record.candidates;
        if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    };
    for (const ContractionChoice& each : worth_measuring(all, usual)) add(each);
    for (const double blocks : block_sizes) {
        ContractionChoice other = result.choice;
        other.blocks = blocks;
        add(other);
    }
    if (is_known && known->measured > 0)
        result.said = {
            "tuned",
            "",
            {std::int64_t(known->measured)},
            format("candidates: {}, the cheapest by estimate {}; {}", milliseconds(known->seconds),
                   milliseconds(known->usual_seconds), known->where)};
    else
        result.said = {"untuned",
                       "",
                       {std::int64_t(result.record.candidates.size())},
                       "candidates, none measured: the cheapest by estimate; --tune measures"};
    return result;
}

}  // namespace ricci::codegen
