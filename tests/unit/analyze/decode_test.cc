#include "analyze/frames/decode.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "pcap/link_type.h"
#include "wire/erspan.h"
#include "wire/pfc.h"
#include "wire/roce_frame.h"

namespace weft::analyze {
namespace {

using Buffer = std::vector<std::uint8_t>;

wire::RoceHeaders write_headers(bool v4 = true) {
  wire::RoceHeaders headers;
  headers.dst_mac = {2, 0, 0, 0, 0, 2};
  headers.src_mac = {2, 0, 0, 0, 0, 1};
  headers.v4 = v4;
  headers.src_ip =
      v4 ? wire::ipv4_mapped(10, 0, 0, 1) : wire::IpAddress{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  headers.dst_ip =
      v4 ? wire::ipv4_mapped(10, 0, 0, 2) : wire::IpAddress{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
  headers.tos = 106;
  headers.src_port = 0xc123;
  headers.opcode = wire::Opcode::kWriteOnly;
  headers.ack_req = true;
  headers.dest_qp = 0x1234;
  headers.psn = 77;
  headers.va = 0x1122334455667788;
  headers.rkey = 9;
  headers.dma_len = 101;
  return headers;
}

Buffer frame_of(const wire::RoceHeaders& headers, std::size_t payload_B = 101) {
  const Buffer payload(payload_B, 0x5a);
  Buffer frame(wire::roce_frame_size_B(headers, payload_B));
  wire::build_roce_frame(headers, payload, frame);
  return frame;
}

Buffer operator+(Buffer first, const Buffer& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Buffer without(const Buffer& bytes, std::size_t first_B) {
  return {bytes.begin() + static_cast<std::ptrdiff_t>(first_B), bytes.end()};
}

struct Decoded {
  Addresses addresses;
  Frame frame;
};

Decoded decoded(const Buffer& bytes, std::uint16_t link_type = pcap::kLinkTypeEthernet, std::size_t wire_B = 0) {
  Decoded result;
  decode(link_type, bytes, static_cast<std::uint32_t>(wire_B == 0 ? bytes.size() : wire_B), {}, result.addresses,
         result.frame);
  return result;
}

// The WRITE of write_headers(), whole and good.
void expect_write(const Decoded& result, const std::string& src = "10.0.0.1") {
  const Frame& frame = result.frame;
  ASSERT_EQ(frame.kind, FrameKind::kRoce);
  EXPECT_EQ(frame.problems, 0);
  EXPECT_EQ(frame.icrc, IcrcState::kGood);
  EXPECT_EQ(result.addresses.text(frame.src), src);
  EXPECT_EQ(frame.opcode, wire::Opcode::kWriteOnly);
  EXPECT_EQ(frame.dest_qp, 0x1234U);
  EXPECT_EQ(frame.psn, 77U);
  EXPECT_TRUE(frame.has_reth);
  EXPECT_EQ(frame.dma_len, 101U);
  EXPECT_EQ(frame.payload_B, 101U);
  EXPECT_EQ(frame.payload.size(), 101U);
  EXPECT_EQ(frame.dscp(), 26);
  EXPECT_FALSE(frame.cut);
}

TEST(Decode, PlainFrames) {
  const Buffer ipv4 = frame_of(write_headers());
  expect_write(decoded(ipv4));
  EXPECT_EQ(decoded(ipv4).frame.wire_B, ipv4.size());
  EXPECT_EQ(decoded(ipv4).frame.src_port, 0xc123);
  EXPECT_EQ(decoded(ipv4).frame.dst_mac, 0x020000000002ULL);
  expect_write(decoded(frame_of(write_headers(false))), "fe80::1");
  const wire::RoceHeaders headers = write_headers(false);
  Buffer v1(wire::rocev1_frame_size_B(headers, 101));
  wire::build_rocev1_frame(headers, Buffer(101, 0x5a), v1);
  expect_write(decoded(v1), "fe80::1");
  EXPECT_EQ(decoded(v1).frame.encapsulation, Encapsulation::kRoceV1);
}

TEST(Decode, StackedTags) {
  wire::RoceHeaders headers = write_headers();
  headers.vlan_tci = wire::vlan_tci(3, 100);
  const Buffer tagged = frame_of(headers);
  expect_write(decoded(tagged));
  EXPECT_EQ(decoded(tagged).frame.pcp(), 3);
  Buffer twice = tagged;
  const Buffer outer = {0x88, 0xa8, 0x00, 0x07};
  twice.insert(twice.begin() + 12, outer.begin(), outer.end());
  expect_write(decoded(twice));
  EXPECT_EQ(decoded(twice).frame.vlan_tci & 0xfff, 100);
  EXPECT_EQ(decoded(twice).frame.outer_vlan_tci, 7);
}

TEST(Decode, LinkTypesWithoutEthernet) {
  const Buffer ip = without(frame_of(write_headers()), 14);
  for (const std::uint16_t type : {pcap::kLinkTypeRaw, pcap::kLinkTypeRawDlt, pcap::kLinkTypeIpv4}) {
    expect_write(decoded(ip, type));
  }
  expect_write(decoded(without(frame_of(write_headers(false)), 14), pcap::kLinkTypeIpv6), "fe80::1");
  expect_write(decoded(Buffer{2, 0, 0, 0} + ip, pcap::kLinkTypeNull));

  const Buffer cooked = Buffer{0, 4, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0} + ip;
  expect_write(decoded(cooked, pcap::kLinkTypeLinuxCooked));
  EXPECT_EQ(decoded(cooked, pcap::kLinkTypeLinuxCooked).frame.direction, Direction::kOut);
  EXPECT_EQ(decoded(cooked, pcap::kLinkTypeLinuxCooked).frame.src_mac, 0x020000000001ULL);
  const Buffer cooked2 = Buffer{8, 0, 0, 0, 0, 0, 0, 3, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0} + ip;
  expect_write(decoded(cooked2, pcap::kLinkTypeLinuxCooked2));
  EXPECT_EQ(decoded(cooked2, pcap::kLinkTypeLinuxCooked2).frame.direction, Direction::kIn);
  EXPECT_EQ(decoded(ip, 9999).frame.kind, FrameKind::kOther);
}

Buffer erf_record(std::uint8_t type, std::size_t wire_B, const Buffer& body) {
  Buffer record(16, 0);
  record[8] = type;
  record[14] = static_cast<std::uint8_t>(wire_B >> 8);
  record[15] = static_cast<std::uint8_t>(wire_B);
  record = record + body;
  record.resize((record.size() + 7) / 8 * 8, 0);
  return record;
}

TEST(Decode, ErfHoldsEthernetAndInfiniBand) {
  const Buffer frame = frame_of(write_headers());
  expect_write(decoded(erf_record(2, frame.size(), Buffer{0, 0} + frame), pcap::kLinkTypeErf));
  const Buffer extended = Buffer(8, 0) + Buffer{0, 0} + frame;
  expect_write(decoded(erf_record(0x82, frame.size(), extended), pcap::kLinkTypeErf));

  // LRH with LIDs 5 > 7, BTH of an ACK, AETH, ICRC, VCRC.
  const Buffer ib = {0x00, 0x02, 0, 7, 0, 7,    0, 5, 0x11, 0,    0xff, 0xff, 0,    0,    0,
                     0x42, 0,    0, 0, 9, 0x1f, 0, 0, 3,    0xde, 0xad, 0xbe, 0xef, 0xaa, 0xaa};
  for (const Decoded& result :
       {decoded(ib, pcap::kLinkTypeInfiniBand), decoded(erf_record(21, ib.size(), ib), pcap::kLinkTypeErf)}) {
    ASSERT_EQ(result.frame.kind, FrameKind::kRoce);
    EXPECT_EQ(result.frame.problems, 0);
    EXPECT_EQ(result.frame.encapsulation, Encapsulation::kInfiniBand);
    EXPECT_EQ(result.addresses.text(result.frame.src), "LID 5");
    EXPECT_EQ(result.addresses.text(result.frame.dst), "LID 7");
    EXPECT_EQ(result.frame.dest_qp, 0x42U);
    EXPECT_EQ(result.frame.msn, 3U);
    EXPECT_EQ(result.frame.payload_B, 0U);
  }
}

TEST(Decode, ErspanIsTakenOff) {
  const Buffer inner = frame_of(write_headers());
  wire::ErspanTunnel tunnel;
  tunnel.src_ip = {192, 168, 0, 1};
  wire::Erspan header;
  header.session = 5;
  header.sequence = 1000;
  const Buffer second = wire::build_erspan_frame(tunnel, header, inner);
  expect_write(decoded(second));
  EXPECT_EQ(decoded(second).frame.tunnel, Tunnel::kErspan2);
  EXPECT_EQ(decoded(second).frame.tunnel_id, 5U);
  EXPECT_EQ(decoded(second).frame.mirror_sequence, 1000U);
  EXPECT_EQ(decoded(second).frame.wire_B, inner.size());

  const Buffer third = wire::build_erspan_frame(tunnel, wire::erspan3_at(5, 6, 1, 2, true), inner);
  expect_write(decoded(third));
  EXPECT_EQ(decoded(third).frame.tunnel, Tunnel::kErspan3);

  // Type I: GRE of four bytes, no ERSPAN header; the outer IP packet is 12 bytes shorter.
  Buffer first = second;
  first.erase(first.begin() + 14 + 20 + 4, first.begin() + 14 + 20 + 16);
  first[14 + 20] = 0;
  const auto total_B = static_cast<std::uint16_t>(first.size() - 14);
  first[16] = static_cast<std::uint8_t>(total_B >> 8);
  first[17] = static_cast<std::uint8_t>(total_B);
  expect_write(decoded(first));
  EXPECT_EQ(decoded(first).frame.tunnel, Tunnel::kErspan1);
}

TEST(Decode, MirrorMayCutFrames) {
  const Buffer inner = frame_of(write_headers());
  wire::Erspan header;
  header.truncated = true;
  const Buffer cut_inner(inner.begin(), inner.begin() + 64);
  for (const Frame& frame :
       {decoded(wire::build_erspan_frame({}, header, cut_inner)).frame, decoded(cut_inner).frame}) {
    ASSERT_EQ(frame.kind, FrameKind::kRoce);
    EXPECT_EQ(frame.problems, 0);
    EXPECT_TRUE(frame.cut);
    EXPECT_EQ(frame.icrc, IcrcState::kNotChecked);
    EXPECT_EQ(frame.payload_B, 101U) << "by the lengths of the headers";
    EXPECT_EQ(frame.wire_B, inner.size());
  }
  // Lengths that disagree are an error of the sender.
  Buffer wrong = cut_inner;
  wrong[14 + 3] ^= 4;
  EXPECT_TRUE(decoded(wrong).frame.has(kIpLength));
}

TEST(Decode, VxlanIsTakenOff) {
  const Buffer inner = frame_of(write_headers());
  Buffer outer = frame_of(write_headers());
  outer.resize(14 + 20 + 8);
  outer[14 + 20 + 2] = 4789 >> 8;
  outer[14 + 20 + 3] = 4789 & 0xff;
  outer = outer + Buffer{8, 0, 0, 0, 0, 0x12, 0x34, 0} + inner;
  const std::size_t total_B = outer.size() - 14;
  outer[16] = static_cast<std::uint8_t>(total_B >> 8);
  outer[17] = static_cast<std::uint8_t>(total_B);
  outer[38] = static_cast<std::uint8_t>((total_B - 20) >> 8);
  outer[39] = static_cast<std::uint8_t>(total_B - 20);
  expect_write(decoded(outer));
  EXPECT_EQ(decoded(outer).frame.tunnel, Tunnel::kVxlan);
  EXPECT_EQ(decoded(outer).frame.tunnel_id, 0x1234U);
}

TEST(Decode, PaddingAndFcsAreLeftOut) {
  const Buffer frame = frame_of(write_headers());
  const Decoded with_fcs = decoded(frame + Buffer{1, 2, 3, 4});
  expect_write(with_fcs);
  EXPECT_EQ(with_fcs.frame.wire_B, frame.size());
  wire::RoceHeaders send = write_headers();
  send.opcode = wire::Opcode::kSendOnly;
  const Buffer empty = frame_of(send, 0);  // 58 bytes
  EXPECT_EQ(decoded(empty + Buffer(2, 0)).frame.wire_B, 60U);
  EXPECT_EQ(decoded(empty + Buffer(6, 0)).frame.wire_B, 60U);
  for (const std::size_t pad_B : {0, 2, 6}) {
    const Frame padded = decoded(empty + Buffer(pad_B, 0)).frame;
    EXPECT_EQ(padded.icrc, IcrcState::kGood);
    EXPECT_EQ(padded.problems, 0);
    EXPECT_EQ(padded.payload_B, 0U);
  }
}

TEST(Decode, Ipv4OptionsAndFragments) {
  Buffer frame = frame_of(write_headers());
  Buffer options = frame;
  options.insert(options.begin() + 34, {1, 1, 1, 1});
  options[14] = 0x46;
  options[17] = static_cast<std::uint8_t>(options[17] + 4);
  const Frame with_options = decoded(options).frame;
  EXPECT_EQ(with_options.kind, FrameKind::kRoce);
  EXPECT_EQ(with_options.psn, 77U);
  EXPECT_EQ(with_options.icrc, IcrcState::kNotChecked);

  Buffer first = frame;
  first[14 + 6] = 0x20;  // more fragments
  EXPECT_TRUE(decoded(first).frame.has(kFragment));
  EXPECT_FALSE(decoded(first).frame.has(kUdpLength));
  EXPECT_EQ(decoded(first).frame.dst_port, 4791);
  Buffer later = frame;
  later[14 + 7] = 0x10;
  EXPECT_TRUE(decoded(later).frame.has(kFragment));
  EXPECT_EQ(decoded(later).frame.kind, FrameKind::kOtherIp);
  EXPECT_EQ(decoded(later).frame.dst_port, 0);
}

TEST(Decode, Ipv6ExtensionHeaders) {
  Buffer frame = frame_of(write_headers(false));
  // Hop-by-hop of 8 bytes, destination options of 16.
  const Buffer extensions = Buffer{60, 0, 1, 4, 0, 0, 0, 0} + Buffer{17, 1, 1, 12} + Buffer(12, 0);
  frame.insert(frame.begin() + 54, extensions.begin(), extensions.end());
  frame[14 + 6] = 0;
  frame[14 + 5] = static_cast<std::uint8_t>(frame[14 + 5] + 24);
  const Frame result = decoded(frame).frame;
  EXPECT_EQ(result.kind, FrameKind::kRoce);
  EXPECT_EQ(result.ip_protocol, 17);
  EXPECT_EQ(result.psn, 77U);
  EXPECT_EQ(result.problems, 0);
  EXPECT_EQ(result.icrc, IcrcState::kNotChecked);
}

TEST(Decode, SnappedFrameSaysWhatItHolds) {
  const Buffer frame = frame_of(write_headers());
  for (std::size_t size_B = 0; size_B < frame.size(); ++size_B) {
    const Buffer snapped(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size_B));
    const Frame result = decoded(snapped, pcap::kLinkTypeEthernet, frame.size()).frame;
    EXPECT_EQ(result.problems, 0) << size_B;
    EXPECT_TRUE(result.cut);
    EXPECT_EQ(result.wire_B, frame.size());
    EXPECT_EQ(result.icrc, IcrcState::kNotChecked);
    const std::size_t bth_end_B = 14 + 20 + 8 + 12;
    EXPECT_EQ(result.kind == FrameKind::kRoce, size_B >= bth_end_B) << size_B;
    EXPECT_EQ(result.has_reth, size_B >= bth_end_B + 16) << size_B;
    if (result.kind == FrameKind::kRoce) {
      EXPECT_EQ(result.payload_B, 101U);
    }
  }
}

TEST(Decode, WrongFramesAreNamed) {
  const Buffer frame = frame_of(write_headers());
  const auto broken = [&](std::size_t at, std::uint8_t value) {
    Buffer bytes = frame;
    bytes[at] = value;
    return decoded(bytes).frame;
  };
  EXPECT_EQ(broken(100, 1).icrc, IcrcState::kBad);
  EXPECT_TRUE(broken(24, 0x77).has(kIpChecksum));
  EXPECT_TRUE(broken(16, 0xff).has(kIpLength));
  EXPECT_TRUE(broken(39, 1).has(kUdpLength));
  EXPECT_TRUE(broken(42, 0x1f).has(kUnknownOpcode));
  EXPECT_TRUE(broken(43, 0x01).has(kTransportVersion));
  EXPECT_EQ(broken(14, 0x35).kind, FrameKind::kUnreadable);
  EXPECT_EQ(broken(1, 99).problems, 0);
}

// Whatever the bytes are and wherever the capture cut them: no read beyond them, and lengths that make sense.
RC_GTEST_PROP(Decode, AnyBytesGiveFrame, (const Buffer& tail)) {
  const Buffer whole = frame_of(write_headers());
  wire::Erspan header;
  Buffer bytes = *rc::gen::element(Buffer{}, Buffer(whole.begin(), whole.begin() + 14), whole,
                                   wire::build_erspan_frame({}, header, whole));
  if (!bytes.empty()) bytes.resize(*rc::gen::inRange<std::size_t>(0, bytes.size()));
  bytes = bytes + tail;
  const auto type = *rc::gen::element<std::uint16_t>(0, 1, 12, 101, 113, 197, 228, 229, 247, 276);
  const auto wire_B = *rc::gen::inRange<std::size_t>(0, 400);
  bytes.shrink_to_fit();
  const Frame frame = decoded(bytes, type, wire_B).frame;
  RC_ASSERT(frame.payload.size() <= bytes.size());
  RC_ASSERT(frame.captured_B == bytes.size());
}

}  // namespace
}  // namespace weft::analyze
