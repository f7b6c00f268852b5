#include "verbs/turn_slot.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "live/protocol/connection.h"

namespace weft::live {
namespace {

using RequestSlot = verbs::TurnSlot<verbs::RequestHead>;
using ReplySlot = verbs::TurnSlot<verbs::ReplyHead>;

TEST(TurnSlot, HoldsNothingWhileClosed) {
  auto slot = std::make_unique<ReplySlot>();
  EXPECT_FALSE(fill_slot(*slot, Reply{}, 5));
  slot->open();
  EXPECT_TRUE(fill_slot(*slot, Reply{}, 5));
  EXPECT_FALSE(fill_slot(*slot, Reply{}, 6)) << "it is full";
  EXPECT_EQ(slot->head().now_ps, 5);
  EXPECT_TRUE(slot->close()) << "what came before is not lost";
}

TEST(TurnSlot, ClosedInTimeLeavesReplyToConnection) {
  auto slot = std::make_unique<ReplySlot>();
  slot->open();
  EXPECT_FALSE(slot->wait(3));
  EXPECT_FALSE(slot->is_open());
  EXPECT_FALSE(fill_slot(*slot, Reply{}, 5));
}

TEST(TurnSlot, LeavesLongAndDescriptorsToConnection) {
  auto slot = std::make_unique<ReplySlot>();
  slot->open();
  Reply reply;
  reply.body.resize(ReplySlot::kRoom_B + 1);
  EXPECT_FALSE(fill_slot(*slot, reply, 0));
  Reply passes;
  passes.fds[0] = 0;
  EXPECT_FALSE(fill_slot(*slot, passes, 0));
  EXPECT_TRUE(slot->is_open());
}

// A program that writes whatever it likes into its page.
TEST(TurnSlot, RequestOfAnySizeIsCut) {
  auto slot = std::make_unique<RequestSlot>();
  std::atomic<bool> done = false;
  std::thread program([&] {
    while (!done) {
      slot->head() = {static_cast<verbs::Op>(77), 0xffffffff, -1};
      slot->fill();
    }
  });
  Request request;
  bool came = false;
  for (int i = 0; i < 100'000 && !came; ++i) came = wait_for_slot(*slot, request);
  done = true;
  program.join();
  if (!came) return;  // one CPU: nobody looks
  EXPECT_EQ(static_cast<std::uint32_t>(request.op), 77u);
  EXPECT_LE(request.body.size(), RequestSlot::kRoom_B);
}

TEST(TurnPatience, PausesLongerWithEachMiss) {
  verbs::TurnPatience patience;
  EXPECT_TRUE(patience.may_look());
  int pauses[3] = {};
  for (int& pause : pauses) {
    patience.looked(false);
    while (!patience.may_look()) ++pause;
  }
  EXPECT_GT(pauses[0], 0);
  EXPECT_GT(pauses[1], pauses[0]);
  EXPECT_GT(pauses[2], pauses[1]);
  patience.looked(true);
  EXPECT_TRUE(patience.may_look());
}

}  // namespace
}  // namespace weft::live
