#include "analyze/integrity.h"

#include <gtest/gtest.h>

#include "analyze/decode.h"
#include "analyze/decoder.h"

namespace weft::analyze {
namespace {

std::vector<std::string> ids_of(const Frame& frame) {
  Integrity integrity;
  integrity.see(frame);
  Findings findings;
  integrity.finish(findings);
  std::vector<std::string> ids;
  for (const Finding& finding : findings.all()) ids.emplace_back(finding.id);
  return ids;
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
using IntegrityIds = std::vector<std::string>;

TEST(Integrity, GoodFrame) {
  EXPECT_EQ(ids_of(frame_with(0x04)), IntegrityIds{});
}

TEST(Integrity, ReservedOpcodeIsError) {
  EXPECT_EQ(ids_of(frame_with(0x1f)), IntegrityIds{"integrity.opcode"});
}

// FLUSH, ATOMIC WRITE, RD SEND Only, of a manufacturer.
TEST(Integrity, OpcodesDefinedElsewhereAreNoted) {
  for (const int opcode : {0x1c, 0x1d, 0x44, 0xc3})
    EXPECT_EQ(ids_of(frame_with(static_cast<std::uint8_t>(opcode))), IntegrityIds{"integrity.other-opcode"}) << opcode;
}

TEST(Integrity, FramesOfOthersAreNotJudged) {
  Frame frame;
  frame.kind = FrameKind::kOtherIp;
  frame.problems = kIpChecksum;
  EXPECT_EQ(ids_of(frame), IntegrityIds{});
}

}  // namespace
}  // namespace weft::analyze
