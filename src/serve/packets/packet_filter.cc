#include "serve/packets/packet_filter.h"

#include <algorithm>

#include "analyze/show/packet_line.h"
#include "observe/capture.h"
#include "serve/packets/filter_text.h"
#include "wire/opcode.h"

namespace weft::serve {

namespace {

bool is_of_port(std::string_view port, const std::string& asked) {
  const std::string name = lower_case(port);
  return name == asked || (name.starts_with(asked) && name.size() > asked.size() && name[asked.size()] == ':');
}

std::uint64_t since_ns(std::int64_t time_ns, std::int64_t start_ns) {
  return time_ns > start_ns ? static_cast<std::uint64_t>(time_ns) - static_cast<std::uint64_t>(start_ns) : 0;
}

}  // namespace

bool PacketFilter::asks_for_icrc() const {
  return std::any_of(words_.begin(), words_.end(), [](const Word& word) { return word.what == What::kCorrupt; });
}

bool PacketFilter::holds(const Word& word, const FilteredPacket& packet) {
  const analyze::Frame& frame = packet.frame;
  const auto compared = [&](std::uint64_t value) {
    switch (word.compare) {
      case Compare::kEqual:
        return value == word.number;
      case Compare::kNotEqual:
        return value != word.number;
      case Compare::kLess:
        return value < word.number;
      case Compare::kLessEqual:
        return value <= word.number;
      case Compare::kGreater:
        return value > word.number;
      case Compare::kGreaterEqual:
        return value >= word.number;
    }
    return false;
  };
  const auto is_address = [&](analyze::AddressId id) {
    return id != analyze::kNone && packet.addresses.at(id) == word.address;
  };
  constexpr std::uint8_t kUdpProtocol = 17;
  const bool equal = word.compare == Compare::kEqual;
  const bool roce = frame.kind == analyze::FrameKind::kRoce;
  const bool udp = frame.ip_version != 0 && frame.ip_protocol == kUdpProtocol;
  switch (word.what) {
    case What::kCe:
      return frame.ip_version != 0 && frame.ce();
    case What::kCnp:
      return frame.is_cnp();
    case What::kNak:
      return analyze::is_nak(frame);
    case What::kPause:
      return frame.kind == analyze::FrameKind::kPfc || frame.kind == analyze::FrameKind::kPause;
    case What::kAgain:
      return packet.sent_again;
    case What::kCorrupt:
      return frame.icrc == analyze::IcrcState::kBad;
    case What::kLost:
      return packet.comment.find("weft: lost") != packet.comment.npos;
    case What::kRoce:
      return roce;
    case What::kUdp:
      return udp;
    case What::kIpv4:
      return frame.ip_version == 4;
    case What::kIpv6:
      return frame.ip_version == 6;
    case What::kPort:
      return is_of_port(packet.port, word.text) == equal;
    case What::kQp:
      return roce && compared(frame.dest_qp);
    case What::kPsn:
      return roce && !frame.is_cnp() && compared(frame.psn);
    case What::kBthPsn:
      return roce && compared(frame.psn);
    case What::kRnr:
      return analyze::is_rnr_nak(frame);
    case What::kLength:
      return compared(frame.wire_B);
    case What::kNumber:
      return compared(frame.number);
    case What::kClass:
      return frame.kind == analyze::FrameKind::kPfc && word.number < 8 && (frame.class_enable >> word.number & 1) != 0;
    case What::kIp:
      return (is_address(frame.src) || is_address(frame.dst)) == equal;
    case What::kFrom:
      return is_address(frame.src) == equal;
    case What::kTo:
      return is_address(frame.dst) == equal;
    case What::kOpcode:
      return roce && (lower_case(wire::name(frame.opcode)).find(word.text) != std::string::npos) == equal;
    case What::kOpcodeNumber:
      return roce && compared(static_cast<std::uint8_t>(frame.opcode));
    case What::kEcn:
      return frame.ip_version != 0 && compared(frame.ecn());
    case What::kDscp:
      return frame.ip_version != 0 && compared(frame.dscp());
    case What::kUdpPort:
      // As Wireshark: != holds when neither is that port.
      return udp && (word.compare == Compare::kNotEqual ? compared(frame.src_port) && compared(frame.dst_port)
                                                        : compared(frame.src_port) || compared(frame.dst_port));
    case What::kUdpFrom:
      return udp && compared(frame.src_port);
    case What::kUdpTo:
      return udp && compared(frame.dst_port);
    case What::kVlan:
      return frame.vlan_tci >= 0 && compared(static_cast<std::uint64_t>(frame.vlan_tci) & 0xfff);
    case What::kVlanPriority:
      return frame.vlan_tci >= 0 && compared(static_cast<std::uint64_t>(frame.pcp()));
    case What::kTime:
      return compared(since_ns(frame.time_ns, observe::Capture::kEpoch_ns));
    case What::kTimeRelative:
      return compared(since_ns(frame.time_ns, packet.first_ns));
    case What::kFlow:
      return equal == (roce && std::any_of(word.ends.begin(), word.ends.end(), [&](const FlowEnds& ends) {
                         if (frame.src == analyze::kNone || frame.dst == analyze::kNone) return false;
                         const wire::IpAddress &from = packet.addresses.at(frame.src),
                                               &to = packet.addresses.at(frame.dst);
                         return (from == ends.sender && to == ends.receiver && frame.dest_qp == ends.receiver_qp) ||
                                (from == ends.receiver && to == ends.sender && frame.dest_qp == ends.sender_qp);
                       }));
    case What::kText:
      break;
  }
  if (packet.lower_text.empty()) {
    const analyze::PacketLine line = analyze::packet_line(frame, packet.addresses);
    for (const std::string_view part :
         {std::string_view(line.info), std::string_view(line.protocol), packet.port, std::string_view(line.source),
          std::string_view(line.destination), packet.comment})
      packet.lower_text += lower_case(part) + '\n';
  }
  return packet.lower_text.find(word.text) != std::string::npos;
}

bool PacketFilter::holds(std::size_t index, const FilteredPacket& packet) const {
  const Node& node = nodes_[index];
  switch (node.join) {
    case Join::kWord:
      return holds(words_[node.left], packet);
    case Join::kNot:
      return !holds(node.left, packet);
    case Join::kAnd:
      return holds(node.left, packet) && holds(node.right, packet);
    case Join::kOr:
      return holds(node.left, packet) || holds(node.right, packet);
  }
  return false;
}

bool PacketFilter::holds(const FilteredPacket& packet) const {
  return nodes_.empty() || holds(root_, packet);
}

}  // namespace weft::serve
