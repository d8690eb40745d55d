// dsl/scalar_function.cpp – functions of numbers that a user adds to the language
#include "dsl/scalar_function.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <memory>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "base/match.h"
#include "base/text.h"
#include "dsl/canonical.h"
#include "dsl/ops.h"
#include "dsl/program.h"
#include "dsl/walk.h"

namespace ricci {
namespace {

constexpr std::array<std::string_view, 3> operand_names = {"x", "y", "z"};

struct Entry {
    ScalarFunction function;
    OpInfo info;
};

/// Entries are added and never change: what is below `count` may be read without the mutex.
struct Registry {
    std::mutex mutex;
    std::atomic<std::size_t> count = 0;
    std::array<std::unique_ptr<const Entry>, max_registered> entries;
};
Registry& registry() {
    static Registry it;
    return it;
}

[[noreturn]] void fail(ErrorKind kind, std::string message, std::string hint) {
    throw Error({.kind = kind, .message = std::move(message), .hint = std::move(hint)});
}

bool is_same(const ScalarFunction& a, const ScalarFunction& b) {
    return a.name == b.name && a.value == b.value && a.derivatives == b.derivatives &&
           a.cuda == b.cuda;
}

bool is_word(std::string_view name) {
    const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
    return !name.empty() && is_letter(name[0]) && std::ranges::all_of(name, [&](char c) {
        return is_letter(c) || c == '_' || std::isdigit(static_cast<unsigned char>(c)) != 0;
    });
}

/// The derivative as a canonical program of scalars, one equation.
Program parsed(const ScalarFunction& function, std::size_t operand) {
    return canonicalise(parse_program(format("d := {}", function.derivatives[operand])));
}

/// It is a term of the operands.
void check_derivative(const ScalarFunction& function, std::size_t operand, const Program& program) {
    const bool is_term =
        program.equations.size() == 1 && program.equations[0].at.empty() &&
        !contains(program.equations[0].value, [](Expr e) {
            return std::holds_alternative<Reduce>(e->term) || std::holds_alternative<Size>(e->term);
        });
    if (!is_term)
        fail(ErrorKind::syntax,
             format("the derivative `{}` of `{}` is no term of its operands",
                    function.derivatives[operand], function.name),
             "write it without reducers and indices");
    const auto known = std::span(operand_names).first(static_cast<std::size_t>(arity(function)));
    for (const TensorId id : program.arguments) {
        const Tensor& read = program.at(id);
        if (std::ranges::find(known, read.name) == known.end() || read.rank != 0)
            fail(ErrorKind::name,
                 format("the derivative of `{}` reads `{}`", function.name, read.name),
                 format("its operands are called {}", join(known, ", ")));
    }
}

void check_name(const std::string& name) {
    if (!is_word(name))
        fail(ErrorKind::name, format("`{}` is no name of a function", name),
             "use letters, digits and `_`, a letter first");
    // A definition of that name is refused where it has a meaning.
    try {
        (void)parse_program(format("def {}(x) = x; y := {}(1)", name, name));
    } catch (const Error&) {
        fail(ErrorKind::name, format("`{}` has a meaning in the language", name),
             "choose another name");
    }
}

void check_derivatives(const ScalarFunction& function) {
    const auto count = static_cast<std::size_t>(arity(function));
    if (function.derivatives.empty()) return;
    if (function.derivatives.size() != count)
        fail(ErrorKind::type,
             format("`{}` has {} and {}", function.name, plural(count, "operand"),
                    plural(function.derivatives.size(), "derivative")),
             "give the derivative by each operand, or none");
    for (std::size_t operand = 0; operand < count; ++operand) {
        std::optional<Program> program;
        try {
            program = parsed(function, operand);
        } catch (const Error& error) {
            // It may use the function itself, and others that are registered later.
            if (error.kind() != ErrorKind::name) throw;
        }
        if (program) check_derivative(function, operand, *program);
    }
}

}  // namespace

void register_function(ScalarFunction function) {
    Registry& all = registry();
    const std::scoped_lock lock(all.mutex);
    const std::size_t count = all.count.load();
    for (std::size_t n = 0; n < count; ++n) {
        const ScalarFunction& known = all.entries[n]->function;
        if (known.name != function.name) continue;
        if (is_same(known, function)) return;
        fail(ErrorKind::name, format("the function `{}` is registered already", function.name),
             "choose another name");
    }
    if (std::visit([](auto* value) { return value == nullptr; }, function.value))
        fail(ErrorKind::type, format("`{}` has no value", function.name),
             "give the address of a function of doubles");
    check_name(function.name);
    check_derivatives(function);
    if (count == max_registered)
        fail(ErrorKind::limit, format("more than {} functions are registered", max_registered),
             "write the function with `def` in the program");
    auto entry = std::make_unique<Entry>();
    entry->function = std::move(function);
    const int operands = arity(entry->function);
    entry->info = {.op = Op(first_registered + count),
                   .name = entry->function.name,
                   .min_arity = operands,
                   .max_arity = operands,
                   .precedence = Precedence::primary,
                   .type = TypeRule::floating,
                   .sample_low = -2,
                   .sample_high = 2,
                   .is_function = true};
    all.entries[count] = std::move(entry);
    all.count.store(count + 1);
}

const ScalarFunction* registered(Op op) noexcept {
    const auto number = static_cast<std::size_t>(op);
    return number < first_registered ? nullptr
                                     : &registry().entries[number - first_registered]->function;
}

const OpInfo& registered_info(Op op) noexcept {
    return registry().entries[static_cast<std::size_t>(op) - first_registered]->info;
}

const OpInfo* find_registered(std::string_view name) noexcept {
    const Registry& all = registry();
    const std::size_t count = all.count.load();
    for (std::size_t n = 0; n < count; ++n)
        if (all.entries[n]->info.name == name) return &all.entries[n]->info;
    return nullptr;
}

std::vector<const ScalarFunction*> registered_functions() {
    const Registry& all = registry();
    std::vector<const ScalarFunction*> result;
    const std::size_t count = all.count.load();
    for (std::size_t n = 0; n < count; ++n) result.push_back(&all.entries[n]->function);
    return result;
}

int arity(const ScalarFunction& function) noexcept {
    return static_cast<int>(function.value.index()) + 1;
}

double call(const ScalarFunction& function, std::span<const double> operands) {
    return match(
        function.value, [&](ScalarFunction::Unary f) { return f(operands[0]); },
        [&](ScalarFunction::Binary f) { return f(operands[0], operands[1]); },
        [&](ScalarFunction::Ternary f) { return f(operands[0], operands[1], operands[2]); });
}

const void* address(const ScalarFunction& function) noexcept {
    return std::visit(
        [](auto* value) { return reinterpret_cast<const void*>(value); },  // NOLINT: for a linker
        function.value);
}

Expr derivative(Context& context, const ScalarFunction& function, std::size_t operand,
                std::span<const Expr> operands) {
    const Program program = parsed(function, operand);
    check_derivative(function, operand, program);
    const Expr root = program.equations[0].value;
    ExprMap<Expr> built;
    for (const Expr e : postorder({root}))
        built[e] = match(
            e->term, [&](const Literal& literal) { return context.literal(literal.value); },
            [&](const Access& access) {
                const auto* name = std::ranges::find(operand_names, program.at(access.tensor).name);
                return operands[static_cast<std::size_t>(name - operand_names.begin())];
            },
            [&](const Apply& apply) {
                std::vector<Expr> args;
                for (const Expr arg : apply.args) args.push_back(built.at(arg));
                return context.apply(apply.op, std::move(args));
            },
            [&](const Cast& cast) { return context.cast(built.at(cast.a), e->dtype, cast.wraps); },
            [](const auto&) -> Expr { RICCI_ASSERT(false, "a derivative was checked"); });
    return built.at(root);
}

}  // namespace ricci
