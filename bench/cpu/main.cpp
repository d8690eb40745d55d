// bench/cpu/main.cpp – bench_cpu: the table of goals on a CPU, ours beside peers and limits
#include <CLI/CLI.hpp>
#include <cstdio>

#include "runtime/cpu_rates.h"

#include "bench/cpu/peers.h"
#include "bench/cpu/torch_peer.h"
#include "bench/harness.h"

int main(int argc, char** argv) try {
    CLI::App app("The table of goals: each workload checked, then timed in turn with its peers");
    bench::Options options;
    app.add_option("--threads", options.threads, "threads of ours and of the peers");
    app.add_option("--rounds", options.rounds, "rounds of which medians are taken");
    app.add_option("--json", options.json, "a file to which a row is added for each workload");
    bool is_other = false;
    app.add_flag("--others", is_other, "sizes and layers that the table does not list");
    app.add_option("TEXT", options.chosen, "workloads whose row and name hold one of these");
    CLI11_PARSE(app, argc, argv);
    ricci::set_num_threads(options.threads);
    bench::print_header(options.threads);
    bench::open_peers(options.threads);
    bench::open_torch(options.threads);
    std::printf("limits: %.1f GFLOP/s multiply-add, %.1f distance\n",
                ricci::runtime::multiply_add_rate(ricci::DType::f32, options.threads, 0.2) * 1e-9,
                ricci::runtime::distance_rate(options.threads, 0.2) * 1e-9);
    bench::Suite suite(options);
    if (is_other) {
        bench::add_other_products(suite);
        bench::add_other_convolutions(suite);
        bench::add_others(suite);
        return suite.finish() ? 0 : 1;
    }
    bench::add_products(suite);
    bench::add_layers(suite);
    bench::add_convolutions(suite);
    bench::add_contractions(suite);
    bench::add_rows(suite);
    bench::add_streams(suite);
    bench::add_attention(suite);
    bench::add_mnist(suite);
    bench::add_overhead(suite);
    return suite.finish() ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "bench_cpu: %s\n", error.what());
    return 1;
}
