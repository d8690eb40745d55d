// runtime/cuda/run.cpp – one run of a program on a GPU: memory, then all of its work at once
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "runtime/checks.h"
#include "runtime/cuda/error.h"
#include "runtime/cuda/executor.h"
#include "runtime/cuda/gpu_timer.h"
#include "runtime/elementwise.h"
#include "runtime/overlap.h"

namespace ricci::cuda {

using runtime::ByteRange;
using runtime::Slot;

/// What one run works on. The memory lives until its work has been enqueued; whoever gets it then
/// comes later on the same stream.
class Executable::Run {
  public:
    Run(const Executable& executable, std::span<const Array* const> arguments)
        : executable_(executable), gpu_(*executable.gpu_), arguments_(arguments) {}

    void bring_arguments() {
        for (const Array* argument : arguments_) bring(*argument);
        for (const std::size_t u : executable_.slots_.updated) arguments_at_[u].is_updated = true;
        const auto alignment = static_cast<DevicePointer>(executable_.plan_.argument_alignment);
        for (std::size_t i = 0; alignment > 0 && i < arguments_.size(); ++i)
            if (arguments_at_[i].pointer % alignment != 0) align(i, alignment);
        find_lasting();
    }

    /// What is copied back to the user's memory may fail when all else is done: other arguments
    /// must then have the values from before on the host.
    void save_arguments() {
        const auto& updated = executable_.slots_.updated;
        has_users_ = std::ranges::any_of(
            updated, [&](std::size_t u) { return arguments_[u]->storage()->is_users(); });
        for (const std::size_t u : updated)
            if (has_users_) (void)arguments_[u]->storage()->read();
    }

    void take_memory() {
        const BoundProgram& program = executable_.program_;
        for (std::size_t i = 0; i < program.outputs.size(); ++i) {
            const int argument = executable_.slots_.output_arguments[i];
            if (argument >= 0) {
                outputs_.push_back(*arguments_[static_cast<std::size_t>(argument)]);
                continue;
            }
            const BoundTensor& tensor = program.at(program.outputs[i]);
            const auto bytes =
                static_cast<std::size_t>(element_count(tensor.shape)) * size_bytes(tensor.dtype);
            outputs_.emplace_back(tensor.dtype, tensor.shape,
                                  std::make_shared<runtime::Storage>(gpu_.allocate(bytes), bytes));
        }
        // Libraries work behind the temporaries, one at a time.
        const auto scratch_bytes = static_cast<std::size_t>(executable_.slots_.scratch_bytes);
        const std::size_t bytes = scratch_bytes + executable_.workspace_bytes_;
        DevicePointer scratch = 0;
        if (bytes > 0) {
            blocks_.push_back(gpu_.allocate(bytes));
            scratch = blocks_.back()->pointer();
        }
        workspace_ = scratch + scratch_bytes;
        const auto lasting_bytes = static_cast<std::size_t>(executable_.slots_.lasting_bytes);
        if (!lasts_ && lasting_bytes > 0) lasting_.block = gpu_.allocate(lasting_bytes);
        for (const Slot& slot : executable_.slots_.buffers)
            pointers_.push_back(pointer_of(slot, scratch));
    }

    /// Runs what leads to the checks and looks at their verdicts. Throws: `range`.
    void pass_checks(std::span<const Array* const> originals) {
        if (executable_.checks_.empty()) return;
        const GpuSection section(gpu_, "checks", gpu_.compute_stream());
        for (const Copy& copy : copies_in_) enqueue(copy, gpu_.compute_stream());
        copies_in_.clear();
        for (const Check& check : executable_.checks_) {
            if (lasts_ && check.is_lasting) continue;  // passed, with the same data
            for (; next_ <= check.after; ++next_)
                if (is_due(executable_.launches_[next_]))
                    enqueue(executable_.launches_[next_], gpu_.compute_stream());
            std::int64_t verdict = 0;
            gpu_.download(&verdict, pointers_[check.buffer], sizeof verdict);
            if (verdict >= 0) continue;
            runtime::raise_failed_check(
                executable_.program_, check.number, originals,
                [](BoundProgram program, std::span<const Array* const> given) {
                    return Executable(std::move(program), "check").run(given);
                });
        }
    }

    /// One launch where it would matter if only some of it had started.
    void enqueue() {
        const GpuSection section(gpu_, "kernels", gpu_.compute_stream());
        const std::vector<const Launch*> launches = due();
        const std::size_t count = launches.size() + copies_in_.size() + copies_out_.size();
        if (count == 0) return;
        if (count == 1) {
            enqueue_all(gpu_.compute_stream());
            return;
        }
        // What changes an argument before the last piece of work.
        bool is_partial = copies_out_.size() > 1;
        for (std::size_t i = 0; i < launches.size(); ++i)
            is_partial |=
                launches[i]->is_updating && (i + 1 < launches.size() || !copies_out_.empty());
        std::vector<DevicePointer> addresses = pointers_;
        addresses.push_back(workspace_);
        addresses.push_back(lasts_ ? 1 : 0);
        for (const Copy& copy : copies_in_) addresses.push_back(copy.from);
        executable_.graphs_->launch(
            addresses,
            is_partial ? GraphCache::Capture::at_once : GraphCache::Capture::when_repeated,
            [this](Stream stream) { enqueue_all(stream); });
    }

    std::vector<Array> finish() {
        if (may_last_ && !lasts_)
            executable_.remember(std::make_shared<const Lasting>(std::move(lasting_)));
        const auto& updated = executable_.slots_.updated;
        std::vector<runtime::PoolBlock> changed;
        try {
            for (const std::size_t u : updated)
                if (arguments_[u]->storage()->is_users()) changed.push_back(fetch(*arguments_[u]));
        } catch (...) {
            for (const std::size_t u : updated) arguments_[u]->storage()->forget_gpu();
            throw;
        }
        std::size_t next = 0;
        for (const std::size_t u : updated) {
            const Array& argument = *arguments_[u];
            argument.storage()->note_written_on_gpu();
            if (argument.storage()->is_users()) write_back(argument, changed[next++].get());
        }
        return std::move(outputs_);
    }

  private:
    struct Place {
        DevicePointer pointer = 0;  ///< of the first element
        bool is_updated = false;
    };
    struct Copy {
        DevicePointer to;
        DevicePointer from;
        std::size_t bytes;
    };

    void bring(const Array& argument) {
        // What is given twice is brought once: the user's memory always comes anew.
        for (std::size_t i = 0; i < arguments_at_.size(); ++i) {
            if (arguments_[i]->storage() != argument.storage()) continue;
            const auto apart = argument.offset_bytes() - arguments_[i]->offset_bytes();
            arguments_at_.push_back(
                {.pointer = arguments_at_[i].pointer + static_cast<DevicePointer>(apart)});
            return;
        }
        blocks_.push_back(argument.storage()->read_on_gpu(gpu_));
        arguments_at_.push_back({.pointer = blocks_.back()->pointer() +
                                            static_cast<DevicePointer>(argument.offset_bytes())});
    }

    /// Kernels get a copy that begins where their accesses need it: a view of the middle of an
    /// array may begin anywhere.
    void align(std::size_t argument, DevicePointer alignment) {
        const Array& array = *arguments_[argument];
        const ByteRange range = runtime::byte_range(array);
        const auto bytes = static_cast<std::size_t>(range.end - range.begin);
        const auto lead = static_cast<DevicePointer>(array.offset_bytes() - range.begin);
        const DevicePointer pad = (alignment - lead % alignment) % alignment;
        blocks_.push_back(gpu_.allocate(bytes + pad));
        const DevicePointer copied = blocks_.back()->pointer() + pad;
        Place& place = arguments_at_[argument];
        const DevicePointer original = place.pointer - lead;
        if (bytes > 0) copies_in_.push_back({.to = copied, .from = original, .bytes = bytes});
        if (bytes > 0 && place.is_updated)
            copies_out_.push_back({.to = original, .from = copied, .bytes = bytes});
        place.pointer = copied + lead;
    }

    [[nodiscard]] DevicePointer pointer_of(const Slot& slot, DevicePointer scratch) const {
        const auto at = static_cast<std::size_t>(slot.at);
        switch (slot.kind) {
            case Slot::Kind::argument:
            case Slot::Kind::updated:  return arguments_at_[at].pointer;
            case Slot::Kind::output:   return outputs_[at].storage()->gpu_block()->pointer();
            case Slot::Kind::scratch:  return scratch + static_cast<DevicePointer>(slot.at);
            case Slot::Kind::lasting:
                return lasting_.block->pointer() + static_cast<DevicePointer>(slot.at);
            case Slot::Kind::slice: break;  // on a CPU
        }
        return 0;
    }

    /// Takes what an earlier run found, if it was of the same data.
    void find_lasting() {
        const auto& arguments = executable_.lasting_steps_.arguments;
        may_last_ = !arguments.empty();
        for (const std::size_t a : arguments) {
            const runtime::Storage& storage = *arguments_[a]->storage();
            may_last_ &= !storage.is_users();
            lasting_.arguments.emplace_back(storage.gpu_version(), arguments_[a]->offset_bytes());
        }
        const std::shared_ptr<const Lasting> known = executable_.lasting();
        lasts_ = may_last_ && known && known->arguments == lasting_.arguments;
        if (lasts_) lasting_.block = known->block;
    }
    [[nodiscard]] bool is_due(const Launch& launch) const { return !(lasts_ && launch.is_lasting); }
    /// What is to be launched from the next launch on.
    [[nodiscard]] std::vector<const Launch*> due() const {
        std::vector<const Launch*> launches;
        for (const Launch& launch : std::span(executable_.launches_).subspan(next_))
            if (is_due(launch)) launches.push_back(&launch);
        return launches;
    }

    void enqueue_all(Stream stream) {
        for (const Copy& copy : copies_in_) enqueue(copy, stream);
        for (const Launch* launch : due()) enqueue(*launch, stream);
        for (const Copy& copy : copies_out_) enqueue(copy, stream);
    }
    void enqueue(const Copy& copy, Stream stream) const {
        check(gpu_.driver().cuMemcpyDtoDAsync_v2(copy.to, copy.from, copy.bytes, stream),
              "copying {} bytes on the GPU", copy.bytes);
    }
    void enqueue(const Launch& launch, Stream stream) {
        if (launch.call != nullptr) {
            launch.call->run(pointers_, workspace_, stream);
            return;
        }
        parameters_.clear();
        for (const std::size_t buffer : launch.buffers) parameters_.push_back(&pointers_[buffer]);
        check(
            gpu_.driver().cuLaunchKernel(launch.function, launch.blocks, 1, 1, launch.threads, 1, 1,
                                         launch.shared_bytes, stream, parameters_.data(), nullptr),
            "launching {} blocks of {} threads of the kernel `{}`", launch.blocks, launch.threads,
            executable_.module_->symbol(launch.symbol));
    }

    /// What the GPU has of an array in the user's memory: its bytes from the lowest element on.
    [[nodiscard]] runtime::PoolBlock fetch(const Array& array) const {
        const ByteRange range = runtime::byte_range(array);
        const auto bytes = static_cast<std::size_t>(range.end - range.begin);
        runtime::PoolBlock block = runtime::host_pool().take(bytes);
        gpu_.download(
            block.get(),
            array.storage()->gpu_block()->pointer() + static_cast<DevicePointer>(range.begin),
            bytes);
        return block;
    }
    /// Only the array's elements: what stands between them is not its own.
    static void write_back(const Array& array, void* bytes) {
        const ByteRange range = runtime::byte_range(array);
        void* const first = static_cast<std::byte*>(bytes) + (array.offset_bytes() - range.begin);
        runtime::assign(array, Array::view(first, array.dtype(), array.shape(), array.strides()));
    }

    const Executable& executable_;
    Gpu& gpu_;
    std::span<const Array* const> arguments_;
    std::vector<Place> arguments_at_;
    std::vector<BlockPtr> blocks_;  ///< held until the work has been enqueued
    std::vector<Copy> copies_in_;
    std::vector<Copy> copies_out_;
    std::vector<Array> outputs_;
    bool has_users_ = false;               ///< the user's memory is updated
    Lasting lasting_;                      ///< of this run
    bool may_last_ = false;                ///< there is such, and Ricci owns the arguments
    bool lasts_ = false;                   ///< an earlier run has made it
    std::vector<DevicePointer> pointers_;  ///< of the plan's buffers
    DevicePointer workspace_ = 0;
    std::size_t next_ = 0;           ///< the launch that comes next
    std::vector<void*> parameters_;  ///< of the launch at hand
};

std::vector<Array> Executable::run(std::span<const Array* const> arguments) const {
    std::vector<const Array*> apart;
    std::vector<Array> copies;
    if (!slots_.updated.empty()) {
        apart.assign(arguments.begin(), arguments.end());
        runtime::resolve_overlaps(program_, slots_.updated, apart, copies);
        arguments = apart;
    }
    if (!is_staged_) return run_kernels(arguments, arguments);
    return runtime::run_on_copies(slots_, arguments, [&](std::span<const Array* const> on_copies) {
        return run_kernels(on_copies, arguments);
    });
}

std::vector<Array> Executable::run_kernels(std::span<const Array* const> arguments,
                                           std::span<const Array* const> originals) const {
    gpu_->make_current();
    Run run(*this, arguments);
    run.bring_arguments();
    run.save_arguments();
    run.take_memory();
    run.pass_checks(originals);
    run.enqueue();
    return run.finish();
}

}  // namespace ricci::cuda
