// Losses between two capture points that the path explains: nothing passes for a time, or nothing above a size.
#include <gtest/gtest.h>

#include "unit/analyze/rc_capture.h"

namespace weft::analyze {
namespace {

class RcFindPathsTest : public RcCaptureTest {
 protected:
  // At both points, at the first alone, and the ACK on its way back.
  void pass(std::uint32_t psn, std::uint32_t payload_B = 1024) {
    lose(psn, payload_B);
    request(Opcode::kSendOnly, psn, payload_B, 0, true, 1);
  }
  void lose(std::uint32_t psn, std::uint32_t payload_B = 1024) {
    request(Opcode::kSendOnly, psn, payload_B, 0, true, 0);
  }
  void acked(std::uint32_t psn, std::uint32_t msn) {
    answer(Opcode::kAck, psn, kAckAll, msn, 0, 1);
    answer(Opcode::kAck, psn, kAckAll, msn, 0, 0);
  }
  const Finding* find(std::string_view id) {
    for (const Finding& finding : findings_.all())
      if (finding.id == id) return &finding;
    return nullptr;
  }
};

TEST_F(RcFindPathsTest, LinkOutage) {
  for (std::uint32_t psn = 100; psn < 110; ++psn) {
    pass(psn);
    acked(psn, psn - 99);
  }
  lose(110);
  for (int attempt = 0; attempt < 3; ++attempt) {
    wait(1'000'000);
    lose(110);
  }
  wait(1'000'000);
  pass(110);
  acked(110, 11);
  finish();
  const Finding* outage = find("psn.outage");
  ASSERT_NE(outage, nullptr);
  // One moment for the end, and the evidence has the same.
  const std::size_t after = outage->what.find("after "), until = outage->what.find(" until ");
  ASSERT_NE(after, std::string::npos) << outage->what;
  ASSERT_NE(until, std::string::npos) << outage->what;
  const double from_us = std::stod(outage->what.substr(after + 6)), to_us = std::stod(outage->what.substr(until + 7));
  EXPECT_NEAR(to_us - from_us, 4000, 30) << outage->what;
  ASSERT_FALSE(outage->evidence.empty());
  EXPECT_NE(outage->what.find("in both directions"), std::string::npos) << outage->what;
  EXPECT_EQ(find("psn.lost"), nullptr);
}

// Another queue pair's packets come through meanwhile.
TEST_F(RcFindPathsTest, LossOfOneQueuePairIsNoOutage) {
  for (std::uint32_t psn = 100; psn < 110; ++psn) {
    pass(psn);
    acked(psn, psn - 99);
  }
  lose(110);
  for (int attempt = 0; attempt < 300; ++attempt) {
    wait(10'000);
    Frame other;
    other.src = 0;
    other.dst = 1;
    other.dest_qp = 0x77;
    other.opcode = Opcode::kSendOnly;
    other.psn = static_cast<std::uint32_t>(attempt);
    for (other.point = 0; other.point < 2; ++other.point) see(other);
    if (attempt % 100 == 0) lose(110);
  }
  pass(110);
  acked(110, 11);
  finish();
  EXPECT_EQ(find("psn.outage"), nullptr);
  EXPECT_NE(find("psn.lost"), nullptr);
}

TEST_F(RcFindPathsTest, LargePacketsAloneAreLost) {
  for (std::uint32_t psn = 100; psn < 110; ++psn) {
    pass(psn, 512);
    acked(psn, psn - 99);
  }
  lose(110, 4096);
  for (int attempt = 0; attempt < 4; ++attempt) {
    wait(1'000'000);
    lose(110, 4096);
  }
  finish();
  const Finding* limit = find("psn.mtu");
  ASSERT_NE(limit, nullptr);
  EXPECT_NE(limit->what.find("4096 B"), std::string::npos) << limit->what;
  EXPECT_NE(limit->what.find("up to 512 B"), std::string::npos) << limit->what;
  EXPECT_EQ(find("psn.lost"), nullptr);
}

TEST_F(RcFindPathsTest, SameSizePassedBefore) {
  pass(100, 4096);
  acked(100, 1);
  for (int attempt = 0; attempt < 4; ++attempt) {
    lose(101, 4096);
    wait(1'000'000);
  }
  finish();
  EXPECT_EQ(find("psn.mtu"), nullptr);
}

// Some frames are missing in the capture, and nothing was retransmitted: nothing was lost on the wire.
TEST_F(RcFindPathsTest, FramesThatWereNotCapturedAreNotLost) {
  pass(100);
  acked(100, 1);
  pass(103);
  acked(103, 4);
  lose(104);
  acked(104, 5);
  pass(105);
  acked(105, 6);
  finish();
  EXPECT_EQ(find("psn.lost"), nullptr);
  EXPECT_NE(find("capture.lost"), nullptr);
}

}  // namespace
}  // namespace weft::analyze
