// codegen/gpu/tile_results.h – a thread's results: what is held for them, and their writes
#pragma once

#include <functional>
#include <vector>

#include "codegen/contraction.h"
#include "codegen/gpu/tile_places.h"
#include "codegen/tile.h"

namespace ricci::codegen::gpu {

class TileResults {
  public:
    /// Adds the registers: accumulators and held terms.
    TileResults(Kernel& kernel, const Contraction& contraction, const TileSide& rows,
                const TileSide& columns, const ThreadPlaces& places);

    /// Accumulators to the identity, terms that do not change with the reduced axes into registers.
    [[nodiscard]] Body begin();
    /// Result (r, c) of the thread combined with the body's value; `here` knows the operands.
    [[nodiscard]] Body combine_at(Substitution& here, const AffineForm& r, const AffineForm& c);
    /// The kernel's writes for the rows and columns that there are, in vectors where every write is
    /// known to be aligned.
    [[nodiscard]] Body write();

  private:
    using AtPlace =
        std::function<Body(const Substitution& here, const AffineForm& r, const AffineForm& c)>;
    [[nodiscard]] AffineForm element(const AffineForm& r, const AffineForm& c) const;
    [[nodiscard]] AffineForm held_element(const Operand& operand, const AffineForm& r,
                                          const AffineForm& c) const;
    [[nodiscard]] Body load_held(std::size_t number);
    [[nodiscard]] std::int64_t write_lanes() const;
    [[nodiscard]] Value name_place(const TileSide& side, const AffineForm& place, std::int64_t step,
                                   Body& names, Substitution& here);
    [[nodiscard]] Body each_row(const Substitution& at_column, const AffineForm& c,
                                const AtPlace& make);
    [[nodiscard]] Body each_column(std::int64_t step, bool has_rows, const AtPlace& make);

    Kernel& kernel_;
    const Contraction& c_;
    const TileSide& rows_;
    const TileSide& columns_;
    const ThreadPlaces& places_;
    Accumulator accumulator_;
    std::vector<BufferId> held_;
};

}  // namespace ricci::codegen::gpu
