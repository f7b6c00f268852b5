#include "analyze/frames/integrity.h"

#include <fmt/format.h>

#include "wire/flow.h"

namespace weft::analyze {
namespace {

struct Kind {
  std::string_view id;
  std::uint16_t problems;
  std::string_view what;  // "{} frames ..."
  std::string_view cause;
  std::string_view where, remedy;
};
constexpr std::array<Kind, 8> kIntegrityKinds = {{
    {"integrity.icrc", 0, "with an ICRC that does not fit their bytes",
     "bytes changed between the NICs: a cable, a module, memory of a switch, or a device that rewrites what the ICRC "
     "covers (NAT, a wrong VXLAN gateway)",
     "switch",
     "show interfaces counters: CRC and FEC errors on the way; on the receiver ethtool -S, rx_icrc_encapsulated"},
    {"integrity.length", kIpLength | kUdpLength | kTooShort, "whose IP and UDP lengths or headers do not agree",
     "a sender that builds wrong headers, or bytes that changed on the way", "NIC",
     "update the firmware of the sender"},
    {"integrity.padding", kPadCount, "whose PadCnt does not bring the payload to four bytes",
     "a sender that builds wrong headers", "NIC", "update the firmware of the sender"},
    {"integrity.opcode", kUnknownOpcode | kTransportVersion,
     "with an opcode or a transport version that is not defined",
     "a newer or vendor-specific transport, or bytes that changed on the way", "NIC",
     "look at the frames in Wireshark"},
    {"integrity.ip-checksum", kIpChecksum, "with a wrong IPv4 header checksum",
     "bytes changed on the way, or a capture on the sending host before the NIC filled it in", "capture",
     "capture at a switch or at the receiver"},
    {"integrity.udp-checksum", kUdpChecksum, "with a UDP checksum that does not fit their bytes",
     "a sender that computes it over other bytes than it sends, a device that changed the packet, or a capture on the "
     "sending host before the NIC filled it in; NICs go by the ICRC, software receivers (rxe) drop such a packet",
     "capture", "capture at a switch or at the receiver; ethtool -K IFACE tx off on the sender"},
    {"integrity.fragment", kFragment, "are fragments of IP packets",
     "the path MTU of the queue pair is larger than a link on the way takes", "host",
     "ip link set dev IFACE mtu 9000 on every hop"},
    {"integrity.other-opcode", kOtherOpcode,
     "have an opcode that is not looked into (FLUSH, ATOMIC WRITE, RD, of a manufacturer)",
     "legal; their PSNs are missing for the checks of their queue pairs", "NIC", "look at the frames in Wireshark"},
}};

}  // namespace

void Integrity::add(std::size_t kind, const Frame& frame) {
  Seen& seen = seen_[kind];
  ++seen.count;
  if (seen.first.size() < 5) seen.first.push_back({frame.number, frame.time_ns, frame.point, ""});
}

void Integrity::note(const Frame& frame) {
  if (frame.kind != FrameKind::kRoce && frame.dst_port != wire::kRoceUdpPort) return;
  if (frame.icrc == IcrcState::kBad) add(0, frame);
  for (std::size_t kind = 1; kind < kIntegrityKinds.size(); ++kind)
    if ((frame.problems & kIntegrityKinds[kind].problems) != 0) add(kind, frame);
}

void Integrity::finish(Findings& findings) const {
  for (std::size_t kind = 0; kind < kIntegrityKinds.size(); ++kind) {
    if (seen_[kind].count == 0) continue;
    const Kind& text = kIntegrityKinds[kind];
    findings.add({text.id,
                  "the capture",
                  fmt::format("{} of {} RoCE frames {}", seen_[kind].count, frames_, text.what),
                  std::string(text.cause),
                  seen_[kind].count,
                  seen_[kind].first,
                  {{std::string(text.where), std::string(text.remedy)}}});
  }
  findings.judge("integrity", frames_, "frames", "no RoCE frame");
}

}  // namespace weft::analyze
