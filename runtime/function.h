// runtime/function.h – the user's object: compile, call, differentiate
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/target.h"
#include "dsl/program.h"
#include "grad/ties.h"
#include "runtime/array.h"
#include "runtime/device.h"

namespace ricci {

class Var;

using grad::Ties;

/// What a gradient is made of besides the argument.
struct GradientOptions {
    std::vector<std::string> cotangents = {};  ///< outputs, by name; empty: the result
    Ties ties = Ties::first;                   ///< of equal largest and smallest values
};

/// Arguments by name.
using Arguments = std::vector<std::pair<std::string, Array>>;

/// The same arguments, each array in memory of its own: a function changes those that its program
/// updates. Numbers stay as they are.
[[nodiscard]] Arguments copies(const Arguments& arguments);

/// A compiled program. Kernels are made for the shapes and types met and kept. Copies share them.
/// Calls may come from several threads at once.
class Function {
  public:
    Function() = default;
    /// Throws: `device` for a device that is not supported yet.
    explicit Function(Program program, std::string name = {}, Device device = default_device());

    /// Calls with arguments in order of first appearance; gives the program's result. An argument
    /// that a statement updates (`+=`, `=`, …) is changed in place, and only when the call
    /// succeeds. Throws: `name shape range type limit`; then nothing was written. Cost: about a
    /// microsecond beside the kernels, once types and shapes have been met.
    template <std::convertible_to<Array>... Arrays>
    Array operator()(const Arrays&... arrays) const {
        // Numbers become arrays that live until the end of the call; arrays are not copied.
        return call_in_order({&static_cast<const Array&>(as_array(arrays))...});
    }
    /// The same on the tape (see runtime/tape.h), when an argument is a Var.
    template <class... Vars>
        requires(std::same_as<Vars, Var> || ...)
    Var operator()(const Vars&... variables) const;
    Array operator()(const Arguments& arguments) const;
    [[nodiscard]] Array call(const std::vector<Array>& arguments) const;
    /// The named outputs, in the order asked for.
    [[nodiscard]] std::vector<Array> call(const Arguments& arguments,
                                          const std::vector<std::string>& outputs) const;

    /// The gradient with respect to one argument, as a Function of the arguments it needs (it
    /// accepts all of this function's) and the cotangents: `dY` of the result, or those of the
    /// outputs named. Made once. Throws: `name gradient`.
    [[nodiscard]] Function grad(const std::string& argument,
                                const std::vector<std::string>& cotangents = {}) const;
    /// The same: `f.grad("x", {.ties = Ties::even})`.
    [[nodiscard]] Function grad(const std::string& argument, const GradientOptions& options) const;
    /// The gradients with respect to several arguments in one Function, with an output for each
    /// (`dW`, `db`; call it with the names of those wanted), in which what several need is computed
    /// once. Made once. Throws: `name gradient`.
    [[nodiscard]] Function grads(const std::vector<std::string>& arguments,
                                 const GradientOptions& options = {}) const;
    /// Forward mode: how the outputs move when these arguments do, as a Function of the arguments
    /// it needs (it accepts all of this function's) and the tangents `dW` of those named. It gives
    /// the tangent of the result, `dY`, or of the outputs named. Made once. Throws: `name
    /// gradient`.
    [[nodiscard]] Function jvp(const std::vector<std::string>& arguments,
                               const std::vector<std::string>& outputs = {},
                               Ties ties = Ties::first) const;
    /// The same with sums of products multiplied out where that leaves fewer operations, and so its
    /// gradients: `sum[k]((W[k,i]-X[k,j])^2)` as `sum[k](W[k,i]^2) + sum[k](X[k,j]^2) -
    /// 2*sum[k](W[k,i]*X[k,j])`. Digits are lost where the parts nearly cancel, and infinite parts
    /// may give NaN (see dsl/expand.h). Of a gradient: that gradient alone, as
    /// `f.grad("W").expanded()`.
    /// Calls throw `type` unless the arrays have one type of f32, f64, c64, c128. Ties are kept,
    /// gradients written by hand are not.
    [[nodiscard]] Function expanded() const;
    /// How `backward` shares among equal largest and smallest values in this function's programs;
    /// `Ties::first` unless said. Not for calls that are on a tape already.
    void set_ties(Ties ties);
    [[nodiscard]] Ties ties() const;
    /// A gradient written by hand. It gets the forward's arguments and the cotangent of the result
    /// (`dY`) by name and gives an array of the argument's shape and type.
    using Gradient = std::function<Array(const Arguments&)>;
    /// Registers one for an argument: `backward` uses it in place of the generated one. An empty
    /// one takes it away again. Throws: `name` when there is no such argument.
    void set_gradient(const std::string& argument, Gradient gradient);
    /// A gradient program: of the forward's arguments it needs and the cotangent of the result.
    /// Throws: `name` when it takes anything else.
    void set_gradient(const std::string& argument, const Function& gradient);
    /// The registered gradient, or an empty one.
    [[nodiscard]] Gradient registered_gradient(const std::string& argument) const;

    [[nodiscard]] const Program& program() const;
    [[nodiscard]] const std::string& name() const;
    [[nodiscard]] Device device() const;
    [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }

    struct State;
    [[nodiscard]] const std::shared_ptr<State>& state() const noexcept { return state_; }

  private:
    explicit Function(std::shared_ptr<State> state) : state_(std::move(state)) {}

    // NOLINTNEXTLINE(bugprone-return-const-ref-from-parameter): the argument of a call outlives it
    static const Array& as_array(const Array& array) { return array; }
    static Array as_array(std::convertible_to<Array> auto number) { return Array(number); }

    [[nodiscard]] State& require_state() const;
    [[nodiscard]] Array call_in_order(std::initializer_list<const Array*> arguments) const {
        return call_pointers({arguments.begin(), arguments.size()});
    }
    [[nodiscard]] Array call_pointers(std::span<const Array* const> arguments) const;

    std::shared_ptr<State> state_;
};

/// Whether programs that are compiled for the CPU from now on are tuned: of kernels that give equal
/// bits the one is taken that was measured to be fastest on this machine, and what is not known yet
/// is measured first, on the arguments of the call.
void set_tuning(bool is_wanted);
/// What `set_tuning` or RICCI_TUNE says. Where it is false nothing is measured, and nothing that
/// was measured before counts.
[[nodiscard]] bool is_tuning();

/// What products of f32 arrays may be computed from on CPUs with tiles of bf16 numbers, in programs
/// that are called from now on (base/target.h says what the others give up). Other CPUs, and
/// programs for which it is not faster, keep f32.
void set_precision(Precision allowed);
/// What `set_precision` or RICCI_PRECISION says: `Precision::f32` at first.
[[nodiscard]] Precision precision();

/// Text to Function. `name` is used in timers and dumps (default: the result's name).
/// Throws: `syntax name range limit device`.
[[nodiscard]] Function compile(std::string_view text, std::string name = {},
                               Device device = default_device());

/// The program of a function in the language.
[[nodiscard]] std::string str(const Function& function);

}  // namespace ricci
