// tests/support/random_layers.cpp – random products and passes over rows, as layers have them
#include "tests/support/random_layers.h"

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "base/text.h"

namespace ricci::tests {
namespace {

/// Of one program: what the reference and the interpreter do in a moment.
constexpr std::int64_t most_points = 20'000;

class Choices {
  public:
    explicit Choices(std::uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15ULL + 3) {}

    std::int64_t below(std::int64_t n) {
        return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(n));
    }
    bool chance(int percent) { return below(100) < percent; }
    template <class List>
    const auto& one_of(const List& list) {
        return list[static_cast<std::size_t>(below(std::ssize(list)))];
    }
    template <class Item>
    void shuffle(std::vector<Item>& items) {
        for (std::size_t i = items.size(); i > 1; --i)
            std::swap(items[i - 1], items[static_cast<std::size_t>(below(std::int64_t(i)))]);
    }
    /// Mostly small; some fill vectors and tiles, and leave a rest.
    std::int64_t extent() {
        const std::int64_t kind = below(100);
        return kind < 10 ? 1 : kind < 75 ? 2 + below(8) : 15 + below(30);
    }
    DType floating() { return chance(70) ? DType::f32 : DType::f64; }

  private:
    std::mt19937_64 engine_;
};

struct Dimension {
    std::string subscript;
    std::int64_t extent = 0;
};

class Product {
  public:
    explicit Product(std::uint64_t seed) : choices_(seed) { program_.seed = seed; }

    RandomProgram run() {
        const std::vector<Dimension> batch = indices(choices_.chance(30) ? 1 : 0);
        const std::vector<Dimension> rows = indices(choices_.chance(30) ? 2 : 1);
        const std::vector<Dimension> columns = indices(choices_.chance(30) ? 2 : 1);
        std::vector<Dimension> reduced = indices(choices_.chance(40) ? 2 : 1);
        std::vector<Dimension> left = joined(batch, rows);
        std::vector<Dimension> right = joined(batch, joined(columns, reduced));
        std::vector<Dimension> left_reduced = reduced;
        if (choices_.chance(40)) slide(left, left_reduced);
        left = joined(left, left_reduced);
        const std::string a = array("A", left);
        const std::string b = array("B", right);
        std::vector<Dimension> free = joined(batch, joined(rows, columns));
        choices_.shuffle(free);
        program_.text = format("C[{}] := {}", names(free), epilogue(free, value(a, b), reduced));
        if (!ranges_.empty()) program_.text += " where " + ricci::join(ranges_, ", ");
        return std::move(program_);
    }

  private:
    std::vector<Dimension> indices(int count) {
        std::vector<Dimension> made;
        for (int n = 0; n < count; ++n) {
            const std::int64_t room = std::max<std::int64_t>(1, most_points / points_);
            const std::int64_t extent = std::min(choices_.extent(), room);
            points_ *= extent;
            made.push_back({std::string(1, static_cast<char>('i' + next_++)), extent});
        }
        return made;
    }
    static std::vector<Dimension> joined(std::vector<Dimension> a,
                                         const std::vector<Dimension>& b) {
        a.insert(a.end(), b.begin(), b.end());
        return a;
    }
    static std::string names(const std::vector<Dimension>& dimensions) {
        std::vector<std::string> all;
        for (const Dimension& dimension : dimensions) all.push_back(dimension.subscript);
        return ricci::join(all, ",");
    }

    /// A row and a reduced index become a window: `s*y + d*r - p`.
    void slide(std::vector<Dimension>& left, std::vector<Dimension>& reduced) {
        const Dimension row = left.back();
        const Dimension tap = reduced.back();
        const std::int64_t stride = 1 + choices_.below(3);
        const std::int64_t dilation = choices_.chance(80) ? 1 : 2;
        const std::int64_t reach = stride * (row.extent - 1) + dilation * (tap.extent - 1) + 1;
        const std::int64_t padding = choices_.chance(50) ? choices_.below((reach + 3) / 4) : 0;
        const auto times = [](std::int64_t factor, const std::string& name) {
            return factor == 1 ? name : format("{}*{}", factor, name);
        };
        const std::string window =
            times(stride, row.subscript) + "+" + times(dilation, tap.subscript);
        left.back() = {padding == 0 ? window : format("{}-{}", window, padding),
                       reach - 2 * padding};
        reduced.pop_back();
        ranges_.push_back(format("{} in 0:{}", row.subscript, row.extent));
        if (padding == 0) return;
        condition_ = format(" | {} >= {} && {} < {}", window, padding, window, reach - padding);
        ranges_.push_back(format("{} in 0:{}", tap.subscript, tap.extent));
    }

    /// The access to a new array, its dimensions in any order.
    std::string array(const std::string& name, std::vector<Dimension> dimensions) {
        choices_.shuffle(dimensions);
        ArgumentSpec& spec = program_.signature[name];
        spec.dtype = choices_.floating();
        for (const Dimension& dimension : dimensions) spec.shape.push_back(dimension.extent);
        return format("{}[{}]", name, names(dimensions));
    }

    std::string value(const std::string& a, const std::string& b) {
        static const std::array forms = {"{0}*{1}",       "{0}*{1}",       "{0}*{1}",
                                         "({0} - {1})^2", "relu({0})*{1}", "max({0}, {1})",
                                         "0.5*{0}*{1}",   "{0}*{1} + {0}", "abs({0} + {1})"};
        return fmt::format(fmt::runtime(choices_.one_of(forms)), a, b);
    }
    std::string epilogue(const std::vector<Dimension>& free, const std::string& value,
                         const std::vector<Dimension>& reduced) {
        static const std::array reducers = {"sum", "sum", "sum", "max", "min"};
        const std::string sum =
            format("{}[{}{}]({})", choices_.one_of(reducers), names(reduced), condition_, value);
        const Dimension& shared = choices_.one_of(free);
        switch (choices_.below(4)) {
            case 0:  return format("relu({} + {})", sum, array("b", {shared}));
            case 1:  return format("0.5*{} + {}", sum, array("D", free));
            default: return sum;
        }
    }

    Choices choices_;
    RandomProgram program_;
    std::int64_t points_ = 1;
    int next_ = 0;
    std::string condition_;
    std::vector<std::string> ranges_;
};

class Rows {
  public:
    explicit Rows(std::uint64_t seed) : choices_(seed) { program_.seed = seed; }

    RandomProgram run() {
        const int outer = choices_.chance(30) ? 2 : 1;
        std::int64_t points = 1;
        for (const char* index : {"i", "j", "k"}) {
            if (outer == 1 && std::string_view(index) == "j") continue;
            const std::int64_t room = std::max<std::int64_t>(1, most_points / points);
            const bool is_along = std::string_view(index) == "k";
            const std::int64_t extent =
                is_along && choices_.chance(50) ? 16 + choices_.below(80) : choices_.extent();
            all_.push_back({index, std::min(extent, room)});
            points *= all_.back().extent;
        }
        rows_ = all_;
        rows_.pop_back();
        array("X", all_);
        last_element_ = known_.back();
        if (choices_.chance(40)) array("Z", all_);
        if (choices_.chance(40)) array("w", {all_.back()});
        if (choices_.chance(30)) array("v", rows_);
        const std::int64_t stages = 2 + choices_.below(4);
        for (std::int64_t n = 0; n < stages; ++n) {
            if (n > 0) program_.text += "; ";
            choices_.chance(n == 0 ? 90 : 50) ? reduction(n) : pass(n);
        }
        std::erase_if(program_.signature, [&](const auto& argument) {
            return program_.text.find(argument.first + "[") == std::string::npos;
        });
        return std::move(program_);
    }

  private:
    static std::string access(const std::string& name, const std::vector<Dimension>& at) {
        std::vector<std::string> subscripts;
        for (const Dimension& dimension : at) subscripts.push_back(dimension.subscript);
        return format("{}[{}]", name, ricci::join(subscripts, ","));
    }
    void array(const std::string& name, const std::vector<Dimension>& at) {
        ArgumentSpec& spec = program_.signature[name];
        spec.dtype = choices_.floating();
        for (const Dimension& dimension : at) spec.shape.push_back(dimension.extent);
        known_.push_back(access(name, at));
    }

    /// A term over the arrays and what earlier stages gave.
    std::string term() {
        static const std::array unary = {"{}",      "{}",         "exp(-abs2({}))", "tanh({})",
                                         "abs({})", "0.5*{} - 1", "relu({})"};
        static const std::array binary = {"({} - {})", "{}*{}", "({} + {})", "max({}, {})",
                                          "{}/(1 + abs2({}))"};
        const auto one = [&] {
            // What came last is read most.
            const auto last = std::ssize(known_) - 1;
            const auto n = choices_.chance(40) ? last : choices_.below(last + 1);
            return fmt::format(fmt::runtime(choices_.one_of(unary)),
                               known_[static_cast<std::size_t>(n)]);
        };
        std::string text = one();
        for (std::int64_t n = choices_.below(3); n > 0; --n)
            text = fmt::format(fmt::runtime(choices_.one_of(binary)), text, one());
        return text;
    }
    /// Elements take part whatever else does.
    std::string element_term() {
        static const std::array forms = {"{}*{}", "({} + {})", "({} - {})"};
        return fmt::format(fmt::runtime(choices_.one_of(forms)),
                           choices_.chance(80) ? access("X", all_) : last_element_, term());
    }
    void reduction(std::int64_t n) {
        static const std::array reducers = {"sum", "sum",  "mean",      "max",
                                            "min", "norm", "logsumexp", "argmax"};
        const std::string name = format("r{}", n);
        program_.text += format("{} := {}[k]({})", access(name, rows_), choices_.one_of(reducers),
                                element_term());
        known_.push_back(access(name, rows_));
    }
    void pass(std::int64_t n) {
        const std::string name = format("E{}", n);
        program_.text += format("{} := {}", access(name, all_), element_term());
        last_element_ = access(name, all_);
        known_.push_back(last_element_);
    }

    Choices choices_;
    RandomProgram program_;
    std::vector<Dimension> all_;
    std::vector<Dimension> rows_;
    std::vector<std::string> known_;
    std::string last_element_;
};

}  // namespace

RandomProgram random_product(std::uint64_t seed) { return Product(seed).run(); }
RandomProgram random_rows(std::uint64_t seed) { return Rows(seed).run(); }

}  // namespace ricci::tests
