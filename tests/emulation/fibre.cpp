// tests/emulation/fibre.cpp – stacks that are switched between: one a CUDA thread
//
// Compiled without sanitizers, whose functions are called by name where the program has them.
#include "tests/emulation/fibre.h"

#include <sys/mman.h>
#include <unistd.h>

#if !defined(__x86_64__) || defined(RICCI_UCONTEXT)
#include <ucontext.h>
#define RICCI_SWITCH_BY_UCONTEXT
#endif

#include <new>
#include <utility>

#include "base/error.h"

extern "C" {
void* __tsan_get_current_fiber() __attribute__((weak));
void* __tsan_create_fiber(unsigned flags) __attribute__((weak));
void __tsan_destroy_fiber(void* fiber) __attribute__((weak));
void __tsan_switch_to_fiber(void* fiber, unsigned flags) __attribute__((weak));
void __tsan_acquire(void* address) __attribute__((weak));
void __tsan_release(void* address) __attribute__((weak));
void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom, std::size_t size)
    __attribute__((weak));
void __sanitizer_finish_switch_fiber(void* fake_stack, const void** bottom, std::size_t* size)
    __attribute__((weak));
void __asan_unpoison_memory_region(const volatile void* address, std::size_t size)
    __attribute__((weak));
}

namespace ricci::emulation {
namespace {

// ThreadSanitizer clears four times as much for every block.
const std::size_t stack_bytes = std::size_t(__tsan_create_fiber != nullptr ? 64 : 256) << 10;
constexpr unsigned no_sync = 1;  // a switch of fibres orders nothing

}  // namespace

bool has_thread_sanitizer() noexcept { return __tsan_create_fiber != nullptr; }
bool has_address_sanitizer() noexcept { return __asan_unpoison_memory_region != nullptr; }

#ifdef RICCI_SWITCH_BY_UCONTEXT

namespace {
using Context = ucontext_t;

void prepare(Context& context, char* stack, Fibres::Body body) {
    getcontext(&context);
    context.uc_stack.ss_sp = stack;
    context.uc_stack.ss_size = stack_bytes;
    context.uc_link = nullptr;
    makecontext(&context, body, 0);
}
void switch_context(Context& from, Context& to) { swapcontext(&from, &to); }
}  // namespace

#else

// Saves what a called function has to keep, changes stacks, and takes back what is there.
extern "C" void ricci_switch_stack(void** from, void* to);
asm(R"(
.text
.type ricci_switch_stack,@function
ricci_switch_stack:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size ricci_switch_stack, .-ricci_switch_stack
)");

namespace {
using Context = void*;

void prepare(Context& context, char* stack, Fibres::Body body) {
    // What the switch takes off: six registers and where to return to. A function begins with its
    // return address on the stack, 8 short of a multiple of 16: here a null one.
    auto** top = reinterpret_cast<void**>(stack + stack_bytes);
    *--top = nullptr;
    *--top = reinterpret_cast<void*>(body);
    for (int n = 0; n < 6; ++n) *--top = nullptr;
    context = top;
}
void switch_context(Context& from, Context& to) { ricci_switch_stack(&from, to); }
}  // namespace

#endif

struct Fibres::State {
    struct Fibre {
        Context context{};
        void* sanitizer = nullptr;   // TSan's fibre
        void* fake_stack = nullptr;  // ASan's
        char* stack = nullptr;
    };
    std::vector<Fibre> fibres;
    Context caller{};
    void* caller_sanitizer = nullptr;
    void* caller_fake_stack = nullptr;
    const void* caller_bottom = nullptr;
    std::size_t caller_bytes = 0;
    std::size_t current = 0;

    char* stacks = nullptr;
    std::size_t stack_count = 0;

    // Objects that ThreadSanitizer orders by. Barriers take turns: one object would order more than
    // the barrier does.
    char barriers[2] = {};
    char end = 0;

    static std::size_t pitch() { return stack_bytes + page_bytes(); }
    static std::size_t page_bytes() {
        static const auto bytes = std::size_t(sysconf(_SC_PAGESIZE));
        return bytes;
    }

    void release_stacks() {
        // What comes to lie there next is not poisoned.
        if (stacks != nullptr && has_address_sanitizer())
            __asan_unpoison_memory_region(stacks, stack_count * pitch());
        if (stacks != nullptr) munmap(stacks, stack_count * pitch());
        stacks = nullptr;
        stack_count = 0;
    }
    /// Stacks with a page below each that traps.
    void need_stacks(std::size_t count) {
        // To ThreadSanitizer, memory that two blocks use one after the other is a race.
        if (count <= stack_count && !has_thread_sanitizer()) return;
        release_stacks();
        void* memory = mmap(nullptr, count * pitch(), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        stacks = static_cast<char*>(memory);
        stack_count = count;
        // ... which takes the time of a block, where there are new ones for each.
        for (std::size_t n = 0; n < count && !has_thread_sanitizer(); ++n)
            mprotect(stacks + n * pitch(), page_bytes(), PROT_NONE);
    }
    void drop_sanitizer_fibres() {
        for (Fibre& fibre : fibres)
            if (fibre.sanitizer != nullptr)
                __tsan_destroy_fiber(std::exchange(fibre.sanitizer, nullptr));
    }
};

Fibres::Fibres() : state_(std::make_unique<State>()) {}
Fibres::~Fibres() {
    state_->drop_sanitizer_fibres();
    state_->release_stacks();
}

void Fibres::start(std::size_t count, Body body) {
    state_->drop_sanitizer_fibres();
    state_->need_stacks(count);
    state_->fibres.assign(count, {});
    for (std::size_t n = 0; n < count; ++n) {
        State::Fibre& fibre = state_->fibres[n];
        fibre.stack = state_->stacks + n * State::pitch() + State::page_bytes();
        // Of a fibre that was left for good, ASan still knows the frames.
        if (has_address_sanitizer()) __asan_unpoison_memory_region(fibre.stack, stack_bytes);
        prepare(fibre.context, fibre.stack, body);
        if (has_thread_sanitizer()) fibre.sanitizer = __tsan_create_fiber(0);
    }
}

void Fibres::begin() {
    if (__sanitizer_finish_switch_fiber != nullptr)
        __sanitizer_finish_switch_fiber(nullptr, &state_->caller_bottom, &state_->caller_bytes);
}

void Fibres::enter(std::size_t number) {
    State& state = *state_;
    State::Fibre& fibre = state.fibres[number];
    state.current = number;
    if (has_thread_sanitizer()) {
        state.caller_sanitizer = __tsan_get_current_fiber();
        __tsan_switch_to_fiber(fibre.sanitizer, no_sync);
    }
    if (__sanitizer_start_switch_fiber != nullptr)
        __sanitizer_start_switch_fiber(&state.caller_fake_stack, fibre.stack, stack_bytes);
    switch_context(state.caller, fibre.context);
    if (__sanitizer_finish_switch_fiber != nullptr)
        __sanitizer_finish_switch_fiber(state.caller_fake_stack, nullptr, nullptr);
}

void Fibres::leave(bool is_last) {
    State& state = *state_;
    State::Fibre& fibre = state.fibres[state.current];
    if (has_thread_sanitizer() && is_last) __tsan_release(&state.end);
    if (has_thread_sanitizer()) __tsan_switch_to_fiber(state.caller_sanitizer, no_sync);
    if (__sanitizer_start_switch_fiber != nullptr)
        __sanitizer_start_switch_fiber(is_last ? nullptr : &fibre.fake_stack, state.caller_bottom,
                                       state.caller_bytes);
    switch_context(fibre.context, state.caller);
    if (__sanitizer_finish_switch_fiber != nullptr)
        __sanitizer_finish_switch_fiber(fibre.fake_stack, nullptr, nullptr);
}

void Fibres::join() {
    if (has_thread_sanitizer()) __tsan_acquire(&state_->end);
    state_->drop_sanitizer_fibres();
}
void Fibres::arrive(std::uint64_t barrier) {
    if (has_thread_sanitizer()) __tsan_release(&state_->barriers[barrier & 1]);
}
void Fibres::pass(std::uint64_t barrier) {
    if (has_thread_sanitizer()) __tsan_acquire(&state_->barriers[barrier & 1]);
}

}  // namespace ricci::emulation
