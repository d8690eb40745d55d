// runtime/tape_view.cpp – slices, transpositions and reshapes of variables
#include <utility>

#include "runtime/elementwise.h"
#include "runtime/tape.h"
#include "runtime/tape_record.h"

namespace ricci {
namespace {

/// A view and the way back: from a cotangent of the view to one of what it shows.
template <class Back>
class View final : public runtime::TapeStep {
  public:
    explicit View(Back back) : back_(std::move(back)) {}
    [[nodiscard]] std::vector<Array> pull_back(const Array& /*value*/, const Array& cotangent,
                                               const std::vector<bool>& /*wanted*/) const override {
        return {back_(cotangent)};
    }

  private:
    Back back_;
};

template <class Back>
Var view(const Var& of, Array value, Back back) {
    std::vector<runtime::RecordPtr> arguments = runtime::records_of({of});
    if (!runtime::is_recorded(arguments)) return runtime::constant(std::move(value));
    return runtime::recorded(std::move(value), std::move(arguments),
                             std::make_unique<View<Back>>(std::move(back)));
}

}  // namespace

Var Var::slice(int dimension, std::int64_t lower, std::int64_t upper) const {
    const Array& whole = value();
    return view(*this, whole.slice(dimension, lower, upper),
                [shape = whole.shape(), dimension, lower, upper](const Array& cotangent) {
                    const Array gradient = Array::zeros(cotangent.dtype(), shape);
                    runtime::assign(gradient.slice(dimension, lower, upper), cotangent);
                    return gradient;
                });
}

Var Var::transpose(const std::vector<int>& order) const {
    Array turned = value().transpose(order);
    std::vector<int> back(order.size());
    const int rank = static_cast<int>(order.size());
    for (int d = 0; d < rank; ++d) {
        const int from = order[static_cast<std::size_t>(d)];
        back[static_cast<std::size_t>(from < 0 ? from + rank : from)] = d;
    }
    return view(*this, std::move(turned),
                [back](const Array& cotangent) { return cotangent.transpose(back); });
}

Var Var::reshape(Shape shape) const {
    return view(*this, value().reshape(std::move(shape)),
                [shape = value().shape()](const Array& cotangent) {
                    return cotangent.contiguous().reshape(shape);
                });
}

}  // namespace ricci
