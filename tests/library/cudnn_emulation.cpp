// tests/library/cudnn_emulation.cpp – cuDNN's backend on the host
#include "tests/library/cudnn_emulation.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <vector>

#include "tests/library/library_device.h"

namespace ricci::tests {
namespace {

using namespace ricci::cuda;
using enum CudnnAttribute;

constexpr int bad_param = 2000;
constexpr int not_supported = 3000;

CudnnEmulation& state() {
    static CudnnEmulation kept;
    return kept;
}

std::size_t size_of(CudnnType type) {
    switch (type) {
        case CudnnType::boolean:          return 1;
        case CudnnType::data_type:
        case CudnnType::f32:
        case CudnnType::convolution_mode:
        case CudnnType::heuristics_mode:
        case CudnnType::nan_propagation:
        case CudnnType::numerical_note:
        case CudnnType::pointwise_mode:   return 4;
        case CudnnType::handle:
        case CudnnType::int64:
        case CudnnType::f64:
        case CudnnType::pointer:
        case CudnnType::descriptor:       return 8;
    }
    return 0;
}

/// The one type that an attribute may have; alphas and betas have two.
bool has_type(CudnnAttribute name, CudnnType type) {
    switch (name) {
        case pointwise_mode:              return type == CudnnType::pointwise_mode;
        case pointwise_nan_propagation:   return type == CudnnType::nan_propagation;
        case convolution_mode:            return type == CudnnType::convolution_mode;
        case heuristics_mode:             return type == CudnnType::heuristics_mode;
        case pointwise_precision:
        case convolution_type:
        case tensor_type:                 return type == CudnnType::data_type;
        case convolution_dilations:
        case convolution_strides:
        case convolution_post_paddings:
        case convolution_pre_paddings:
        case convolution_dimensions:
        case plan_workspace:
        case tensor_alignment:
        case tensor_dimensions:
        case tensor_strides:
        case tensor_name:
        case pack_names:                  return type == CudnnType::int64;
        case tensor_is_virtual:           return type == CudnnType::boolean;
        case graph_handle:
        case plan_handle:                 return type == CudnnType::handle;
        case pack_pointers:
        case pack_workspace:              return type == CudnnType::pointer;
        case engine_notes:                return type == CudnnType::numerical_note;
        case forward_alpha:
        case forward_beta:
        case input_gradient_alpha:
        case input_gradient_beta:
        case filter_gradient_alpha:
        case filter_gradient_beta:        return type == CudnnType::f32 || type == CudnnType::f64;
        case heuristics_graph:
        case heuristics_results:
        case config_engine:
        case plan_config:
        case forward_convolution:
        case forward_w:
        case forward_x:
        case forward_y:
        case input_gradient_convolution:
        case input_gradient_w:
        case input_gradient_x:
        case input_gradient_y:
        case filter_gradient_convolution:
        case filter_gradient_w:
        case filter_gradient_x:
        case filter_gradient_y:
        case pointwise_description:
        case pointwise_x:
        case pointwise_b:
        case pointwise_y:
        case graph_operations:            return type == CudnnType::descriptor;
    }
    return false;
}

struct Object {
    CudnnKind kind;
    bool is_final = false;
    int engine = 0;  ///< of a configuration or an engine: its number
    struct Value {
        CudnnType type;
        std::vector<unsigned char> bytes;
    };
    std::map<CudnnAttribute, Value> values = {};

    [[nodiscard]] bool has(CudnnAttribute name) const { return values.contains(name); }
    template <class T>
    [[nodiscard]] std::vector<T> all(CudnnAttribute name) const {
        const std::vector<unsigned char>& bytes = values.at(name).bytes;
        std::vector<T> found(bytes.size() / sizeof(T));
        std::memcpy(found.data(), bytes.data(), found.size() * sizeof(T));
        return found;
    }
    template <class T>
    [[nodiscard]] T one(CudnnAttribute name) const {
        T value{};
        std::memcpy(&value, values.at(name).bytes.data(), sizeof value);
        return value;
    }
    [[nodiscard]] const Object& at(CudnnAttribute name) const {
        return *static_cast<const Object*>(one<void*>(name));
    }
    [[nodiscard]] double scale(CudnnAttribute name) const {
        return values.at(name).type == CudnnType::f32 ? double(one<float>(name))
                                                      : one<double>(name);
    }
};

Object& of(CudnnDescriptor descriptor) { return *static_cast<Object*>(descriptor); }

// What descriptors must be to be taken.

bool is_tensor(const Object& t) {
    if (!t.has(tensor_type) || !t.has(tensor_dimensions) || !t.has(tensor_strides) ||
        !t.has(tensor_name) || !t.has(tensor_alignment))
        return false;
    const auto extents = t.all<std::int64_t>(tensor_dimensions);
    const auto strides = t.all<std::int64_t>(tensor_strides);
    if (extents.size() != strides.size() || extents.size() < 4 || extents.size() > 5) return false;
    std::vector<std::pair<std::int64_t, std::int64_t>> dimensions;
    for (std::size_t d = 0; d < extents.size(); ++d) {
        if (extents[d] < 1 || strides[d] < 1) return false;
        if (extents[d] > 1) dimensions.emplace_back(strides[d], extents[d]);
    }
    std::sort(dimensions.begin(), dimensions.end());
    std::int64_t reach = 1;
    for (const auto& [stride, extent] : dimensions) {
        if (stride < reach) return false;
        reach = stride * extent;
    }
    return true;
}

struct Roles {
    CudnnAttribute x, w, y, convolution, alpha, beta;
};
bool is_convolution_operation(CudnnKind kind) {
    return kind == CudnnKind::operation_forward || kind == CudnnKind::operation_input_gradient ||
           kind == CudnnKind::operation_filter_gradient;
}
Roles roles(CudnnKind kind) {
    if (kind == CudnnKind::operation_forward)
        return {forward_x, forward_w, forward_y, forward_convolution, forward_alpha, forward_beta};
    if (kind == CudnnKind::operation_input_gradient)
        return {input_gradient_x,           input_gradient_w,     input_gradient_y,
                input_gradient_convolution, input_gradient_alpha, input_gradient_beta};
    return {filter_gradient_x,           filter_gradient_w,     filter_gradient_y,
            filter_gradient_convolution, filter_gradient_alpha, filter_gradient_beta};
}

bool is_convolution(const Object& operation) {
    const Roles by = roles(operation.kind);
    for (const CudnnAttribute name : {by.x, by.w, by.y, by.convolution, by.alpha, by.beta})
        if (!operation.has(name)) return false;
    const Object& c = operation.at(by.convolution);
    const auto x = operation.at(by.x).all<std::int64_t>(tensor_dimensions);
    const auto w = operation.at(by.w).all<std::int64_t>(tensor_dimensions);
    const auto y = operation.at(by.y).all<std::int64_t>(tensor_dimensions);
    const auto strides = c.all<std::int64_t>(convolution_strides);
    const auto dilations = c.all<std::int64_t>(convolution_dilations);
    const auto before = c.all<std::int64_t>(convolution_pre_paddings);
    const auto behind = c.all<std::int64_t>(convolution_post_paddings);
    const std::size_t rank = strides.size();
    if (c.one<std::int64_t>(convolution_dimensions) != std::int64_t(rank)) return false;
    for (const auto* numbers : {&dilations, &before, &behind})
        if (numbers->size() != rank) return false;
    if (x.size() != rank + 2 || w.size() != rank + 2 || y.size() != rank + 2) return false;
    if (x[0] != y[0] || w[0] != y[1] || x[1] % w[1] != 0 || y[1] % (x[1] / w[1]) != 0) return false;
    for (std::size_t d = 0; d < rank; ++d) {
        if (strides[d] < 1 || dilations[d] < 1 || before[d] < 0 || behind[d] < 0) return false;
        const std::int64_t room =
            x[d + 2] + before[d] + behind[d] - dilations[d] * (w[d + 2] - 1) - 1;
        if (room < 0 || y[d + 2] != room / strides[d] + 1) return false;
    }
    return true;
}

int finalise(CudnnDescriptor descriptor) {
    Object& object = of(descriptor);
    const auto take = [&](bool is_right) {
        object.is_final = is_right;
        return is_right ? cudnn_success : bad_param;
    };
    switch (object.kind) {
        case CudnnKind::tensor:                    return take(is_tensor(object));
        case CudnnKind::operation_forward:
        case CudnnKind::operation_input_gradient:
        case CudnnKind::operation_filter_gradient: return take(is_convolution(object));
        case CudnnKind::heuristics:                {
            const Object& graph = object.at(heuristics_graph);
            const bool is_fused = graph.all<void*>(graph_operations).size() > 1;
            if (!state().has_engines || (is_fused && !state().has_fused_engines))
                return not_supported;
            return take(graph.is_final);
        }
        case CudnnKind::plan:
            if (object.at(plan_config).engine == 1) return not_supported;
            return take(object.has(plan_handle));
        case CudnnKind::variant_pack:
            return take(object.all<std::int64_t>(pack_names).size() ==
                        object.all<void*>(pack_pointers).size());
        case CudnnKind::graph:
        case CudnnKind::pointwise:
        case CudnnKind::convolution:
        case CudnnKind::engine_config:
        case CudnnKind::operation_pointwise:
        case CudnnKind::engine:              return take(true);
    }
    return bad_param;
}

int set(CudnnDescriptor descriptor, CudnnAttribute name, CudnnType type, std::int64_t count,
        const void* values) {
    Object& object = of(descriptor);
    if (object.is_final || !has_type(name, type) || count < 1) return bad_param;
    if (type == CudnnType::descriptor) {
        for (std::int64_t i = 0; i < count; ++i) {
            CudnnDescriptor part = nullptr;
            std::memcpy(&part, static_cast<const char*>(values) + i * 8, 8);
            const bool is_config = of(part).kind == CudnnKind::engine_config;
            if (!of(part).is_final && !is_config) return bad_param;
        }
    }
    const auto* bytes = static_cast<const unsigned char*>(values);
    object.values[name] = {type, {bytes, bytes + std::size_t(count) * size_of(type)}};
    return cudnn_success;
}

/// The engines, by number: see emulated_cudnn().
constexpr int engine_count = 4;
std::vector<int> notes(int engine) {
    if (engine == 0) return {cudnn_note_tensor_core, cudnn_note_down_convert};
    return {};
}

int get(CudnnDescriptor descriptor, CudnnAttribute name, CudnnType type, std::int64_t room,
        std::int64_t* count, void* values) {
    Object& object = of(descriptor);
    if (!has_type(name, type)) return bad_param;
    if (name == heuristics_results) {
        *count = room == 0 ? engine_count : std::min<std::int64_t>(room, engine_count);
        for (int i = 0; room > 0 && i < *count; ++i) {
            CudnnDescriptor config = nullptr;
            std::memcpy(&config, static_cast<char*>(values) + i * 8, 8);
            of(config).engine = i;
            of(config).values[heuristics_graph] = object.values.at(heuristics_graph);
        }
        return cudnn_success;
    }
    *count = 1;
    if (name == config_engine) {
        CudnnDescriptor engine = nullptr;
        std::memcpy(&engine, values, 8);
        of(engine).engine = object.engine;
        return cudnn_success;
    }
    if (name == engine_notes) {
        const std::vector<int> all = notes(object.engine);
        *count = std::int64_t(all.size());
        if (room < *count) return bad_param;
        if (!all.empty()) std::memcpy(values, all.data(), all.size() * sizeof(int));
        return cudnn_success;
    }
    if (name == plan_workspace) {
        const std::int64_t bytes =
            object.at(plan_config).engine == 2 ? std::int64_t(1) << 40 : state().workspace_bytes;
        std::memcpy(values, &bytes, 8);
        return cudnn_success;
    }
    return bad_param;
}

// Execution.

/// A tensor's elements: in the caller's memory, or here when it is virtual.
template <class T>
struct Memory {
    const Object& tensor;
    T* data;

    [[nodiscard]] std::vector<std::int64_t> extents() const {
        return tensor.all<std::int64_t>(tensor_dimensions);
    }
    /// An extent of 1 is every place.
    [[nodiscard]] T& at(const std::vector<std::int64_t>& place) const {
        const auto lengths = extents();
        const auto strides = tensor.all<std::int64_t>(tensor_strides);
        std::int64_t offset = 0;
        for (std::size_t d = 0; d < place.size(); ++d)
            if (lengths[d] > 1) offset += place[d] * strides[d];
        return data[offset];
    }
};

void for_each_place(const std::vector<std::int64_t>& box,
                    const std::function<void(const std::vector<std::int64_t>&)>& visit) {
    std::vector<std::int64_t> at(box.size(), 0);
    for (;;) {
        visit(at);
        std::size_t d = box.size();
        while (d > 0 && ++at[d - 1] == box[d - 1]) at[--d] = 0;
        if (d == 0) return;
    }
}

template <class T>
class Execution {
  public:
    explicit Execution(std::map<std::int64_t, void*> pointers) : pointers_(std::move(pointers)) {}

    int run(const Object& graph) {
        for (void* pointer : graph.all<void*>(graph_operations)) {
            const Object& operation = of(pointer);
            const bool is_done =
                is_convolution_operation(operation.kind) ? convolve(operation) : apply(operation);
            if (!is_done) return bad_param;
        }
        return cudnn_success;
    }

  private:
    Memory<T> memory(const Object& tensor) {
        const auto name = tensor.one<std::int64_t>(tensor_name);
        const auto extents = tensor.all<std::int64_t>(tensor_dimensions);
        const auto strides = tensor.all<std::int64_t>(tensor_strides);
        std::int64_t last = 0;
        for (std::size_t d = 0; d < extents.size(); ++d) last += (extents[d] - 1) * strides[d];
        const std::size_t count = std::size_t(last) + 1;
        if (tensor.one<bool>(tensor_is_virtual)) {
            std::vector<T>& own = virtual_[name];
            own.resize(count);
            return {tensor, own.data()};
        }
        const auto found = pointers_.find(name);
        if (found == pointers_.end()) return {tensor, nullptr};
        const auto address = reinterpret_cast<std::uintptr_t>(found->second);
        const bool is_aligned =
            address % std::uint64_t(tensor.one<std::int64_t>(tensor_alignment)) == 0;
        if (!is_aligned) return {tensor, nullptr};
        return {tensor, reinterpret_cast<T*>(library_device().memory(address, count * sizeof(T)))};
    }

    bool convolve(const Object& operation) {
        const Roles by = roles(operation.kind);
        const Memory<T> x = memory(operation.at(by.x));
        const Memory<T> w = memory(operation.at(by.w));
        const Memory<T> y = memory(operation.at(by.y));
        if (x.data == nullptr || w.data == nullptr || y.data == nullptr) return false;
        const Object& c = operation.at(by.convolution);
        const auto strides = c.all<std::int64_t>(convolution_strides);
        const auto dilations = c.all<std::int64_t>(convolution_dilations);
        const auto before = c.all<std::int64_t>(convolution_pre_paddings);
        const bool is_flipped = c.one<int>(convolution_mode) == cudnn_true_convolution;
        const std::vector<std::int64_t> y_box = y.extents();
        const std::vector<std::int64_t> w_box = w.extents();
        const std::size_t rank = strides.size();
        const std::int64_t groups = x.extents()[1] / w_box[1];
        const Memory<T>& result = operation.kind == CudnnKind::operation_forward          ? y
                                  : operation.kind == CudnnKind::operation_input_gradient ? x
                                                                                          : w;
        std::map<T*, double> sums;
        for_each_place(y_box, [&](const std::vector<std::int64_t>& out) {
            for_each_place(w_box, [&](std::vector<std::int64_t> in) {
                if (in[0] != out[1]) return;
                const std::int64_t group = out[1] / (y_box[1] / groups);
                std::vector<std::int64_t> from = {out[0], group * w_box[1] + in[1]};
                for (std::size_t d = 0; d < rank; ++d) {
                    const std::int64_t place =
                        strides[d] * out[d + 2] + dilations[d] * in[d + 2] - before[d];
                    if (place < 0 || place >= x.extents()[d + 2]) return;
                    from.push_back(place);
                    if (is_flipped) in[d + 2] = w_box[d + 2] - 1 - in[d + 2];
                }
                double product = 1;
                for (const auto& [memory, place] :
                     {std::pair{&x, &from}, std::pair{&w, &in},
                      std::pair{&y, const_cast<std::vector<std::int64_t>*>(&out)}})
                    if (memory != &result) product *= double(memory->at(*place));
                const auto& place = &result == &y ? out : &result == &x ? from : in;
                sums[&result.at(place)] += product;
            });
        });
        const double alpha = operation.scale(by.alpha);
        const double beta = operation.scale(by.beta);
        for_each_place(result.extents(), [&](const std::vector<std::int64_t>& at) {
            T& element = result.at(at);
            const double old = beta == 0 ? 0 : beta * double(element);
            element = T(alpha * sums[&element] + old);
        });
        return true;
    }

    bool apply(const Object& operation) {
        const Object& function = operation.at(pointwise_description);
        const bool is_relu = function.one<int>(pointwise_mode) == cudnn_pointwise_relu;
        const Memory<T> from = memory(operation.at(pointwise_x));
        const Memory<T> to = memory(operation.at(pointwise_y));
        const Memory<T> other = is_relu ? from : memory(operation.at(pointwise_b));
        if (from.data == nullptr || to.data == nullptr || other.data == nullptr) return false;
        for_each_place(to.extents(), [&](const std::vector<std::int64_t>& at) {
            const double value = double(from.at(at));
            to.at(at) = T(!is_relu ? value + double(other.at(at)) : value < 0 ? 0 : value);
        });
        return true;
    }

    std::map<std::int64_t, void*> pointers_;
    std::map<std::int64_t, std::vector<T>> virtual_;
};

/// The stream that the one handle has.
Stream& handle_stream() {
    static Stream stream = nullptr;
    return stream;
}

int execute(CudnnHandle, CudnnDescriptor plan, CudnnDescriptor pack) {
    const Object& config = of(plan).at(plan_config);
    const Object& graph = config.at(heuristics_graph);
    ++state().executions;
    const Object& first = of(graph.all<void*>(graph_operations)[0]);
    const CudnnAttribute some =
        is_convolution_operation(first.kind) ? roles(first.kind).x : pointwise_x;
    const bool is_f32 = first.at(some).one<int>(tensor_type) == cudnn_data_f32;
    // The f32 engine that may use TF32 must not have been taken, the third asked for too much.
    if (config.engine == 2 || (is_f32 && config.engine == 0)) return bad_param;
    void* workspace = of(pack).one<void*>(pack_workspace);
    const std::int64_t bytes = state().workspace_bytes;
    if (bytes > 0 &&
        (workspace == nullptr || reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0))
        return bad_param;
    const auto names = of(pack).all<std::int64_t>(pack_names);
    const auto pointers = of(pack).all<void*>(pack_pointers);
    std::map<std::int64_t, void*> by_name;
    for (std::size_t i = 0; i < names.size(); ++i) by_name[names[i]] = pointers[i];
    return library_device().enqueue(handle_stream(), [=, &graph] {
        if (bytes > 0) {
            char* memory = library_device().memory(reinterpret_cast<DevicePointer>(workspace),
                                                   std::size_t(bytes));
            if (memory == nullptr) return bad_param;
            std::memset(memory, 0xff, std::size_t(bytes));
        }
        return is_f32 ? Execution<float>(by_name).run(graph)
                      : Execution<double>(by_name).run(graph);
    });
}

}  // namespace

const Cudnn& emulated_cudnn() {
    static const Cudnn table = {.cudnnGetVersion = []() -> std::size_t { return 91900; },
                                .cudnnGetErrorString =
                                    [](int status) {
                                        return status == bad_param ? "CUDNN_STATUS_BAD_PARAM"
                                                                   : "CUDNN_STATUS_X";
                                    },
                                .cudnnGetLastErrorString =
                                    [](char* text, std::size_t bytes) {
                                        if (bytes > 0) *text = '\0';
                                    },
                                .cudnnCreate =
                                    [](CudnnHandle* handle) {
                                        *handle = reinterpret_cast<CudnnHandle>(new int(0));
                                        ++state().objects;
                                        return cudnn_success;
                                    },
                                .cudnnDestroy =
                                    [](CudnnHandle handle) {
                                        delete reinterpret_cast<int*>(handle);
                                        --state().objects;
                                        return cudnn_success;
                                    },
                                .cudnnSetStream =
                                    [](CudnnHandle, Stream stream) {
                                        handle_stream() = stream;
                                        return cudnn_success;
                                    },
                                .cudnnBackendCreateDescriptor =
                                    [](CudnnKind kind, CudnnDescriptor* descriptor) {
                                        *descriptor = new Object{.kind = kind};
                                        ++state().objects;
                                        return cudnn_success;
                                    },
                                .cudnnBackendDestroyDescriptor =
                                    [](CudnnDescriptor descriptor) {
                                        delete &of(descriptor);
                                        --state().objects;
                                        return cudnn_success;
                                    },
                                .cudnnBackendFinalize = finalise,
                                .cudnnBackendSetAttribute = set,
                                .cudnnBackendGetAttribute = get,
                                .cudnnBackendExecute = execute};
    return table;
}

CudnnEmulation& reset_cudnn_emulation() {
    const int objects = state().objects;
    state() = {};
    state().objects = objects;
    return state();
}

}  // namespace ricci::tests
