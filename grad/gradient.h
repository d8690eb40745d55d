// grad/gradient.h – adjoint programs: one for each argument, in the language, in gather form
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dsl/program.h"
#include "grad/ties.h"

namespace ricci::grad {

struct Options {
    /// Cotangents given by the caller, by output name. Empty: the result's alone, named `dY`.
    std::vector<std::string> cotangents = {};
    /// Complex arguments among those of the forward. Where there are some, or the program makes
    /// complex numbers itself, gradients follow the convention of PyTorch and ChainRules: that of a
    /// real number L is dL/d(real part) + i dL/d(imaginary part).
    std::vector<std::string> complex_arguments = {};
    Ties ties = Ties::first;
};

struct Account;  // grad/account.h

/// Whether the program makes complex numbers of any arguments, or speaks of their parts.
[[nodiscard]] bool makes_complex(const Program& program);

/// The gradient of `argument`: a program whose arguments are those of `forward` (only those it
/// needs) and the cotangents `dY` (shape and type of output Y), and whose result is `dW` (shape
/// and type of argument W). A name that clashes gets suffixes `_`.
/// `forward` need not be canonical; the result is canonical up to temporaries used once.
/// Throws: `name` for an unknown argument; `gradient` for a part without a derivative.
[[nodiscard]] Program gradient(const Program& forward, const std::string& argument,
                               const Options& options = {});

/// The gradients of several arguments in one program, an output for each in the order asked for,
/// in which what several of them need is computed once.
/// Throws: as `gradient`; `name` when an argument is asked for twice, or none is.
[[nodiscard]] Program gradients(const Program& forward, const std::vector<std::string>& arguments,
                                const Options& options = {});

/// The same of one argument, telling how it was derived.
[[nodiscard]] Program gradient(const Program& forward, const std::string& argument,
                               const Options& options, Account& account);

/// A gradient cut in two for training: `forward` also gives what is dear to compute again, and
/// `backward` takes it in addition to the arguments and cotangents.
struct Pair {
    Program forward;
    std::vector<std::string> saved;  ///< outputs of `forward` that `backward` reads, by name
    std::vector<Program> backward;   ///< one for each argument asked for, in order
    /// All of them in one, an output for each, where that computes less: where some of what has to
    /// be reduced is needed by several.
    std::optional<Program> shared;
};
[[nodiscard]] Pair cut(const Program& forward, const std::vector<std::string>& arguments,
                       const Options& options = {});

}  // namespace ricci::grad
