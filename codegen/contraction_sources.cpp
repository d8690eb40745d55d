// codegen/contraction_sources.cpp – where the tiles of a contraction read its operands
#include "codegen/contraction_sources.h"

#include <algorithm>
#include <string>

#include "codegen/nest_build.h"
#include "codegen/pair_products.h"

namespace ricci::codegen {

namespace {

class Placer {
  public:
    Placer(const Kernel& kernel, const SourcePlacing& placing, Schedule& schedule,
           PlanBuilder& builder)
        : kernel_(kernel), placing_(placing), schedule_(schedule), builder_(builder) {}

    Source source(const Operand& operand, Reading reading, Side side) {
        const bool is_row = side == Side::rows;
        const char* const side_name = is_row ? "rows" : "columns";
        ++sources_;
        if (reading == Reading::in_place) {
            schedule_.directives.push_back({"direct", side_name, {}, "less work than packing"});
            return {.term = operand.term};
        }
        std::string name = kernel_.nest.name + "_" + side_name;
        if (sources_ > 2) name += std::to_string(sources_ - 1);
        const Contraction& c = placing_.choice.contraction;
        Kernel packed = kernel_;
        if (!placing_.are_conditions_packed) packed.conditions = {};
        packed.least_tasks = placing_.least_tasks;
        const Pairing pairing = placing_.choice.pairing;
        const Value& term = operand.term;
        return {term,
                pack(packed, pairing == Pairing::pairs ? pair_term(term) : term, c.batch,
                     is_row ? placing_.rows : placing_.columns, side, pairing, name, builder_)};
    }

  private:
    const Kernel& kernel_;
    const SourcePlacing& placing_;
    Schedule& schedule_;
    PlanBuilder& builder_;
    std::size_t sources_ = 0;
};

}  // namespace

std::pair<std::vector<Source>, std::vector<Source>> place_sources(Kernel& kernel,
                                                                  const SourcePlacing& placing,
                                                                  Schedule& schedule,
                                                                  PlanBuilder& builder) {
    const ContractionChoice& choice = placing.choice;
    const Contraction& c = choice.contraction;
    Placer placer(kernel, placing, schedule, builder);
    std::vector<Source> rows;
    std::vector<Source> columns;
    for (std::size_t i = 0; i < c.row_operands.size(); ++i)
        rows.push_back(placer.source(c.row_operands[i], choice.rows[i], Side::rows));
    for (std::size_t i = 0; i < c.column_operands.size(); ++i)
        columns.push_back(placer.source(c.column_operands[i], choice.columns[i], Side::columns));
    for (std::vector<Source>* sources : {&rows, &columns})
        for (Source& source : *sources)
            if (source.panels)
                source.buffer = kernel.argument(builder.plan(), source.panels->place, false);
    return {std::move(rows), std::move(columns)};
}

bool is_all_packed(const Kernel& kernel, const Value& body, const std::vector<Source>& rows,
                   const std::vector<Source>& columns) {
    Substitution packed;
    for (const std::vector<Source>* sources : {&rows, &columns})
        for (const Source& source : *sources) {
            if (!source.panels) return false;
            packed.replace(source.term, make_integer(0));
        }
    const Value rest = packed(body);
    return std::ranges::none_of(kernel.reduced,
                                [&](const Axis& axis) { return depends_on(rest, axis.var); });
}

}  // namespace ricci::codegen
