#include "wire/aeth_syndrome.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <string>

namespace weft::wire {
namespace {

TEST(AethSyndrome, KindsAndValues) {
  EXPECT_EQ(aeth_kind(0x1f), AethKind::kAck);
  EXPECT_EQ(aeth_kind(0x2c), AethKind::kRnrNak);
  EXPECT_EQ(aeth_value(0x2c), 12);
  EXPECT_EQ(aeth_kind(0x60), AethKind::kNak);
  EXPECT_EQ(aeth_kind(0x40), AethKind::kReserved);
  EXPECT_EQ(aeth_kind(0x80), AethKind::kReserved);
  EXPECT_EQ(ack_syndrome(), 0x1f);
  EXPECT_EQ(nak_code(nak_syndrome(NakCode::kRemoteAccessError)), NakCode::kRemoteAccessError);
  EXPECT_EQ(nak_syndrome(NakCode::kRemoteAccessError), 0x62);
  EXPECT_FALSE(nak_code(0x65));
  EXPECT_FALSE(nak_code(0x1f));
}

TEST(AethSyndrome, RnrTimersMatchStandard) {
  EXPECT_EQ(rnr_timer_ps(0), us(655'360));
  EXPECT_EQ(rnr_timer_ps(1), us(10));
  EXPECT_EQ(rnr_timer_ps(12), us(640));
  EXPECT_EQ(rnr_timer_ps(16), us(2'560));
  EXPECT_EQ(rnr_timer_ps(31), us(491'520));
  EXPECT_EQ(rnr_timer_code(0), 1);
  EXPECT_EQ(rnr_timer_code(us(10) + 1), 2);
  EXPECT_EQ(rnr_timer_code(us(491'520) + 1), 0);
  for (std::uint8_t code = 0; code < 32; ++code) EXPECT_EQ(rnr_timer_code(rnr_timer_ps(code)), code);
}

TEST(AethSyndrome, CreditCodesMatchStandard) {
  EXPECT_EQ(credits_of_code(0), 0U);
  EXPECT_EQ(credits_of_code(5), 6U);
  EXPECT_EQ(credits_of_code(20), 1024U);
  EXPECT_EQ(credits_of_code(30), 32768U);
  EXPECT_FALSE(credits_of_code(kCreditCodeUnlimited));
  for (std::uint8_t code = 0; code < 31; ++code) EXPECT_EQ(code_of_credits(*credits_of_code(code)), code);
}

RC_GTEST_PROP(AethSyndrome, CreditCodeNeverOverstates, (std::uint32_t credits)) {
  const std::uint8_t code = code_of_credits(credits);
  RC_ASSERT(*credits_of_code(code) <= credits);
  if (code < 30) RC_ASSERT(*credits_of_code(static_cast<std::uint8_t>(code + 1)) > credits);
}

RC_GTEST_PROP(AethSyndrome, SyndromesRoundTrip, ()) {
  const auto value = static_cast<std::uint8_t>(*rc::gen::inRange(0, 32));
  RC_ASSERT(aeth_kind(ack_syndrome(value)) == AethKind::kAck);
  RC_ASSERT(aeth_value(ack_syndrome(value)) == value);
  RC_ASSERT(aeth_kind(rnr_nak_syndrome(value)) == AethKind::kRnrNak);
  RC_ASSERT(aeth_value(rnr_nak_syndrome(value)) == value);
}

TEST(AethSyndrome, KindsHaveTexts) {
  EXPECT_STREQ(describe_syndrome(0x00), "ACK");
  EXPECT_STREQ(describe_syndrome(0x2e), "RNR NAK");
  EXPECT_STREQ(describe_syndrome(0x60), "NAK PSN sequence error");
  EXPECT_STREQ(describe_syndrome(0x65), "NAK reserved code");
  EXPECT_STREQ(describe_syndrome(0xff), "reserved syndrome");
  std::set<std::string> texts;
  for (int syndrome = 0; syndrome < 256; ++syndrome)
    texts.insert(describe_syndrome(static_cast<std::uint8_t>(syndrome)));
  EXPECT_EQ(texts.size(), 9U);
}

}  // namespace
}  // namespace weft::wire
