// tests/codegen_source/compile_source.cpp – runs compilers on emitted files
#include "tests/codegen_source/compile_source.h"

#include <cstdlib>
#include <utility>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "tests/runtime/temporary_folder.h"

namespace ricci::tests {
namespace {

constexpr std::size_t most_arguments = 24;

template <std::size_t>
using Pointer = void*;

/// A function of so many pointers.
template <std::size_t... n>
const char* call_with(void* function, void* const* arguments, std::index_sequence<n...>) {
    using Function = const char* (*)(Pointer<n>...);
    return reinterpret_cast<Function>(function)(arguments[n]...);
}

template <std::size_t count = 0>
const char* call_function(void* function, const std::vector<void*>& arguments) {
    if constexpr (count <= most_arguments) {
        if (arguments.size() == count)
            return call_with(function, arguments.data(), std::make_index_sequence<count>());
        return call_function<count + 1>(function, arguments);
    } else {
        throw Error({.message = format("{} arguments are too many", arguments.size())});
    }
}

}  // namespace

CommandOutcome run_command(const std::vector<std::string>& words, const std::string& log) {
    std::vector<char*> pointers;
    for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (file >= 0) {
            dup2(file, STDOUT_FILENO);
            dup2(file, STDERR_FILENO);
        }
        setenv("LC_ALL", "C", 1);
        execvp(pointers[0], pointers.data());
        _exit(127);
    }
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0) {
    }
    return {.status = child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            .log = read_bytes(log)};
}

CompiledSource::CompiledSource(const std::string& text) {
    const TemporaryFolder folder;
    const std::string source = folder / "program.cpp";
    const std::string object = folder / "program.so";
    write_bytes(source, text);
    // Programs may well say what always holds: `a || !a`.
    const CommandOutcome outcome =
        run_command({RICCI_TEST_COMPILER, "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror",
                     "-Wno-tautological-compare", "-shared", "-fPIC", source, "-o", object},
                    folder / "log");
    if (outcome.status != 0)
        throw Error({.message = format("the compiler says\n{}\nto\n{}", outcome.log, text)});
    handle_ = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) throw Error({.message = dlerror()});
}

CompiledSource::~CompiledSource() {
    if (handle_ != nullptr) dlclose(handle_);
}

std::string CompiledSource::call(const std::string& symbol,
                                 const std::vector<void*>& arguments) const {
    void* function = dlsym(handle_, symbol.c_str());
    if (function == nullptr) throw Error({.message = format("there is no {}", symbol)});
    const char* message = call_function(function, arguments);
    return message == nullptr ? "" : message;
}

}  // namespace ricci::tests
