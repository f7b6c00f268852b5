#include "results/pause_tree.h"

#include <gtest/gtest.h>

namespace weft::lab {
namespace {

PauseEvidence xoff(Time_ps time_ps, const std::string& port, const std::string& peer, const std::string& queue_port) {
  PauseEvidence event;
  event.time_ps = time_ps;
  event.port = port;
  event.peer = peer;
  event.classes = 8;
  event.sent = true;
  event.what = "start";
  event.queue_port = queue_port;
  return event;
}

PauseEvidence xon(Time_ps time_ps, const std::string& port, const std::string& peer) {
  PauseEvidence event = xoff(time_ps, port, peer, "");
  event.what = "xon";
  return event;
}

// s0 is full towards h9; it stops s1, whose queue to it then makes it stop h1.
Evidence chain() {
  Evidence evidence;
  evidence.end_ps = 1000;
  evidence.pauses = {xoff(100, "s0:1", "s1:9", "s0:9"), xoff(200, "s1:1", "h1:p0", "s1:9"), xon(300, "s0:1", "s1:9"),
                     xon(400, "s1:1", "h1:p0")};
  return evidence;
}

TEST(PauseTree, FollowsPauseToRoot) {
  const Evidence evidence = chain();
  const PauseTree tree(evidence);
  ASSERT_EQ(tree.stops().size(), 2U);
  EXPECT_EQ(tree.stops()[1].cause, 0U);
  EXPECT_EQ(tree.stops()[1].level, 1U);
  EXPECT_EQ(tree.stops()[1].root, "s0:9");
  const PauseTree::Share share = tree.longest("h1:p0", 250, 1000);
  EXPECT_EQ(share.root, "s0:9");
  EXPECT_EQ(share.time_ps, 150);
}

TEST(PauseTree, UnstoppedQueueIsRoot) {
  Evidence evidence = chain();
  evidence.pauses.erase(evidence.pauses.begin());  // s1:9 is not stopped
  const PauseTree tree(evidence);
  EXPECT_EQ(tree.stops()[0].root, "s1:9");
  EXPECT_EQ(tree.stops()[0].level, 0U);
}

TEST(PauseTree, UnrecordedRootIsEmpty) {
  Evidence evidence = chain();
  for (PauseEvidence& event : evidence.pauses) event.queue_port.clear();
  EXPECT_EQ(PauseTree(evidence).stops()[1].root, "");
}

TEST(PauseTree, FullLogEndsOpenPauses) {
  Evidence evidence = chain();
  evidence.pauses.pop_back();
  EXPECT_EQ(PauseTree(evidence).stops()[1].to_ps, 1000);
  evidence.pauses_left_out = 5;
  PauseEvidence end = evidence.pauses.back();
  end.port = PauseTree(evidence).stops()[1].by;
  end.sent = true;
  end.classes = 0xff;
  end.time_ps = 200;
  end.what = "log full";
  evidence.pauses.push_back(end);
  EXPECT_EQ(PauseTree(evidence).stops()[1].to_ps, 200);
  EXPECT_EQ(PauseTree(evidence).stops()[1].ended, "log full");
}

}  // namespace
}  // namespace weft::lab
