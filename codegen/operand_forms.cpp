// codegen/operand_forms.cpp – reads terms as functions of sums of indices
#include "codegen/operand_forms.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace ricci::codegen {

namespace {

bool is_i64(Expr e) { return e->dtype == DType::i64; }

Multiple multiple(Direction parts) {
    std::ranges::sort(parts);
    std::int64_t factor = 0;
    for (const auto& [index, coefficient] : parts) factor = std::gcd(factor, coefficient);
    if (parts.front().second < 0) factor = -factor;
    for (auto& [index, coefficient] : parts) coefficient /= factor;
    return {factor, std::move(parts)};
}

}  // namespace

std::optional<LinearForm> index_form(Expr e) {
    if (!is_i64(e)) return std::nullopt;
    std::optional<LinearForm> form = linear_form(e);
    if (!form || form->parts.empty()) return std::nullopt;
    const bool is_linear = std::ranges::all_of(form->parts, [](const LinearForm::Part& part) {
        return std::holds_alternative<IndexValue>(part.atom->term);
    });
    return is_linear ? form : std::nullopt;
}

IndexId index_of(const LinearForm::Part& part) {
    return std::get<IndexValue>(part.atom->term).index;
}

std::vector<Multiple> multiples(const LinearForm& form, const Strided& strided) {
    Direction of_residue;
    Direction others;
    for (const LinearForm::Part& part : form.parts) {
        const auto index = std::uint32_t(index_of(part));
        (strided.residues.contains(index) ? of_residue : others)
            .emplace_back(index, part.coefficient);
    }
    std::vector<Multiple> result;
    if (!of_residue.empty()) result.push_back(multiple(std::move(of_residue)));
    if (!others.empty()) result.push_back(multiple(std::move(others)));
    return result;
}

namespace {

/// Reads a subterm; `is_good` unless it depends on data or on an index in two ways.
class Reader {
  public:
    Reader(Expr root, const Strided& strided) : strided_(strided) {
        operand_.term = root;
        // Subscripts first: they give the order of the dimensions.
        for (const Expr e : postorder({root}))
            if (const auto* access = std::get_if<Access>(&e->term)) {
                is_read_ = true;
                if (strided_.accesses.contains(e)) is_plain_ = false;
                for (const Expr subscript : access->at) read(subscript, true);
            }
        read(root, false);
    }
    /// Nothing when the term is no function of directions, or a plain read.
    std::optional<OperandForms> operand() && {
        if (!is_good_ || !is_read_ || is_plain_) return std::nullopt;
        return std::move(operand_);
    }

  private:
    void read(Expr e, bool is_subscript) {
        if (!is_good_ || !seen_[is_subscript ? 1 : 0].emplace(e, true).second) return;
        if (const std::optional<LinearForm> form = index_form(e)) {
            add(e, multiples(*form, strided_));
            return;
        }
        if (const auto* apply = std::get_if<Apply>(&e->term)) {
            // What a padded or wrapped subscript is made of.
            if (is_subscript && !strided_.is_alone) is_plain_ = false;
            for (const Expr arg : apply->args) read(arg, is_subscript);
        } else if (const auto* cast = std::get_if<Cast>(&e->term)) {
            read(cast->a, is_subscript);
        } else if (const auto* access = std::get_if<Access>(&e->term)) {
            // Data decides the place: it depends on more than the form of a subscript.
            if (is_subscript) is_good_ = false;
            for (const Expr subscript : access->at) read(subscript, true);
        } else if (!std::holds_alternative<Literal>(e->term)) {
            is_good_ = false;
        }
    }
    void add(Expr form, const std::vector<Multiple>& parts) {
        operand_.forms.push_back(form);
        // Of residues and quotients the residues stand first, for all subscripts.
        const bool is_split = parts.size() > 1;
        auto& directions = operand_.directions;
        if (is_split && !first_split_) first_split_ = directions.size();
        for (const Multiple& part : parts) {
            for (const auto& [index, coefficient] : part.direction) {
                const auto [found, is_new] = direction_of_.emplace(index, part.direction);
                if (!is_new && found->second != part.direction) is_good_ = false;
            }
            if (std::ranges::find(directions, part.direction) != directions.end()) continue;
            const bool is_residue = is_split && &part == &parts.front();
            directions.insert(is_residue ? directions.begin() + std::ptrdiff_t((*first_split_)++)
                                         : directions.end(),
                              part.direction);
        }
    }

    const Strided& strided_;
    std::optional<std::size_t> first_split_;  ///< behind the residues so far
    OperandForms operand_;
    std::map<std::uint32_t, Direction> direction_of_;
    ExprMap<bool> seen_[2];  ///< inside a subscript, and not
    bool is_good_ = true;
    bool is_read_ = false;
    bool is_plain_ = true;
};

}  // namespace

std::optional<OperandForms> read_operand(Expr term, const Strided& strided) {
    return Reader(term, strided).operand();
}

bool is_of_bf16(Expr e) {
    if (const auto* cast = std::get_if<Cast>(&e->term))
        return e->dtype == DType::f32 && cast->a->dtype == DType::bf16;
    const auto* apply = std::get_if<Apply>(&e->term);
    if (apply == nullptr || apply->op != Op::select) return false;
    const auto is_stored = [](Expr value) { return is_literal(value, 0) || is_of_bf16(value); };
    return is_stored(apply->args[1]) && is_stored(apply->args[2]);
}

bool is_padded(Expr e) {
    const auto* apply = std::get_if<Apply>(&e->term);
    if (apply == nullptr || apply->op != Op::select || !is_literal(apply->args[2])) return false;
    const auto* access = std::get_if<Access>(&apply->args[1]->term);
    if (access == nullptr) return is_padded(apply->args[1]);
    return std::ranges::all_of(access->at, [](Expr subscript) {
        const auto* clamp = std::get_if<Apply>(&subscript->term);
        return index_form(subscript) || is_literal(subscript) ||
               (clamp != nullptr && clamp->op == Op::clamp && index_form(clamp->args[0]));
    });
}

}  // namespace ricci::codegen
