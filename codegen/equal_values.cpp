// codegen/equal_values.cpp – equal values as one node
#include "codegen/equal_values.h"

#include <bit>
#include <functional>

#include "base/match.h"

namespace ricci::codegen {

namespace {

class Hash {
  public:
    void add(std::size_t part) { hash_ = (hash_ ^ part) * 0x9e3779b97f4a7c15U + (hash_ >> 29); }
    void add(const Value& value) { add(std::hash<const void*>{}(value.get())); }
    void add(const AffineForm& form) {
        add(std::size_t(form.constant));
        for (const AffineForm::Term& term : form.terms) {
            add(std::size_t(term.var));
            add(std::size_t(term.coefficient));
        }
    }
    [[nodiscard]] std::size_t get() const { return hash_; }

  private:
    std::size_t hash_ = 0;
};

std::size_t hash_of(const ValueNode& node) {
    Hash hash;
    hash.add(node.term.index());
    hash.add(std::size_t(node.dtype));
    match(
        node.term,
        [&](const Constant& constant) {
            hash.add(std::bit_cast<std::uint64_t>(constant.real));
            hash.add(std::size_t(constant.integer));
        },
        [&](const VarValue& var) { hash.add(var.form); },
        [&](const Load& load) {
            hash.add(std::size_t(load.buffer));
            hash.add(load.at.affine);
            hash.add(load.at.computed);
        },
        [&](const Operate& operate) {
            hash.add(std::size_t(operate.op));
            for (const Value& arg : operate.args) hash.add(arg);
        },
        [&](const Convert& convert) {
            hash.add(convert.a);
            hash.add(std::size_t(convert.wraps));
        },
        [&](const LetValue& let) { hash.add(let.number); });
    return hash.get();
}

/// Operands are compared as nodes; numbers by their bits, so that -0 stays -0.
bool are_equal(const ValueNode& a, const ValueNode& b) {
    if (a.dtype != b.dtype || a.term.index() != b.term.index()) return false;
    return match(
        a.term,
        [&](const Constant& mine) {
            const auto& other = std::get<Constant>(b.term);
            return std::bit_cast<std::uint64_t>(mine.real) ==
                       std::bit_cast<std::uint64_t>(other.real) &&
                   mine.integer == other.integer;
        },
        [&](const VarValue& mine) { return mine.form == std::get<VarValue>(b.term).form; },
        [&](const Load& mine) {
            const auto& other = std::get<Load>(b.term);
            return mine.buffer == other.buffer && mine.at.affine == other.at.affine &&
                   mine.at.computed == other.at.computed;
        },
        [&](const Operate& mine) {
            const auto& other = std::get<Operate>(b.term);
            return mine.op == other.op && mine.args == other.args;
        },
        [&](const Convert& mine) {
            const auto& other = std::get<Convert>(b.term);
            return mine.a == other.a && mine.wraps == other.wraps;
        },
        [&](const LetValue& mine) { return mine.number == std::get<LetValue>(b.term).number; });
}

}  // namespace

Value EqualValues::operator()(const Value& value) {
    const std::size_t hash = hash_of(*value);
    const auto [first, last] = known_.equal_range(hash);
    for (auto it = first; it != last; ++it)
        if (are_equal(*it->second, *value)) return it->second;
    known_.emplace(hash, value);
    return value;
}

}  // namespace ricci::codegen
