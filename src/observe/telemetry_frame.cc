#include "observe/telemetry_frame.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "wire/bytes.h"
#include "wire/ethernet.h"
#include "wire/ipv4.h"

namespace weft::observe {

namespace {

constexpr std::size_t kEthernet_B = 14;
constexpr std::size_t kVlan_B = 4;
constexpr std::size_t kIpv4_B = 20;
constexpr std::size_t kIpv6_B = 40;
constexpr std::size_t kUdp_B = 8;
constexpr std::uint8_t kProtocolUdp = 17;

void put16(std::span<std::uint8_t> out, std::size_t at, std::size_t value) {
  out[at] = static_cast<std::uint8_t>(value >> 8);
  out[at + 1] = static_cast<std::uint8_t>(value);
}

std::vector<std::uint8_t> int_bytes(const engine::Telemetry& telemetry, std::uint16_t udp_port) {
  wire::IntMd md;
  md.next = wire::IntNext::kUdpPort;
  md.next_value = udp_port;
  md.remaining_hops = static_cast<std::uint8_t>(engine::Telemetry::kMaxHops - telemetry.count);
  md.instructions = engine::kIntInstructions;
  for (std::size_t i = 0; i < telemetry.count; ++i) {
    const engine::HopRecord& hop = telemetry.hops[i];
    wire::IntMdHop record;
    record.node_id = hop.node;
    record.hop_latency = static_cast<std::uint32_t>((hop.left_ps - hop.arrived_ps) / kNanosecond_ps);
    record.queue_id = hop.queue;
    record.queue_occupancy = std::min<std::uint32_t>(hop.queue_B, 0xffffff);
    record.egress_time = static_cast<std::uint64_t>(hop.left_ps / kNanosecond_ps);
    record.tx_utilisation = static_cast<std::uint32_t>(hop.tx_B);
    md.hops.push_back(record);
  }
  return wire::build_int_md(md);
}

std::uint8_t ifa_speed(std::uint32_t rate_Mbps) {
  constexpr std::uint32_t kRates_Gbps[] = {10, 25, 40, 50, 100, 200, 400};
  std::uint8_t code = 0;
  for (std::uint8_t i = 0; i < std::size(kRates_Gbps); ++i) {
    if (rate_Mbps >= kRates_Gbps[i] * 1000) code = i;
  }
  return code;
}

std::vector<std::uint8_t> ifa_bytes(const engine::Telemetry& telemetry, std::uint8_t ecn) {
  wire::IfaMetadata metadata;
  metadata.hop_limit = static_cast<std::uint8_t>(engine::Telemetry::kMaxHops - telemetry.count);
  for (std::size_t i = 0; i < telemetry.count; ++i) {
    const engine::HopRecord& hop = telemetry.hops[i];
    wire::IfaHop record;
    record.device_id = hop.node;
    record.ttl = hop.ttl;
    record.speed = ifa_speed(hop.rate_Mbps);
    record.congestion = ecn;
    record.queue_id = hop.queue;
    record.rx_s = static_cast<std::uint32_t>(hop.arrived_ps / kSecond_ps);
    record.egress_port = hop.out_port;
    record.ingress_port = hop.in_port;
    record.rx_ns = static_cast<std::uint32_t>(hop.arrived_ps % kSecond_ps / kNanosecond_ps);
    record.residence_ns = static_cast<std::uint32_t>((hop.left_ps - hop.arrived_ps) / kNanosecond_ps);
    record.queue_B = hop.queue_B;
    metadata.hops.push_back(record);
  }
  return wire::build_ifa_metadata(metadata);
}

void open_gap(std::span<std::uint8_t> out, std::size_t size_B, std::size_t at, std::size_t gap_B) {
  std::memmove(out.data() + at + gap_B, out.data() + at, size_B - at);
}

}  // namespace

std::size_t insert_telemetry(std::span<std::uint8_t> out, std::size_t size_B, const engine::Telemetry& telemetry,
                             std::uint8_t ecn) {
  bool vlan = wire::be16(out, 12) == 0x8100;
  std::size_t ip = kEthernet_B + (vlan ? kVlan_B : 0);
  bool v4 = out[ip] >> 4 == 4;
  std::size_t udp = ip + (v4 ? kIpv4_B : kIpv6_B);
  bool ifa = telemetry.format == engine::TelemetryFormat::kIfa;
  std::vector<std::uint8_t> bytes =
      ifa ? ifa_bytes(telemetry, ecn) : int_bytes(telemetry, static_cast<std::uint16_t>(wire::be16(out, udp + 2)));
  open_gap(out, size_B, udp + kUdp_B, bytes.size());
  std::copy(bytes.begin(), bytes.end(), out.begin() + static_cast<std::ptrdiff_t>(udp + kUdp_B));
  put16(out, udp + 4, wire::be16(out, udp + 4) + bytes.size());
  std::size_t added_B = bytes.size();
  if (ifa) {
    open_gap(out, size_B + added_B, udp, wire::kIfaHeader_B);
    wire::IfaHeader header;
    header.next_header = kProtocolUdp;
    header.flags = wire::kIfaInband;
    header.max_length = static_cast<std::uint8_t>(engine::Telemetry::kMaxHops * wire::kIfaHop_B / 4);
    wire::write_ifa_header(header, out.subspan(udp, wire::kIfaHeader_B));
    added_B += wire::kIfaHeader_B;
    out[v4 ? ip + 9 : ip + 6] = wire::kIpProtocolIfa;
  } else {
    put16(out, udp + 2, kIntUdpPort);
  }
  std::size_t length_at = v4 ? ip + 2 : ip + 4;
  put16(out, length_at, wire::be16(out, length_at) + added_B);
  if (v4) {
    put16(out, ip + 10, 0);
    put16(out, ip + 10, wire::internet_checksum(out.subspan(ip, kIpv4_B)));
  }
  return size_B + added_B;
}

}  // namespace weft::observe
