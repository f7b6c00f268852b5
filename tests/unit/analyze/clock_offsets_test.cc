#include "analyze/frames/clock_offsets.h"

#include <gtest/gtest.h>

#include <cmath>

namespace weft::analyze {
namespace {

struct ClockOffsetsTest : testing::Test {
  void see(std::size_t file, std::int64_t time_ns, AddressId src, std::uint32_t psn, std::uint32_t interface = 0) {
    Frame frame;
    frame.kind = FrameKind::kRoce;
    frame.opcode = src == 0 ? wire::Opcode::kWriteMiddle : wire::Opcode::kAck;
    frame.time_ns = time_ns;
    frame.src = src;
    frame.dst = 1 - src;
    frame.dest_qp = 0x11;
    frame.psn = psn;
    clocks.see(file, interface, frame);
  }
  // Requests pass file 0 2 us before file 1, answers the other way; `clock` is what file 1 says at a time.
  template <typename Clock>
  void exchange(std::uint32_t packets, std::int64_t apart_ns, Clock clock, bool answers = true) {
    for (std::uint32_t i = 0; i < packets; ++i) {
      const std::int64_t start_ns = apart_ns * i, queue_ns = 100 * (i % 7);
      see(0, start_ns, 0, i);
      see(1, clock(start_ns + 2'000 + queue_ns), 0, i);
      if (!answers) continue;
      see(1, clock(start_ns + 3'000 + queue_ns), 1, i);
      see(0, start_ns + 5'000 + 2 * queue_ns, 1, i);
    }
  }
  // What is left of the offset at a time, by a clock that is corrected.
  template <typename Clock>
  std::int64_t error_at(std::int64_t time_ns, Clock clock) {
    const auto offsets = clocks.offsets();
    return offsets.at(0).clock.by_reference(clock(time_ns)) - time_ns;
  }
  ClockOffsets clocks;
};

auto ahead_by(std::int64_t ahead_ns) {
  return [ahead_ns](std::int64_t time_ns) { return time_ns + ahead_ns; };
}

TEST_F(ClockOffsetsTest, OffsetIsFoundFromBothWays) {
  for (const std::int64_t ahead_ns : {1'000'000LL, -7'300'000LL, 5'000'000'000LL, -7'200'000'000'000LL}) {
    clocks = {};
    exchange(100, 10'000, ahead_by(ahead_ns));
    const auto offsets = clocks.offsets();
    ASSERT_EQ(offsets.size(), 1u);
    EXPECT_EQ(offsets[0].file, 1u);
    EXPECT_EQ(offsets[0].clock.reference, 0u);
    ASSERT_EQ(offsets[0].clock.pieces.size(), 1u);
    EXPECT_EQ(offsets[0].clock.pieces[0].drift, 0);
    EXPECT_LE(std::abs(offsets[0].ahead_ns - ahead_ns), offsets[0].uncertainty_ns);
    EXPECT_LE(offsets[0].uncertainty_ns, 2'500);
    EXPECT_EQ(offsets[0].packets, 200u);
  }
}

TEST_F(ClockOffsetsTest, ClocksThatAgreeAreLeftAlone) {
  for (const std::int64_t ahead_ns : {0, 1'500, -1'500}) {
    clocks = {};
    exchange(50, 10'000, ahead_by(ahead_ns));
    ASSERT_EQ(clocks.offsets().size(), 1u);
    EXPECT_TRUE(clocks.offsets()[0].clock.pieces.empty());
  }
}

TEST_F(ClockOffsetsTest, DriftIsFollowed) {
  for (const double drift : {20e-6, -3e-6, 100e-6}) {
    clocks = {};
    const auto clock = [drift](std::int64_t time_ns) {
      return time_ns + 50'000'000 + static_cast<std::int64_t>(drift * static_cast<double>(time_ns));
    };
    exchange(20'000, 1'000'000, clock);  // 20 s
    ASSERT_EQ(clocks.offsets().at(0).clock.pieces.size(), 1u);
    for (const std::int64_t time_ns : {0LL, 7'000'000'000LL, 19'900'000'000LL})
      EXPECT_LE(std::abs(error_at(time_ns, clock)), 2'500);
  }
}

TEST_F(ClockOffsetsTest, ClockThatIsSetMakesPieces) {
  const auto clock = [](std::int64_t time_ns) {
    return time_ns + (time_ns < 1'000'000'000 ? 3'000'000 : 3'400'000) + time_ns / 100'000;
  };
  exchange(4'000, 1'000'000, clock);
  ASSERT_GT(clocks.offsets().at(0).clock.pieces.size(), 1u);
  for (const std::int64_t time_ns : {100'000'000LL, 700'000'000LL, 1'900'000'000LL, 3'900'000'000LL})
    EXPECT_LE(std::abs(error_at(time_ns, clock)), 2'500) << time_ns;
}

TEST_F(ClockOffsetsTest, OneWayTellsOnlyWhatNoWayExplains) {
  exchange(100, 10'000, ahead_by(900'000), false);
  EXPECT_TRUE(clocks.offsets().empty());
  clocks = {};
  exchange(100, 10'000, ahead_by(-3'600'000'000'000), false);
  ASSERT_EQ(clocks.offsets().size(), 1u);
  EXPECT_TRUE(clocks.offsets()[0].is_one_way);
  EXPECT_LE(std::abs(clocks.offsets()[0].ahead_ns + 3'600'000'000'000), 10'000);
}

TEST_F(ClockOffsetsTest, InterfacesOfOneFileHaveOneClock) {
  for (std::uint32_t i = 0; i < 100; ++i) {
    see(0, 10'000 * i, 0, i, 0);
    see(0, 10'000 * i + 1'000'000, 0, i, 1);
    see(0, 10'000 * i + 1'002'000, 1, i, 1);
    see(0, 10'000 * i + 4'000, 1, i, 0);
  }
  EXPECT_TRUE(clocks.offsets().empty());
}

// Packets that were retransmitted, some of whose copies one of the files lacks.
TEST_F(ClockOffsetsTest, CopiesThatOneFileLacksDoNotMislead) {
  exchange(200, 10'000, ahead_by(1'000'000));
  for (std::uint32_t i = 0; i < 200; i += 20) see(0, 10'000 * i + 400'000, 0, i);
  for (std::uint32_t i = 5; i < 200; i += 20) see(1, 10'000 * i + 1'700'000, 0, i);
  see(0, 3'000'000, 0, 1'000);  // the first file lacks its original, the other one the copy
  see(1, 1'000'000 + 2'100'000, 0, 1'000);
  EXPECT_LE(std::abs(clocks.offsets().at(0).ahead_ns - 1'000'000), 2'500);
}

TEST_F(ClockOffsetsTest, LongCapturesAreThinnedOut) {
  exchange(200'000, 10'000, ahead_by(5'000'000'000));
  ASSERT_EQ(clocks.offsets().size(), 1u);
  EXPECT_LE(std::abs(clocks.offsets()[0].ahead_ns - 5'000'000'000), 2'000);
  EXPECT_GT(clocks.offsets()[0].packets, 250u);
  EXPECT_LE(clocks.offsets()[0].packets, 1'024u);
}

// Files 0 and 2 share nothing: both are held against file 1.
TEST_F(ClockOffsetsTest, FilesAreHeldAgainstEachOtherInTurn) {
  const auto between = [this](std::size_t near, std::size_t far, std::int64_t near_ns, std::int64_t far_ns,
                              std::uint32_t first_psn) {
    for (std::uint32_t i = 0; i < 50; ++i) {
      see(near, near_ns + 10'000 * i, 0, first_psn + i);
      see(far, far_ns + 10'000 * i + 1'000, 0, first_psn + i);
      see(far, far_ns + 10'000 * i + 2'000, 1, first_psn + i);
      see(near, near_ns + 10'000 * i + 3'000, 1, first_psn + i);
    }
  };
  between(0, 1, 0, 9'000'000, 0);
  between(1, 2, 9'000'000, -4'000'000'000, 1'000);
  std::vector<pcap::FileClock> all(3);
  for (const ClockOffset& each : clocks.offsets()) all[each.file] = each.clock;
  EXPECT_LE(std::abs(pcap::corrected_ns(all, 1, 9'000'000)), 1'000);
  EXPECT_LE(std::abs(pcap::corrected_ns(all, 2, -4'000'000'000)), 2'000);
  EXPECT_EQ(pcap::corrected_ns(all, 0, 77), 77);
}

}  // namespace
}  // namespace weft::analyze
