// tests/property/tuning_test.cpp – whatever a tuner may choose gives the same bits
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/text.h"
#include "codegen/contraction_order.h"
#include "runtime/executor.h"
#include "tests/property/sample.h"
#include "tests/support/compare.h"

namespace ricci::tests {
namespace {

using codegen::Tuned;

/// A bound program and its arguments, which no program here updates.
class Subject {
  public:
    Subject(const Program& program, const Signature& signature, std::uint64_t seed)
        : program_(codegen::in_real_numbers(ricci::bind(program, signature))),
          target_(runtime::target()) {
        // Small products are contractions, too.
        target_.forced = Forced::tiles;
        for (const Array& value : random_arguments(program_, signature, seed))
            arguments_.push_back(
                value.to(program_.at(program_.arguments[arguments_.size()]).dtype));
    }

    /// The names of candidates that give other bits; counts those that were run.
    std::string failures(std::size_t& candidates) const {
        const auto nothing = [](const std::string&) { return std::optional<Tuned>(); };
        const std::vector<std::string> usual = bytes({});
        std::string text;
        for (const codegen::Choice& choice : codegen::plan(program_, target_, {}, nothing).choices)
            for (const std::string& name : choice.candidates) {
                ++candidates;
                const auto pick = [&](const std::string& kernel) {
                    return kernel == choice.kernel ? std::optional(Tuned{.candidate = name})
                                                   : std::nullopt;
                };
                const codegen::Plan plan = codegen::plan(program_, target_, {}, pick);
                const bool is_taken = std::ranges::any_of(
                    plan.choices, [&](const auto& taken) { return taken.taken == name; });
                if (!is_taken) text += format("{}: is not taken\n", name);
                if (bytes(pick) != usual) text += format("{}: gives other bits\n", name);
            }
        return text;
    }

  private:
    [[nodiscard]] std::vector<std::string> bytes(const codegen::Tunings& tunings) const {
        const runtime::Executable executable(program_, "tuning", target_, tunings);
        std::vector<Array> own;
        for (const Array& argument : arguments_) own.push_back(argument.copy());
        std::vector<const Array*> pointers;
        for (const Array& argument : own) pointers.push_back(&argument);
        std::vector<std::string> all;
        for (const Array& output : executable.run(pointers))
            all.push_back(str(output.contiguous()) + raw(output.contiguous()));
        return all;
    }
    static std::string raw(const Array& array) {
        std::string text(static_cast<std::size_t>(array.size()) * size_bytes(array.dtype()), '\0');
        if (!text.empty()) std::memcpy(text.data(), array.data(), text.size());
        return text;
    }

    BoundProgram program_;
    Target target_;
    std::vector<Array> arguments_;
};

void check_programs(const RandomForms& forms, std::size_t count, DType floating = DType::f32) {
    std::size_t candidates = 0;
    for_each_program(
        count,
        [&](const RandomProgram& random, const Program& program) {
            const Signature signature = with_floating(random.signature, floating);
            const std::string failures =
                Subject(program, signature, random.seed).failures(candidates);
            if (!failures.empty()) FAIL_CHECK(format("{}{}", str(random), failures));
        },
        forms);
    MESSAGE(format("candidates: {}", candidates));
    CHECK(candidates > 0);
}

}  // namespace

TEST_CASE("products have the same bits whichever candidate is taken") {
    check_programs({.products = true}, program_count() / 8);
}

TEST_CASE("products of bf16 have the same bits whichever candidate is taken") {
    check_programs({.products = true}, program_count() / 8, DType::bf16);
}

TEST_CASE("gradients of products have the same bits whichever candidate is taken") {
    std::size_t candidates = 0;
    for_each_gradient(
        program_count() / 15,
        [&](const RandomProgram& random, const RandomDerivative& derivative) {
            const std::string failures =
                Subject(derivative.program, derivative.signature, random.seed).failures(candidates);
            if (!failures.empty())
                FAIL_CHECK(
                    format("{}derivative by {}: {}", str(random), derivative.argument, failures));
        },
        {.products = true});
    CHECK(candidates > 0);
}

}  // namespace ricci::tests
