#include "serve/http/token.h"

#include <gtest/gtest.h>

namespace weft::serve {
namespace {

TEST(Token, HasItsOwn128Bits) {
  const std::string a = make_token(), b = make_token();
  EXPECT_EQ(a.size(), 32U);
  EXPECT_NE(a, b);
  EXPECT_EQ(a.find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST(Token, ComparesWholeSecrets) {
  EXPECT_TRUE(same_secret("abc", "abc"));
  for (const char* other : {"", "ab", "abd", "abcabc", "abcd", "xbc"}) {
    EXPECT_FALSE(same_secret("abc", other)) << other;
    EXPECT_FALSE(same_secret(other, "abc")) << other;
  }
}

TEST(Token, KnowsLoopback) {
  for (const char* own : {"127.0.0.1", "127.1.2.3", "::1", "localhost"}) EXPECT_TRUE(is_loopback(own)) << own;
  for (const char* other : {"0.0.0.0", "::", "192.0.2.1", "128.0.0.1", "localhost.example", "", "::ffff:127.0.0.1"})
    EXPECT_FALSE(is_loopback(other)) << other;
}

}  // namespace
}  // namespace weft::serve
