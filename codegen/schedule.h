// codegen/schedule.h – how an equation is turned into loops: a printable list of directives
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/work.h"

namespace ricci::codegen {

/// The strategies of docs/architecture.md, each with its own measured goal.
enum class Strategy : std::uint8_t {
    contraction,
    row_reduction,
    strided_reduction,
    scan,
    pointwise,
    serial
};
[[nodiscard]] std::string_view name(Strategy strategy) noexcept;

/// One decision, as `verb subject numbers`: `tile n 32`, `vector j 16`, `pack B 32`, `split k 512`.
struct Directive {
    std::string verb;
    std::string subject;
    std::vector<std::int64_t> numbers;
    std::string why;  ///< may be empty
};

struct Schedule {
    Strategy strategy = Strategy::pointwise;
    std::string kernel;  ///< the kernel it belongs to
    /// What the kernel has to do at least, by codegen/kernel_work.h; on a GPU nothing yet.
    Work work = {};
    std::vector<Directive> directives = {};

    void say(std::string verb, std::string subject, std::int64_t number, std::string why);
};

[[nodiscard]] std::string str(const Schedule& schedule);

}  // namespace ricci::codegen
