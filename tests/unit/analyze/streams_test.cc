#include "analyze/streams.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace weft::analyze
