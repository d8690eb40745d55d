// tools/ricci/against.cpp – generated gradients against a program of gradients written by hand
#include "tools/ricci/against.h"

#include <algorithm>
#include <complex>
#include <iostream>
#include <utility>

#include "base/text.h"

#include "tools/ricci/arguments.h"

namespace ricci::tool {
namespace {

std::vector<std::string> output_names(const Program& program) {
    std::vector<std::string> names;
    for (const TensorId id : program.outputs) names.push_back(program.at(id).name);
    return names;
}

/// The place of the statement that makes the output, for errors.
std::vector<Label> place_of_output(const Program& program, const std::string& name) {
    const auto id = program.output(name);
    for (const Equation& equation : program.equations)
        if (equation.target == id && !equation.span.is_empty()) return {{equation.span, ""}};
    return {};
}

/// The program of a file, and what of it is compared.
class ByHand {
  public:
    ByHand(const Function& forward, const std::string& file)
        : forward_(forward),
          file_(file.starts_with('@') ? file.substr(1) : file),
          program_(read_program("@" + file_)),
          cotangent_("d" + result()) {
        check_arguments();
        for (const std::string& argument : argument_names(forward_.program()))
            if (program_.output("d" + argument)) arguments_.push_back(argument);
        if (arguments_.empty()) makes_nothing();
        function_ = Function(program_, file_, forward_.device());
    }

    /// The arguments whose gradients the file makes, in the forward's order.
    [[nodiscard]] const std::vector<std::string>& arguments() const { return arguments_; }
    [[nodiscard]] const std::string& cotangent() const { return cotangent_; }
    [[nodiscard]] const std::string& file() const { return file_; }

    /// The gradient for one argument; what the program reads of the forward's outputs is computed
    /// here, once.
    [[nodiscard]] Function::Gradient gradient(const std::string& argument,
                                              const Arguments& given) const {
        const Program& forward = forward_.program();
        std::vector<std::string> outputs;
        for (const std::string& name : argument_names(program_))
            if (!forward.argument(name) && forward.output(name)) outputs.push_back(name);
        Arguments made;
        if (!outputs.empty()) {
            Arguments own = copies(given);
            std::erase_if(own, [&](const auto& entry) { return !forward.argument(entry.first); });
            const std::vector<Array> values = forward_.call(own, outputs);
            for (std::size_t i = 0; i < outputs.size(); ++i)
                made.emplace_back(outputs[i], values[i]);
        }
        return [this, argument, made](const Arguments& arguments) {
            return run(argument, arguments, made);
        };
    }

  private:
    [[nodiscard]] const std::string& result() const {
        return forward_.program().at(forward_.program().result()).name;
    }

    void check_arguments() const {
        std::vector<std::string> known = argument_names(forward_.program());
        for (std::string& name : output_names(forward_.program()))
            if (!contains(known, name)) known.push_back(std::move(name));
        if (!contains(known, cotangent_)) known.push_back(cotangent_);
        for (const TensorId id : program_.arguments) {
            const std::string& name = program_.at(id).name;
            if (contains(known, name)) continue;
            const std::string near = nearest(name, known);
            throw Error({.kind = ErrorKind::name,
                         .message = format("`{}` is no argument or output of `{}`, and not its "
                                           "cotangent `{}`",
                                           name, result(), cotangent_),
                         .source = program_.source,
                         .labels = program_.place(id),
                         .hint = near.empty() ? format("there are `{}`", join(known, "`, `"))
                                              : format("did you mean `{}`?", near)});
        }
    }

    [[noreturn]] void makes_nothing() const {
        std::vector<std::string> names;
        for (const std::string& name : argument_names(forward_.program()))
            names.push_back("d" + name);
        throw Error({.kind = ErrorKind::name,
                     .message = format("`{}` makes `{}`, and no gradient of an argument of `{}`",
                                       file_, join(output_names(program_), "`, `"), result()),
                     .hint = format("the gradients are `{}`", join(names, "`, `"))});
    }

    [[nodiscard]] Array run(const std::string& argument, const Arguments& given,
                            const Arguments& made) const {
        const std::vector<std::string> needed = argument_names(program_);
        Arguments all;
        const Array* like = nullptr;
        for (const Arguments* from : {&given, &made})
            for (const auto& [name, array] : *from) {
                if (name == argument) like = &array;
                if (contains(needed, name)) all.emplace_back(name, array);
            }
        const std::string name = "d" + argument;
        Array value = function_.call(all, {name}).front();
        RICCI_ASSERT(like != nullptr, "the forward's arguments are given to its gradients");
        if (value.shape() != like->shape())
            throw Error({.kind = ErrorKind::shape,
                         .message = format("`{}` is {}, the argument `{}` {}", name,
                                           str(value.shape()), argument, str(like->shape())),
                         .source = program_.source,
                         .labels = place_of_output(program_, name),
                         .hint = format("give `{}` the shape of `{}`", name, argument)});
        if (is_complex(value.dtype()) && !is_complex(like->dtype()))
            throw Error({.kind = ErrorKind::type,
                         .message = format("`{}` is of {}, the argument `{}` of {}", name,
                                           ricci::name(value.dtype()), argument,
                                           ricci::name(like->dtype())),
                         .source = program_.source,
                         .labels = place_of_output(program_, name),
                         .hint = "take the real part: `real(…)`"});
        // A gradient is stored in the argument's type; that of a number is floating.
        if (like->is_weak()) return is_floating(value.dtype()) ? value : value.to(DType::f64);
        return value.dtype() == like->dtype() ? value : value.to(like->dtype());
    }

    const Function& forward_;
    std::string file_;
    Program program_;
    std::string cotangent_;
    std::vector<std::string> arguments_;
    Function function_;
};

/// Floating and complex arrays in double precision.
Arguments in_double(const Arguments& arguments) {
    Arguments result;
    for (const auto& [name, array] : arguments) {
        const DType wide = is_complex(array.dtype()) ? DType::c128 : DType::f64;
        const bool is_converted = is_complex(array.dtype()) || is_floating(array.dtype());
        result.emplace_back(name, is_converted && !array.is_weak() ? array.to(wide) : array);
    }
    return result;
}

/// A value of a gradient: `0.5`, or `0.5-2i` of a complex one.
std::string number(const std::complex<double>& value, DType dtype, int digits) {
    const std::string real = format("{:.{}g}", value.real(), digits);
    return is_complex(dtype) ? real + format("{:+.{}g}i", value.imag(), digits) : real;
}

/// The lines of what is compared; complex values take more room.
class Table {
  public:
    explicit Table(bool has_complex) : width_(has_complex ? 25 : 13) {
        text_ = format("{:<10} {:<16} {:<4} {:>10} {:<12} {:>{}} {:>{}} {:>12} {:>12}\n", "what",
                       "shape", "type", "difference", "at", "generated", width_, "by hand", width_,
                       "generated us", "by hand us");
    }
    void line(const GradientComparison& exact, const GradientComparison& timed,
              const Array& argument, bool agrees) {
        const bool is_equal = exact.largest_difference == 0;
        const auto value = [&](const std::complex<double>& there) {
            return is_equal ? std::string() : number(there, argument.dtype(), 6);
        };
        text_ += format("{:<10} {:<16} {:<4} {:>10.2g} {:<12} {:>{}} {:>{}} {:>12.1f} {:>12.1f}  ",
                        "d" + exact.argument, str(argument.shape()), name(argument.dtype()),
                        exact.largest_difference, is_equal ? "" : str(exact.position),
                        value(exact.generated), width_, value(exact.registered), width_,
                        timed.generated_seconds * 1e6, timed.registered_seconds * 1e6);
        text_ += agrees ? "ok\n" : "WRONG\n";
    }
    [[nodiscard]] const std::string& text() const { return text_; }

  private:
    int width_;
    std::string text_;
};

}  // namespace

int compare_with_file(const Function& function, const Arguments& given, const std::string& file,
                      double tolerance) {
    const ByHand by_hand(function, file);
    const Arguments doubles = in_double(given);
    Table table(std::ranges::any_of(given, [&](const auto& named) {
        return is_complex(named.second.dtype()) && contains(by_hand.arguments(), named.first);
    }));
    std::string failures;
    for (const std::string& argument : by_hand.arguments()) {
        Function compared = function;
        const auto compare = [&](const Arguments& arguments) {
            compared.set_gradient(argument, by_hand.gradient(argument, arguments));
            return compare_gradients(compared, arguments, argument);
        };
        const GradientComparison exact = compare(doubles);
        const GradientComparison timed = compare(given);
        const Array& array =
            std::ranges::find(given, argument, &Arguments::value_type::first)->second;
        const bool agrees = exact.largest_difference <= tolerance;
        table.line(exact, timed, array, agrees);
        if (!agrees)
            failures += format(
                "d{}: at {} generated {}, {} {}: a relative difference of {:.2g}\n", argument,
                str(exact.position), number(exact.generated, array.dtype(), 10), by_hand.file(),
                number(exact.registered, array.dtype(), 10), exact.largest_difference);
    }
    std::cout << table.text() << std::flush;
    std::cerr << failures;
    return failures.empty() ? 0 : 1;
}

}  // namespace ricci::tool
