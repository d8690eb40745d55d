// grad/names.cpp – names that do not clash
#include "grad/names.h"

#include "base/shape.h"
#include "base/text.h"

namespace ricci::grad {

Names::Names(const Program& program) {
    used_.insert("def");  // `d` and an array `ef`
    for (const Tensor& tensor : program.tensors) used_.insert(tensor.name);
    for (const Index& index : program.indices) used_.insert(index.name);
    for (const char* letter : {"t", "u", "v", "p", "q", "r", "s"}) {
        if (used_.insert(letter).second) letters_.emplace_back(letter);
    }
    for (std::size_t n = 1; letters_.size() < 2 * max_rank; ++n) {
        if (used_.insert(format("i{}", n)).second) letters_.push_back(format("i{}", n));
    }
}

std::string Names::unique(std::string name) {
    while (used_.contains(name)) name += '_';
    used_.insert(name);
    return name;
}

std::string Names::temporary() {
    while (used_.contains(format("t{}", ++temporaries_))) {
    }
    return unique(format("t{}", temporaries_));
}

}  // namespace ricci::grad
