// base/hash.cpp – a stable 128-bit digest of content, for keys of caches
#include "base/hash.h"

#include <bit>

#include "base/text.h"

namespace ricci {
namespace {

constexpr std::uint64_t c1 = 0x87c37b91114253d5;
constexpr std::uint64_t c2 = 0x4cf5ad432745937f;

std::uint64_t load(const unsigned char* at) noexcept {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < 8; ++i) value |= std::uint64_t{at[i]} << (8 * i);
    return value;
}

std::uint64_t mix1(std::uint64_t k) noexcept { return std::rotl(k * c1, 31) * c2; }
std::uint64_t mix2(std::uint64_t k) noexcept { return std::rotl(k * c2, 33) * c1; }

std::uint64_t finish(std::uint64_t k) noexcept {
    k = (k ^ (k >> 33)) * 0xff51afd7ed558ccd;
    k = (k ^ (k >> 33)) * 0xc4ceb9fe1a85ec53;
    return k ^ (k >> 33);
}

}  // namespace

std::string str(const Digest& digest) { return format("{:016x}{:016x}", digest.high, digest.low); }

void Hasher::mix_block() noexcept {
    h1_ ^= mix1(load(block_.data()));
    h1_ = (std::rotl(h1_, 27) + h2_) * 5 + 0x52dce729;
    h2_ ^= mix2(load(block_.data() + 8));
    h2_ = (std::rotl(h2_, 31) + h1_) * 5 + 0x38495ab5;
    block_ = {};
}

Hasher& Hasher::bytes(std::string_view data) noexcept {
    for (const char byte : data) {
        block_[length_ % block_bytes] = static_cast<unsigned char>(byte);
        if (++length_ % block_bytes == 0) mix_block();
    }
    return *this;
}

Hasher& Hasher::text(std::string_view data) noexcept { return number(data.size()).bytes(data); }

Hasher& Hasher::number(std::uint64_t value) noexcept {
    std::array<char, 8> data{};
    for (unsigned i = 0; i < 8; ++i) data[i] = static_cast<char>(value >> (8 * i) & 0xff);
    return bytes({data.data(), data.size()});
}

Digest Hasher::digest() const noexcept {
    // The zeros beyond the last byte add nothing: mix1(0) and mix2(0) are 0.
    std::uint64_t h1 = h1_ ^ mix1(load(block_.data())) ^ length_;
    std::uint64_t h2 = h2_ ^ mix2(load(block_.data() + 8)) ^ length_;
    h1 += h2;
    h2 += h1;
    h1 = finish(h1);
    h2 = finish(h2);
    h1 += h2;
    h2 += h1;
    return {.high = h1, .low = h2};
}

Digest digest_of(std::string_view data) noexcept { return Hasher().bytes(data).digest(); }

}  // namespace ricci
