// Mirrors, overlays and telemetry in packet_tree.h: GRE with ERSPAN, VXLAN, INT-MD, IFA; and UET, which Wireshark 4.0
// does not know either.
#include <fmt/format.h>

#include "analyze/frames/decode.h"
#include "analyze/show/tree_maker.h"
#include "wire/erspan.h"
#include "wire/flow.h"
#include "wire/ifa.h"
#include "wire/int_md.h"
#include "wire/udp.h"
#include "wire/uet.h"

namespace weft::analyze::detail {
namespace {

const char* pds_name(wire::PdsType type) {
  constexpr const char* kNames[] = {"",
                                    "TSS",
                                    "RUD request",
                                    "ROD request",
                                    "RUDI request",
                                    "RUDI response",
                                    "UUD request",
                                    "ACK",
                                    "ACK with CC state",
                                    "ACK with more CC state",
                                    "NACK",
                                    "control",
                                    "NACK with CC state",
                                    "RUD CC request",
                                    "ROD CC request"};
  const auto number = static_cast<std::size_t>(type);
  return number < std::size(kNames) ? kNames[number] : "";
}

}  // namespace

void TreeMaker::gre(std::size_t at, std::size_t end) {
  constexpr std::size_t kPlain_B = 4;
  constexpr unsigned kSequence = 0x1000;
  if (!has(at, kPlain_B, end)) return data(at, end);
  const unsigned flags = u16(at);
  const std::uint16_t protocol = u16(at + 2);
  const bool numbered = flags == kSequence && has(at, wire::kGre_B, end);
  layer("Generic Routing Encapsulation", at, numbered ? wire::kGre_B : kPlain_B);
  hex("Flags and Version", "gre.flags_and_version", at, 2);
  hex("Protocol Type", "gre.proto", at + 2, 2,
      protocol == wire::kGreErspan2   ? (numbered ? "ERSPAN type II" : "ERSPAN type I")
      : protocol == wire::kGreErspan3 ? "ERSPAN type III"
                                      : "");
  if (numbered) decimal("Sequence Number", "gre.sequence_number", at + 4, 4);
  at += numbered ? wire::kGre_B : kPlain_B;
  if (flags == 0 && protocol == wire::kGreErspan2 && enter_tunnel()) return ethernet(at, end);
  if (numbered && erspan(protocol, at, end) && enter_tunnel()) return ethernet(at, end);
  data(at, end);
}

// False where it is none; `at` is moved behind it.
bool TreeMaker::erspan(std::uint16_t protocol, std::size_t& at, std::size_t end) {
  const bool third = protocol == wire::kGreErspan3;
  const std::size_t header_B = third ? wire::kErspan3_B : wire::kErspan2_B;
  if ((!third && protocol != wire::kGreErspan2) || !has(at, header_B, end)) return false;
  if (u8(at) >> 4 != (third ? 2 : 1)) return false;
  layer("Encapsulated Remote Switch Packet ANalysis", at, header_B);
  field("Version", "erspan.version", fmt::format("{}", u8(at) >> 4), at, 1, third ? "type III" : "type II");
  field("Vlan", "erspan.vlan", fmt::format("{}", u16(at) & 0xfff), at, 2);
  field("COS", "erspan.cos", fmt::format("{}", u8(at + 2) >> 5), at + 2, 1);
  field("Truncated", "erspan.truncated", fmt::format("{}", u8(at + 2) >> 2 & 1), at + 2, 1);
  field("SpanID", "erspan.spanid", fmt::format("{}", u16(at + 2) & 0x3ff), at + 2, 2);
  if (!third) {
    field("Index", "erspan.index", fmt::format("{}", u32(at + 4) & 0xfffff), at + 4, 4, "mirrored port");
    at += header_B;
    return true;
  }
  decimal("Timestamp", "erspan.timestamp", at + 4, 4);
  const unsigned flags = u16(at + 10);
  field("Hardware ID", "erspan.hw", fmt::format("{}", flags >> 4 & 0x3f), at + 10, 2);
  field("Direction", "erspan.direction", fmt::format("{}", flags >> 3 & 1), at + 10, 2,
        (flags >> 3 & 1) != 0 ? "as it left" : "as it came");
  field("Timestamp granularity", "erspan.gra", fmt::format("{}", flags >> 1 & 3), at + 10, 2);
  const bool more = (flags & 1) != 0;
  at += header_B;
  if (!more) return true;
  if (!has(at, wire::kErspanSubheader_B, end)) return false;
  constexpr unsigned kPortAndSeconds = 5;
  layer("ERSPAN platform subheader", at, wire::kErspanSubheader_B);
  const unsigned platform = u8(at) >> 2;
  field("Platform ID", "erspan.platid", fmt::format("{}", platform), at, 1);
  if (platform == kPortAndSeconds) {
    field("Switch ID", "erspan.pid5.switchid", fmt::format("{}", u16(at) & 0x3ff), at, 2);
    decimal("Port ID/Index", "erspan.pid5.port_index", at + 2, 2);
    decimal("Timestamp (seconds)", "erspan.pid5.timestamp", at + 4, 4);
  }
  at += wire::kErspanSubheader_B;
  return true;
}

void TreeMaker::vxlan(std::size_t at, std::size_t end) {
  constexpr std::size_t kHeader_B = 8;
  if (!has(at, kHeader_B, end) || (u8(at) & 8) == 0) return data(at, end);
  layer("Virtual eXtensible Local Area Network", at, kHeader_B);
  hex("Flags", "vxlan.flags", at, 2);
  decimal("VXLAN Network Identifier (VNI)", "vxlan.vni", at + 4, 3);
  enter_tunnel() ? ethernet(at + kHeader_B, end) : data(at + kHeader_B, end);
}

void TreeMaker::int_md(std::size_t at, std::size_t end) {
  if (!has(at, 1, end)) return;
  const auto md = wire::IntMdView::parse(bytes_.subspan(at));
  if (!md || md->size_B() > end - at) return data(at, end);
  layer("In-band Network Telemetry (INT-MD)", at, md->size_B());
  decimal("Original Value", "", at + 2, 2, "UDP port, protocol or DSCP before INT");
  decimal("Remaining Hop Count", "", at + 7, 1);
  hex("Instruction Bitmap", "", at + 8, 2);
  const std::size_t hop_B = wire::int_hop_words(md->instructions()) * 4;
  for (std::size_t i = 0; i < md->hop_count(); ++i) {
    const wire::IntMdHop hop = md->hop(i);
    field(fmt::format("Hop {}", i + 1), "",
          fmt::format("node {}, ports {} > {}, queue {} of {} B, latency {} ns", hop.node_id, hop.ingress_interface,
                      hop.egress_interface, hop.queue_id, hop.queue_occupancy, hop.hop_latency),
          at + wire::kIntShim_B + wire::kIntMdHeader_B + (md->hop_count() - 1 - i) * hop_B, hop_B);
  }
  const std::size_t behind = at + md->size_B();
  const bool roce = md->next() == wire::IntNext::kUdpPort && md->next_value() == wire::kRoceUdpPort;
  roce ? transport(behind, end) : data(behind, end);
}

// Its header before UDP, its metadata behind it.
void TreeMaker::ifa(std::size_t at, std::size_t end) {
  if (!has(at, wire::kIfaHeader_B + wire::kUdpSize_B + wire::kIfaMetadataHeader_B, end)) return data(at, end);
  const auto header = wire::IfaHeaderView::parse(bytes_.subspan(at));
  if (!header) return data(at, end);
  layer("Inband Flow Analyzer", at, wire::kIfaHeader_B);
  field("Version", "", fmt::format("{}", u8(at) >> 4), at, 1);
  field("Name Space", "", fmt::format("{}", u8(at) & 0xf), at, 1);
  decimal("Next Header", "", at + 1, 1);
  hex("Flags", "", at + 2, 1);
  decimal("Max Length", "", at + 3, 1, "words of 4 bytes");
  at += wire::kIfaHeader_B;
  layer("User Datagram Protocol", at, wire::kUdpSize_B);
  decimal("Source Port", "udp.srcport", at, 2);
  decimal("Destination Port", "udp.dstport", at + 2, 2);
  decimal("Length", "udp.length", at + 4, 2);
  hex("Checksum", "udp.checksum", at + 6, 2);
  const bool roce = u16(at + 2) == wire::kRoceUdpPort;
  at += wire::kUdpSize_B;
  const auto metadata = wire::IfaMetadataView::parse(bytes_.subspan(at));
  if (!metadata || metadata->size_B() > end - at) return data(at, end);
  layer("IFA metadata", at, metadata->size_B());
  decimal("Hop Limit", "", at + 2, 1);
  for (std::size_t i = 0; i < metadata->hop_count(); ++i) {
    const wire::IfaHop hop = metadata->hop(i);
    field(fmt::format("Hop {}", i + 1), "",
          fmt::format("device {}, ports {} > {}, queue {} of {} B, residence {} ns", hop.device_id, hop.ingress_port,
                      hop.egress_port, hop.queue_id, hop.queue_B, hop.residence_ns),
          at + wire::kIfaMetadataHeader_B + (metadata->hop_count() - 1 - i) * wire::kIfaHop_B, wire::kIfaHop_B);
  }
  const std::size_t behind = at + metadata->size_B();
  roce ? transport(behind, end) : data(behind, end);
}

// The packet delivery sublayer of UE 1.0, as far as wire/uet.h reads it.
void TreeMaker::uet(std::size_t at, std::size_t end) {
  if (!has(at, 2, end)) return data(at, end);
  const auto pds = wire::parse_pds(bytes_.subspan(at));
  if (!pds) return data(at, end, "Ultra Ethernet Transport");
  const bool numbered = pds->is_request() || pds->is_ack() || pds->is_nack();
  const std::size_t header_B = !numbered ? 2 : pds->sack_psn ? 24 : 12;
  if (!has(at, header_B, end)) return data(at, end, "Ultra Ethernet Transport");
  layer("Ultra Ethernet Transport: PDS", at, header_B);
  field("Type", "", fmt::format("{}", static_cast<unsigned>(pds->type)), at, 1, pds_name(pds->type));
  if (numbered) {
    field("Retransmission", "", pds->retransmitted ? "1" : "0", at + 1, 1);
    if (pds->is_request()) field("SYN", "", pds->syn ? "1" : "0", at + 1, 1);
    if (pds->is_nack())
      hex("NACK Code", "", at + 2, 1, pds->nack_code <= 3 && pds->nack_code > 0 ? "trimmed by a switch" : "");
    decimal(pds->is_ack() ? "Cumulative PSN" : "PSN", "", at + 4, 4);
    decimal("Source PDC ID", "", at + 8, 2);
    decimal("Destination PDC ID", "", at + 10, 2);
    if (pds->sack_psn) {
      field("SACK PSN", "", fmt::format("{}", *pds->sack_psn), at + 14, 2);
      hex("SACK Bitmap", "", at + 16, 8);
    }
  }
  const std::size_t stop = end >= at + header_B + wire::kUetCrc_B ? end - wire::kUetCrc_B : end;
  data(at + header_B, stop, "Payload");
  if (stop == end || !has(stop, wire::kUetCrc_B, end)) return;
  const bool whole = !decoded_.cut && !decoded_.is_trimmed && decoded_.kind == FrameKind::kUet;
  layer("Ultra Ethernet Transport: CRC", stop, wire::kUetCrc_B);
  hex("CRC", "", stop, wire::kUetCrc_B, !whole ? "not checked" : uet_crc_fits(decoded_) ? "good" : "bad");
}

}  // namespace weft::analyze::detail
