// dsl/some_point.h – whether a condition of indices leaves something to reduce
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dsl/bound.h"

namespace ricci {

/// Whether a condition leaves a point for all values of the indices around it.
struct PointSearch {
    enum class Result : std::uint8_t {
        some,     ///< for all of them
        none,     ///< for one of them, there is none
        unknown,  ///< data decides, or it takes too long to say
    };
    Result result = Result::unknown;
    std::string where;  ///< of `none`: "`i` = 0", empty without such indices
};

/// Goes over the values of the condition's indices, those of `around` first, in at most `work`
/// operations, of which what is done is taken off. Sizes are numbers in the condition.
[[nodiscard]] PointSearch search_points(const Program& program, Expr condition,
                                        const std::vector<IndexId>& around,
                                        const std::function<BoundIndex(IndexId)>& range_of,
                                        std::int64_t& work);

}  // namespace ricci
