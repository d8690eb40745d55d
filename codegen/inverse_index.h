// codegen/inverse_index.h – points sorted by their keys, as equations
//
// A stable radix sort of which every step is an equation, so that it is planned, compiled and
// checked like any other, and no step depends on the order of threads:
//
//   count[d,c]  how many keys of chunk c have the digit d: a sum over the chunk
//   before[d,c] how many keys come before those: sums of sums, block by block
//   place[p]    before[digit, chunk] and how many of the chunk before p have the digit
//   order, key  written at `place`, a permutation
//
// (Counting sort by digits: Knuth, The Art of Computer Programming 3, 5.2.5.)
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "codegen/equation_maker.h"

namespace ricci::codegen {

/// The points [0, points) in the order of their keys, equal keys in the order of points.
struct InverseIndex {
    std::int64_t points = 0;
    std::int64_t segments = 0;
    TensorId order{};  ///< [points]: the point at a place
    TensorId key{};    ///< [points]: its key
    TensorId first{};  ///< [segments+1]: the first place of the keys of at least that number
};

/// Makes inverse indices, of equal keys one.
class InverseIndices {
  public:
    explicit InverseIndices(EquationMaker& make) : make_(make) {}

    /// The index that numbers so many points.
    IndexId point(std::int64_t points);
    /// `key` is over `point(points)`, in [0, segments]; points whose key is `segments` come last.
    InverseIndex invert(const std::string& name, Expr key, std::int64_t points,
                        std::int64_t segments);

    /// How often each key is read and written in memory.
    [[nodiscard]] static int passes(std::int64_t segments);

  private:
    /// Sorted by one digit.
    void sort(InverseIndex& sorted, std::int64_t weight, bool is_first, const std::string& name);
    /// The sums of all elements before each.
    TensorId sums_before(TensorId counts, std::int64_t size, const std::string& name);
    void find_first(InverseIndex& sorted, const std::string& name);

    EquationMaker& make_;
    std::map<std::int64_t, IndexId> points_;
    std::map<std::tuple<std::uint32_t, std::int64_t>, InverseIndex> known_;  ///< by the key's node
};

}  // namespace ricci::codegen
