#include "base/hash.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace weft {
namespace {

std::uint64_t hash_of(std::string_view text) {
  std::vector<std::uint8_t> bytes(text.begin(), text.end());
  return fnv1a(bytes);
}

// Test vectors of the FNV authors (draft-eastlake-fnv, 64 bits).
TEST(Hash, PublishedVectors) {
  EXPECT_EQ(hash_of(""), 0xcbf29ce484222325ULL);
  EXPECT_EQ(hash_of("a"), 0xaf63dc4c8601ec8cULL);
  EXPECT_EQ(hash_of("foobar"), 0x85944171f73967e8ULL);
}

TEST(Hash, CanBeContinued) {
  const std::uint8_t bytes[] = {'f', 'o', 'o', 'b', 'a', 'r'};
  EXPECT_EQ(fnv1a(std::span(bytes).subspan(2), fnv1a(std::span(bytes).first(2))), hash_of("foobar"));
}

}  // namespace
}  // namespace weft
