#include "analyze/show/diff.h"

#include <gtest/gtest.h>

namespace weft::analyze {
namespace {

Analysis one_write(double goodput_bps, std::uint32_t qp) {
  Analysis analysis;
  Conversation conversation;
  conversation.a = "10.0.0.1";
  conversation.b = "10.0.0.2";
  conversation.b_qp = qp;
  conversation.transport = "RC";
  conversation.verbs = {"WRITE"};
  conversation.goodput_bps = goodput_bps;
  analysis.conversations.push_back(conversation);
  return analysis;
}
std::vector<std::string> names_of(const std::vector<Change>& changes) {
  std::vector<std::string> names;
  for (const Change& change : changes) names.push_back(change.what);
  return names;
}
using Names = std::vector<std::string>;

TEST(Diff, OtherQueuePairNumbersAreNoChange) {
  EXPECT_EQ(names_of(differences(one_write(97e9, 0x11), one_write(96e9, 0x47))), Names{});
}

TEST(Diff, GoodputThatFell) {
  const auto changes = differences(one_write(97e9, 0x11), one_write(50e9, 0x11));
  ASSERT_EQ(names_of(changes), Names{"goodput"});
  EXPECT_EQ(changes[0].before, "97.00");
  EXPECT_EQ(changes[0].after, "50.00");
}

TEST(Diff, OtherTrafficClass) {
  Analysis before = one_write(97e9, 0x11), after = one_write(97e9, 0x11);
  before.conversations[0].dscp = 26;
  before.conversations[0].ect = 1;
  after.conversations[0].dscp = 0;
  after.conversations[0].ect = 0;
  const auto changes = differences(before, after);
  ASSERT_EQ(names_of(changes), (Names{"DSCP", "ECN"}));
  EXPECT_EQ(changes[0].before + " " + changes[0].after, "26 0");
  EXPECT_EQ(changes[1].before + " " + changes[1].after, "ECT not-ECT");
}

TEST(Diff, ManyConversationsAreOneLine) {
  Analysis before, after;
  for (int i = 0; i < 100; ++i) {
    before.conversations.push_back(one_write(10e9, 1).conversations[0]);
    after.conversations.push_back(one_write(5e9, 1).conversations[0]);
  }
  const auto changes = differences(before, after);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].places, 100u);
}

TEST(Diff, NewFindingAndNewConversation) {
  Analysis before = one_write(1e9, 1), after = one_write(1e9, 1);
  after.findings.add({"psn.lost", "there", "", "", 1, {}, {}});
  after.conversations.push_back(after.conversations[0]);
  after.conversations[1].verbs = {"READ"};
  const auto changes = differences(before, after);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].before, "not found");
  EXPECT_EQ(changes[1].what, "conversations");
}

}  // namespace
}  // namespace weft::analyze
