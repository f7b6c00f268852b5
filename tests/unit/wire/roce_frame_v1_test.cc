#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "unit/wire/arbitrary.h"
#include "unit/wire/public_frames.h"
#include "wire/roce_frame.h"

namespace weft::wire {
namespace {

std::vector<std::uint8_t> build_v1(const RoceHeaders& headers, Bytes payload) {
  std::vector<std::uint8_t> frame(rocev1_frame_size_B(headers, payload.size()), 0xee);
  EXPECT_EQ(build_rocev1_frame(headers, payload, frame), frame.size());
  return frame;
}

TEST(RoceFrameV1, ReadsWriteOnly) {
  const auto frame = parse_rocev1_frame(kRoceV1WriteOnly);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->headers.opcode, Opcode::kWriteOnly);
  EXPECT_EQ(frame->headers.tos, 2);
  EXPECT_EQ(frame->headers.dest_qp, 0x10aU);
  EXPECT_EQ(frame->headers.dma_len, 5U);
  EXPECT_TRUE(frame->headers.mig_req);
  EXPECT_EQ(frame->payload.size(), 5U);
  EXPECT_EQ(frame->pad_B, 3);
  EXPECT_TRUE(frame->icrc_ok);
  EXPECT_EQ(build_v1(frame->headers, frame->payload), kRoceV1WriteOnly);
}

TEST(RoceFrameV1, ReadsAck) {
  const auto frame = parse_rocev1_frame(kRoceV1Ack);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->headers.opcode, Opcode::kAck);
  EXPECT_EQ(frame->headers.msn, 5U);
  EXPECT_TRUE(frame->icrc_ok);
  EXPECT_EQ(build_v1(frame->headers, frame->payload), kRoceV1Ack);
}

TEST(RoceFrameV1, RejectsOtherAndTruncatedFrames) {
  EXPECT_EQ(parse_rocev1_frame(kCx4Cnp).error(), WireError::kNotRoce);
  for (std::size_t size_B = 0; size_B < kRoceV1Ack.size(); ++size_B) {
    EXPECT_EQ(parse_rocev1_frame(Bytes(kRoceV1Ack).first(size_B)).error(), WireError::kTruncated) << size_B;
  }
  auto frame = kRoceV1Ack;
  frame[20] = 17;  // GRH next header
  EXPECT_EQ(parse_rocev1_frame(frame).error(), WireError::kNotRoce);
}

TEST(RoceFrameV1, IcrcCoversPayload) {
  auto frame = kRoceV1WriteOnly;
  frame[frame.size() - 12] ^= 1;
  EXPECT_FALSE(parse_rocev1_frame(frame)->icrc_ok);
}

RC_GTEST_PROP(RoceFrameV1, RoundTrip, ()) {
  RoceHeaders headers = any_roce_headers();
  headers.v4 = false;  // and what only IP and UDP have
  headers.ip_id = 0;
  headers.dont_fragment = true;
  headers.src_port = 0;
  const auto payload = any_payload(headers.opcode);
  const auto bytes = build_v1(headers, payload);
  const auto frame = parse_rocev1_frame(bytes);
  RC_ASSERT(frame.has_value());
  RC_ASSERT(frame->headers == headers);
  RC_ASSERT(std::equal(frame->payload.begin(), frame->payload.end(), payload.begin(), payload.end()));
  RC_ASSERT(frame->icrc_ok);
  RC_ASSERT(build_v1(frame->headers, frame->payload) == bytes);
}

}  // namespace
}  // namespace weft::wire
