#include "wire/opcode.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace weft::wire {
namespace {

TEST(Opcode, ValidOpcodesMatchList) {
  int count = 0;
  for (int byte = 0; byte < 256; ++byte) count += is_valid_opcode(static_cast<std::uint8_t>(byte)) ? 1 : 0;
  EXPECT_EQ(count, 61);
  EXPECT_TRUE(is_valid_opcode(0x00));
  EXPECT_TRUE(is_valid_opcode(0x81));
  EXPECT_FALSE(is_valid_opcode(0x15));
  EXPECT_FALSE(is_valid_opcode(0x18));
  EXPECT_TRUE(is_valid_opcode(0x2b));
  EXPECT_FALSE(is_valid_opcode(0x2c)) << "UC has no READ";
  EXPECT_FALSE(is_valid_opcode(0x36)) << "and no SEND with invalidate";
  EXPECT_TRUE(is_valid_opcode(0xa0));
  EXPECT_TRUE(is_valid_opcode(0xb7));
  EXPECT_FALSE(is_valid_opcode(0xb5));
  EXPECT_FALSE(is_valid_opcode(0xb8));
  EXPECT_FALSE(is_valid_opcode(0x80)) << "the CNP group's base, not what is on the wire";
}

TEST(Opcode, HeaderSizesMatchStandard) {
  EXPECT_EQ(header_size_B(Opcode::kSendMiddle), 12U);
  EXPECT_EQ(header_size_B(Opcode::kSendLastImm), 16U);
  EXPECT_EQ(header_size_B(Opcode::kWriteFirst), 28U);
  EXPECT_EQ(header_size_B(Opcode::kWriteMiddle), 12U);
  EXPECT_EQ(header_size_B(Opcode::kWriteOnlyImm), 32U);
  EXPECT_EQ(header_size_B(Opcode::kReadRequest), 28U);
  EXPECT_EQ(header_size_B(Opcode::kReadResponseFirst), 16U);
  EXPECT_EQ(header_size_B(Opcode::kReadResponseMiddle), 12U);
  EXPECT_EQ(header_size_B(Opcode::kAck), 16U);
  EXPECT_EQ(header_size_B(Opcode::kAtomicAck), 24U);
  EXPECT_EQ(header_size_B(Opcode::kCompareSwap), 40U);
  EXPECT_EQ(header_size_B(Opcode::kFetchAdd), 40U);
  EXPECT_EQ(header_size_B(Opcode::kSendOnlyInv), 16U);
  EXPECT_EQ(header_size_B(Opcode::kUdSendOnly), 20U);
  EXPECT_EQ(header_size_B(Opcode::kUdSendOnlyImm), 24U);
  EXPECT_EQ(header_size_B(Opcode::kUcWriteFirst), 28U);
  EXPECT_EQ(header_size_B(Opcode::kUcWriteLastImm), 16U);
  EXPECT_EQ(header_size_B(Opcode::kUcSendOnly), 12U);
  EXPECT_EQ(header_size_B(Opcode::kCnp), 28U);
  EXPECT_EQ(header_size_B(static_cast<Opcode>(0x15)), 0U);
  for (int byte = 0; byte < 256; ++byte) EXPECT_LE(header_size_B(static_cast<Opcode>(byte)), kMaxHeaderSize_B);
}

TEST(Opcode, OpcodesHaveOneDirectionAndPositionExceptCnp) {
  for (int byte = 0; byte < 256; ++byte) {
    const auto opcode = static_cast<Opcode>(byte);
    if (!is_valid_opcode(static_cast<std::uint8_t>(byte)) || opcode == Opcode::kCnp) {
      EXPECT_FALSE(is_request(opcode) || is_response(opcode) || is_only(opcode) || has_payload(opcode)) << byte;
      continue;
    }
    EXPECT_NE(is_request(opcode), is_response(opcode)) << name(opcode);
    EXPECT_EQ(is_first(opcode) + is_middle(opcode) + is_last(opcode) + is_only(opcode), 1) << name(opcode);
    EXPECT_FALSE(has_reth(opcode) && has_aeth(opcode)) << name(opcode);
  }
  EXPECT_TRUE(is_response(Opcode::kAck));
  EXPECT_TRUE(is_request(Opcode::kFetchAdd));
  EXPECT_FALSE(has_payload(Opcode::kReadRequest));
  EXPECT_TRUE(has_payload(Opcode::kReadResponseOnly));
}

// The word in the name and the trait come from two tables; they must tell the same story.
TEST(Opcode, NamesAgreeWithTraits) {
  std::set<std::string> names;
  for (int byte = 0; byte < 256; ++byte) {
    const auto opcode = static_cast<Opcode>(byte);
    const std::string text = name(opcode);
    if (!is_valid_opcode(static_cast<std::uint8_t>(byte))) {
      EXPECT_EQ(text, "unknown opcode");
      continue;
    }
    EXPECT_TRUE(names.insert(text).second) << text;
    auto says = [&text](const char* word) { return text.find(word) != std::string::npos; };
    EXPECT_EQ(says("First"), is_first(opcode)) << text;
    EXPECT_EQ(says("Middle"), is_middle(opcode)) << text;
    EXPECT_EQ(says("Last"), is_last(opcode)) << text;
    EXPECT_EQ(says("Immediate"), has_imm(opcode)) << text;
    EXPECT_EQ(says("Invalidate"), has_ieth(opcode)) << text;
    EXPECT_EQ(says("UD "), has_deth(opcode)) << text;
  }
  EXPECT_STREQ(name(Opcode::kWriteFirst), "RC RDMA WRITE First");
  EXPECT_STREQ(name(Opcode::kUcWriteFirst), "UC RDMA WRITE First");
}

TEST(Opcode, UcMirrorsRc) {
  EXPECT_EQ(uc_opcode(Opcode::kSendFirst), 0x20);
  EXPECT_EQ(uc_opcode(Opcode::kWriteOnlyImm), 0x2b);
  for (int byte = 0; byte < 256; ++byte) {
    auto opcode = static_cast<std::uint8_t>(byte);
    EXPECT_EQ(is_uc(opcode), byte >= 0x20 && byte < 0x40);
    if (!is_uc(opcode) || !is_valid_opcode(opcode)) continue;
    const std::string rc = name(without_transport(opcode));
    EXPECT_EQ(name(static_cast<Opcode>(byte)), "UC" + rc.substr(2));
    EXPECT_TRUE(is_request(static_cast<Opcode>(byte)));
  }
}

// Requests of XRC name a shared receive queue; what comes back does not (IBTA annex A14).
TEST(Opcode, XrcMirrorsRc) {
  EXPECT_EQ(static_cast<int>(xrc_opcode(Opcode::kSendFirst)), 0xa0);
  EXPECT_EQ(static_cast<int>(xrc_opcode(Opcode::kAck)), 0xb1);
  EXPECT_EQ(header_size_B(xrc_opcode(Opcode::kWriteOnlyImm)), 36U);
  EXPECT_EQ(header_size_B(xrc_opcode(Opcode::kCompareSwap)), 44U);
  EXPECT_EQ(header_size_B(xrc_opcode(Opcode::kReadResponseOnly)), 16U);
  for (int byte = 0; byte < 256; ++byte) {
    auto opcode = static_cast<std::uint8_t>(byte);
    EXPECT_EQ(is_xrc(opcode), byte >= 0xa0 && byte < 0xc0);
    if (!is_xrc(opcode)) continue;
    const Opcode rc = without_transport(opcode);
    EXPECT_EQ(is_valid_opcode(opcode), is_valid_opcode(static_cast<std::uint8_t>(rc)));
    if (!is_valid_opcode(opcode)) continue;
    EXPECT_EQ(name(static_cast<Opcode>(byte)), "XRC" + std::string(name(rc)).substr(2));
    EXPECT_EQ(has_xrc_eth(static_cast<Opcode>(byte)), is_request(rc));
    EXPECT_EQ(header_size_B(static_cast<Opcode>(byte)), header_size_B(rc) + (is_request(rc) ? kXrcEthSize_B : 0));
  }
}

}  // namespace
}  // namespace weft::wire
