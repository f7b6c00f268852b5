#include <gtest/gtest.h>

#include "analyze/findings/analysis.h"

namespace weft::analyze {
namespace {

Analysis two_flows() {
  Analysis analysis;
  for (const char* a : {"10.0.0.1", "10.0.0.10"}) {
    Conversation conversation;
    conversation.a = a;
    conversation.a_qp = 0x11;
    conversation.b = "10.0.0.2";
    conversation.b_qp = 0x108;
    analysis.conversations.push_back(conversation);
    analysis.findings.add({"psn.lost", place_of(conversation), "", "", 1, {}, {}});
  }
  analysis.findings.add({"capture.order", "the capture", "", "", 1, {}, {}});
  return analysis;
}

TEST(FlowFilter, WholeWordsInOrder) {
  Analysis analysis = two_flows();
  ASSERT_TRUE(keep_flow("10.0.0.1 > 10.0.0.2", analysis));
  ASSERT_EQ(analysis.conversations.size(), 1u);
  EXPECT_EQ(analysis.conversations[0].a, "10.0.0.1");
  EXPECT_EQ(analysis.findings.all().size(), 2u) << "its own, and that of the capture";
}

TEST(FlowFilter, QueuePairWithoutZeros) {
  Analysis analysis = two_flows();
  ASSERT_TRUE(keep_flow("qp 0x108", analysis));
  EXPECT_EQ(analysis.conversations.size(), 2u);
}

TEST(FlowFilter, UnknownFlowLeavesAll) {
  Analysis analysis = two_flows();
  EXPECT_FALSE(keep_flow("10.0.0.2 > 10.0.0.1", analysis));
  EXPECT_EQ(analysis.conversations.size(), 2u);
  EXPECT_EQ(analysis.findings.all().size(), 3u);
}

}  // namespace
}  // namespace weft::analyze
