// base/dump.h – texts of the stages of compilation, shown on request
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ricci {

/// The stages that have a text, in the order of the data's way.
enum class Stage : std::uint8_t {
    tokens,
    ast,
    program,
    canonical,
    gradient,
    bound,
    plan,
    schedule,
    loops,
    llvm,
    assembly,
    cuda,
    ptx
};

/// As in RICCI_DUMP and `ricci explain --stage`: `canonical`, `asm`, ...
[[nodiscard]] std::string_view name(Stage stage) noexcept;
[[nodiscard]] std::optional<Stage> stage_from_name(std::string_view name) noexcept;

/// Whether RICCI_DUMP names this stage; ask before a text is made only to be dumped.
/// Throws: `name` when RICCI_DUMP has a word that is no stage.
[[nodiscard]] bool is_dumped(Stage stage);
/// Shows the text when its stage is dumped: as the file `07_loops_matmul.txt` in RICCI_DUMP_DIR,
/// which is made when missing, or on stderr. The number counts the dumps of this process.
/// Throws: `io` when the file cannot be written.
void dump(Stage stage, std::string_view subject, std::string_view text);

}  // namespace ricci
