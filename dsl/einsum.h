// dsl/einsum.h – numpy's einsum notation as a program
#pragma once

#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"
#include "base/source.h"

namespace ricci {

/// A program that does what `numpy.einsum` does with the same text.
struct Einsum {
    std::string program;
    std::vector<std::string> operands;  ///< names of its arguments, in the order of the text
};

/// Translates `ij,jk->ik`: a letter for each dimension, upper and lower case apart; `...` for the
/// dimensions without a letter; blanks are ignored. Without `->` the letters that occur once are
/// the output's, in the order of the alphabet, after the dimensions of `...`. A dimension of extent
/// 1 is repeated to match the others of its letter. With `dtypes`, the result has the type that
/// numpy gives it: that of the operands' common type, integers wrapping, truth values combined by
/// `&&` and `||`; without, the types of the language. Throws: `syntax name shape`, with the place
/// in the text.
[[nodiscard]] Einsum translate_einsum(const SourcePtr& source, const std::vector<Shape>& shapes,
                                      const std::vector<DType>& dtypes = {});

}  // namespace ricci
