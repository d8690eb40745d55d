// codegen/equal_nests.cpp – nests that are equal but for names
#include "codegen/equal_nests.h"

#include <string>
#include <unordered_map>

#include "base/text.h"

namespace ricci::codegen {

namespace {

/// The text of a nest whose names are numbers, with what texts of nests leave out of buffers.
std::string nameless_text(Nest nest) {
    nest.name.clear();
    for (std::size_t i = 0; i < nest.buffers.size(); ++i) {
        Buffer& buffer = nest.buffers[i];
        buffer.name = format("b{}", i);
        if (buffer.first != 0 || buffer.alignment != Buffer{}.alignment)
            buffer.name += format("({}, {})", buffer.first, buffer.alignment);
    }
    for (std::size_t i = 0; i < nest.vars.size(); ++i) nest.vars[i].name = format("v{}", i);
    return str(nest);
}

}  // namespace

bool are_equal(const Nest& a, const Nest& b) {
    return a.buffers.size() == b.buffers.size() && a.vars.size() == b.vars.size() &&
           a.body.size() == b.body.size() && nameless_text(a) == nameless_text(b);
}

std::vector<std::size_t> first_equals(std::span<const Nest> nests) {
    if (nests.size() == 1) return {0};
    std::unordered_map<std::string, std::size_t> known;
    std::vector<std::size_t> firsts;
    for (std::size_t i = 0; i < nests.size(); ++i)
        firsts.push_back(known.emplace(nameless_text(nests[i]), i).first->second);
    return firsts;
}

}  // namespace ricci::codegen
