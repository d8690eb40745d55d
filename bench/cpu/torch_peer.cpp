// bench/cpu/torch_peer.cpp – PyTorch as a peer, in a process of its own
#include "bench/cpu/torch_peer.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include <sys/wait.h>
#include <unistd.h>

#include "bench/cpu/peers.h"

namespace bench {
namespace {

using namespace ricci;

/// A child process that answers each line with a line.
class Child {
  public:
    explicit Child(const std::vector<std::string>& command) {
        int to[2];
        int from[2];
        if (pipe(to) != 0 || pipe(from) != 0) return;
        child_ = fork();
        if (child_ == 0) {
            dup2(to[0], STDIN_FILENO);
            dup2(from[1], STDOUT_FILENO);
            for (const int end : {to[0], to[1], from[0], from[1]}) close(end);
            std::vector<char*> words;
            for (const std::string& word : command) words.push_back(const_cast<char*>(word.data()));
            words.push_back(nullptr);
            execvp(words[0], words.data());
            _exit(127);
        }
        close(to[0]);
        close(from[1]);
        requests_ = fdopen(to[1], "w");
        answers_ = fdopen(from[0], "r");
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() {
        if (requests_ != nullptr) fclose(requests_);
        if (answers_ != nullptr) fclose(answers_);
        if (child_ > 0) waitpid(child_, nullptr, 0);
    }

    nlohmann::json ask(const nlohmann::json& request) {
        std::fprintf(requests_, "%s\n", request.dump().c_str());
        std::fflush(requests_);
        char* line = nullptr;
        std::size_t size = 0;
        const bool is_there = getline(&line, &size, answers_) > 0;
        const std::string text = is_there ? line : R"({"error": "PyTorch's process has ended"})";
        std::free(line);
        nlohmann::json answer = nlohmann::json::parse(text);
        if (answer.contains("error"))
            throw std::runtime_error("PyTorch: " + answer["error"].get<std::string>());
        return answer;
    }

  private:
    pid_t child_ = -1;
    FILE* requests_ = nullptr;
    FILE* answers_ = nullptr;
};

/// Debian's Python, whose packages the benchmarks are compared with.
constexpr const char* python = "/usr/bin/python3";

std::unique_ptr<Child>& child() {
    static std::unique_ptr<Child> opened;
    return opened;
}

/// A folder for arrays on their way, removed at the end.
const std::filesystem::path& exchange() {
    struct Folder {
        std::filesystem::path path;
        Folder() {
            std::string name = (std::filesystem::temp_directory_path() / "ricci-XXXXXX").string();
            if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
            path = name;
        }
        ~Folder() {
            std::error_code ignored;
            std::filesystem::remove_all(path, ignored);
        }
    };
    static const Folder folder;
    return folder.path;
}

}  // namespace

void open_torch(int threads) {
    if (std::system((std::string(python) + " -c 'import torch, numpy' 2> /dev/null").c_str()) !=
        0) {
        std::printf("no PyTorch: rows are compared without it\n");
        return;
    }
    // Memory that the allocator keeps, and the widest vectors of the target: PyTorch at its best.
    setenv("MALLOC_MMAP_MAX_", "0", 1);
    setenv("MALLOC_TRIM_THRESHOLD_", "100000000000", 1);
    if (__builtin_cpu_supports("avx512vl"))
        setenv("ATEN_CPU_CAPABILITY", is_held_to_avx2() ? "avx2" : "avx512", 1);
    setenv("OMP_NUM_THREADS", std::to_string(threads).c_str(), 1);
    child() = std::make_unique<Child>(
        std::vector<std::string>{python, RICCI_TORCH_SCRIPT, std::to_string(threads)});
}

void add_torch_peer(Workload& workload, const std::string& expression) {
    if (!child()) return;
    nlohmann::json request = {{"expression", expression},
                              {"arguments", nlohmann::json::object()},
                              {"wrt", workload.wrt},
                              {"cotangent", workload.arguments.back().first},
                              {"result", (exchange() / "result.npy").string()}};
    for (const auto& [name, array] : workload.arguments) {
        const std::string file = (exchange() / (name + ".npy")).string();
        save_npy(file, array);
        request["arguments"][name] = file;
    }
    (void)child()->ask(request);
    Peer peer{.name = "torch", .run = {}, .result = load_npy(request["result"])};
    peer.seconds = [](int count) {
        return child()->ask({{"count", count}})["seconds"].get<double>();
    };
    workload.peers.push_back(std::move(peer));
}

}  // namespace bench
