// runtime/tape_record.h – what a variable of the tape remembers, and the walk back
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "runtime/tape.h"

namespace ricci {
namespace runtime {

/// How a value was made from those of its arguments.
class TapeStep {
  public:
    TapeStep() = default;
    TapeStep(const TapeStep&) = delete;
    TapeStep& operator=(const TapeStep&) = delete;
    virtual ~TapeStep() = default;

    /// The gradients of the record's arguments by position, from that of its value; empty handles
    /// where `wanted` is false, or where there is none.
    [[nodiscard]] virtual std::vector<Array> pull_back(const Array& value, const Array& cotangent,
                                                       const std::vector<bool>& wanted) const = 0;
};

}  // namespace runtime

/// One value of the tape, and what made it.
struct Var::Record {
    Array value;
    Array grad;  ///< of a parameter
    bool requires_grad = false;

    // Empty for leaves, and once `backward` has been here.
    std::unique_ptr<const runtime::TapeStep> step;
    std::vector<std::shared_ptr<Record>> arguments;
    bool is_released = false;

    Record() = default;
    Record(const Record&) = delete;
    Record& operator=(const Record&) = delete;
    ~Record() { release(); }

    [[nodiscard]] bool is_leaf() const noexcept { return !step && !is_released; }
    /// Lets go of what made this value.
    void release() noexcept;
};

namespace runtime {

using RecordPtr = std::shared_ptr<Var::Record>;

/// Makes variables.
struct TapeAccess {
    [[nodiscard]] static Var variable(RecordPtr record);
};

/// Whether calls are recorded in this thread, and who wants to know which variables they use.
struct TapeMode {
    bool is_recording = true;
    std::vector<RecordPtr>* used = nullptr;  ///< gets what requires gradients, each once
};
[[nodiscard]] TapeMode& tape_mode() noexcept;

/// Another mode until the end of the scope.
class TapeModeScope {
  public:
    explicit TapeModeScope(TapeMode mode) : before_(std::exchange(tape_mode(), mode)) {}
    ~TapeModeScope() { tape_mode() = before_; }
    TapeModeScope(const TapeModeScope&) = delete;
    TapeModeScope& operator=(const TapeModeScope&) = delete;

  private:
    TapeMode before_;
};

/// The records of variables. Throws: `name` for an empty one.
[[nodiscard]] std::vector<RecordPtr> records_of(const std::vector<Var>& variables);
/// Notes the use of the variables; whether a call with them is to be recorded.
[[nodiscard]] bool is_recorded(const std::vector<RecordPtr>& arguments);
/// A variable that no gradient flows through, and one that a step made.
[[nodiscard]] Var constant(Array value);
[[nodiscard]] Var recorded(Array value, std::vector<RecordPtr> arguments,
                           std::unique_ptr<const TapeStep> step);

/// The gradients at the ends of the tape, in a fixed order.
struct TapeGradients {
    std::vector<std::pair<RecordPtr, Array>> ends;
    std::vector<RecordPtr> visited;  ///< all records, those of the ends too
};
/// Walks from the root back to leaves and to `ends`, which are not looked behind.
/// Throws: `gradient` where a record was released, and what steps throw.
[[nodiscard]] TapeGradients walk_back(const RecordPtr& root, const Array& cotangent,
                                      const std::vector<RecordPtr>& ends);

[[noreturn]] void tape_error(ErrorKind kind, std::string message, std::string hint = {});

}  // namespace runtime
}  // namespace ricci
