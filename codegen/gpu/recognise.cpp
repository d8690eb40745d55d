// codegen/gpu/recognise.cpp – a kernel as a sum of products of two arrays
#include "codegen/gpu/recognise.h"

#include <algorithm>
#include <cmath>

#include "codegen/gpu/affine_values.h"
#include "codegen/gpu/lower.h"
#include "codegen/nest_build.h"

namespace ricci::codegen::gpu {

namespace {

/// The number that a term of constants is, each step rounded to its type.
std::optional<double> constant(const Value& value) {
    const auto rounded = [&](double number) {
        return value->dtype == DType::f32 ? double(float(number)) : number;
    };
    if (const auto* leaf = std::get_if<Constant>(&value->term))
        return is_floating(value->dtype) ? rounded(leaf->real) : double(leaf->integer);
    if (const auto* convert = std::get_if<Convert>(&value->term)) {
        const std::optional<double> a = constant(convert->a);
        return a && is_floating(value->dtype) ? std::optional(rounded(*a)) : std::nullopt;
    }
    const auto* operate = std::get_if<Operate>(&value->term);
    if (operate == nullptr || !is_floating(value->dtype)) return std::nullopt;
    std::vector<double> args;
    for (const Value& arg : operate->args) {
        const std::optional<double> number = constant(arg);
        if (!number) return std::nullopt;
        args.push_back(*number);
    }
    double result = args.at(0);
    if (operate->op == Op::neg) return -result;
    if (operate->op == Op::sqrt) return rounded(std::sqrt(result));
    if (operate->op == Op::rsqrt) return rounded(1 / std::sqrt(result));
    if (operate->op == Op::div) return rounded(result / args.at(1));
    if (operate->op == Op::pow) return rounded(std::pow(result, args.at(1)));
    if (operate->op != Op::add && operate->op != Op::mul) return std::nullopt;
    for (std::size_t i = 1; i < args.size(); ++i)
        result = rounded(operate->op == Op::add ? result + args[i] : result * args[i]);
    return result;
}

class Reader {
  public:
    explicit Reader(const Kernel& kernel)
        : kernel_(kernel), guards_(all_axes(kernel)), anywhere_(all_axes(kernel)) {}

    std::optional<SumOfProducts> read() {
        if (!is_candidate() || !read_axes() || !read_product(kernel_.body)) return std::nullopt;
        if (factors_.size() != 2 || !read_conditions() || !read_write()) return std::nullopt;
        sum_.left = factors_[0];
        sum_.right = factors_[1];
        // What is read elsewhere than it is written may be any part of the array.
        const auto is_result = [&](const ArrayAt& array) {
            return array.place == sum_.result.place;
        };
        if (is_result(sum_.left) || is_result(sum_.right)) return std::nullopt;
        for (const Addend& addend : sum_.addends)
            if (is_result(addend.array) && addend.array != sum_.result) return std::nullopt;
        return std::move(sum_);
    }

  private:
    static std::vector<Axis> all_axes(const Kernel& kernel) {
        std::vector<Axis> axes = kernel.free;
        axes.insert(axes.end(), kernel.reduced.begin(), kernel.reduced.end());
        return axes;
    }
    [[nodiscard]] bool is_candidate() const {
        if (!kernel_.body || kernel_.reducer != Reducer::sum) return false;
        if (kernel_.has_meeting_writes() || kernel_.conditions.rest) return false;
        return kernel_.writes.size() == 1;
    }

    bool read_axes() {
        sum_.dtype = kernel_.body->dtype;
        if (sum_.dtype != DType::f32 && sum_.dtype != DType::f64) return false;
        const auto keep_long = [](const std::vector<Axis>& axes, std::vector<Axis>& kept) {
            for (const Axis& axis : axes)
                if (axis.extent > 1) kept.push_back(axis);
            return std::ranges::none_of(axes, [](const Axis& axis) { return axis.extent < 1; });
        };
        return keep_long(kernel_.free, sum_.free) && keep_long(kernel_.reduced, sum_.reduced);
    }
    [[nodiscard]] std::vector<Axis> axes() const {
        std::vector<Axis> all = sum_.free;
        all.insert(all.end(), sum_.reduced.begin(), sum_.reduced.end());
        return all;
    }
    /// The form without the axes of one point, which are 0.
    [[nodiscard]] AffineForm restricted(const AffineForm& whole) const {
        AffineForm kept = form(whole.constant);
        for (const Axis& axis : axes()) kept = kept + form(axis.var, whole.coefficient(axis.var));
        return kept;
    }

    [[nodiscard]] ArrayAt array(BufferId buffer, const Address& address) const {
        return {.place = kernel_.places.at(std::size_t(buffer)),
                .at = restricted(address.affine),
                .elements = kernel_.nest.at(buffer).elements};
    }
    /// The array of a load, if the load has the type of the sum and a place that is affine where
    /// conditions hold.
    [[nodiscard]] std::optional<ArrayAt> array(const Value& value,
                                               const AffineValues& conditions) const {
        const auto* load = std::get_if<Load>(&value->term);
        if (load == nullptr || value->dtype != sum_.dtype) return std::nullopt;
        Address at = load->at;
        if (at.computed) {
            const std::optional<AffineForm> computed = conditions.form_of(at.computed);
            if (!computed) return std::nullopt;
            at = {.affine = at.affine + *computed};
        }
        return array(load->buffer, at);
    }

    /// Takes a product of arrays and constants apart.
    bool read_product(const Value& value) {
        if (value->dtype != sum_.dtype) return false;
        if (const std::optional<double> number = constant(value)) {
            sum_.alpha *= *number;
            return true;
        }
        if (std::optional<ArrayAt> factor = array(value, guards_)) {
            factors_.push_back(std::move(*factor));
            return true;
        }
        const auto* operate = std::get_if<Operate>(&value->term);
        if (operate == nullptr) return false;
        // Outside of an array that is padded with zeros.
        if (operate->op == Op::select)
            return constant(operate->args[2]) == 0 && guards_.suppose(operate->args[0]) &&
                   read_product(operate->args[1]);
        if (operate->op == Op::neg) {
            sum_.alpha = -sum_.alpha;
            return read_product(operate->args[0]);
        }
        if (operate->op == Op::div) {
            const std::optional<double> divisor = constant(operate->args[1]);
            if (!divisor) return false;
            sum_.alpha /= *divisor;
            return read_product(operate->args[0]);
        }
        return operate->op == Op::mul && std::ranges::all_of(operate->args, [&](const Value& arg) {
                   return read_product(arg);
               });
    }

    /// The least and the greatest value of a form over all points.
    [[nodiscard]] std::pair<std::int64_t, std::int64_t> range(const AffineForm& form) const {
        std::pair<std::int64_t, std::int64_t> found{form.constant, form.constant};
        for (const Axis& axis : axes()) {
            const std::int64_t reach = form.coefficient(axis.var) * (axis.extent - 1);
            (reach < 0 ? found.first : found.second) += reach;
        }
        return found;
    }
    bool read_conditions() {
        std::vector<AffineForm> conditions = kernel_.conditions.at_least_zero;
        conditions.insert(conditions.end(), guards_.conditions().begin(),
                          guards_.conditions().end());
        for (const AffineForm& condition : conditions) {
            const AffineForm kept = restricted(condition);
            const auto [least, greatest] = range(kept);
            if (greatest < 0) return false;
            if (least < 0) sum_.at_least_zero.push_back(kept);
        }
        for (const AffineForm& condition : kernel_.conditions.equal_zero) {
            const AffineForm kept = restricted(condition);
            const auto [least, greatest] = range(kept);
            if (least > 0 || greatest < 0) return false;
            if (!kept.is_constant()) sum_.equal_zero.push_back(kept);
        }
        return true;
    }

    bool read_write() {
        const Store& write = kernel_.writes[0];
        if (write.at.computed || write.value->dtype != sum_.dtype) return false;
        sum_.result = array(write.buffer, write.at);
        Value value = write.value;
        if (std::optional<Value> inner = of_relu(value)) {
            sum_.activation = Activation::relu;
            value = std::move(*inner);
        }
        double factor = 0;
        if (!read_terms(value, 1, factor) || factor == 0) return false;
        sum_.alpha *= factor;
        if (write.combine) {
            if (write.combine != Reducer::sum || sum_.activation != Activation::none) return false;
            add(1, sum_.result);
        }
        // A factor of 0 does not make NaN 0; a library leaves out what it multiplies by 0.
        const auto is_plain = [&](double number) {
            return sum_.dtype == DType::f32 ? std::isnormal(float(number)) : std::isnormal(number);
        };
        return is_plain(sum_.alpha) && std::ranges::all_of(sum_.addends, [&](const Addend& addend) {
                   return is_plain(addend.factor);
               });
    }
    /// x of relu(x), max(x, 0).
    static std::optional<Value> of_relu(const Value& value) {
        const auto* operate = std::get_if<Operate>(&value->term);
        if (operate == nullptr) return std::nullopt;
        if (operate->op == Op::relu) return operate->args[0];
        if (operate->op != Op::max || operate->args.size() != 2) return std::nullopt;
        for (std::size_t i = 0; i < 2; ++i)
            if (constant(operate->args[i]) == 0) return operate->args[1 - i];
        return std::nullopt;
    }
    /// Takes `scale * value` apart: adds what multiplies the sum to `factor`, and the addends.
    bool read_terms(const Value& value, double scale, double& factor) {
        if (value->dtype != sum_.dtype) return false;
        if (constant(value) == 0) return true;
        if (const auto* let = std::get_if<LetValue>(&value->term)) {
            if (let->number != 0) return false;
            factor += scale;
            return true;
        }
        if (const std::optional<ArrayAt> addend = array(value, anywhere_)) {
            add(scale, *addend);
            return true;
        }
        const auto* operate = std::get_if<Operate>(&value->term);
        if (operate == nullptr) return false;
        if (operate->op == Op::neg) return read_terms(operate->args[0], -scale, factor);
        if (operate->op == Op::add)
            return std::ranges::all_of(
                operate->args, [&](const Value& arg) { return read_terms(arg, scale, factor); });
        if (operate->op == Op::div) {
            const std::optional<double> divisor = constant(operate->args[1]);
            return divisor && read_terms(operate->args[0], scale / *divisor, factor);
        }
        return operate->op == Op::mul && read_scaled(operate->args, scale, factor);
    }
    /// A product of numbers and one term that is none.
    bool read_scaled(const std::vector<Value>& args, double scale, double& factor) {
        Value term;
        for (const Value& arg : args) {
            if (const std::optional<double> number = constant(arg))
                scale *= *number;
            else if (!term)
                term = arg;
            else
                return false;
        }
        return term && read_terms(term, scale, factor);
    }
    void add(double factor, const ArrayAt& array) {
        for (Addend& known : sum_.addends) {
            if (known.array != array) continue;
            known.factor += factor;
            return;
        }
        sum_.addends.push_back({factor, array});
    }

    const Kernel& kernel_;
    AffineValues guards_;          ///< where padded arrays are read inside
    const AffineValues anywhere_;  ///< at all points
    SumOfProducts sum_;
    std::vector<ArrayAt> factors_;
};

}  // namespace

void SumOfProducts::reverse(const Axis& axis) {
    Substitution turned;
    turned.replace(axis.var, form(axis.extent - 1) - form(axis.var));
    for (ArrayAt* array : {&left, &right, &result}) array->at = turned(array->at);
    for (Addend& addend : addends) addend.array.at = turned(addend.array.at);
    for (AffineForm& condition : at_least_zero) condition = turned(condition);
    for (AffineForm& condition : equal_zero) condition = turned(condition);
}

std::vector<Walk> joined(std::vector<Walk> walks, std::size_t by) {
    std::ranges::stable_sort(
        walks, [&](const Walk& a, const Walk& b) { return a.strides[by] > b.strides[by]; });
    std::vector<Walk> result;
    for (const Walk& inner : walks) {
        bool as_one = !result.empty();
        for (std::size_t i = 0; as_one && i < inner.strides.size(); ++i)
            as_one = result.back().strides[i] == inner.extent * inner.strides[i];
        if (as_one) {
            result.back().extent *= inner.extent;
            result.back().strides = inner.strides;
        } else {
            result.push_back(inner);
        }
    }
    return result;
}

std::optional<SumOfProducts> find_sum_of_products(const Kernel& kernel) {
    return Reader(kernel).read();
}

std::optional<LibraryCall> recognise(const Kernel& kernel) {
    const std::optional<SumOfProducts> sum = find_sum_of_products(kernel);
    if (!sum) return std::nullopt;
    if (std::optional<LibraryCall> product = as_matrix_product(*sum)) return product;
    return as_convolution(*sum);
}

}  // namespace ricci::codegen::gpu
