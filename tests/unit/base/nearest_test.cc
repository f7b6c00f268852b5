#include "base/nearest.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace weft {
namespace {

using Names = std::vector<std::string>;
constexpr std::string_view kNics[] = {"cx4-lx-25g", "cx5-100g", "cx5-25g", "cx6-200g", "e810-100g"};

TEST(Nearest, EditDistance) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("mtu", ""), 3U);
  EXPECT_EQ(edit_distance("lenght", "length"), 1U);  // a swap is one edit
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Nearest, DistanceIsSymmetricAndZeroOnlyForEqual) {
  EXPECT_TRUE(rc::check([](const std::string& a, const std::string& b) {
    RC_ASSERT(edit_distance(a, b) == edit_distance(b, a));
    RC_ASSERT((edit_distance(a, b) == 0) == (a == b));
    RC_ASSERT(edit_distance(a, b) <= std::max(a.size(), b.size()));
  }));
}

TEST(Nearest, FindsIntendedWord) {
  EXPECT_EQ(nearest("cx5-10g", kNics), (Names{"cx5-100g", "cx5-25g"}));
  EXPECT_EQ(nearest("cx5", kNics), (Names{"cx5-25g", "cx5-100g"}));
  EXPECT_EQ(nearest("CX6_200G", kNics), Names{"cx6-200g"});
  EXPECT_EQ(nearest("e810", kNics), Names{"e810-100g"});
  EXPECT_EQ(nearest("thor", kNics), Names{});
  EXPECT_EQ(nearest("", kNics), Names{});
  EXPECT_EQ(nearest(std::string(100000, 'c'), kNics), Names{});
}

TEST(Nearest, Sentences) {
  constexpr std::string_view kKeys[] = {"address", "mtu", "vlan"};
  EXPECT_EQ(did_you_mean("adress", kKeys, "keys"), "did you mean address?");
  EXPECT_EQ(did_you_mean("speed", kKeys, "keys"), "known keys: address, mtu, vlan");
}

}  // namespace
}  // namespace weft
