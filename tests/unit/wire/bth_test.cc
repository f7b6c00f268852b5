#include "wire/bth.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "unit/wire/arbitrary.h"
#include "unit/wire/hex.h"

namespace weft::wire {
namespace {

TEST(Bth, FieldOffsetsMatchStandard) {
  const auto bytes = hex("06 e0 8001 c5 abcdef 81 123456");
  const auto view = BthView::parse(bytes);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->opcode(), Opcode::kWriteFirst);
  EXPECT_TRUE(view->solicited());
  EXPECT_TRUE(view->mig_req());
  EXPECT_EQ(view->pad_B(), 2);
  EXPECT_EQ(view->p_key(), 0x8001);
  EXPECT_TRUE(view->fecn());
  EXPECT_TRUE(view->becn());
  EXPECT_EQ(view->reserved6(), 5);
  EXPECT_EQ(view->dest_qp(), 0xabcdefU);
  EXPECT_TRUE(view->ack_req());
  EXPECT_EQ(view->reserved7(), 1);
  EXPECT_EQ(view->psn(), 0x123456U);
}

TEST(Bth, RejectsShortOtherVersionAndUnknownOpcode) {
  EXPECT_EQ(BthView::parse(hex("04 00 ffff 00 000001 00 0000")).error(), WireError::kTruncated);
  EXPECT_EQ(BthView::parse(hex("04 01 ffff 00 000001 00 000000")).error(), WireError::kBadTransportVersion);
  EXPECT_EQ(BthView::parse(hex("15 00 ffff 00 000001 00 000000")).error(), WireError::kUnknownOpcode);
}

RC_GTEST_PROP(Bth, RoundTrip, ()) {
  const Bth bth{.opcode = any_opcode(),
                .solicited = any<bool>(),
                .mig_req = any<bool>(),
                .pad_B = static_cast<std::uint8_t>(any_below(4)),
                .p_key = any<std::uint16_t>(),
                .fecn = any<bool>(),
                .becn = any<bool>(),
                .reserved6 = static_cast<std::uint8_t>(any_below(64)),
                .dest_qp = any_u24(),
                .ack_req = any<bool>(),
                .reserved7 = static_cast<std::uint8_t>(any_below(128)),
                .psn = any_u24()};
  std::array<std::uint8_t, BthView::kSize_B> bytes{};
  write_bth(bth, bytes);
  const auto view = BthView::parse(bytes);
  RC_ASSERT(view.has_value());
  RC_ASSERT(view->header() == bth);
}

}  // namespace
}  // namespace weft::wire
