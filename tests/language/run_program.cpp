// tests/language/run_program.cpp – programs with their arguments, run on every device at once
#include "tests/language/run_program.h"

#include "base/text.h"
#include "tests/support/error_text.h"

namespace ricci::tests {
namespace {

std::string run_on(Device device, const std::string& text, const Arguments& arguments) {
    std::string result;
    const std::string error =
        error_text([&] { result = str(compile(text, "", device)(copies(arguments))); });
    return result.empty() ? error : result;
}

}  // namespace

std::string run(const std::string& text, const Arguments& arguments) {
    const std::string compiled = run_on(Device::cpu, text, arguments);
    const std::string evaluated = run_on(Device::reference, text, arguments);
    if (compiled == evaluated) return compiled;
    return format("cpu:\n{}\nreference:\n{}", compiled, evaluated);
}

Array ramp(Shape shape) { return Array::arange(DType::f64, std::move(shape)); }
Array reals(std::initializer_list<double> values) {
    return Array::from<double>(values, {static_cast<std::int64_t>(values.size())});
}
Array keys(std::initializer_list<std::int64_t> values) {
    return Array::from<std::int64_t>(values, {static_cast<std::int64_t>(values.size())});
}

}  // namespace ricci::tests
