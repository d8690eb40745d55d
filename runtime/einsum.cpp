// runtime/einsum.cpp – numpy's einsum
#include "runtime/einsum.h"

#include <list>
#include <mutex>
#include <string>
#include <utility>

#include "base/text.h"
#include "dsl/einsum.h"

namespace ricci {
namespace {

/// The functions made last.
class Functions {
  public:
    Function find(const std::string& key) {
        const std::lock_guard lock(mutex_);
        for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
            if (entry->first != key) continue;
            entries_.splice(entries_.begin(), entries_, entry);
            return entries_.front().second;
        }
        return {};
    }
    void add(std::string key, Function function) {
        const std::lock_guard lock(mutex_);
        entries_.emplace_front(std::move(key), std::move(function));
        if (entries_.size() > most) entries_.pop_back();
    }

  private:
    static constexpr std::size_t most = 256;

    std::mutex mutex_;
    std::list<std::pair<std::string, Function>> entries_;
};

Functions& functions() {
    static Functions all;
    return all;
}

}  // namespace

Function einsum_function(std::string_view subscripts, const std::vector<Array>& operands,
                         Device device) {
    std::string key = format("{} {}", subscripts, name(device));
    std::vector<Shape> shapes;
    std::vector<DType> dtypes;
    for (const Array& operand : operands) {
        shapes.push_back(operand.shape());
        dtypes.push_back(operand.dtype());
        key += format(" {}{}", name(operand.dtype()), str(operand.shape()));
    }
    if (const Function known = functions().find(key)) return known;
    const Einsum einsum = translate_einsum(make_source(std::string(subscripts)), shapes, dtypes);
    Function function = compile(einsum.program, "einsum", device);
    functions().add(std::move(key), function);
    return function;
}

Array einsum(std::string_view subscripts, const std::vector<Array>& operands, Device device) {
    return einsum_function(subscripts, operands, device).call(operands);
}

}  // namespace ricci
