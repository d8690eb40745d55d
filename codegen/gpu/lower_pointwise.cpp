// codegen/gpu/lower_pointwise.cpp – one pass over memory, a thread for each point
#include "codegen/gpu/lower.h"
#include "codegen/gpu/threads.h"
#include "codegen/tile.h"

namespace ricci::codegen::gpu {

void lower_pointwise(Kernel kernel, PlanBuilder& builder) {
    Schedule schedule{Strategy::pointwise, kernel.nest.name, {}};
    const std::int64_t count = points(kernel.free);
    constexpr std::int64_t threads = 256;
    kernel.nest.body = launch(
        kernel.nest, ceil_div(count, threads), threads, [&](VarId block, VarId thread) {
            const VarId item = kernel.nest.add(Var{"item"});
            Substitution here;
            Body body = name_axes(kernel.free, form(item));
            append(body, write_all(kernel, here));
            Body loops;
            loops.push_back(make_loop(item, Bind::serial,
                                      bound(form(block, threads) + form(thread)),
                                      bound(count), std::move(body), count + threads));
            return loops;
        });
    builder.add_step(std::move(kernel), std::move(schedule));
}

}  // namespace ricci::codegen::gpu
