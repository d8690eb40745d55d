// tests/codegen_cpu/compile_test.cpp – targets, images, loading and unloading
#include <array>
#include <cmath>
#include <regex>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.h"
#include "codegen/tile.h"
#include "tests/codegen_cpu/kernel_support.h"
#include "tests/support/set_variable.h"

namespace ricci::tests {
namespace {

using namespace codegen;

/// y[task] = value, under one name for all.
Nest fill(double value, std::string name = "fill") {
    Builder b(std::move(name));
    const BufferId y = b.argument("y", DType::f64, 4, true);
    return b.finish(4, {make_store(y, {form(b.task)}, make_number(DType::f64, value))});
}

double first_value(const cpu::Module& module, std::size_t kernel = 0) {
    std::vector<double> y(4);
    void* buffers[] = {y.data()};
    module.kernel(kernel)(0, 4, buffers);
    return y[0];
}

TEST_CASE("an image holds an entry point for each nest, in order") {
    const std::vector<Nest> nests = {fill(1), fill(2, "two nests")};
    const Image image = cpu::compile(nests, cpu::host_target());
    CHECK(image.symbols == std::vector<std::string>{"ricci_0_fill", "ricci_1_two_nests"});
    const cpu::Module module(image);
    CHECK(first_value(module, 0) == 1);
    CHECK(first_value(module, 1) == 2);
}

TEST_CASE("equal kernels are compiled once") {
    const std::vector<Nest> nests = {fill(7, "one"), fill(8, "two"), fill(7, "three")};
    const std::string assembly = cpu::emit_assembly(nests, cpu::host_target());
    CHECK(assembly.find("ricci_1_two") != std::string::npos);
    CHECK(assembly.find("three") == std::string::npos);
    const Image image = cpu::compile(nests, cpu::host_target());
    CHECK(image.symbols == std::vector<std::string>{"ricci_0_one", "ricci_1_two", "ricci_0_one"});
    const cpu::Module module(image);
    CHECK(first_value(module, 0) == 7);
    CHECK(first_value(module, 1) == 8);
    CHECK(first_value(module, 2) == 7);
}

TEST_CASE("pieces of work are objects of their own, in order whichever is done first") {
    const std::vector<Nest> nests = {fill(7, "one"), fill(8, "two"), fill(7, "three"),
                                     fill(9, "four")};
    std::int64_t most = 0;
    const cpu::ForEachPiece last_first = [&](std::int64_t pieces, const auto& piece) {
        most = pieces;
        for (std::int64_t i = pieces; i-- > 0;) piece(i);
    };
    const Image image = cpu::compile(nests, cpu::host_target(), last_first);
    CHECK(most == 3);
    REQUIRE(image.parts.size() == 3);
    CHECK(image.parts[2].bytes_end == image.bytes.size());
    CHECK(image.symbols == cpu::compile(nests, cpu::host_target()).symbols);
    const cpu::Module module(image);
    for (const auto& [kernel, value] : {std::pair{0, 7}, {1, 8}, {2, 7}, {3, 9}})
        CHECK(first_value(module, std::size_t(kernel)) == value);
}

TEST_CASE("an image without nests has nothing to load") {
    const cpu::Module serial(cpu::compile({}, cpu::host_target()));
    const cpu::Module in_pieces(cpu::compile(
        {}, cpu::host_target(), [](std::int64_t pieces, const auto&) { CHECK(pieces == 0); }));
}

TEST_CASE("a part that ends outside of its image is an error") {
    const Nest nest = fill(1);
    Image image = cpu::compile({&nest, 1}, cpu::host_target());
    ++image.parts[0].bytes_end;
    CHECK_THROWS_WITH_AS(cpu::Module{image},
                         doctest::Contains("a part of an image lies outside of it"), Error);
}

TEST_CASE("an image is bytes: a copy loads, and equal nests give equal bytes") {
    const Nest nest = fill(3);
    const Image image = cpu::compile({&nest, 1}, cpu::host_target());
    // Whatever the back end has written in between.
    const std::vector<Nest> others = {fill(4), fill(5, "other")};
    CHECK(cpu::compile(others, cpu::host_target()).bytes != image.bytes);
    CHECK(cpu::compile({&nest, 1}, cpu::host_target()).bytes == image.bytes);
    const Image copy = image;
    CHECK(first_value(cpu::Module(copy)) == 3);
}

TEST_CASE("modules with equal symbols live side by side") {
    const Nest a = fill(5);
    const Nest b = fill(6);
    const cpu::Module first(cpu::compile({&a, 1}, cpu::host_target()));
    const cpu::Module second(cpu::compile({&b, 1}, cpu::host_target()));
    CHECK(first_value(first) == 5);
    CHECK(first_value(second) == 6);
}

TEST_CASE("kernels are compiled and loaded by several threads at once") {
    std::vector<double> found(8);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < found.size(); ++i) {
        threads.emplace_back([&found, i] {
            const Nest nest = fill(double(i));
            found[i] = first_value(cpu::Module(cpu::compile({&nest, 1}, cpu::host_target())));
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(found == std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("a task range runs those tasks alone") {
    const Nest nest = fill(1);
    const cpu::Module module(cpu::compile({&nest, 1}, cpu::host_target()));
    std::vector<double> y(4);
    void* buffers[] = {y.data()};
    module.kernel(0)(1, 3, buffers);
    CHECK(y == std::vector<double>{0, 1, 1, 0});
}

TEST_CASE("a corrupt image is an error") {
    Image image{.format = Image::Format::elf_object, .symbols = {"a"}, .bytes = {}};
    image.bytes.resize(100);
    CHECK_THROWS_AS(cpu::Module{image}, Error);
}

TEST_CASE("a missing entry point is an error that names it") {
    const Nest nest = fill(1);
    Image image = cpu::compile({&nest, 1}, cpu::host_target());
    image.symbols[0] = "elsewhere";
    CHECK_THROWS_WITH_AS(
        cpu::Module{image},
        doctest::Contains("internal: cannot load kernel `elsewhere`: Symbols not found"), Error);
}

TEST_CASE("text and assembly show vectors of the target") {
    Builder b("twice");
    const BufferId x = b.argument("x", DType::f32, 16);
    const BufferId y = b.argument("y", DType::f32, 16, true);
    const VarId lane = b.var("lane");
    const Value value = b.load(x, form(lane));
    const Nest nest =
        b.finish(1, {make_loop(lane, Bind::vector, 16,
                               {make_store(y, {form(lane)},
                                           make_operation(Op::add, {value, value}, DType::f32))})});
    const Target target = cpu::named_target("avx512");
    CHECK(cpu::emit_text({&nest, 1}, target).find("fadd <16 x float>") != std::string::npos);
    CHECK(cpu::emit_assembly({&nest, 1}, target).find("zmm") != std::string::npos);
    CHECK(cpu::emit_assembly({&nest, 1}, cpu::named_target("sse2")).find("ymm") ==
          std::string::npos);
}

TEST_CASE("AVX2 stores the first lanes of a vector in pieces") {
    const Target host = cpu::host_target();
    const Target avx2 = cpu::named_target("avx2");
    for (std::int64_t count = 0; count <= 8; ++count) {
        Builder b("first");
        const BufferId x = b.argument("x", DType::f32, 8);
        const BufferId y = b.argument("y", DType::f32, 8, true);
        const VarId lane = b.var("lane");
        LoopBound upper = bound(8);
        upper.push_back({form(count)});
        const Nest nest =
            b.finish(1, {make_loop(lane, Bind::vector, bound(0), upper,
                                   {make_store(y, {form(lane)}, b.load(x, form(lane)))})});
        const std::string text = cpu::emit_text({&nest, 1}, avx2);
        CHECK_MESSAGE(text.find("llvm.masked.store") == std::string::npos, text);
        CHECK_MESSAGE((text.find("store <4 x float>") != std::string::npos) == (count % 8 >= 4),
                      text);
        CHECK_MESSAGE((text.find("store <2 x float>") != std::string::npos) == (count % 4 >= 2),
                      text);

        const cpu::Module module(cpu::compile({&nest, 1}, host.vector_bytes > 32 ? avx2 : host));
        std::vector<float> from = {1, 2, 3, 4, 5, 6, 7, 8};
        std::vector<float> to(8, 9);
        void* buffers[] = {from.data(), to.data()};
        module.kernel(0)(0, 1, buffers);
        std::fill(from.begin() + count, from.end(), 9.0F);
        CHECK(to == from);
    }
}

TEST_CASE("AVX2 stores whole vectors where a mask is full") {
    Builder b("some");
    const BufferId x = b.argument("x", DType::f32, 8);
    const BufferId y = b.argument("y", DType::f32, 8, true);
    const VarId lane = b.var("lane");
    const Value value = b.load(x, form(lane));
    const Value is_positive =
        make_operation(Op::gt, {value, make_number(DType::f32, 0)}, DType::boolean);
    Body lanes = guarded(is_positive, {make_store(y, {form(lane)}, value)});
    const Nest nest = b.finish(1, {make_loop(lane, Bind::vector, 8, std::move(lanes))});
    const std::string text = cpu::emit_assembly({&nest, 1}, cpu::named_target("avx2"));
    CHECK(text.find("vmaskmovps\t%ymm") != std::string::npos);
    CHECK(text.find("vmovups\t%ymm") != std::string::npos);
    CHECK(cpu::emit_text({&nest, 1}, cpu::named_target("avx512")).find("store <8 x float>") ==
          std::string::npos);

    const Target host = cpu::host_target();
    const bool is_wide = host.vector_bytes > 32;
    const cpu::Module module(cpu::compile({&nest, 1}, is_wide ? cpu::named_target("avx2") : host));
    for (const bool is_full : {true, false}) {
        std::vector<float> from = {1, 2, 3, 4, 5, 6, 7, 8};
        if (!is_full) from[3] = from[6] = -1;
        std::vector<float> to(8, 9);
        void* buffers[] = {from.data(), to.data()};
        module.kernel(0)(0, 1, buffers);
        for (float& each : from) each = each > 0 ? each : 9;
        CHECK(to == from);
    }
}

TEST_CASE("two guards of which one holds are one branch") {
    Builder b("either");
    const BufferId x = b.argument("x", DType::f64, 1);
    const BufferId y = b.argument("y", DType::f64, 1, true);
    const Value is_positive =
        make_operation(Op::gt, {b.load(x, form(0)), make_number(DType::f64, 0)}, DType::boolean);
    const Value name = make_let_value(1, DType::boolean);
    const auto store = [&](double value) {
        return Body{make_store(y, {form(0)}, make_number(DType::f64, value))};
    };
    Body body = {make_let(1, is_positive)};
    append(body, guarded(name, store(1)));
    append(body, guarded(make_operation(Op::logical_not, {name}, DType::boolean), store(2)));
    const Nest nest = b.finish(1, std::move(body));
    const std::string text = cpu::emit_text({&nest, 1}, cpu::host_target());
    CHECK(text.find("fcmp") == text.rfind("fcmp"));
    CHECK(text.find("xor i1") == std::string::npos);

    const cpu::Module module(cpu::compile({&nest, 1}, cpu::host_target()));
    for (const double value : {3.0, -3.0, std::nan("")}) {
        double from = value;
        double to = 0;
        void* buffers[] = {&from, &to};
        module.kernel(0)(0, 1, buffers);
        CHECK(to == (value > 0 ? 1 : 2));
    }
}

TEST_CASE("constants of functions do not wander through registers") {
    struct Case {
        Op op;
        DType dtype;
        const char* target;
        std::int64_t lanes;
        const char* copy;  ///< from register to register
        std::size_t most_copies;
        const char* loaded;  ///< a constant that is read from memory
    };
    const auto with_avx2 = [](Op op) {
        return Case{op, DType::f32, "avx2", 8, "vmovaps\t%ymm", 2, "vfmadd[0-9]+ps\t.*\\(%rip\\)"};
    };
    // AVX-512's registers are too few for the polynomials of f64.
    for (const auto& [op, dtype, target, lanes, copy, most_copies, loaded] :
         {with_avx2(Op::exp), with_avx2(Op::tanh), with_avx2(Op::erf),
          Case{Op::gelu, DType::f64, "avx512", 8, "vmovapd\t%zmm", 6, "vfmadd[0-9]+pd\t\"ricci"}}) {
        Builder b("function");
        const BufferId x = b.argument("x", dtype, 1024);
        const BufferId y = b.argument("y", dtype, 1024, true);
        const VarId start = b.var("start");
        const VarId lane = b.var("lane");
        const Value value = make_operation(op, {b.load(x, form(start) + form(lane))}, dtype);
        Body vectors;
        vectors.push_back(make_loop(lane, Bind::vector, lanes,
                                    {make_store(y, {form(start) + form(lane)}, value)}));
        const Nest nest = b.finish(
            1, {make_loop(start, Bind::serial, bound(0), bound(1024), std::move(vectors), lanes)});
        const std::string text = cpu::emit_assembly({&nest, 1}, cpu::named_target(target));
        std::size_t copies = 0;
        for (std::size_t at = text.find(copy); at != std::string::npos;
             at = text.find(copy, at + 1))
            ++copies;
        CAPTURE(text);
        CHECK(copies <= most_copies);
        CHECK(std::regex_search(text, std::regex(loaded)));
    }
}

TEST_CASE("streaming stores of aligned vectors go around the caches") {
    // An array that may begin anywhere gets two kernels, told apart at each call.
    for (const std::int64_t alignment : {64, 4}) {
        CAPTURE(alignment);
        Builder b("zeros");
        const BufferId y = b.argument("y", DType::f32, 1024, true);
        b.nest.buffers[0].alignment = alignment;
        const VarId lane = b.var("lane");
        Stmt store = make_store(y, {form(b.task, 16) + form(lane)}, make_number(DType::f32, 0));
        std::get<Store>(store.node).hint = StoreHint::streaming;
        const Nest nest = b.finish(64, {make_loop(lane, Bind::vector, 16, {store})});
        const std::string text = cpu::emit_assembly({&nest, 1}, cpu::named_target("avx512"));
        CHECK(text.find("vmovntps") != std::string::npos);
        CHECK(text.find("sfence") != std::string::npos);
        CHECK((text.find("vmovups\t%zmm0, (%") != std::string::npos) == (alignment == 4));
    }
}

TEST_CASE("streaming stores go around the caches in each task's part of a loop") {
    Builder b("zeros");
    const BufferId y = b.argument("y", DType::f32, 1024, true);
    const VarId start = b.var("start");
    const VarId lane = b.var("lane");
    Stmt store = make_store(y, {form(start) + form(lane)}, make_number(DType::f32, 0));
    std::get<Store>(store.node).hint = StoreHint::streaming;
    Body lanes;
    lanes.push_back(make_loop(lane, Bind::vector, 16, {store}));
    const Nest nest =
        b.finish(2, {make_loop(start, Bind::serial, bound(form(b.task, 512)),
                               with(bound(1024), form(b.task, 512) + form(512)), lanes, 16)});
    CHECK(cpu::emit_assembly({&nest, 1}, cpu::named_target("avx512")).find("vmovntps") !=
          std::string::npos);
}

TEST_CASE("stores that are never aligned have one kernel") {
    Builder b("zeros");
    const BufferId y = b.argument("y", DType::f32, 1025, true);
    b.nest.buffers[0].alignment = 4;
    const VarId lane = b.var("lane");
    Stmt store =
        make_store(y, {form(1) + form(b.task, 16) + form(lane)}, make_number(DType::f32, 0));
    std::get<Store>(store.node).hint = StoreHint::streaming;
    const Nest nest = b.finish(64, {make_loop(lane, Bind::vector, 16, {store})});
    const std::string text = cpu::emit_text({&nest, 1}, cpu::named_target("avx512"));
    CHECK(text.find("aligned:") == std::string::npos);
    CHECK(text.find("nontemporal") == std::string::npos);
}

TEST_CASE("large outputs are written wherever they begin") {
    Builder b("numbers");
    const BufferId y = b.argument("y", DType::f32, 1024, true);
    b.nest.buffers[0].alignment = 4;
    const VarId lane = b.var("lane");
    const AffineForm at = form(b.task, 16) + form(lane);
    Stmt store = make_store(y, {at}, make_convert(make_index(at), DType::f32));
    std::get<Store>(store.node).hint = StoreHint::streaming;
    const Nest nest = b.finish(64, {make_loop(lane, Bind::vector, 16, {store})});
    alignas(64) std::array<float, 1040> memory{};
    for (const std::size_t offset : {0U, 1U, 15U}) {
        memory.fill(-1);
        run(nest, cpu::host_target(), 64, {memory.data() + offset});
        for (std::size_t i = 0; i < memory.size(); ++i) {
            const bool is_inside = i >= offset && i < offset + 1024;
            CHECK(memory[i] == (is_inside ? float(i - offset) : -1.0F));
        }
    }
}

TEST_CASE("RICCI_TARGET names the target, as far as the machine goes") {
    const SetVariable variable("RICCI_TARGET", "sse2");
    CHECK(cpu::host_target().vector_bytes == 16);
    const SetVariable unknown("RICCI_TARGET", "neon");
    CHECK_THROWS_AS(std::ignore = cpu::host_target(), Error);
}

TEST_CASE("an unknown target is an error") {
    CHECK_THROWS_WITH_AS(
        (void)cpu::named_target("neon"),
        "device: no target `neon`\n  = hint: the targets are avx512, avx2 and sse2", Error);
}

TEST_CASE("a type that is not supported yet is an error") {
    Builder b("complex");
    const BufferId y = b.argument("y", DType::c64, 1, true);
    const Nest nest = b.finish(1, {make_store(y, {form(0)}, b.load(y, form(0)))});
    CHECK_THROWS_WITH_AS((void)cpu::compile({&nest, 1}, cpu::host_target()),
                         "type: c64 is not supported yet by the CPU compiler", Error);
}

}  // namespace
}  // namespace ricci::tests
