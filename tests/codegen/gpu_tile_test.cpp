// tests/codegen/gpu_tile_test.cpp – the choice of a contraction's tile by its estimated cycles
#include <doctest/doctest.h>

#include "codegen/gpu/choose_tile.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;
using codegen::gpu::choose_tile;
using codegen::gpu::estimated_registers;
using codegen::gpu::shared_bytes;
using codegen::gpu::tile_configs;
using codegen::gpu::TileChoice;
using codegen::gpu::TileConfig;
using codegen::gpu::TileProblem;

namespace {

TileProblem product(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
    return {.rows = rows, .columns = columns, .depth = depth};
}
TileProblem product_f64(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
    TileProblem problem = product(rows, columns, depth);
    problem.element_words = problem.row_words = problem.column_words = 2;
    problem.operations = 2;
    return problem;
}
TileChoice choice(const TileProblem& problem) {
    const auto found = choose_tile(problem, tests::example_gpu_target().gpu);
    REQUIRE(found);
    return *found;
}
std::int64_t area(const TileConfig& config) { return config.rows * config.columns; }

}  // namespace

TEST_CASE("every tile is whole warps, loads and passes") {
    for (const TileConfig& config : tile_configs()) {
        CAPTURE(config.rows);
        CAPTURE(config.columns);
        for (const std::int64_t number :
             {config.rows, config.columns, config.depth, config.thread_rows, config.thread_columns})
            CHECK((number & (number - 1)) == 0);
        CHECK(config.threads() % 32 == 0);
        CHECK(config.threads() <= 256);
        CHECK(config.rows / config.thread_rows >= 4);
        CHECK(config.columns / config.thread_columns >= 4);
        CHECK(config.thread_rows % 4 == 0);
        CHECK(config.thread_columns % 4 == 0);
        CHECK(shared_bytes(config, product(1, 1, 1), 2) <= 48 << 10);
        CHECK(estimated_registers(config, product(1, 1, 1)) <= 128);
    }
}
TEST_CASE("a large product runs in the largest tile, whole") {
    CHECK(choice(product(4096, 4096, 4096)).config == tile_configs()[0]);
    CHECK(choice(product(4096, 4096, 4096)).chunks == 1);
    CHECK(choice(product(8192, 8192, 64)).config == tile_configs()[0]);
}
TEST_CASE("a product of few rows runs in a tile of few rows") {
    CHECK(choice(product(16, 8192, 4096)).config.rows == 16);
    CHECK(choice(product(8192, 16, 4096)).config.columns == 16);
    CHECK(choice(product(32, 65536, 1024)).config.rows == 32);
}
TEST_CASE("a small product runs in small tiles, so that many multiprocessors take part") {
    CHECK(area(choice(product(256, 256, 256)).config) < area(tile_configs()[0]));
}
TEST_CASE("a long sum of few results is cut into chunks, where it may be") {
    TileProblem problem = product(512, 512, 8192);
    CHECK(choice(problem).chunks > 4);
    problem.may_split = false;
    CHECK(choice(problem).chunks == 1);
}
TEST_CASE("chunks leave no tile of reduced points out and none empty") {
    for (const std::int64_t depth : {4097, 10000, 65537}) {
        const TileChoice found = choice(product(256, 256, depth));
        const std::int64_t tiles = (depth + found.config.depth - 1) / found.config.depth;
        const std::int64_t length = (tiles + found.chunks - 1) / found.chunks;
        CHECK(length * found.chunks >= tiles);
        CHECK(length * (found.chunks - 1) < tiles);
    }
}
TEST_CASE("tiles of f64 leave room for registers of twice the size") {
    for (const std::int64_t n : {512, 1024, 8192}) {
        const TileProblem problem = product_f64(n, n, n);
        CHECK(estimated_registers(choice(problem).config, problem) <= 240);
    }
}
TEST_CASE("registers are bound where 128 are just enough") {
    CHECK(choice(product(4096, 4096, 4096)).blocks_at_once == 2);
    TileProblem masked = product(4096, 4096, 4096);
    masked.column_words = 2;
    masked.fetched_column_words = 2;
    CHECK(choice(masked).blocks_at_once == 0);
    TileProblem gathered = product(4096, 4096, 4096);
    gathered.is_matrix = false;
    CHECK(choice(gathered).blocks_at_once == 0);
}
TEST_CASE("a held term for each result takes a smaller tile of a thread") {
    TileProblem problem = product(4096, 4096, 4096);
    problem.held_words = 1;
    const TileChoice found = choice(problem);
    CHECK(estimated_registers(found.config, problem) <= 240);
}
TEST_CASE("what most of a tile would be thrown away for is left to other strategies") {
    const GpuTarget target = tests::example_gpu_target().gpu;
    CHECK_FALSE(choose_tile(product(1, 1, 100'000), target));
    TileProblem sparse = product(4096, 4096, 4096);
    sparse.counted = 0.001;
    CHECK_FALSE(choose_tile(sparse, target));
}
TEST_CASE("the choice does not change from call to call") {
    CHECK(choice(product(1000, 777, 345)) == choice(product(1000, 777, 345)));
}
