// tests/fuzz/pipeline_entry.cpp – what libFuzzer calls
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    ricci::tests::fuzz_pipeline({reinterpret_cast<const char*>(data), size});
    return 0;
}
