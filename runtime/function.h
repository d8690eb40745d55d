// runtime/function.h – the user's object: compile, call, differentiate
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dsl/program.h"
#include "runtime/array.h"

namespace ricci {

enum class Device : std::uint8_t { cpu, cuda, reference };

/// Arguments by name.
using Arguments = std::vector<std::pair<std::string, Array>>;

/// A compiled program. Kernels are made for the shapes and types met and kept. Copies share them.
/// Calls may come from several threads at once.
class Function {
  public:
    Function() = default;
    explicit Function(Program program, std::string name = {}, Device device = Device::cpu);

    /// Calls with arguments in order of first appearance; gives the program's result. An argument
    /// that a statement updates (`+=`, `=`, …) is changed in place, and only when the call succeeds.
    /// Throws: `name shape range type limit`; then nothing was written.
    template <class... Arrays>
    Array operator()(const Arrays&... arrays) const {
        return call(std::vector<Array>{Array(arrays)...});
    }
    Array operator()(const Arguments& arguments) const;
    [[nodiscard]] Array call(const std::vector<Array>& arguments) const;
    /// The named outputs, in the order asked for.
    [[nodiscard]] std::vector<Array> call(const Arguments& arguments,
                                          const std::vector<std::string>& outputs) const;

    /// The gradient with respect to one argument, as a Function of the arguments it needs and the
    /// cotangent `dY`. Made once. Throws: `name gradient`.
    [[nodiscard]] Function grad(const std::string& argument) const;
    /// Registers a hand-written gradient for one argument: used by `backward` in place of the
    /// generated one. It gets the forward's arguments and the cotangent by name.
    using Gradient = std::function<Array(const Arguments&)>;
    void set_gradient(const std::string& argument, Gradient gradient);

    [[nodiscard]] const Program& program() const;
    [[nodiscard]] const std::string& name() const;
    [[nodiscard]] Device device() const;
    [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }

    struct State;
    [[nodiscard]] const std::shared_ptr<State>& state() const noexcept { return state_; }

  private:
    std::shared_ptr<State> state_;
};

/// Text to Function. `name` is used in timers and dumps (default: the result's name).
/// Throws: `syntax name range limit`.
[[nodiscard]] Function compile(std::string_view text, std::string name = {},
                               Device device = Device::cpu);

/// The program of a function in the language.
[[nodiscard]] std::string str(const Function& function);

}  // namespace ricci
