#include "analyze/classes/traffic_words.h"

#include <gtest/gtest.h>

namespace weft::analyze {
namespace {

TEST(TrafficWords, ClassOfCapture) {
  EXPECT_EQ(words_of_class(34, -1).pfc_mask(), "0,0,0,0,1,0,0,0");
  EXPECT_EQ(words_of_class(34, -1).tos(), 138U);
  EXPECT_EQ(words_of_class(26, 5).priority, 5) << "the VLAN tag comes first";
  EXPECT_EQ(words_of_priority(6).pfc_mask(), "0,0,0,0,0,0,1,0");
}

TEST(TrafficWords, UsualClassWhereThereIsNone) {
  EXPECT_EQ(words_of_class(0, -1).pfc_mask(), "0,0,0,1,0,0,0,0");
  EXPECT_EQ(words_of_class(0, 0).lossless_tos(), 106U);
  EXPECT_EQ(words_of_priority(8).priority, 3) << "802.3x has no class";
}

}  // namespace
}  // namespace weft::analyze
