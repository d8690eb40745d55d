// tests/emulation/module.h – kernel text compiled by the C++ compiler and loaded
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/emulation/abi.h"

namespace ricci::emulation {

/// How kernels find out what they do wrong.
enum class Checks : std::uint8_t {
    arrays,   ///< every access by the device
    address,  ///< by AddressSanitizer and UndefinedBehaviorSanitizer, on plain pointers
    thread,   ///< by ThreadSanitizer, on plain pointers
};
/// What kernels are compiled for: `arrays`, unless the program, linked with a sanitizer, has said
/// something else.
[[nodiscard]] Checks checks_of_this_program() noexcept;
void set_checks_of_this_program(Checks checks) noexcept;

/// What the C++ compiler made of kernels, or what it said.
struct Compiled {
    bool is_good = false;
    std::string image;  ///< a shared object; an ELF file as a cubin is one
    std::string log;
};
/// Compiles kernels, the text that follows the prelude. Names of lines in faults are its lines.
[[nodiscard]] Compiled compile(std::string_view kernels, Checks checks = checks_of_this_program());

/// The bytes of the ELF file that begins there: what an image is long.
[[nodiscard]] std::size_t image_bytes(const void* image);

/// A loaded image.
class Module {
  public:
    /// Throws: `device` when the image cannot be loaded.
    explicit Module(std::string_view image);
    ~Module();
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

    /// The entry point of that name, or null.
    [[nodiscard]] const rc_entry* find(std::string_view name) const noexcept;
    /// The names of its parameters.
    [[nodiscard]] const std::vector<std::string>& parameters(const rc_entry* entry) const;

  private:
    struct Entry {
        const rc_entry* entry;
        std::vector<std::string> parameters;
    };
    void* handle_ = nullptr;
    std::vector<Entry> entries_;
};

}  // namespace ricci::emulation
