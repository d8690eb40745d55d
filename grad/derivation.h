// grad/derivation.h – what both modes of differentiation do to a program
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "grad/account.h"
#include "grad/active.h"
#include "grad/extension.h"
#include "grad/extents.h"
#include "grad/gather.h"
#include "grad/names.h"
#include "grad/support.h"
#include "grad/update.h"

namespace ricci::grad {

/// A part of the derivative that belongs to a tensor: another tensor of its shape, or a function of
/// its indices.
using Part = std::variant<TensorId, Gathered>;

/// A program under differentiation: the forward's equations on arrays of their own, to which a mode
/// adds those of its derivatives. Tensors of the forward keep their numbers.
class Derivation {
  protected:
    explicit Derivation(const Program& canonical);

    /// Throws: `name` when there is none; `gradient` for one that is whole by where it stands.
    [[nodiscard]] TensorId find_argument(const std::string& name) const;
    /// Throws: `name` when there is none.
    [[nodiscard]] TensorId find_output(const std::string& name) const;
    /// Adds the argument `d` + name, of the shape and type of another tensor. The hint is that of
    /// the error where shapes differ.
    TensorId add_companion(TensorId of, const std::string& hint);

    /// The tensor `d` where the equation, a `=`, does not write, 0 elsewhere.
    Gathered where_not_written(const Equation& equation, TensorId d);
    /// What the relation adds to its array.
    void add_parts(std::vector<Part>& parts, const Relation& relation);
    /// What copies a whole tensor is that tensor.
    [[nodiscard]] Part as_part(Gathered gathered) const;
    /// The sum of the parts that belong to a tensor; reductions among several become temporaries.
    Gathered sum_of(TensorId tensor, const std::vector<Part>& parts);
    /// New indices over the tensor's dimensions, named as in the first part that names them.
    std::vector<IndexId> indices_of(TensorId tensor, const std::vector<Part>& parts);
    /// Adds the equation that makes a tensor with one dimension for each index.
    TensorId define(Tensor tensor, const Gathered& what);
    /// The same of a tensor that is there already.
    void define(TensorId target, const Gathered& what);
    TensorId define_temporary(std::string name, const Gathered& what);
    /// What holds wherever an element of a derivative that was defined is not 0.
    [[nodiscard]] std::vector<Expr> support_of(const Access& element) const;
    /// Adds the equation that overwrites an argument.
    TensorId update_argument(TensorId argument, Gathered what);

    /// The parts of an equation's value that share among equal ones; the value itself but for
    /// `max=` and `min=`.
    [[nodiscard]] std::vector<Share> shares(const Equation& equation) const;
    [[nodiscard]] bool is_active(TensorId id) const {
        return position(id) < active_.size() && active_[position(id)];
    }
    [[nodiscard]] std::vector<Expr> values_of(const std::vector<IndexId>& indices) const {
        std::vector<Expr> values;
        for (const IndexId index : indices) values.push_back(context_.index(index));
        return values;
    }

    const Program& forward_;
    Extents extents_;
    Names names_;
    Program program_;
    Context& context_;
    Active active_;                    ///< of the forward's tensors
    std::set<TensorId> neutral_ = {};  ///< maxima that the outputs do not depend on
    bool is_complex_ = false;          ///< see Step
    Ties ties_ = Ties::first;
    Account* account_ = nullptr;  ///< none: nobody asks how

  private:
    void require_no_integer(TensorId argument) const;
    /// `name` is that of what the relation adds to, for explanations.
    void add_parts(std::vector<Part>& parts, const Relation& relation, const std::string& name);
    Relation through(const Extension& further, Relation relation);
    Expr read_at(const Part& part, const std::vector<IndexId>& indices);

    /// Of a tensor in terms of its indices.
    struct Support {
        std::vector<IndexId> indices;
        std::vector<Expr> conditions;
    };
    std::map<TensorId, Support> supports_;
};

}  // namespace ricci::grad
