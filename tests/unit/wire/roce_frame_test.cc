#include "wire/roce_frame.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "unit/wire/arbitrary.h"
#include "unit/wire/hex.h"
#include "unit/wire/public_frames.h"
#include "wire/icrc.h"

namespace weft::wire {
namespace {

std::vector<std::uint8_t> build(const RoceHeaders& headers, Bytes payload) {
  std::vector<std::uint8_t> frame(roce_frame_size_B(headers, payload.size()), 0xee);
  EXPECT_EQ(build_roce_frame(headers, payload, frame), frame.size());
  return frame;
}

RoceHeaders write_only() {
  RoceHeaders headers;
  headers.src_ip = ipv4_mapped(10, 0, 0, 1);
  headers.dst_ip = ipv4_mapped(10, 0, 0, 2);
  headers.opcode = Opcode::kWriteOnly;
  headers.dest_qp = 0x12;
  headers.dma_len = 5;
  return headers;
}

const std::vector<std::uint8_t> kFiveBytes = {1, 2, 3, 4, 5};

TEST(RoceFrame, ReadsConnectXCnp) {
  const auto frame = parse_roce_frame(kCx4Cnp);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->headers.opcode, Opcode::kCnp);
  EXPECT_TRUE(frame->headers.becn);
  EXPECT_EQ(frame->headers.dest_qp, 0x118U);
  EXPECT_EQ(frame->headers.psn, 0U);
  EXPECT_EQ(frame->headers.tos, 0xc2);
  EXPECT_EQ(frame->headers.src_port, 0);
  EXPECT_EQ(frame->headers.src_ip, ipv4_mapped(10, 0, 17, 1));
  EXPECT_TRUE(frame->icrc_ok);
  EXPECT_TRUE(frame->ipv4_checksum_ok);
  EXPECT_TRUE(frame->payload.empty());
  EXPECT_EQ(build(frame->headers, frame->payload), kCx4Cnp);
}

TEST(RoceFrame, ReadsRxeReadRequest) {
  const auto frame = parse_roce_frame(kRxeReadRequest);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->headers.opcode, Opcode::kReadRequest);
  EXPECT_EQ(frame->headers.va, 0x7fee260fb000U);
  EXPECT_EQ(frame->headers.rkey, 0x2b8U);
  EXPECT_EQ(frame->headers.dma_len, 65536U);
  EXPECT_EQ(frame->headers.psn, 0x54cb63U);
  EXPECT_TRUE(frame->headers.ack_req);
  EXPECT_TRUE(frame->icrc_ok);
  EXPECT_EQ(build(frame->headers, frame->payload), kRxeReadRequest);
}

TEST(RoceFrame, SizesMatchRealLinks) {
  RoceHeaders headers;
  headers.opcode = Opcode::kAck;
  EXPECT_EQ(roce_frame_size_B(headers, 0), 62U);
  headers.opcode = Opcode::kWriteOnly;
  EXPECT_EQ(roce_frame_size_B(headers, 0), 74U);
  EXPECT_EQ(roce_frame_size_B(headers, 1), 78U);
  headers.opcode = Opcode::kWriteMiddle;
  EXPECT_EQ(roce_frame_size_B(headers, 4096), 4154U);
  headers.vlan_tci = 0;
  EXPECT_EQ(roce_frame_size_B(headers, 4096), 4158U);
  headers.v4 = false;
  EXPECT_EQ(roce_frame_size_B(headers, 4096), 4178U);
}

TEST(RoceFrame, BuilderPadsWithZerosAndMarksCnp) {
  const auto frame = build(write_only(), kFiveBytes);
  EXPECT_EQ(frame.size(), 14U + 20 + 8 + 12 + 16 + 8 + 4);
  EXPECT_EQ(frame[43] >> 4 & 3, 3) << "pad count";
  EXPECT_TRUE(std::all_of(frame.end() - 7, frame.end() - 4, [](std::uint8_t byte) { return byte == 0; }));
  RoceHeaders cnp;
  cnp.opcode = Opcode::kCnp;
  EXPECT_TRUE(parse_roce_frame(build(cnp, {}))->headers.becn);
}

TEST(RoceFrame, PayloadMayOverlapOutput) {
  const RoceHeaders headers = write_only();
  const auto expected = build(headers, kFiveBytes);
  for (const std::size_t at : {std::size_t{0}, std::size_t{20}, std::size_t{70}, std::size_t{75}}) {
    std::vector<std::uint8_t> out(expected.size());
    std::copy(kFiveBytes.begin(), kFiveBytes.end(), out.begin() + static_cast<std::ptrdiff_t>(at));
    build_roce_frame(headers, Bytes(out).subspan(at, kFiveBytes.size()), out);
    EXPECT_EQ(out, expected) << at;
  }
}

// Every bit of the IP packet is either covered by the ICRC, masked, or checked by its length.
TEST(RoceFrame, DetectsFlippedBitsExceptMutableFields) {
  auto frame = build(write_only(), kFiveBytes);
  const std::vector<std::size_t> masked = {15, 22, 24, 25, 40, 41, 46};  // TOS, TTL, checksums, BTH byte 4
  for (std::size_t at = 14; at < frame.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      frame[at] = static_cast<std::uint8_t>(frame[at] ^ 1 << bit);
      const auto parsed = parse_roce_frame(frame);
      const bool clean = parsed && parsed->icrc_ok;
      EXPECT_EQ(clean, std::find(masked.begin(), masked.end(), at) != masked.end()) << "byte " << at << " bit " << bit;
      frame[at] = static_cast<std::uint8_t>(frame[at] ^ 1 << bit);
    }
  }
}

TEST(RoceFrame, ReportsWrongIpv4ChecksumWithoutRejecting) {
  auto frame = build(write_only(), kFiveBytes);
  frame[24] ^= 1;
  const auto parsed = parse_roce_frame(frame);
  ASSERT_TRUE(parsed);
  EXPECT_FALSE(parsed->ipv4_checksum_ok);
  EXPECT_TRUE(parsed->icrc_ok);
}

TEST(RoceFrame, BytesAfterIpPacketAreTrailer) {
  auto frame = build(write_only(), kFiveBytes);
  frame.insert(frame.end(), {0xde, 0xad, 0xbe, 0xef});
  const auto parsed = parse_roce_frame(frame);
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->icrc_ok);
  EXPECT_EQ(parsed->trailer.size(), 4U);
}

TEST(RoceFrame, RejectsEveryTruncation) {
  const auto frame = build(write_only(), kFiveBytes);
  for (std::size_t size_B = 0; size_B < frame.size(); ++size_B) {
    const auto parsed = parse_roce_frame(Bytes(frame).first(size_B));
    ASSERT_FALSE(parsed) << size_B;
    EXPECT_EQ(parsed.error(), WireError::kTruncated) << size_B;
  }
}

// Packets whose IP and UDP lengths agree, but leave no room for the headers of their opcode and the ICRC.
TEST(RoceFrame, ShortTransportHeadersAreTruncated) {
  const auto whole = build(write_only(), {});
  const std::size_t bth_at = 42;
  for (std::size_t size_B = bth_at; size_B < whole.size(); ++size_B) {
    std::vector<std::uint8_t> frame(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size_B));
    put_be16(frame, 16, static_cast<std::uint16_t>(size_B - 14));
    put_be16(frame, 38, static_cast<std::uint16_t>(size_B - 34));
    const auto parsed = parse_roce_frame(frame);
    ASSERT_FALSE(parsed) << size_B;
    EXPECT_EQ(parsed.error(), WireError::kTruncated) << size_B;
  }
}

// `change` breaks one thing of a good frame; the parser says which.
template <typename Change>
WireError error_after(Change change) {
  auto frame = build(write_only(), kFiveBytes);
  change(frame);
  const auto parsed = parse_roce_frame(frame);
  EXPECT_FALSE(parsed);
  return parsed ? WireError{} : parsed.error();
}

TEST(RoceFrame, ErrorsNameProblem) {
  using Frame = std::vector<std::uint8_t>;
  EXPECT_EQ(error_after([](Frame& f) { f[13] = 0x06; }), WireError::kNotRoce);  // ARP
  EXPECT_EQ(error_after([](Frame& f) { f[23] = 6; }), WireError::kNotRoce);     // TCP
  EXPECT_EQ(error_after([](Frame& f) { f[37] ^= 1; }), WireError::kNotRoce);    // another port
  EXPECT_EQ(error_after([](Frame& f) { f[14] = 0x65; }), WireError::kBadIpVersion);
  EXPECT_EQ(error_after([](Frame& f) { f[14] = 0x44; }), WireError::kBadIpHeaderLength);
  EXPECT_EQ(error_after([](Frame& f) { f[20] |= 0x20; }), WireError::kBadIpFlags);  // more fragments
  EXPECT_EQ(error_after([](Frame& f) { f[21] = 1; }), WireError::kBadIpFlags);      // a later fragment
  EXPECT_EQ(error_after([](Frame& f) { f[20] |= 0x80; }), WireError::kBadIpFlags);  // reserved
  EXPECT_EQ(error_after([](Frame& f) { f[39] -= 1; }), WireError::kBadUdpLength);
  EXPECT_EQ(error_after([](Frame& f) { f[17] -= 1; }), WireError::kBadUdpLength);
  EXPECT_EQ(error_after([](Frame& f) { f[43] |= 1; }), WireError::kBadTransportVersion);
  EXPECT_EQ(error_after([](Frame& f) { f[42] = 0x15; }), WireError::kUnknownOpcode);
  EXPECT_EQ(error_after([](Frame& f) { f[42] = 0x0c; }), WireError::kUnexpectedPayload);  // a READ request
  EXPECT_EQ(error_after([](Frame& f) {  // one byte less, in every length
              f.pop_back();
              f[17] -= 1;
              f[39] -= 1;
            }),
            WireError::kBadPad);
  EXPECT_EQ(error_after([](Frame& f) {  // the headers alone, and a pad count
              f.resize(f.size() - 8);
              f[17] -= 8;
              f[39] -= 8;
            }),
            WireError::kBadPad);
  EXPECT_EQ(error_after([](Frame& f) {  // four bytes of options
              f.insert(f.begin() + 34, 4, 0);
              f[14] = 0x46;
              f[17] += 4;
            }),
            WireError::kIpOptions);
}

TEST(RoceFrame, IsRocev2ChecksOnlyAddressing) {
  auto frame = build(write_only(), kFiveBytes);
  EXPECT_TRUE(is_rocev2(frame));
  frame[42] = 0x15;
  EXPECT_TRUE(is_rocev2(frame)) << "an unknown opcode is still RoCEv2";
  EXPECT_TRUE(is_rocev2(Bytes(frame).first(42))) << "and so is a capture that was cut";
  EXPECT_FALSE(is_rocev2(Bytes(frame).first(41)));
  frame[37] ^= 1;
  EXPECT_FALSE(is_rocev2(frame));
  EXPECT_FALSE(is_rocev2(kRoceV1Ack));
  EXPECT_FALSE(is_rocev2({}));
  RoceHeaders v6 = write_only();
  v6.v4 = false;
  EXPECT_TRUE(is_rocev2(build(v6, kFiveBytes)));
}

TEST(RoceFrameDeathTest, BrokenInvariants) {
  std::vector<std::uint8_t> out(81);
  EXPECT_DEATH(build_roce_frame(write_only(), kFiveBytes, out), "no room");
  out.resize(100'000);
  RoceHeaders headers = write_only();
  headers.opcode = Opcode::kAck;
  EXPECT_DEATH(build_roce_frame(headers, kFiveBytes, out), "carries none");
  headers.opcode = static_cast<Opcode>(0x15);
  EXPECT_DEATH(build_roce_frame(headers, {}, out), "does not exist");
  EXPECT_DEATH(build_roce_frame(write_only(), std::vector<std::uint8_t>(65'500), out), "longer than IP");
}

RC_GTEST_PROP(RoceFrame, RoundTrip, ()) {
  const RoceHeaders headers = any_roce_headers();
  const auto payload = any_payload(headers.opcode);
  const auto bytes = build(headers, payload);
  const auto frame = parse_roce_frame(bytes);
  RC_ASSERT(frame.has_value());
  RC_ASSERT(frame->headers == headers);
  RC_ASSERT(std::equal(frame->payload.begin(), frame->payload.end(), payload.begin(), payload.end()));
  RC_ASSERT(frame->icrc_ok);
  RC_ASSERT(frame->ipv4_checksum_ok);
  RC_ASSERT(frame->udp_checksum == 0);
  RC_ASSERT(frame->trailer.empty());
  RC_ASSERT(build(frame->headers, frame->payload) == bytes);
}

// What a switch does to a frame in flight leaves the ICRC valid; anything else does not.
RC_GTEST_PROP(RoceFrame, SwitchesMayRemarkAndRoute, ()) {
  RoceHeaders headers = any_roce_headers();
  const auto payload = any_payload(headers.opcode);
  const auto before = parse_roce_frame(build(headers, payload))->icrc;
  headers.tos = any<std::uint8_t>();
  headers.ttl = any<std::uint8_t>();
  headers.flow_label = headers.v4 ? 0 : any_below(1 << 20);
  headers.vlan_tci = any<std::uint16_t>();
  headers.dst_mac = any_bytes<6>();
  headers.becn = headers.becn != (headers.opcode != Opcode::kCnp);
  RC_ASSERT(parse_roce_frame(build(headers, payload))->icrc == before);
  headers.psn ^= 1;
  RC_ASSERT(parse_roce_frame(build(headers, payload))->icrc != before);
}

}  // namespace
}  // namespace weft::wire
