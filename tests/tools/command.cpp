// tests/tools/command.cpp – runs the built command and catches what it says
#include "tests/tools/command.h"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ricci::tests {
namespace {

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// The child: standard streams into files, then the command. Never returns.
[[noreturn]] void become_command(const std::string& folder, const std::vector<std::string>& words,
                                 const std::string& out, const std::string& err,
                                 const std::string& cache) {
    const int out_file = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int err_file = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(out_file, STDOUT_FILENO);
    dup2(err_file, STDERR_FILENO);
    setenv("RICCI_CACHE_DIR", cache.c_str(), 1);
    std::string program = RICCI_COMMAND;
    std::vector<char*> pointers = {program.data()};
    std::vector<std::string> copies = words;
    for (std::string& word : copies) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    if (chdir(folder.c_str()) == 0) execv(program.c_str(), pointers.data());
    _exit(127);
}

}  // namespace

Outcome ricci_command(const std::string& folder, const std::vector<std::string>& words,
                      const std::string& cache) {
    // Beside the folder, which the cases count the files of.
    const std::string out = folder + ".out";
    const std::string err = folder + ".err";
    const pid_t child = fork();
    if (child == 0) become_command(folder, words, out, err, cache);
    int status = 0;
    waitpid(child, &status, 0);
    Outcome outcome;
    if (WIFEXITED(status)) outcome.status = WEXITSTATUS(status);
    outcome.out = read_file(out);
    outcome.err = read_file(err);
    std::filesystem::remove(out);
    std::filesystem::remove(err);
    return outcome;
}

}  // namespace ricci::tests
