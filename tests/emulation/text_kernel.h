// tests/emulation/text_kernel.h – kernels written by hand, compiled and launched
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/emulation/launch.h"
#include "tests/emulation/memory.h"
#include "tests/emulation/module.h"

namespace ricci::tests {

/// A text with kernels, its module, and memory for arguments.
class TextKernel {
  public:
    explicit TextKernel(const std::string& text) : module_(good_image(text)) {}

    template <class T>
    emulation::Memory::Address upload(const std::vector<T>& values, std::size_t shift = 0) {
        const auto address = memory_.allocate(values.size() * sizeof(T), shift);
        std::memcpy(memory_.at(address, 0), values.data(), values.size() * sizeof(T));
        return address;
    }
    template <class T>
    std::vector<T> download(emulation::Memory::Address address, std::size_t count) {
        std::vector<T> values(count);
        std::memcpy(values.data(), memory_.at(address, count * sizeof(T)), count * sizeof(T));
        return values;
    }
    /// What the kernel does wrong, or nothing.
    std::string run(std::string_view name, std::int64_t blocks, int threads,
                    const std::vector<emulation::Memory::Address>& arguments,
                    std::int64_t shared_bytes = 0, const emulation::Manner& manner = {}) {
        emulation::Launch launch{.entry = module_.find(name),
                                 .arrays = {},
                                 .blocks = blocks,
                                 .threads = threads,
                                 .shared_bytes = shared_bytes};
        RICCI_ASSERT(launch.entry != nullptr, "a kernel of the text");
        const auto cells = emulation::checks_of_this_program() == emulation::Checks::arrays
                               ? emulation::Memory::Cells::per_element
                               : emulation::Memory::Cells::none;
        for (std::size_t n = 0; n < arguments.size(); ++n)
            launch.arrays.push_back(memory_.array(arguments[n], launch.entry->element_bytes[n],
                                                  module_.parameters(launch.entry)[n].c_str(),
                                                  cells));
        const auto fault = emulation::Processor::instance().run(launch, manner);
        return fault ? fault->text : memory_.damage();
    }

  private:
    static std::string good_image(const std::string& text) {
        emulation::Compiled compiled = emulation::compile(text);
        if (!compiled.is_good)
            throw Error({.kind = ErrorKind::device, .message = compiled.log + text});
        return std::move(compiled.image);
    }

    emulation::Module module_;
    emulation::Memory memory_;
};

}  // namespace ricci::tests
