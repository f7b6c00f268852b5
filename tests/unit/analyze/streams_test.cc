#include "analyze/streams/streams.h"

#include <gtest/gtest.h>

#include "analyze/streams/stream_counts.h"
#include "wire/opcode.h"

namespace weft::analyze {
namespace {

Frame packet(AddressId src, AddressId dst, std::uint32_t qp, wire::Opcode opcode, std::uint32_t psn) {
  Frame frame;
  frame.kind = FrameKind::kRoce;
  frame.src = src;
  frame.dst = dst;
  frame.dest_qp = qp;
  frame.opcode = opcode;
  frame.psn = psn;
  return frame;
}

TEST(Streams, AnswerFindsItsRequestsByPsn) {
  Streams streams;
  const StreamId first = streams.see(packet(0, 1, 0x11, wire::Opcode::kWriteOnly, 100));
  const StreamId second = streams.see(packet(0, 1, 0x12, wire::Opcode::kWriteOnly, 900));
  const StreamId answers = streams.see(packet(1, 0, 0x21, wire::Opcode::kAck, 900));
  EXPECT_EQ(streams[answers].reverse, second);
  EXPECT_EQ(streams[second].reverse, answers);
  EXPECT_EQ(streams[first].reverse, kNone);
}

TEST(Streams, SourcePortDecidesBetweenEqualPsns) {
  Streams streams;
  Frame one = packet(0, 1, 0x11, wire::Opcode::kWriteOnly, 0), other = packet(0, 1, 0x12, wire::Opcode::kWriteOnly, 0);
  one.src_port = 0xc001;
  other.src_port = 0xc002;
  streams.see(one);
  const StreamId second = streams.see(other);
  Frame answer = packet(1, 0, 0x22, wire::Opcode::kAck, 0);
  EXPECT_EQ(streams[streams.see(answer)].reverse, kNone);
  answer.src_port = 0xc002;
  EXPECT_EQ(streams[streams.see(answer)].reverse, second);
}

TEST(Streams, ManyStreamsKeepTheirNumbers) {
  Streams streams;
  for (std::uint32_t qp = 0; qp < 5000; ++qp) EXPECT_EQ(streams.see(packet(0, 1, qp, wire::Opcode::kSendOnly, 0)), qp);
  for (std::uint32_t qp = 0; qp < 5000; ++qp) EXPECT_EQ(streams.see(packet(0, 1, qp, wire::Opcode::kSendOnly, 1)), qp);
  EXPECT_EQ(streams[17].frames, 2u);
}

TEST(Streams, BeyondLimitStreamsAreCounted) {
  Streams streams(10);
  for (std::uint32_t qp = 0; qp < 30; ++qp) {
    const StreamId id = streams.see(packet(0, 1, qp, wire::Opcode::kSendOnly, qp));
    EXPECT_EQ(id, qp < 10 ? qp : kNone);
  }
  // Answers to streams that are kept find room; requests do not.
  EXPECT_EQ(streams.see(packet(1, 0, 0x100, wire::Opcode::kAck, 3)), 10U);
  EXPECT_EQ(streams[10].reverse, 3U);
  EXPECT_EQ(streams.see(packet(1, 0, 0x200, wire::Opcode::kSendOnly, 3)), kNone);
  EXPECT_EQ(streams.see(packet(2, 0, 0x200, wire::Opcode::kAck, 3)), kNone);
  EXPECT_EQ(streams.counted().size(), 22U);
  EXPECT_EQ(streams.left_out(), 22U);
}

TEST(StreamCounts, ManyStreamsAreCountedAndLargestGiven) {
  StreamCounts counts;
  Addresses addresses;
  addresses.id_of_ipv4(0x0a000001);
  addresses.id_of_ipv4(0x0a000002);
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t qp = 0; qp < 20'000; ++qp) {
      Frame frame = packet(0, 1, qp, wire::Opcode::kSendOnly, 0);
      frame.wire_B = 100 + (qp == 777 ? 50 : 0);
      frame.number = qp + 1;
      counts.see(frame);
    }
  }
  EXPECT_EQ(counts.size(), 20'000U);
  EXPECT_EQ(counts.frames(), 60'000U);
  EXPECT_EQ(counts.left_out(), 0U);
  const auto largest = counts.largest(3, addresses);
  ASSERT_EQ(largest.size(), 3U);
  EXPECT_EQ(largest[0].b_qp, 777U);
  EXPECT_EQ(largest[0].a, "10.0.0.1");
  EXPECT_EQ(largest[0].packets, 3U);
  EXPECT_EQ(largest[0].wire_B, 450U);
  EXPECT_EQ(largest[0].transport, "RC");
  EXPECT_EQ(largest[1].b_qp, 0U);
}

}  // namespace
}  // namespace weft::analyze
