// tests/codegen_cuda/compile_test.cpp – images made by NVRTC, and what cubins say of kernels
#include "runtime/cuda/compile.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "runtime/cuda/cubin.h"
#include "tests/codegen_cuda/gpu_builder.h"
#include "tests/codegen_cuda/nvrtc_check.h"

namespace ricci::tests {
namespace {

using namespace codegen;

Body one(Stmt stmt) {
    Body body;
    body.push_back(std::move(stmt));
    return body;
}

/// y = 2x, `copies` times in a row.
Nest doubling(std::int64_t copies = 1) {
    GpuBuilder b("doubling");
    const BufferId x = b.argument("x");
    const BufferId y = b.result("y");
    const VarId u = b.var("u");
    const AffineForm at = form(b.block, 64) + form(b.thread) + form(u, 1024);
    const Value twice =
        make_operation(Op::mul, {b.load(x, at), make_number(DType::f32, 2)}, DType::f32);
    return b.finish(one(make_loop(u, Bind::unroll, copies, one(make_store(y, {at}, twice)))));
}

TEST_CASE("an image has an entry point for each nest and what it takes") {
    if (!has_nvrtc()) return;
    const std::vector<Nest> nests = {doubling(), doubling(4)};
    const Image image = ricci::cuda::compile(nests, gpu_target(90));
    CHECK(image.format == Image::Format::cubin);
    CHECK(image.symbols == std::vector<std::string>{"ricci_0_doubling", "ricci_1_doubling"});
    REQUIRE(image.parts.size() == 1);
    CHECK(image.parts[0].bytes_end == image.bytes.size());
    CHECK(image.parts[0].symbols_end == 2);
    REQUIRE(image.resources.size() == 2);
    CHECK(image.resources[0].registers >= 8);
    CHECK(image.resources[0].spill_bytes == 0);
    CHECK(image.log.find("Compiling entry function 'ricci_1_doubling'") != std::string::npos);
    CHECK(ricci::cuda::compile(nests, gpu_target(90)).bytes == image.bytes);
}

TEST_CASE("long kernels are modules of their own") {
    if (!has_nvrtc()) return;
    const std::vector<Nest> nests = {doubling(), doubling(300), doubling(300), doubling()};
    const Image image = ricci::cuda::compile(nests, gpu_target(80));
    REQUIRE(image.parts.size() == 2);
    CHECK(image.parts[0].symbols_end == 2);
    CHECK(image.parts[1].symbols_end == 4);
    CHECK(image.parts[1].bytes_end == image.bytes.size());
    const auto second =
        ricci::cuda::read_cubin(std::span(image.bytes).subspan(image.parts[0].bytes_end));
    REQUIRE(second.size() == 2);
    CHECK(image.resources.size() == 4);
}

TEST_CASE("a GPU that NVRTC does not know gets PTX") {
    if (!has_nvrtc()) return;
    const Nest nest = doubling();
    const Image image = ricci::cuda::compile({&nest, 1}, gpu_target(999));
    CHECK(image.format == Image::Format::ptx);
    REQUIRE(!image.bytes.empty());
    CHECK(image.bytes.back() == std::byte{0});
    CHECK(image.resources == std::vector<KernelResources>{{}});
    CHECK(ricci::cuda::read_cubin(image.bytes).empty());
    try {
        (void)ricci::cuda::compile({&nest, 1}, gpu_target(20));
        FAIL("compute capability 2.0 is accepted");
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::device);
        CHECK(error.diagnosis().message ==
              "this NVRTC makes no code for GPUs of compute capability 2.0");
    }
}

TEST_CASE("PTX can be looked at") {
    if (!has_nvrtc()) return;
    const std::vector<Nest> nests = {doubling(), doubling(2)};
    const std::string text = ricci::cuda::emit_ptx(nests, gpu_target(90));
    CHECK(text.find(".entry ricci_0_doubling(") != std::string::npos);
    CHECK(text.find(".entry ricci_1_doubling(") != std::string::npos);
    CHECK(text.find('\0') == std::string::npos);
}

TEST_CASE("the compiler's text is in the error for a kernel that it rejects") {
    if (!has_nvrtc()) return;
    Nest nest = doubling();
    nest.name = "half";
    GpuBuilder b("huge");
    const BufferId y = b.result("y");
    b.registers("r", std::int64_t{1} << 62);
    const std::vector<Nest> nests = {
        nest, b.finish(one(make_store(y, {form(b.thread)}, make_number(DType::f32, 0))))};
    try {
        (void)ricci::cuda::compile(nests, gpu_target(90));
        FAIL("an array of 2^64 bytes is accepted");
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::internal);
        const std::string& message = error.diagnosis().message;
        CHECK(message.starts_with("NVRTC rejects the text of `half`, `huge`\n"));
        CHECK(message.find("kernels.cu(") != std::string::npos);
        CHECK(message.find("array is too large") != std::string::npos);
    }
}

TEST_CASE("cache keys hold the compiler's version") {
    if (!has_nvrtc()) return;
    const std::string version = ricci::cuda::compiler_version();
    CHECK(version.starts_with("ricci-cuda-1 nvrtc-"));
    CHECK(version.find('.') != std::string::npos);
}

// --- cubins --------------------------------------------------------------------------------------

TEST_CASE("instructions of a cubin are counted, those of its main loop apart") {
    if (!has_nvrtc()) return;
    GpuBuilder b("products");
    const BufferId x = b.argument("x", DType::f32, 4096);
    const BufferId y = b.result("y", DType::f32, 4096);
    const BufferId tile = b.shared("tile", 1024);
    const BufferId acc = b.registers("acc", 16);
    const BufferId left = b.registers("left", 4);
    const VarId k = b.var("k"), i = b.var("i"), j = b.var("j"), u = b.var("u"), w = b.var("w");
    const auto product =
        make_operation(Op::mul, {b.load(left, form(i)), b.load(left, form(j))}, DType::f32);
    Body inner;
    inner.push_back(make_loop(
        u, Bind::vector, 4,
        one(make_store(left, {form(u)}, b.load(tile, form(k, 4) + form(b.thread, 4) + form(u))))));
    inner.push_back(make_loop(
        i, Bind::unroll, 4,
        one(make_loop(j, Bind::unroll, 4,
                      one(make_store(acc, {form(i, 4) + form(j)}, product, Reducer::sum))))));
    Body body;
    body.push_back(make_store(tile, {form(b.thread)}, b.load(x, form(b.thread))));
    body.push_back({Barrier{}});
    const VarId v = b.var("v");
    body.push_back(make_loop(v, Bind::unroll, 16,
                             one(make_store(acc, {form(v)}, make_number(DType::f32, 0)))));
    body.push_back(make_loop(k, Bind::serial, bound(0), bound(form(b.block)), std::move(inner)));
    body.push_back(
        make_loop(w, Bind::unroll, 16,
                  one(make_store(y, {form(b.thread, 16) + form(w)}, b.load(acc, form(w))))));
    const Nest nest = b.finish(std::move(body), 64, 64);
    for (const int capability : {80, 90}) {
        CAPTURE(capability);
        const Image image = ricci::cuda::compile({&nest, 1}, gpu_target(capability));
        const auto kernels = ricci::cuda::read_cubin(image.bytes);
        REQUIRE(kernels.size() == 1);
        const ricci::cuda::CubinKernel& kernel = kernels[0];
        CHECK(kernel.name == image.symbols[0]);
        CHECK(kernel.resources.registers == image.resources[0].registers);
        CHECK(image.log.find(format("Used {} registers", kernel.resources.registers)) !=
              std::string::npos);
        CHECK(kernel.resources.stack_bytes == 0);
        CHECK(kernel.resources.shared_bytes == 0);  // all of it is dynamic
        CHECK(image.resources[0].shared_bytes == 4096);
        CHECK(ricci::cuda::count(kernel.opcodes, "BAR") == 1);
        CHECK(ricci::cuda::count(kernel.opcodes, "STS") == 1);
        CHECK(ricci::cuda::count(kernel.opcodes, "LDG") == 1);
        CHECK(ricci::cuda::count(kernel.opcodes, "LDL") == 0);
        // However often the loop is unrolled: 16 products for each 128-bit load.
        const std::int64_t loads = ricci::cuda::count(kernel.main_loop, "LDS.128");
        CHECK(loads >= 1);
        CHECK(ricci::cuda::count(kernel.main_loop, "FFMA") == 16 * loads);
        CHECK(ricci::cuda::count(kernel.opcodes, "FFMA") >= 16 * loads);
        CHECK(ricci::cuda::total(kernel.main_loop) < ricci::cuda::total(kernel.opcodes));
    }
}

TEST_CASE("what is no cubin has no kernels") {
    CHECK(ricci::cuda::read_cubin({}).empty());
    std::vector<std::byte> bytes(64, std::byte{0});
    CHECK(ricci::cuda::read_cubin(bytes).empty());
    const std::string_view magic = "\177ELF\2\1";
    for (std::size_t i = 0; i < magic.size(); ++i) bytes[i] = std::byte(magic[i]);
    CHECK(ricci::cuda::read_cubin(bytes).empty());
    bytes[0x12] = std::byte{190};
    bytes[0x3c] = std::byte{255};  // sections that are not there
    bytes[0x3a] = std::byte{64};
    CHECK(ricci::cuda::read_cubin(bytes).empty());
}

TEST_CASE("damaged cubins are read without harm") {
    if (!has_nvrtc()) return;
    const Nest nest = doubling();
    const Image image = ricci::cuda::compile({&nest, 1}, gpu_target(90));
    for (std::size_t length = 0; length < image.bytes.size(); length += 13)
        (void)ricci::cuda::read_cubin(std::span(image.bytes).first(length));
    std::vector<std::byte> bytes = image.bytes;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        const std::byte old = std::exchange(bytes[at], std::byte{0xff});
        (void)ricci::cuda::read_cubin(bytes);
        bytes[at] = old;
    }
    CHECK(ricci::cuda::read_cubin(bytes).size() == 1);
}

// --- operations ----------------------------------------------------------------------------------

TEST_CASE("every operation compiles for every type that has it") {
    if (!has_nvrtc()) return;
    std::vector<Nest> nests;
    for (const DType dtype :
         {DType::f32, DType::f64, DType::i64, DType::i32, DType::u8, DType::u64, DType::boolean}) {
        GpuBuilder b(std::string(name(dtype)));
        const AffineForm at = form(b.thread);
        const Value x = b.load(b.argument("x", dtype), at);
        const Value y = b.load(b.argument("y", dtype), at);
        const BufferId z = b.result("z", dtype);
        const BufferId truth = b.result("truth", DType::boolean);
        Body body;
        std::int64_t n = 0;
        for (const OpInfo& row : all_ops()) {
            const bool is_logic = row.precedence == Precedence::logical_and ||
                                  row.precedence == Precedence::logical_or ||
                                  row.op == Op::logical_not;
            if (is_logic && dtype != DType::boolean) continue;
            if (!is_floating(dtype) && row.type == TypeRule::floating) continue;
            if (row.op == Op::angle && !is_floating(dtype)) continue;
            std::vector<Value> args(std::size_t(row.min_arity), y);
            args[0] = row.op == Op::select ? make_operation(Op::eq, {x, y}, DType::boolean) : x;
            const bool is_test = row.type == TypeRule::boolean;
            const DType type = is_test ? DType::boolean : dtype;
            body.push_back(make_store(is_test ? truth : z, {at + form(64 * n++)},
                                      make_operation(row.op, std::move(args), type)));
        }
        for (const DType to : {DType::f32, DType::f64, DType::i64, DType::i32, DType::i8,
                               DType::u16, DType::u64, DType::boolean}) {
            const BufferId converted = b.result(format("to_{}", name(to)), to);
            body.push_back(make_store(converted, {at}, make_convert(x, to)));
            const Stmt stored = body.back();
            if (is_floating(to)) continue;
            body.push_back({Fold{.number = std::uint32_t(to),
                                 .value = make_convert(x, to),
                                 .reducer = Reducer::max,
                                 .width = 32}});
            body.push_back(make_store(converted, {at}, make_let_value(std::uint32_t(to), to)));
        }
        nests.push_back(b.finish(std::move(body)));
    }
    const Image image = ricci::cuda::compile(nests, gpu_target(90));
    CHECK(image.symbols.size() == nests.size());
}

/// A pass over lanes of neighbours, of any type and alignment, masked or not, streaming or not.
Nest pass(DType dtype, std::int64_t lanes, std::int64_t stride, bool is_masked, StoreHint hint) {
    GpuBuilder b("pass");
    const BufferId x = b.argument("x", dtype);
    const BufferId y = b.result("y", dtype);
    const BufferId s = b.shared("s", 16384 / std::int64_t(size_bytes(dtype)), dtype);
    const VarId lane = b.var("lane");
    const AffineForm at = form(b.thread, stride) + form(lane);
    const BufferId target = hint == StoreHint::asynchronous ? s : y;
    LoopBound upper = bound(lanes);
    if (is_masked) upper = with(std::move(upper), form(1001) - form(b.thread, stride));
    Body body;
    body.push_back(make_loop(lane, Bind::vector, bound(0), std::move(upper),
                             one({Store{target, {at}, b.load(x, at), std::nullopt, hint}})));
    body.push_back({Commit{}});
    body.push_back({Wait{0}});
    body.push_back({Barrier{}});
    body.push_back(make_store(y, {form(b.thread)}, b.load(s, form(63) - form(b.thread))));
    return b.finish(std::move(body));
}

TEST_CASE("accesses of every width compile") {
    if (!has_nvrtc()) return;
    std::vector<Nest> nests;
    for (const auto& [dtype, lanes] :
         std::vector<std::pair<DType, std::int64_t>>{{DType::f32, 4},
                                                     {DType::f32, 2},
                                                     {DType::f64, 2},
                                                     {DType::i64, 2},
                                                     {DType::i16, 8},
                                                     {DType::boolean, 16}})
        for (const std::int64_t stride : {lanes, lanes / 2, std::int64_t{1}})
            for (const bool is_masked : {false, true})
                for (const StoreHint hint :
                     {StoreHint::normal, StoreHint::streaming, StoreHint::asynchronous})
                    nests.push_back(pass(dtype, lanes, stride, is_masked, hint));
    const Image image = ricci::cuda::compile(nests, gpu_target(80));
    CHECK(image.symbols.size() == nests.size());
    for (const KernelResources& resources : image.resources) CHECK(resources.stack_bytes == 0);
}

}  // namespace
}  // namespace ricci::tests
