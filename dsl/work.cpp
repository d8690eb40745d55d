// dsl/work.cpp – counting operations and bytes
#include "dsl/work.h"

#include <algorithm>

#include "base/dtype.h"
#include "dsl/walk.h"

namespace ricci {
namespace {

/// The points of a box of indices.
double points(const BoundProgram& program, const std::vector<IndexId>& indices) {
    double count = 1;
    for (const IndexId index : indices) count *= static_cast<double>(program.at(index).extent());
    return count;
}

/// Operations on floating values in one evaluation. A subtraction, `add(a, neg(b))`, is one.
double operations(Expr value) {
    double count = 0;
    for (const Expr e : postorder({value})) {
        const auto* apply = std::get_if<Apply>(&e->term);
        if (apply == nullptr || !is_floating(e->dtype)) continue;
        if (apply->op == Op::neg || apply->op == Op::select) continue;
        const bool is_chain = apply->op == Op::add || apply->op == Op::mul;
        count += is_chain ? static_cast<double>(apply->args.size()) - 1 : 1;
    }
    return count;
}

double bytes_of(const BoundTensor& tensor) {
    double count = static_cast<double>(size_bytes(tensor.dtype));
    for (const std::int64_t extent : tensor.shape) count *= static_cast<double>(extent);
    return count;
}

}  // namespace

Work work_of(const BoundProgram& program) {
    Work work;
    std::vector<TensorId> read;
    for (const BoundEquation& equation : program.equations) {
        double each = operations(equation.value);
        double domain = points(program, equation.indices);
        const bool updates = equation.op != Assign::define && equation.op != Assign::set;
        if (equation.reduction) domain *= points(program, equation.reduction->indices);
        if ((equation.reduction || updates) && is_floating(equation.value->dtype)) each += 1;
        work.operations += each * domain;
        for (const TensorId tensor : tensors_read(equation.value))
            if (std::ranges::find(read, tensor) == read.end()) read.push_back(tensor);
    }
    for (const TensorId argument : program.arguments)
        if (std::ranges::find(read, argument) != read.end())
            work.bytes += bytes_of(program.at(argument));
    for (const TensorId output : program.outputs) work.bytes += bytes_of(program.at(output));
    return work;
}

}  // namespace ricci
