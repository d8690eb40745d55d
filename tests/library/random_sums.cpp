// tests/library/random_sums.cpp – seeded contractions and convolutions as programs
#include "tests/library/random_sums.h"

#include <algorithm>
#include <map>
#include <random>

#include "base/text.h"
#include "dsl/canonical.h"
#include "grad/gradient.h"
#include "tests/library/library_calls.h"

namespace ricci::tests {
namespace {

class Random {
  public:
    explicit Random(std::uint64_t seed) : engine_(seed * 7919 + 11) {}
    /// From `least` to `most`, both included.
    std::int64_t number(std::int64_t least, std::int64_t most) {
        return least + std::int64_t(engine_() % std::uint64_t(most - least + 1));
    }
    bool one_in(std::int64_t n) { return number(1, n) == 1; }
    template <class T>
    void shuffle(std::vector<T>& items) {
        for (std::size_t i = items.size(); i > 1; --i)
            std::swap(items[i - 1], items[std::size_t(number(0, std::int64_t(i) - 1))]);
    }

  private:
    std::mt19937_64 engine_;
};

/// Strides of an array whose dimensions lie in memory in some order, with gaps at times.
Strides random_strides(Random& random, const Shape& shape) {
    std::vector<std::size_t> order(shape.size());
    for (std::size_t d = 0; d < order.size(); ++d) order[d] = d;
    if (random.one_in(2)) random.shuffle(order);
    Strides strides(shape.size());
    std::int64_t step = random.one_in(12) ? 2 : 1;
    for (std::size_t d = order.size(); d-- > 0;) {
        strides[order[d]] = step;
        step *= shape[order[d]];
        if (random.one_in(8)) step += random.number(1, 3);
    }
    return strides;
}

class Contraction {
  public:
    explicit Contraction(std::uint64_t seed) : random_(seed) {}

    RandomSum make() {
        dtype_ = random_.one_in(3) ? DType::f64 : DType::f32;
        const std::vector<char> batch = some("bc", 0, random_.one_in(2) ? 2 : 0);
        const std::vector<char> rows = some("ijh", 0, 2);
        const std::vector<char> columns = some("mno", 0, 2);
        const std::vector<char> depth = some("klp", 1, 2);
        const std::vector<char> a = mixed({batch, rows, depth});
        const std::vector<char> b = mixed({batch, columns, depth});
        const std::vector<char> c = mixed({batch, rows, columns});
        add_array("A", a, true);
        add_array("B", b, true);
        std::string product = format("{}*{}", access("A", a), access("B", b));
        if (random_.one_in(8)) product = "2*" + product;
        if (random_.one_in(12)) product += "/3";
        if (random_.one_in(12)) product = "-" + product;
        const std::string target = access("C", c);
        const std::string sum = format("sum[{}]({})", join(names(depth), ","), product);
        switch (random_.number(1, 8)) {
            case 1:
                add_array("C", c, false);
                sum_.text = format("{} += {}", target, sum);
                break;
            case 2:
                add_array("C", c, false);
                sum_.text = format("{0} = 0.5*{0} + 0.25*{1}", target, sum);
                break;
            case 3: sum_.text = format("{} := relu({} + {})", target, sum, bias(columns, c)); break;
            case 4: sum_.text = format("{} := {} + {}", target, bias(rows, c), sum); break;
            case 5:
                add_array("D", c, true);
                sum_.text = format("{} := 3*{} + {}", target, sum, access("D", c));
                break;
            default: sum_.text = format("{} := {}", target, sum);
        }
        return std::move(sum_);
    }

  private:
    std::vector<char> some(std::string_view letters, std::int64_t least, std::int64_t most) {
        const auto count = std::size_t(random_.number(least, most));
        std::vector<char> found(letters.begin(), letters.begin() + std::ptrdiff_t(count));
        for (const char index : found) extent_[index] = random_.number(1, 5);
        return found;
    }
    /// The groups one after the other, each in its order or not; or all indices in any order.
    std::vector<char> mixed(std::vector<std::vector<char>> groups) {
        if (random_.one_in(2)) random_.shuffle(groups);
        std::vector<char> all;
        for (std::vector<char>& group : groups) {
            if (random_.one_in(6)) random_.shuffle(group);
            all.insert(all.end(), group.begin(), group.end());
        }
        if (random_.one_in(4)) random_.shuffle(all);
        return all;
    }
    void add_array(const std::string& name, const std::vector<char>& indices, bool has_strides) {
        Shape shape;
        for (const char index : indices) shape.push_back(extent_.at(index));
        const Strides strides = has_strides ? random_strides(random_, shape) : Strides{};
        sum_.signature[name] = array(shape, dtype_, strides);
    }
    std::string bias(const std::vector<char>& indices, const std::vector<char>& target) {
        const std::vector<char>& used = indices.empty() ? target : indices;
        add_array("v", used, false);
        return access("v", used);
    }
    static std::vector<std::string> names(const std::vector<char>& indices) {
        std::vector<std::string> found;
        for (const char index : indices) found.emplace_back(1, index);
        return found;
    }
    static std::string access(const std::string& name, const std::vector<char>& indices) {
        return format("{}[{}]", name, join(names(indices), ","));
    }

    Random random_;
    DType dtype_ = DType::f32;
    std::map<char, std::int64_t> extent_;
    RandomSum sum_;
};

class ConvolutionText {
  public:
    explicit ConvolutionText(std::uint64_t seed) : random_(seed) {}

    RandomSum make() {
        const DType dtype = random_.one_in(4) ? DType::f64 : DType::f32;
        const std::int64_t rank = random_.number(1, 100) <= 45 ? 1 : random_.one_in(3) ? 3 : 2;
        const std::int64_t most = rank == 3 ? 2 : 3;
        add(x_, "n", random_.number(1, most));
        output_ = x_;
        if (random_.one_in(3)) {
            const std::int64_t groups = random_.number(2, 3);
            for (std::vector<Dimension>* array : {&x_, &w_, &output_}) add(*array, "g", groups);
        }
        const bool is_depthwise = output_.size() == 2 && random_.one_in(2);
        if (!is_depthwise) {
            const std::int64_t in = random_.number(1, most);
            const std::int64_t out = random_.number(1, most);
            for (std::vector<Dimension>* array : {&w_, &output_}) add(*array, "o", out);
            for (std::vector<Dimension>* array : {&x_, &w_}) add(*array, "c", in);
            reduced_.emplace_back("c");
        }
        for (std::int64_t d = 0; d < rank; ++d) add_spatial(std::size_t(d), rank == 3);
        if (random_.one_in(2)) channels_last();
        RandomSum sum;
        sum.signature["X"] = array(shape(x_), dtype);
        sum.signature["W"] = array(shape(w_), dtype);
        sum.text =
            format("Y[{}] := sum[{}{}](X[{}]*W[{}]) where {}", at(output_), join(reduced_, ","),
                   conditions_.empty() ? "" : " | " + join(conditions_, " && "), at(x_), at(w_),
                   join(ranges_, ", "));
        return sum;
    }

  private:
    struct Dimension {
        std::string at;
        std::int64_t extent;
    };
    static void add(std::vector<Dimension>& array, const std::string& at, std::int64_t extent) {
        array.push_back({at, extent});
    }

    void add_spatial(std::size_t d, bool is_small) {
        static const std::vector<std::string> outputs = {"p", "q", "z"};
        static const std::vector<std::string> filters = {"r", "s", "t"};
        const std::string& p = outputs[d];
        const std::string& k = filters[d];
        const std::int64_t stride = random_.one_in(2) ? 1 : random_.number(1, 3);
        const std::int64_t dilation = random_.one_in(2) ? 1 : random_.number(1, 3);
        const std::int64_t filter = random_.number(1, is_small ? 2 : 3);
        const std::int64_t places = random_.number(2, is_small ? 3 : 6);
        const std::int64_t reach = dilation * (filter - 1);
        const bool is_flipped = random_.one_in(4);
        // x is read from -padding on, and as far behind its end.
        const std::int64_t padding = random_.one_in(2) ? 0 : random_.number(0, reach + 1);
        const std::int64_t behind = random_.one_in(2) ? padding : 0;
        // With a stride or more behind the last place read, x is no convolution's gradient.
        const std::int64_t extra = random_.number(0, random_.one_in(12) ? stride : stride - 1);
        const std::int64_t input =
            std::max<std::int64_t>(1, stride * (places - 1) + reach + 1 - padding - behind) + extra;
        const std::string place =
            is_flipped ? format("{}*{} - {}*{} + {}", stride, p, dilation, k, reach - padding)
                       : format("{}*{} + {}*{} - {}", stride, p, dilation, k, padding);
        const bool leaves_above = stride * (places - 1) + reach - padding >= input;
        // Outside of x there are zeros, or the sum passes over it. Of one element there is no
        // telling which index reads it.
        const bool may_pad = input > 1 && (padding > 0 || leaves_above);
        const bool is_padded = may_pad && random_.one_in(2);
        if (padding > 0 && !is_padded) conditions_.push_back(place + " >= 0");
        if (leaves_above && !is_padded) conditions_.push_back(format("{} < {}", place, input));
        add(x_, is_padded ? format("pad({})", place) : place, input);
        add(w_, k, filter);
        add(output_, p, places);
        reduced_.push_back(k);
        ranges_.push_back(format("{} in 0:{}", p, places));
    }

    /// Channels innermost, or anywhere.
    void channels_last() {
        const bool anywhere = random_.one_in(3);
        for (std::vector<Dimension>* array : {&x_, &w_, &output_}) {
            if (anywhere) {
                random_.shuffle(*array);
                continue;
            }
            std::stable_partition(array->begin(), array->end(), [&](const Dimension& dimension) {
                if (array == &w_) return dimension.at != "c";
                return dimension.at != "c" && dimension.at != "g" && dimension.at != "o";
            });
        }
    }

    static std::string at(const std::vector<Dimension>& array) {
        std::vector<std::string> subscripts;
        for (const Dimension& dimension : array) subscripts.push_back(dimension.at);
        return join(subscripts, ",");
    }
    static Shape shape(const std::vector<Dimension>& array) {
        Shape extents;
        for (const Dimension& dimension : array) extents.push_back(dimension.extent);
        return extents;
    }

    Random random_;
    std::vector<Dimension> x_, w_, output_;
    std::vector<std::string> reduced_;
    std::vector<std::string> conditions_;
    std::vector<std::string> ranges_;
};

}  // namespace

RandomSum random_contraction(std::uint64_t seed) { return Contraction(seed).make(); }

RandomSum random_convolution(std::uint64_t seed) { return ConvolutionText(seed).make(); }

BoundSum gradient_of(const RandomSum& sum, const std::string& argument) {
    const Program program = parse_program(sum.text);
    const BoundProgram forward = ricci::bind(canonicalise(program), sum.signature);
    const BoundTensor& output = forward.at(forward.outputs.back());
    BoundSum result{.program = {}, .signature = sum.signature};
    result.signature["d" + output.name] = array(output.shape, output.dtype);
    result.program = ricci::bind(canonicalise(grad::gradient(program, argument)), result.signature);
    return result;
}

}  // namespace ricci::tests
