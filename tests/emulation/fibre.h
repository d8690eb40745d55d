// tests/emulation/fibre.h – stacks that are switched between: one a CUDA thread
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace ricci::emulation {

/// A set of fibres, all inside one call of the function; one runs at a time. Tells the sanitizers
/// of its switches where the program has one.
class Fibres {
  public:
    using Body = void (*)();

    Fibres();
    ~Fibres();
    Fibres(const Fibres&) = delete;
    Fibres& operator=(const Fibres&) = delete;

    /// Makes ready so many fibres that begin with `body`. It calls `begin` first and must not
    /// return: it ends by `leave`.
    void start(std::size_t count, Body body);
    void begin();
    /// Runs a fibre until it leaves.
    void enter(std::size_t fibre);
    /// From inside a fibre: goes back to `enter`. The last time with `is_last`.
    void leave(bool is_last);

    /// What the fibres did happens before what follows in the caller (for ThreadSanitizer).
    void join();
    /// Orders what fibres did before `arrive` before what they do after `pass`, of the same number.
    void arrive(std::uint64_t barrier);
    void pass(std::uint64_t barrier);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Whether ThreadSanitizer or AddressSanitizer is in this program.
[[nodiscard]] bool has_thread_sanitizer() noexcept;
[[nodiscard]] bool has_address_sanitizer() noexcept;

}  // namespace ricci::emulation
