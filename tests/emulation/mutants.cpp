// tests/emulation/mutants.cpp – plans with one mistake
#include "tests/emulation/mutants.h"

#include <functional>
#include <optional>

#include "base/text.h"
#include "codegen/nest_build.h"

namespace ricci::tests {
namespace {

using namespace codegen;

/// Counts the places where a mistake can be made, and makes it at one of them.
class Mutator {
  public:
    Mutator(Mistake mistake, int place) : mistake_(mistake), place_(place) {}

    /// Whether it was made.
    bool run(Nest& nest) {
        if (mistake_ == Mistake::narrow_shared) {
            for (Buffer& buffer : nest.buffers)
                if (buffer.space == Space::shared && buffer.elements > 1 && is_here())
                    buffer.elements /= 2;
        } else {
            block_ = std::get<Loop>(nest.body.at(0).node).var;
            nest_ = &nest;
            visit(nest.body);
        }
        return is_made_;
    }

  private:
    bool is_here() {
        const bool is_it = count_++ == place_;
        is_made_ |= is_it;
        return is_it;
    }

    void visit(Body& body) {
        for (std::size_t n = 0; n < body.size() && !is_made_; ++n) {
            Stmt& stmt = body[n];
            if (is_removed(stmt)) {
                body.erase(body.begin() + std::ptrdiff_t(n));
                return;
            }
            if (auto* loop = std::get_if<Loop>(&stmt.node)) visit(*loop);
            if (auto* store = std::get_if<Store>(&stmt.node)) visit(*store);
            if (auto* let = std::get_if<Let>(&stmt.node)) let->value = visit(let->value);
            if (auto* guard = std::get_if<Guard>(&stmt.node)) {
                if (mistake_ == Mistake::no_guard && is_here()) {
                    Body inside = std::move(guard->body);
                    body.erase(body.begin() + std::ptrdiff_t(n));
                    body.insert(body.begin() + std::ptrdiff_t(n), inside.begin(), inside.end());
                    return;
                }
                visit(guard->body);
            }
            if (auto* wait = std::get_if<Wait>(&stmt.node))
                if (mistake_ == Mistake::early_wait && is_here()) ++wait->pending;
            if (auto* fold = std::get_if<Fold>(&stmt.node)) {
                if (mistake_ == Mistake::narrow_fold && fold->width > 1 && is_here())
                    fold->width /= 2;
                fold->value = visit(fold->value);
            }
        }
    }

    bool is_removed(const Stmt& stmt) {
        if (mistake_ == Mistake::no_barrier && std::holds_alternative<Barrier>(stmt.node))
            return is_here();
        if (mistake_ == Mistake::no_commit && std::holds_alternative<Commit>(stmt.node))
            return is_here();
        const auto* store = std::get_if<Store>(&stmt.node);
        const bool is_start = store != nullptr && !store->combine &&
                              std::holds_alternative<Constant>(store->value->term) &&
                              nest_->at(store->buffer).space != Space::argument;
        return mistake_ == Mistake::no_start && is_start && is_here();
    }

    void visit(Loop& loop) {
        const std::int64_t more = mistake_ == Mistake::long_loop    ? 1
                                  : mistake_ == Mistake::short_loop ? -1
                                                                    : 0;
        if (more != 0 && loop.bind != Bind::block && loop.bind != Bind::thread) {
            // The first term of a vector's bound is the number of lanes; the others are its mask.
            const std::size_t first = loop.bind == Bind::vector ? 1 : 0;
            for (std::size_t t = first; t < loop.upper.size(); ++t)
                if (is_here()) loop.upper[t].form.constant += more * loop.upper[t].divisor;
        }
        visit(loop.body);
    }

    void visit(Store& store) {
        if (mistake_ == Mistake::no_combine && store.combine && is_here()) store.combine.reset();
        if (mistake_ == Mistake::moved_store && is_here()) ++store.at.affine.constant;
        if (mistake_ == Mistake::stride_store)
            for (AffineForm::Term& term : store.at.affine.terms)
                if (is_here()) ++term.coefficient;
        if (mistake_ == Mistake::one_block && store.at.affine.coefficient(block_) != 0 && is_here())
            store.at.affine = store.at.affine - form(block_, store.at.affine.coefficient(block_));
        store.value = visit(store.value);
    }

    Value visit(const Value& value) {
        if (is_made_ || (mistake_ != Mistake::moved_load && mistake_ != Mistake::stride_load))
            return value;
        if (const auto* load = std::get_if<Load>(&value->term)) {
            Load other = *load;
            if (mistake_ == Mistake::moved_load) {
                if (is_here()) ++other.at.affine.constant;
            } else {
                for (AffineForm::Term& term : other.at.affine.terms)
                    if (is_here()) ++term.coefficient;
            }
            return is_made_ ? make_value(std::move(other), value->dtype) : value;
        }
        if (const auto* operate = std::get_if<Operate>(&value->term)) {
            Operate other = *operate;
            for (Value& arg : other.args) arg = visit(arg);
            return is_made_ ? make_value(std::move(other), value->dtype) : value;
        }
        if (const auto* convert = std::get_if<Convert>(&value->term)) {
            const Value inner = visit(convert->a);
            return is_made_ ? make_value(Convert{inner}, value->dtype) : value;
        }
        return value;
    }

    Mistake mistake_;
    int place_;
    int count_ = 0;
    bool is_made_ = false;
    VarId block_{};
    const Nest* nest_ = nullptr;
};

}  // namespace

std::string_view name(Mistake mistake) noexcept {
    constexpr std::string_view names[] = {
        "no_barrier",  "early_wait",  "no_commit",     "long_loop",   "short_loop",
        "no_guard",    "narrow_fold", "narrow_shared", "no_start",    "no_combine",
        "moved_store", "moved_load",  "stride_store",  "stride_load", "one_block"};
    static_assert(std::size(names) == mistakes);
    return names[std::size_t(mistake)];
}

std::vector<Mutant> mutants(const codegen::Plan& plan) {
    std::vector<Mutant> all;
    for (int m = 0; m < mistakes; ++m)
        for (std::size_t n = 0; n < plan.nests.size(); ++n)
            for (int place = 0;; ++place) {
                codegen::Plan mutant = plan;
                if (!Mutator(Mistake(m), place).run(mutant.nests[n])) break;
                all.push_back({Mistake(m),
                               format("{} {} of {}", name(Mistake(m)), place, plan.nests[n].name),
                               std::move(mutant)});
            }
    return all;
}

}  // namespace ricci::tests
