// tests/base/dtype_test.cpp – names, kinds and the promotion table
#include "base/dtype.h"

#include <array>

#include <doctest/doctest.h>

#include "base/text.h"

namespace ricci {
namespace {

constexpr std::array all = {DType::boolean, DType::i8,  DType::i16, DType::i32, DType::i64,
                            DType::u8,      DType::u16, DType::u32, DType::u64, DType::f16,
                            DType::bf16,    DType::f32, DType::f64, DType::c64, DType::c128};

TEST_CASE("the name of a type leads back to it") {
    for (const DType dtype : all) {
        CAPTURE(std::string(name(dtype)));
        CHECK(dtype_from_name(name(dtype)) == dtype);
    }
    CHECK(dtype_from_name("float") == std::nullopt);
    CHECK(dtype_from_name("none") == std::nullopt);
}

TEST_CASE("sizes are those of the element in memory") {
    CHECK(size_bytes(DType::none) == 0);
    CHECK(size_bytes(DType::boolean) == 1);
    CHECK(size_bytes(DType::bf16) == 2);
    CHECK(size_bytes(DType::c128) == 16);
}

TEST_CASE("each type is of one kind") {
    CHECK(is_floating(DType::bf16));
    CHECK_FALSE(is_floating(DType::c64));
    CHECK(is_integer(DType::u8));
    CHECK_FALSE(is_integer(DType::boolean));
    CHECK(is_signed(DType::i8));
    CHECK(is_signed(DType::f32));
    CHECK_FALSE(is_signed(DType::u64));
    CHECK(is_complex(DType::c64));
}

TEST_CASE("promotion does not depend on the order") {
    for (const DType a : all) {
        for (const DType b : all) {
            CAPTURE(std::string(name(a)));
            CAPTURE(std::string(name(b)));
            CHECK(promote(a, b) == promote(b, a));
        }
    }
}

TEST_CASE("integers promote to the smallest type that holds both") {
    CHECK(promote(DType::i8, DType::i32) == DType::i32);
    CHECK(promote(DType::u8, DType::u16) == DType::u16);
    CHECK(promote(DType::u8, DType::i8) == DType::i16);
    CHECK(promote(DType::u16, DType::i64) == DType::i64);
    CHECK(promote(DType::u32, DType::i8) == DType::i64);
}

TEST_CASE("u64 has no common type with a signed integer") {
    CHECK(promote(DType::u64, DType::i64) == std::nullopt);
    CHECK(promote(DType::i8, DType::u64) == std::nullopt);
}

TEST_CASE("floating and complex types hold both precisions") {
    CHECK(promote(DType::f32, DType::f64) == DType::f64);
    CHECK(promote(DType::f16, DType::bf16) == DType::f32);
    CHECK(promote(DType::f32, DType::c64) == DType::c64);
    CHECK(promote(DType::f64, DType::c64) == DType::c128);
}

TEST_CASE("an integer or a bool takes the type of what it meets") {
    CHECK(promote(DType::i64, DType::f32) == DType::f32);
    CHECK(promote(DType::u64, DType::c64) == DType::c64);
    CHECK(promote(DType::boolean, DType::i8) == DType::i8);
    CHECK(promote(DType::boolean, DType::f16) == DType::f16);
}

TEST_CASE("an unbound type promotes to nothing") {
    CHECK(promote(DType::none, DType::f32) == std::nullopt);
}

}  // namespace
}  // namespace ricci
