#include "analyze/frames/integrity.h"

#include <gtest/gtest.h>

#include "analyze/frames/decode.h"
#include "analyze/frames/decoder.h"
#include "unit/analyze/finding_ids.h"

namespace weft::analyze {
namespace {

Ids ids_of(const Frame& frame) {
  Integrity integrity;
  integrity.see(frame);
  Findings findings;
  integrity.finish(findings);
  return ids_of(findings);
}
// A BTH with this opcode, 16 bytes and the ICRC.
Frame frame_with(std::uint8_t opcode) {
  std::vector<std::uint8_t> bytes(12 + 16 + 4);
  bytes[0] = opcode;
  Frame frame;
  detail::decode_transport(bytes, bytes.size(), frame);
  frame.payload = {};
  return frame;
}

TEST(Integrity, GoodFrame) {
  EXPECT_EQ(ids_of(frame_with(0x04)), Ids{});
}

TEST(Integrity, ReservedOpcodeIsError) {
  EXPECT_EQ(ids_of(frame_with(0x1f)), Ids{"integrity.opcode"});
}

// FLUSH, ATOMIC WRITE, RD SEND Only, of a manufacturer.
TEST(Integrity, OpcodesDefinedElsewhereAreNoted) {
  for (const int opcode : {0x1c, 0x1d, 0x44, 0xc3})
    EXPECT_EQ(ids_of(frame_with(static_cast<std::uint8_t>(opcode))), Ids{"integrity.other-opcode"}) << opcode;
}

TEST(Integrity, FramesOfOthersAreNotJudged) {
  Frame frame;
  frame.kind = FrameKind::kOtherIp;
  frame.problems = kIpChecksum;
  EXPECT_EQ(ids_of(frame), Ids{});
}

}  // namespace
}  // namespace weft::analyze
