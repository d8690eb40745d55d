// tests/base/hash_test.cpp – published values, pieces
#include "base/hash.h"

#include <set>

#include <doctest/doctest.h>

namespace ricci {
namespace {

TEST_CASE("digests are those of MurmurHash3_x64_128") {
    CHECK(str(digest_of("")) == "00000000000000000000000000000000");
    CHECK(str(digest_of("hello")) == "cbd8a7b341bd9b025b1e906a48ae1d19");
    CHECK(str(digest_of("The quick brown fox jumps over the lazy dog")) ==
          "e34bbc7bbc071b6c7a433ca9c49a9347");
}

TEST_CASE("how content is cut into pieces does not matter") {
    const std::string text = "Y[n,o] := W[o,k] * X[n,k] + b[o]";
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        CAPTURE(cut);
        Hasher hasher;
        hasher.bytes(text.substr(0, cut)).bytes(text.substr(cut));
        CHECK(hasher.digest() == digest_of(text));
    }
}

TEST_CASE("texts are kept apart and numbers have eight bytes") {
    CHECK(Hasher().text("ab").text("c").digest() != Hasher().text("a").text("bc").digest());
    CHECK(Hasher().number(0x6867666564636261).digest() == digest_of("abcdefgh"));
}

TEST_CASE("one bit makes another digest in both halves") {
    std::set<std::uint64_t> high;
    std::set<std::uint64_t> low;
    for (int i = 0; i < 1000; ++i) {
        const Digest digest = Hasher().number(static_cast<std::uint64_t>(i)).digest();
        high.insert(digest.high);
        low.insert(digest.low);
    }
    CHECK(high.size() == 1000);
    CHECK(low.size() == 1000);
}

}  // namespace
}  // namespace ricci
