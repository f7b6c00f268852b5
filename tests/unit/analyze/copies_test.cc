#include "analyze/streams/copies.h"

#include <gtest/gtest.h>

namespace weft::analyze {
namespace {

struct CopiesTest : testing::Test {
  CopiesTest() { capture.points.resize(1); }

  PointId see(std::uint32_t psn, std::uint8_t ttl, Direction direction = Direction::kUnknown) {
    Frame frame;
    frame.kind = FrameKind::kRoce;
    frame.opcode = wire::Opcode::kWriteMiddle;
    frame.src = 0;
    frame.dst = 1;
    frame.dest_qp = 0x11;
    frame.psn = psn;
    frame.ttl = ttl;
    frame.time_ns = now_ns_ += 10'000;
    frame.direction = direction;
    frame.point = copies.point_of(frame, streams, addresses, capture);
    streams.see(frame);
    return frame.point;
  }
  std::int64_t now_ns_ = 0;
  CaptureSummary capture;
  Streams streams;
  Addresses addresses;
  Copies copies;
};

TEST_F(CopiesTest, SecondCopyHasItsOwnPoint) {
  EXPECT_EQ(see(100, 64), 0u);
  EXPECT_EQ(see(101, 64), 0u);
  EXPECT_EQ(see(100, 63), 1u);
  EXPECT_EQ(see(102, 64), 0u);
  EXPECT_EQ(see(101, 63), 1u);
  EXPECT_EQ(capture.points.at(1).name, "1 hop on");
  Findings findings;
  copies.finish(capture, addresses, findings);
  ASSERT_EQ(findings.all().size(), 1u);
  EXPECT_EQ(findings.all()[0].count, 2u);
}

TEST_F(CopiesTest, RetransmissionKeepsItsTtl) {
  for (const std::uint32_t psn : {100u, 101u, 102u, 101u, 102u}) EXPECT_EQ(see(psn, 64), 0u);
}

TEST_F(CopiesTest, ChangedPathIsNoCopy) {
  EXPECT_EQ(see(100, 64), 0u);
  EXPECT_EQ(see(101, 62), 0u);
  EXPECT_EQ(see(102, 62), 0u);
  EXPECT_EQ(see(101, 62), 0u) << "retransmitted on the new path";
}

TEST_F(CopiesTest, PortWithDirectionsHasNoCopies) {
  EXPECT_EQ(see(100, 64, Direction::kIn), 0u);
  EXPECT_EQ(see(100, 63, Direction::kOut), 0u);
}

// A bridge between two mirrored ports: every packet twice, 3 us apart, others between.
struct BridgedCopiesTest : CopiesTest {
  PointId see_at(std::int64_t time_ns, std::uint32_t psn, wire::Opcode opcode = wire::Opcode::kWriteMiddle,
                 std::uint8_t syndrome = 0) {
    Frame frame;
    frame.kind = FrameKind::kRoce;
    frame.opcode = opcode;
    frame.has_aeth = opcode == wire::Opcode::kAck;
    frame.syndrome = syndrome;
    frame.time_ns = time_ns;
    frame.src = frame.has_aeth ? 1 : 0;
    frame.dst = frame.has_aeth ? 0 : 1;
    frame.dest_qp = 0x11;
    frame.psn = psn;
    frame.ttl = 64;
    frame.point = copies.point_of(frame, streams, addresses, capture);
    streams.see(frame);
    return frame.point;
  }
  std::uint64_t twice() {
    Findings findings;
    copies.finish(capture, addresses, findings);
    return findings.all().empty() ? 0 : findings.all()[0].count;
  }
};

TEST_F(BridgedCopiesTest, RecognisesSecondCopies) {
  for (std::uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(see_at(1'000 * i, i), 0u);
    if (i >= 3) EXPECT_EQ(see_at(1'000 * i + 10, i - 3), 1u);
  }
  EXPECT_EQ(capture.points.at(1).name, "second copy");
  EXPECT_EQ(twice(), 97u);
}

TEST_F(BridgedCopiesTest, SentAgainIsNoCopy) {
  for (std::uint32_t i = 0; i < 100; ++i) {
    see_at(10'000 * i, i);
    EXPECT_EQ(see_at(10'000 * i + 2'000, i), 1u);
  }
  EXPECT_EQ(see_at(1'000'000, 99), 0u) << "retransmitted";
  EXPECT_EQ(see_at(1'002'000, 99), 1u) << "and that mirrored twice";
}

TEST_F(BridgedCopiesTest, OneDuplicateAmongManyIsNoCopy) {
  for (std::uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(see_at(1'000 * i, i), 0u);
    if (i % 10 == 5) EXPECT_EQ(see_at(1'000 * i + 100, i), 0u);
  }
  EXPECT_EQ(twice(), 0u);
}

// A receiver that is not ready, from the first packet on: every SEND and every NAK comes again, and is no copy.
TEST_F(BridgedCopiesTest, RepetitionAfterNakIsNoCopy) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(see_at(15'000 * i, 7, wire::Opcode::kSendOnly), 0u);
    EXPECT_EQ(see_at(15'000 * i + 2'000, 7, wire::Opcode::kAck, 0x21), 0u);
  }
  EXPECT_EQ(twice(), 0u);
}

// A capture that begins within a connection: its first packets are copies of what came before it.
TEST_F(BridgedCopiesTest, CaptureThatBeginsBetweenCopies) {
  for (std::uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(see_at(1'000 * i, 2 + i), 0u);
    EXPECT_EQ(see_at(1'000 * i + 500, i), i < 2 ? 0u : 1u) << i;
  }
  EXPECT_EQ(twice(), 98u);
}

// Two hosts on the mirrored ports and one elsewhere: its packets pass one of the ports, and one of them comes twice.
TEST_F(BridgedCopiesTest, HostsWithoutCopiesAreLeftAlone) {
  const auto see_other = [this](std::int64_t time_ns, std::uint32_t psn) {
    Frame frame;
    frame.kind = FrameKind::kRoce;
    frame.opcode = wire::Opcode::kWriteMiddle;
    frame.time_ns = time_ns;
    frame.src = 0;
    frame.dst = 2;
    frame.dest_qp = 0x12;
    frame.psn = psn;
    frame.ttl = 64;
    return copies.point_of(frame, streams, addresses, capture);
  };
  for (std::uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(see_at(10'000 * i, i), 0u);
    EXPECT_EQ(see_at(10'000 * i + 500, i), 1u);
    for (std::uint32_t k = 0; k < 3; ++k) EXPECT_EQ(see_other(10'000 * i + 1'000 + k, 3 * i + k), 0u);
    if (i == 60) EXPECT_EQ(see_other(10'000 * i + 2'000, 3 * i), 0u);
  }
  EXPECT_EQ(twice(), 100u);
}

TEST_F(BridgedCopiesTest, CopyWhoseOriginalIsNotCapturedIsNotLate) {
  for (std::uint32_t i = 0; i < 200; ++i) {
    if (i % 10 != 7) EXPECT_EQ(see_at(1'000 * i, i), 0u);
    if (i >= 3) EXPECT_EQ(see_at(1'000 * i + 10, i - 3), 1u) << i;
  }
}

TEST_F(CopiesTest, SecondSessionHasItsOwnPoint) {
  const auto see_of = [this](AddressId switch_address, std::uint32_t psn, bool is_answer = false) {
    Frame frame;
    frame.kind = FrameKind::kRoce;
    frame.opcode = is_answer ? wire::Opcode::kAck : wire::Opcode::kWriteMiddle;
    frame.mirror = {switch_address, 5};
    frame.src = is_answer ? 1 : 0;
    frame.dst = is_answer ? 0 : 1;
    frame.dest_qp = 0x11;
    frame.psn = psn;
    frame.ttl = 64;
    frame.point = copies.point_of(frame, streams, addresses, capture);
    streams.see(frame);
    return frame.point;
  };
  EXPECT_EQ(see_of(7, 100), 0u);
  EXPECT_EQ(see_of(8, 100), 1u);
  EXPECT_EQ(see_of(8, 101), 1u) << "the first session has lost it";
  EXPECT_EQ(see_of(7, 102), 0u);
  EXPECT_EQ(see_of(8, 100, true), 1u) << "answers belong to the session that has the requests";
  EXPECT_EQ(see_of(7, 100, true), 0u);
}

TEST_F(BridgedCopiesTest, LostCopiesAreAllowed) {
  std::uint64_t copies_seen = 0;
  for (std::uint32_t i = 0; i < 200; ++i) {
    see_at(10'000 * i, i);
    if (i % 5 != 4) copies_seen += see_at(10'000 * i + 2'000, i);
  }
  EXPECT_EQ(copies_seen, 160u);
}

}  // namespace
}  // namespace weft::analyze
