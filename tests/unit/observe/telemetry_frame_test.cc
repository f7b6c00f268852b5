#include "observe/telemetry_frame.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fabric/link.h"
#include "observe/frame_of.h"
#include "support/roce_record.h"
#include "wire/ipv4.h"
#include "wire/roce_frame.h"

namespace weft::observe {
namespace {

constexpr std::size_t kIp = 14;
constexpr std::size_t kUdp = kIp + 20;
constexpr std::size_t kBehindUdp = kUdp + 8;

struct Seen {
  engine::Packet packet;
  std::vector<std::uint8_t> frame;
};

// A WRITE MIDDLE of 1,024 bytes that two switches wrote into, or nobody.
Seen frame_with(std::optional<engine::TelemetryFormat> format) {
  engine::Domain domain;
  domain.formats = &nic::packet_formats();
  fabric::AddressBook book{{"a:p0", {2, 0, 0, 0, 0, 1}, {}, true, std::nullopt},
                           {"b:p0", {2, 0, 0, 0, 0, 2}, {}, true, std::nullopt}};
  engine::Packet packet;
  packet.src = 0;
  packet.dst = 1;
  packet.tos = 0x6a;
  packet.udp_src_port = 0xc123;
  support::make_roce(packet, wire::Opcode::kWriteMiddle);
  packet.payload_B = 1024;
  if (format) {
    packet.flags = engine::Packet::kHasCold;
    packet.aux = domain.cold.take();
    domain.cold[packet.aux] = {};
    domain.cold[packet.aux].telemetry = domain.telemetry.take();
    engine::Telemetry& telemetry = domain.telemetry[domain.cold[packet.aux].telemetry];
    telemetry = {};
    telemetry.format = *format;
    telemetry.count = 2;
    for (std::uint32_t i = 0; i < 2; ++i) {
      engine::HopRecord& hop = telemetry.hops[i];
      hop.arrived_ps = us(10 + i);
      hop.left_ps = us(10 + i) + ns(700);
      hop.queue_B = 1000 * (i + 1);
      hop.rate_Mbps = 100'000;
      hop.node = 40 + i;
      hop.in_port = 1;
      hop.out_port = 2;
      hop.queue = 3;
      hop.tx_B = 123456;
      hop.ttl = static_cast<std::uint8_t>(63 - i);
    }
    packet.header_words = static_cast<std::uint8_t>(packet.header_words + engine::telemetry_words(*format) +
                                                    2 * engine::telemetry_hop_words(*format));
  }
  std::vector<std::uint8_t> bytes(kMaxFrame_B);
  bytes.resize(frame_of(packet, domain, book, 0, 1, bytes));
  return {packet, bytes};
}

// Cuts `count` bytes out at `at`, as a sink does.
std::vector<std::uint8_t> without(std::vector<std::uint8_t> frame, std::size_t at, std::size_t count) {
  frame.erase(frame.begin() + static_cast<std::ptrdiff_t>(at), frame.begin() + static_cast<std::ptrdiff_t>(at + count));
  return frame;
}

void expect_lengths_fit(const Seen& seen) {
  auto ip = wire::Ipv4View::parse(std::span(seen.frame).subspan(kIp));
  ASSERT_TRUE(ip.has_value());
  EXPECT_TRUE(ip->checksum_ok());
  EXPECT_EQ(ip->total_length_B(), seen.frame.size() - kIp);
  // What the line was charged for is what the frame has.
  EXPECT_EQ(fabric::line_B(seen.packet), seen.frame.size() + fabric::kLineOverhead_B);
}

TEST(TelemetryFrame, HopWordsFollowBitmap) {
  EXPECT_EQ(engine::telemetry_hop_words(engine::TelemetryFormat::kInt), wire::int_hop_words(engine::kIntInstructions));
}

TEST(TelemetryFrame, IntFollowsUdpAndIsReadBack) {
  const Seen plain = frame_with(std::nullopt);
  const Seen seen = frame_with(engine::TelemetryFormat::kInt);
  expect_lengths_fit(seen);
  EXPECT_EQ(wire::be16(seen.frame, kUdp + 2), kIntUdpPort);
  EXPECT_EQ(wire::be16(seen.frame, kUdp + 4), seen.frame.size() - kUdp);
  auto md = wire::IntMdView::parse(std::span(seen.frame).subspan(kBehindUdp));
  ASSERT_TRUE(md.has_value());
  EXPECT_EQ(md->next_value(), 4791);
  ASSERT_EQ(md->hop_count(), 2U);
  EXPECT_EQ(md->hop(0).node_id, 40U);
  EXPECT_EQ(md->hop(1).node_id, 41U);
  EXPECT_EQ(md->hop(1).hop_latency, 700U);
  EXPECT_EQ(md->hop(1).queue_occupancy, 2000U);
  EXPECT_EQ(md->hop(0).queue_id, 3U);
  EXPECT_EQ(md->hop(0).egress_time, 10'700U);
  // Taken out again, everything from BTH to ICRC is the packet that the sender made.
  const std::vector<std::uint8_t> restored = without(seen.frame, kBehindUdp, md->size_B());
  EXPECT_TRUE(
      std::equal(restored.begin() + kBehindUdp, restored.end(), plain.frame.begin() + kBehindUdp, plain.frame.end()));
}

TEST(TelemetryFrame, IfaEnclosesUdpAndIsReadBack) {
  const Seen plain = frame_with(std::nullopt);
  const Seen seen = frame_with(engine::TelemetryFormat::kIfa);
  expect_lengths_fit(seen);
  EXPECT_EQ(seen.frame[kIp + 9], wire::kIpProtocolIfa);
  auto header = wire::IfaHeaderView::parse(std::span(seen.frame).subspan(kUdp));
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->header().next_header, 17);
  const std::size_t behind = kBehindUdp + wire::kIfaHeader_B;
  auto metadata = wire::IfaMetadataView::parse(std::span(seen.frame).subspan(behind));
  ASSERT_TRUE(metadata.has_value());
  ASSERT_EQ(metadata->hop_count(), 2U);
  EXPECT_EQ(metadata->hop(0).device_id, 40U);
  EXPECT_EQ(metadata->hop(1).residence_ns, 700U);
  EXPECT_EQ(metadata->hop(1).queue_B, 2000U);
  EXPECT_EQ(metadata->hop(0).speed, static_cast<std::uint8_t>(wire::IfaSpeed::k100G));
  EXPECT_EQ(metadata->hop(0).ttl, 63);
  const std::vector<std::uint8_t> restored = without(without(seen.frame, behind, metadata->size_B()), kUdp, 4);
  EXPECT_TRUE(
      std::equal(restored.begin() + kBehindUdp, restored.end(), plain.frame.begin() + kBehindUdp, plain.frame.end()));
}

}  // namespace
}  // namespace weft::observe
