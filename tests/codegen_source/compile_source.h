// tests/codegen_source/compile_source.h – runs compilers on emitted files
#pragma once

#include <string>
#include <vector>

namespace ricci::tests {

/// What a command said; status 127 when there is no such command.
struct CommandOutcome {
    int status = -1;
    std::string log;
};
[[nodiscard]] CommandOutcome run_command(const std::vector<std::string>& words,
                                         const std::string& log);

/// An emitted C++ file as a shared object, compiled with every warning as an error.
class CompiledSource {
  public:
    /// Throws: `internal` with what the compiler said.
    explicit CompiledSource(const std::string& text);
    ~CompiledSource();
    CompiledSource(const CompiledSource&) = delete;
    CompiledSource& operator=(const CompiledSource&) = delete;

    /// Calls an entry point: what it gives, empty for null.
    [[nodiscard]] std::string call(const std::string& symbol,
                                   const std::vector<void*>& arguments) const;

  private:
    void* handle_ = nullptr;
};

}  // namespace ricci::tests
