#include "analyze/show/packet_line.h"

#include <fmt/format.h>

#include <string_view>

#include "wire/aeth_syndrome.h"
#include "wire/ethernet.h"
#include "wire/neighbour.h"
#include "wire/uet.h"

namespace weft::analyze {
namespace {

std::string mac_of(std::uint64_t mac) {
  return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", mac >> 40 & 0xff, mac >> 32 & 0xff, mac >> 24 & 0xff,
                     mac >> 16 & 0xff, mac >> 8 & 0xff, mac & 0xff);
}

std::string roce_info(const Frame& frame) {
  const auto byte = static_cast<std::uint8_t>(frame.opcode);
  if (frame.is_cnp()) return fmt::format("Congestion Notification, QP 0x{:x}", frame.dest_qp);
  if (!wire::is_valid_opcode(byte))
    return fmt::format("opcode 0x{:02x}, QP 0x{:x}, PSN {}", byte, frame.dest_qp, frame.psn);
  const std::string_view name = wire::name(frame.opcode);
  std::string out(name.substr(name.find(' ') + 1));  // the transport is a column of its own
  if (frame.has_aeth)
    out = std::string(wire::describe_syndrome(frame.syndrome)) + (wire::has_payload(frame.opcode) ? ", " + out : "");
  out += fmt::format(", QP 0x{:x}, PSN {}", frame.dest_qp, frame.psn);
  if (frame.has_aeth) out += fmt::format(", MSN {}", frame.msn);
  if (wire::has_payload(frame.opcode)) out += fmt::format(", {} B", frame.payload_B);
  if (frame.has_reth && wire::is_first(frame.opcode)) out += fmt::format(" of {} B", frame.dma_len);
  if (frame.operation() == wire::Opcode::kReadRequest) out += fmt::format(", for {} B", frame.dma_len);
  if (frame.has_deth) out += fmt::format(", from QP 0x{:x}", frame.src_qp);
  return out;
}

std::string pfc_info(const Frame& frame) {
  std::string out;
  for (unsigned i = 0; i < 8; ++i) {
    if ((frame.class_enable >> i & 1) == 0) continue;
    out += out.empty() ? "" : "; ";
    out += frame.quanta[i] == 0 ? fmt::format("class {} resume (XON)", i)
                                : fmt::format("class {} pause (XOFF) {} quanta", i, frame.quanta[i]);
  }
  return out.empty() ? "no class" : out;
}

std::string uet_info(const Frame& frame) {
  const auto pds = wire::parse_pds(frame.payload);
  if (!pds) return "cut";
  const char* kind = pds->is_request() ? "request" : pds->is_ack() ? "ACK" : pds->is_nack() ? "NACK" : "control";
  return fmt::format("{}, PDC {} > {}, PSN {}{}{}", kind, pds->source_id, pds->destination_id, pds->psn,
                     pds->retransmitted ? ", retransmitted" : "", frame.is_trimmed ? ", trimmed" : "");
}

const char* transport_name(const Frame& frame) {
  const auto byte = static_cast<std::uint8_t>(frame.opcode);
  if (frame.is_cnp()) return "CNP";
  if (byte < wire::kUcTransport) return "RC";
  if (wire::is_uc(byte)) return "UC";
  if (wire::is_xrc(byte)) return "XRC";
  return (byte & wire::kTransportMask) == 0x60 ? "UD" : "RoCE";
}

}  // namespace

bool is_nak(const Frame& frame) {
  if (frame.kind == FrameKind::kUet) {
    const auto pds = wire::parse_pds(frame.payload);
    return pds && pds->is_nack();
  }
  if (frame.kind != FrameKind::kRoce || !frame.has_aeth) return false;
  return is_rnr_nak(frame) || wire::aeth_kind(frame.syndrome) == wire::AethKind::kNak;
}

bool is_rnr_nak(const Frame& frame) {
  return frame.kind == FrameKind::kRoce && frame.has_aeth && wire::aeth_kind(frame.syndrome) == wire::AethKind::kRnrNak;
}

bool pauses(const Frame& frame) {
  if (frame.kind == FrameKind::kPause) return frame.quanta[0] != 0;
  if (frame.kind != FrameKind::kPfc) return false;
  for (unsigned i = 0; i < 8; ++i)
    if ((frame.class_enable >> i & 1) != 0 && frame.quanta[i] != 0) return true;
  return false;
}

PacketLine packet_line(const Frame& frame, const Addresses& addresses) {
  PacketLine line;
  line.source = frame.src != kNone ? addresses.text(frame.src) : mac_of(frame.src_mac);
  line.destination = frame.dst != kNone ? addresses.text(frame.dst) : mac_of(frame.dst_mac);
  switch (frame.kind) {
    case FrameKind::kRoce:
      line.protocol = transport_name(frame);
      line.info = roce_info(frame);
      break;
    case FrameKind::kUet:
      line.protocol = "UET";
      line.info = uet_info(frame);
      break;
    case FrameKind::kPfc:
      line.protocol = "PFC";
      line.info = pfc_info(frame);
      break;
    case FrameKind::kPause:
      line.protocol = "Pause";
      line.info = frame.quanta[0] == 0 ? "resume" : fmt::format("pause {} quanta", frame.quanta[0]);
      break;
    case FrameKind::kTcp:
      line.protocol = "TCP";
      line.info = fmt::format("{} > {}", frame.src_port, frame.dst_port);
      break;
    case FrameKind::kOtherIp:
      line.protocol = frame.dst_port != 0 ? "UDP" : frame.ip_version == 6 ? "IPv6" : "IPv4";
      line.info = frame.dst_port != 0 ? fmt::format("{} > {}", frame.src_port, frame.dst_port)
                                      : fmt::format("protocol {}", frame.ip_protocol);
      break;
    case FrameKind::kOther:
      line.protocol = frame.ether_type == wire::kEtherTypeArp ? "ARP" : "Ethernet";
      line.info = fmt::format("EtherType 0x{:04x}", frame.ether_type);
      break;
    case FrameKind::kUnreadable:
      line.protocol = "?";
      line.info = "cut or malformed";
      break;
  }
  return line;
}

}  // namespace weft::analyze
