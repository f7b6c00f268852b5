#include <gtest/gtest.h>

#include "analyze/rc/retransmissions.h"

namespace weft::analyze {
namespace {

Frame numbered(std::uint32_t psn, wire::Opcode opcode = wire::Opcode::kWriteMiddle) {
  Frame frame;
  frame.kind = FrameKind::kRoce;
  frame.opcode = opcode;
  frame.psn = psn;
  frame.dest_qp = 17;
  frame.src = 0;
  frame.dst = 1;
  return frame;
}

TEST(SentAgain, MarksWhatWasSeenBefore) {
  SentAgain again;
  for (const std::uint32_t psn : {10, 11, 12, 13}) EXPECT_FALSE(again.see(0, numbered(psn)));
  EXPECT_TRUE(again.see(0, numbered(12)));
  EXPECT_TRUE(again.see(0, numbered(13)));
  EXPECT_FALSE(again.see(0, numbered(14)));
  EXPECT_FALSE(again.see(1, numbered(12))) << "another port";
}

TEST(SentAgain, TakesReorderedPacketsForNew) {
  SentAgain again;
  for (const std::uint32_t psn : {10, 12, 13, 11}) EXPECT_FALSE(again.see(0, numbered(psn))) << psn;
  EXPECT_TRUE(again.see(0, numbered(11)));
}

TEST(SentAgain, CountsAroundCircle) {
  SentAgain again;
  for (const std::uint32_t psn : {0xfffffe, 0xffffff, 0, 1}) EXPECT_FALSE(again.see(0, numbered(psn))) << psn;
  EXPECT_TRUE(again.see(0, numbered(0xffffff)));
}

TEST(SentAgain, AnswersAreNotRequests) {
  SentAgain again;
  EXPECT_FALSE(again.see(0, numbered(10)));
  EXPECT_FALSE(again.see(0, numbered(10, wire::Opcode::kAck)));
  EXPECT_FALSE(again.see(0, numbered(10, wire::Opcode::kReadResponseOnly)));
}

}  // namespace
}  // namespace weft::analyze
