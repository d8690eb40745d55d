// base/hash.h – a stable 128-bit digest of content, for keys of caches
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace ricci {

/// Equal content has equal digests, on every machine and in every run. No defence against someone
/// who makes collisions on purpose: caches compare the whole key as well.
struct Digest {
    std::uint64_t high = 0;
    std::uint64_t low = 0;

    auto operator<=>(const Digest&) const noexcept = default;
};

/// 32 hexadecimal digits.
[[nodiscard]] std::string str(const Digest& digest);

/// Digests content piece by piece; how the bytes are cut into pieces does not matter.
/// Source: MurmurHash3_x64_128 with seed 0 (Austin Appleby, public domain).
class Hasher {
  public:
    /// Adds bytes as they are.
    Hasher& bytes(std::string_view data) noexcept;
    /// Adds a length and then the bytes, so that ("ab", "c") differs from ("a", "bc").
    Hasher& text(std::string_view data) noexcept;
    /// Adds eight bytes, the lowest first.
    Hasher& number(std::uint64_t value) noexcept;

    /// The digest of what was added until now.
    [[nodiscard]] Digest digest() const noexcept;

  private:
    static constexpr std::size_t block_bytes = 16;

    void mix_block() noexcept;

    std::uint64_t h1_ = 0;
    std::uint64_t h2_ = 0;
    std::uint64_t length_ = 0;
    std::array<unsigned char, block_bytes> block_ = {};  ///< zero beyond what is filled
};

[[nodiscard]] Digest digest_of(std::string_view data) noexcept;

}  // namespace ricci
