// codegen/needed_points.cpp – results of kernels that nothing reads
#include "codegen/needed_points.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <ranges>
#include <utility>

#include "base/integer.h"
#include "codegen/kernel_places.h"
#include "codegen/lane_span.h"
#include "codegen/nest_build.h"

namespace ricci::codegen {

namespace {

using Forms = std::vector<AffineForm>;

/// An integer as a form of the variables. Others than i64 wrap earlier.
std::optional<AffineForm> as_form(const Value& value) {
    if (value->dtype != DType::i64) return std::nullopt;
    if (const auto* var = std::get_if<VarValue>(&value->term)) return var->form;
    if (const auto* number = std::get_if<Constant>(&value->term)) return form(number->integer);
    return std::nullopt;
}

/// Adds what is at least 0 where the condition holds, as far as it is affine.
void add_forms(Forms& forms, const Value& condition) {
    const auto* operation = std::get_if<Operate>(&condition->term);
    if (operation == nullptr || operation->args.size() != 2) return;
    const Value& a = operation->args[0];
    const Value& b = operation->args[1];
    if (operation->op == Op::logical_and) {
        add_forms(forms, a);
        add_forms(forms, b);
        return;
    }
    const auto left = as_form(a);
    const auto right = as_form(b);
    if (!left || !right) return;
    const Op op = operation->op;
    if (op == Op::le || op == Op::lt) forms.push_back(*right - *left - form(op == Op::lt ? 1 : 0));
    if (op == Op::ge || op == Op::gt) forms.push_back(*left - *right - form(op == Op::gt ? 1 : 0));
}

/// A load of a buffer, and what holds wherever its value matters.
struct Read {
    AffineForm address;
    bool is_computed = false;
    Forms forms;
};

class Reads {
  public:
    Reads(const Kernel& kernel, BufferId buffer) : buffer_(buffer) {
        Forms all = kernel.needed_where;
        for (const Store& write : kernel.writes) {
            if (write.buffer == buffer && write.combine) is_known_ = false;
            visit(write.value, all);
            visit(write.at.computed, all);
        }
        const Forms& points = kernel.conditions.at_least_zero;
        all.insert(all.end(), points.begin(), points.end());
        visit(kernel.body, all);
        visit(kernel.carry, all);
        visit(kernel.arg_place, all);
        visit(kernel.conditions.rest, all);
    }
    /// Nothing where the value is too deep to tell.
    [[nodiscard]] std::optional<std::vector<Read>> all() const {
        return is_known_ ? std::optional(reads_) : std::nullopt;
    }

  private:
    void visit(const Value& value, const Forms& forms) {
        constexpr int most_visits = 10'000;
        if (!value || !is_known_) return;
        if (++visits_ > most_visits) {
            is_known_ = false;
            return;
        }
        if (const auto* load = std::get_if<Load>(&value->term); load && load->buffer == buffer_)
            reads_.push_back({load->at.affine, load->at.computed != nullptr, forms});
        if (!is_operation(value, Op::select)) {
            for (const Value& operand : operands(value)) visit(operand, forms);
            return;
        }
        const auto& args = std::get<Operate>(value->term).args;
        visit(args[0], forms);
        Forms taken = forms;
        add_forms(taken, args[0]);
        visit(args[1], taken);
        visit(args[2], forms);  // what does not hold is no conjunction of forms
    }

    BufferId buffer_;
    std::vector<Read> reads_;
    int visits_ = 0;
    bool is_known_ = true;
};

/// The axis with each step of an address, if every axis has a step and no two points one place.
std::optional<std::map<std::int64_t, Axis>> axes_by_step(const std::vector<Axis>& axes,
                                                         const AffineForm& address) {
    std::map<std::int64_t, Axis> found;
    std::size_t moving = 0;
    for (const Axis& axis : axes) {
        const std::int64_t step = address.coefficient(axis.var);
        if (axis.extent <= 1 && step == 0) continue;
        if (step <= 0) return std::nullopt;
        found.emplace(step, axis);
        ++moving;
    }
    std::int64_t least = 1;
    for (const auto& [step, axis] : found) {
        if (step < least) return std::nullopt;
        least = step * axis.extent;
    }
    return moving == found.size() ? std::optional(found) : std::nullopt;
}

/// The point of the writer that a read is of: for each of its axes a form of the reader's. Nothing
/// where one of them may leave its axis: the place would then be that of another point.
class ReadPoint {
  public:
    static std::optional<ReadPoint> of(const Read& read, const Kernel& reader, const Store& write,
                                       const std::map<std::int64_t, Axis>& written) {
        constexpr std::int64_t most_digit = 1 << 20;  // products stay in 64 bits
        ReadPoint point;
        // Places are numbers whose digits are the writer's axes. Each coefficient is written with
        // digits of either sign, so that that of i in S[i,i-r] is a row and a column.
        for (const auto& [step, axis] : written | std::views::reverse)
            point.axes_.push_back({axis, {}});
        const auto add = [&](std::int64_t coefficient, const AffineForm& unit) {
            auto own = point.axes_.begin();
            for (const auto& [step, axis] : written | std::views::reverse) {
                const std::int64_t digit = floor_div(2 * coefficient + step, 2 * step);
                if (digit > most_digit || digit < -most_digit) return false;
                coefficient -= digit * step;
                own->place = own->place + digit * unit;
                ++own;
            }
            return coefficient == 0;
        };
        if (!add(read.address.constant - write.at.affine.constant, form(1))) return std::nullopt;
        for (const AffineForm::Term& term : read.address.terms)
            if (!add(term.coefficient, form(term.var))) return std::nullopt;
        for (const Digit& digit : point.axes_)
            if (!is_inside(digit, read, reader)) return std::nullopt;
        point.solve();
        return point;
    }

    /// What the read asks of the writer's points, as far as they tell the reader's.
    [[nodiscard]] Forms asked(const Read& read, const Kernel& reader) const {
        Forms forms;
        for (const AffineForm& own : without_large(read.forms)) add_moved(forms, own);
        for (const std::vector<Axis>& axes : {reader.free, reader.reduced})
            for (const Axis& axis : axes) {
                const auto solution = solutions_.find(axis.var);
                // A form of one axis bounds all rows alike.
                if (solution == solutions_.end() || solution->second.terms.size() < 2) continue;
                add_moved(forms, form(axis.var));
                add_moved(forms, form(axis.extent - 1) - form(axis.var));
            }
        return forms;
    }

  private:
    struct Digit {
        Axis axis;         ///< of the writer
        AffineForm place;  ///< its value, a form of the reader's axes
    };

    /// Whether the digit is one at all points that read: by their ranges, or as they say.
    static bool is_inside(const Digit& digit, const Read& read, const Kernel& reader) {
        const auto [least, greatest] = value_range(reader, digit.place);
        const auto is_said = [&](const AffineForm& form) {
            return std::ranges::any_of(read.forms, [&](const AffineForm& own) {
                return own.terms == form.terms && own.constant <= form.constant;
            });
        };
        const AffineForm above = form(digit.axis.extent - 1) - digit.place;
        return (least >= 0 || is_said(digit.place)) &&
               (greatest < digit.axis.extent || is_said(above));
    }
    /// The reader's axes by the writer's, one after the other.
    void solve() {
        for (bool has_new = true; std::exchange(has_new, false);)
            for (const Digit& digit : axes_) {
                AffineForm rest = form(digit.axis.var) - form(digit.place.constant);
                std::optional<AffineForm::Term> unknown;
                std::size_t unknowns = 0;
                for (const AffineForm::Term& term : digit.place.terms) {
                    const auto known = solutions_.find(term.var);
                    if (known != solutions_.end()) {
                        rest = rest - term.coefficient * known->second;
                        continue;
                    }
                    unknown = term;
                    ++unknowns;
                }
                if (unknowns != 1 || std::abs(unknown->coefficient) != 1) continue;
                const Forms solution = without_large({unknown->coefficient * rest});
                if (solution.empty()) continue;
                solutions_.emplace(unknown->var, solution.front());
                has_new = true;
            }
    }
    void add_moved(Forms& forms, const AffineForm& own) const {
        AffineForm moved = form(own.constant);
        bool is_moved = !own.terms.empty();
        for (const AffineForm::Term& term : own.terms) {
            const auto solution = solutions_.find(term.var);
            is_moved &= solution != solutions_.end();
            if (is_moved) moved = moved + term.coefficient * solution->second;
        }
        if (is_moved && !moved.is_constant()) forms.push_back(std::move(moved));
    }

    std::vector<Digit> axes_;
    std::map<VarId, AffineForm> solutions_;  ///< of the reader's axes
};

/// The same conditions, each once: of forms that differ by a constant the strongest one.
Forms each_once(const Forms& forms) {
    Forms once;
    for (const AffineForm& each : forms) {
        const auto same = std::ranges::find(once, each.terms, &AffineForm::terms);
        if (same == once.end())
            once.push_back(each);
        else
            same->constant = std::min(same->constant, each.constant);
    }
    return once;
}

/// What both ask, each once: of two forms that differ by a constant the weaker one.
Forms common(const Forms& a, const Forms& b) {
    Forms both;
    for (const AffineForm& one : a)
        for (const AffineForm& other : b)
            if (one.terms == other.terms)
                both.push_back(one.constant >= other.constant ? one : other);
    return both;
}

class NeededPoints {
  public:
    NeededPoints(std::vector<Kernel>& kernels, const Plan& plan,
                 const std::set<std::size_t>& read_later)
        : kernels_(kernels), plan_(plan), read_later_(read_later) {
        for (const Kernel& kernel : kernels)
            for (const std::size_t place : places_of(kernel).writes) ++writers_[place];
    }

    void run() {
        for (std::size_t k = kernels_.size(); k-- > 0;) {
            Kernel& kernel = kernels_[k];
            std::optional<Forms> needed;
            for (const Store& write : kernel.writes) {
                const std::optional<Forms> own = asked_of(k, write);
                if (!own || own->empty()) {
                    needed.reset();
                    break;
                }
                needed = needed ? common(*needed, *own) : *own;
            }
            if (needed) kernel.needed_where = without_large(*needed);
        }
        // Conditions keep axes apart, so they stay only where they save something; what others need
        // has been passed on.
        for (Kernel& kernel : kernels_)
            if (!kernel.body && !may_have_spans(kernel)) kernel.needed_where.clear();
    }

  private:
    std::optional<Forms> asked_of(std::size_t writer, const Store& write) {
        const Kernel& kernel = kernels_[writer];
        const std::size_t place = kernel.places.at(std::size_t(write.buffer));
        if (write.combine || write.at.computed || !kernel.colliding.empty() ||
            plan_.buffers.at(place).kind != PlanBuffer::Kind::temporary ||
            read_later_.contains(place) || writers_.at(place) != 1)
            return std::nullopt;
        const auto written = axes_by_step(kernel.free, write.at.affine);
        if (!written) return std::nullopt;
        std::optional<Forms> all;
        for (std::size_t k = 0; k < kernels_.size(); ++k) {
            const Kernel& reader = kernels_[k];
            const auto buffer = std::ranges::find(reader.places, place);
            if (k == writer || buffer == reader.places.end()) continue;
            const auto reads = Reads(reader, BufferId(buffer - reader.places.begin())).all();
            if (!reads) return std::nullopt;
            for (const Read& read : *reads) {
                if (read.is_computed) return std::nullopt;
                const auto point = ReadPoint::of(read, reader, write, *written);
                if (!point) return std::nullopt;
                Forms own = each_once(point->asked(read, reader));
                std::erase_if(own, [&](const AffineForm& form) {  // of all points
                    return value_range(kernel, form).first >= 0;
                });
                all = all ? common(*all, own) : own;
                if (all->empty()) return std::nullopt;
            }
        }
        return all;
    }

    std::vector<Kernel>& kernels_;
    const Plan& plan_;
    const std::set<std::size_t>& read_later_;
    std::map<std::size_t, int> writers_;  ///< kernels that write a place
};

}  // namespace

void find_needed_points(std::vector<Kernel>& kernels, const Plan& plan,
                        const std::set<std::size_t>& read_later) {
    NeededPoints(kernels, plan, read_later).run();
}

std::vector<AffineForm> necessary_forms(const Value& condition) {
    Forms forms;
    add_forms(forms, condition);
    return forms;
}

std::vector<AffineForm> without_large(std::vector<AffineForm> forms) {
    constexpr std::int64_t most = std::int64_t{1} << 31;
    const auto is_large = [](std::int64_t number) { return number > most || number < -most; };
    std::erase_if(forms, [&](const AffineForm& form) {
        return is_large(form.constant) ||
               std::ranges::any_of(form.terms, [&](const AffineForm::Term& term) {
                   return is_large(term.coefficient);
               });
    });
    return forms;
}

}  // namespace ricci::codegen
