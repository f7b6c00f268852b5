#include "analyze/show/packet_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analyze/frames/decode.h"
#include "analyze/frames/erf.h"
#include "analyze/show/tree_maker.h"
#include "pcap/link_type.h"
#include "wire/ethernet.h"
#include "wire/neighbour.h"
#include "wire/pfc.h"

namespace weft::analyze {
namespace detail {

std::string TreeMaker::mac_text(std::size_t at) const {
  return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", u8(at), u8(at + 1), u8(at + 2), u8(at + 3),
                     u8(at + 4), u8(at + 5));
}

void TreeMaker::layer(std::string_view name, std::size_t at, std::size_t size_B) {
  const std::size_t begin = std::min(at, bytes_.size());
  const std::size_t length = std::min(size_B, bytes_.size() - begin);
  layers_.push_back({std::string(name), static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(length), {}});
}

void TreeMaker::field(std::string_view name, std::string_view filter, std::string value, std::size_t at,
                      std::size_t size_B, std::string_view note) {
  layers_.back().fields.push_back({std::string(name), std::string(filter), std::move(value), std::string(note),
                                   static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(size_B)});
}

std::uint64_t TreeMaker::number_at(std::size_t at, std::size_t size_B) const {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size_B; ++i) value = value << 8 | bytes_[at + i];
  return value;
}

void TreeMaker::decimal(std::string_view name, std::string_view filter, std::size_t at, std::size_t size_B,
                        std::string_view note) {
  field(name, filter, fmt::format("{}", number_at(at, size_B)), at, size_B, note);
}

void TreeMaker::hex(std::string_view name, std::string_view filter, std::size_t at, std::size_t size_B,
                    std::string_view note) {
  field(name, filter, fmt::format("0x{:0{}x}", number_at(at, size_B), size_B * 2), at, size_B, note);
}

void TreeMaker::flag(std::string_view name, std::string_view filter, bool set, std::size_t at, std::string_view note) {
  field(name, filter, set ? "1" : "0", at, 1, note);
}

void TreeMaker::data(std::size_t at, std::size_t end, const char* name) {
  const std::size_t stop = std::min(end, bytes_.size());
  if (at >= stop) return;
  layer(fmt::format("{} ({} bytes)", name, end - at), at, stop - at);
}

void TreeMaker::link(std::uint16_t link_type, std::size_t wire_B) {
  switch (link_type) {
    case pcap::kLinkTypeEthernet:
      return ethernet(0, wire_B);
    case pcap::kLinkTypeLinuxCooked:
      if (!has(0, 16, wire_B)) return;
      layer("Linux cooked capture v1", 0, 16);
      decimal("Packet type", "sll.pkttype", 0, 2);
      decimal("Link-layer address length", "sll.halen", 4, 2);
      hex("Protocol", "sll.etype", 14, 2);
      return tagged(u16(14), 16, wire_B);
    case pcap::kLinkTypeLinuxCooked2:
      if (!has(0, 20, wire_B)) return;
      layer("Linux cooked capture v2", 0, 20);
      hex("Protocol", "sll.etype", 0, 2);
      decimal("Interface index", "sll.ifindex", 4, 4);
      return tagged(u16(0), 20, wire_B);
    case pcap::kLinkTypeNull:
      return raw_ip(4, wire_B);
    case pcap::kLinkTypeRaw:
    case pcap::kLinkTypeRawDlt:
    case pcap::kLinkTypeIpv4:
    case pcap::kLinkTypeIpv6:
      return raw_ip(0, wire_B);
    case pcap::kLinkTypeErf:
      return erf(wire_B);
    case pcap::kLinkTypeInfiniBand:
      return infiniband(0, wire_B);
    default:
      return data(0, wire_B);
  }
}

void TreeMaker::ethernet(std::size_t at, std::size_t end) {
  if (!has(at, wire::kEthernetSize_B, end)) return data(at, end);
  layer("Ethernet II", at, wire::kEthernetSize_B);
  field("Destination", "eth.dst", mac_text(at), at, 6, (u8(at) & 1) != 0 ? "group address" : "");
  field("Source", "eth.src", mac_text(at + 6), at + 6, 6);
  hex("Type", "eth.type", at + 12, 2);
  tagged(u16(at + 12), at + wire::kEthernetSize_B, end);
}

void TreeMaker::tagged(std::uint16_t type, std::size_t at, std::size_t end) {
  constexpr std::uint16_t kServiceTag = 0x88a8, kOldServiceTag = 0x9100;
  for (int tags = 0; type == wire::kEtherTypeVlan || type == kServiceTag || type == kOldServiceTag; ++tags) {
    if (tags == kMostTags || !has(at, wire::kVlanTagSize_B, end)) return data(at, end);
    const unsigned tci = u16(at);
    layer(type == wire::kEtherTypeVlan ? "802.1Q Virtual LAN" : "802.1ad Virtual LAN", at, wire::kVlanTagSize_B);
    field("Priority", "vlan.priority", fmt::format("{}", tci >> 13), at, 2, "PCP");
    field("DEI", "vlan.dei", fmt::format("{}", tci >> 12 & 1), at, 2);
    field("ID", "vlan.id", fmt::format("{}", tci & 0xfff), at, 2, (tci & 0xfff) == 0 ? "priority tag" : "");
    hex("Type", "vlan.etype", at + 2, 2);
    type = u16(at + 2);
    at += wire::kVlanTagSize_B;
  }
  ether_type(type, at, end);
}

void TreeMaker::ether_type(std::uint16_t type, std::size_t at, std::size_t end) {
  if (type == wire::kEtherTypeIpv4) return ipv4(at, end);
  if (type == wire::kEtherTypeIpv6) return ipv6(at, end);
  if (type == wire::kEtherTypeRoceV1) return global_route(at, end);
  if (type == wire::kEtherTypeMacControl) return mac_control(at, end);
  if (type == wire::kEtherTypeArp) return arp(at, end);
  data(at, end);
}

void TreeMaker::arp(std::size_t at, std::size_t end) {
  constexpr std::size_t kArp_B = 28;
  if (!has(at, kArp_B, end) || u8(at + 4) != 6 || u8(at + 5) != 4) return data(at, end, "Address Resolution Protocol");
  const unsigned operation = u16(at + 6);
  layer("Address Resolution Protocol", at, kArp_B);
  decimal("Hardware type", "arp.hw.type", at, 2);
  hex("Protocol type", "arp.proto.type", at + 2, 2);
  decimal("Hardware size", "arp.hw.size", at + 4, 1);
  decimal("Protocol size", "arp.proto.size", at + 5, 1);
  decimal("Opcode", "arp.opcode", at + 6, 2, operation == 1 ? "request" : operation == 2 ? "reply" : "");
  field("Sender MAC address", "arp.src.hw_mac", mac_text(at + 8), at + 8, 6);
  field("Sender IP address", "arp.src.proto_ipv4", ip_text(at + 14, 4), at + 14, 4);
  field("Target MAC address", "arp.dst.hw_mac", mac_text(at + 18), at + 18, 6);
  field("Target IP address", "arp.dst.proto_ipv4", ip_text(at + 24, 4), at + 24, 4);
  data(at + kArp_B, end, "Padding");
}

// PFC (802.1Qbb) and 802.3x pause. Quanta are 512 bit times of the port that receives the frame.
void TreeMaker::mac_control(std::size_t at, std::size_t end) {
  if (!has(at, 4, end)) return data(at, end, "MAC Control");
  const std::uint16_t operation = u16(at);
  if (operation == wire::kMacControlPause) {
    layer("MAC Control", at, 4);
    hex("Opcode", "macc.opcode", at, 2, "Pause");
    decimal("pause_time", "macc.pause_time", at + 2, 2, u16(at + 2) == 0 ? "resume (XON)" : "quanta of 512 bit times");
    return data(at + 4, end, "Padding");
  }
  if (operation != wire::kMacControlPfc || !has(at, 20, end)) return data(at, end, "MAC Control");
  layer("MAC Control", at, 20);
  hex("Opcode", "macc.opcode", at, 2, "Class Based Flow Control [CBFC] Pause");
  std::string classes;
  for (unsigned i = 0; i < 8; ++i)
    if ((u8(at + 3) >> i & 1) != 0) classes += fmt::format("{}C{}", classes.empty() ? "" : ", ", i);
  hex("CBFC Class Enable Vector", "macc.cbfc.enbv", at + 2, 2, classes);
  for (unsigned i = 0; i < 8; ++i) {
    const bool enabled = (u8(at + 3) >> i & 1) != 0;
    const std::size_t place = at + 4 + std::size_t{2} * i;
    decimal(fmt::format("C{}", i), fmt::format("macc.cbfc.pause_time.c{}", i), place, 2,
            !enabled          ? "not enabled"
            : u16(place) == 0 ? "resume (XON)"
                              : "pause (XOFF), quanta of 512 bit times");
  }
  data(at + 20, end, "Padding");
}

// A record of Endace's Extensible Record Format: 16 bytes, extension headers of 8, then what its type says.
void TreeMaker::erf(std::size_t end) {
  constexpr std::size_t kHeader_B = 16, kExtension_B = 8, kEthernetPad_B = 2;
  if (!has(0, kHeader_B, end)) return data(0, end);
  const std::uint8_t types = u8(8), flags = u8(9), type = types & 0x7f;
  layer("Extensible Record Format", 0, kHeader_B);
  std::uint64_t time = 0;  // little-endian, in 2^-32 s
  for (std::size_t i = 8; i-- > 0;) time = time << 8 | u8(i);
  field("Timestamp", "erf.ts", fmt::format("0x{:016x}", time), 0, 8);
  field("Type", "erf.types.type", fmt::format("{}", type), 8, 1, erf_type_name(type));
  flag("Extension header present", "erf.types.ext_header", (types & 0x80) != 0, 8);
  field("Capture interface", "erf.flags.cap", fmt::format("{}", flags & 3), 9, 1);
  flag("Truncated", "erf.flags.trunc", (flags & 8) != 0, 9);
  flag("RX error", "erf.flags.rxe", (flags & 16) != 0, 9);
  decimal("Record length", "erf.rlen", 10, 2);
  decimal("Loss counter", is_erf_colored(type) ? "" : "erf.lctr", 12, 2);
  decimal("Wire length", "erf.wlen", 14, 2);
  std::size_t at = kHeader_B;
  for (bool more = (types & 0x80) != 0; more; at += kExtension_B) {
    if (!has(at, kExtension_B, end)) return data(at, end);
    more = (u8(at) & 0x80) != 0;
    layer("ERF extension header", at, kExtension_B);
    field("Extension header type", "", fmt::format("{}", u8(at) & 0x7f), at, 1);
  }
  if (is_erf_ethernet(type)) at += kEthernetPad_B;
  const std::size_t stop = at + u16(14);  // the record is padded to eight bytes behind it
  if (is_erf_ethernet(type)) return ethernet(at, stop);
  if (is_erf_infiniband(type)) return infiniband(at, stop);
  if (is_erf_ip(type)) return raw_ip(at, stop);
  data(at, stop);
}

void TreeMaker::infiniband(std::size_t at, std::size_t end) {
  constexpr std::size_t kLrh_B = 8, kVcrc_B = 2;
  if (!has(at, kLrh_B, end)) return data(at, end);
  layer("Local Route Header", at, kLrh_B);
  const unsigned next = u8(at + 1) & 3;
  field("Virtual Lane", "infiniband.lrh.vl", fmt::format("0x{:02x}", u8(at) >> 4), at, 1);
  field("Service Level", "infiniband.lrh.sl", fmt::format("{}", u8(at + 1) >> 4), at + 1, 1);
  field("Link Next Header", "infiniband.lrh.lnh", fmt::format("0x{:02x}", next), at + 1, 1,
        next == 3   ? "GRH"
        : next == 2 ? "BTH"
                    : "raw");
  decimal("Destination Local ID", "infiniband.lrh.dlid", at + 2, 2);
  const std::size_t size_B = (u16(at + 4) & std::size_t{0x7ff}) * 4;
  field("Packet Length", "infiniband.lrh.pktlen", fmt::format("{}", size_B / 4), at + 4, 2,
        fmt::format("{} bytes", size_B));
  decimal("Source Local ID", "infiniband.lrh.slid", at + 6, 2);
  if (size_B < kLrh_B || size_B > end - at) return;
  const std::size_t stop = at + size_B;
  if (next == 3) {
    global_route(at + kLrh_B, stop);
  } else if (next == 2) {
    transport(at + kLrh_B, stop);
  } else {
    data(at + kLrh_B, stop);
  }
  if (end != stop + kVcrc_B || !has(stop, kVcrc_B, end)) return;
  layer("InfiniBand: Variant CRC", stop, kVcrc_B);
  hex("Variant CRC", "infiniband.variant.crc", stop, kVcrc_B, "not checked");
}

}  // namespace detail

std::vector<TreeLayer> packet_tree(std::uint16_t link_type, wire::Bytes bytes, std::uint32_t wire_B) {
  Addresses addresses;
  Frame frame;
  decode(link_type, bytes, wire_B, {}, addresses, frame);
  detail::TreeMaker maker(bytes, frame);
  maker.link(link_type, std::max<std::size_t>(wire_B, bytes.size()));
  return maker.take();
}

std::string packet_tree_text(const std::vector<TreeLayer>& tree) {
  std::string out;
  for (const TreeLayer& layer : tree) {
    out += fmt::format("{} (bytes {} to {})\n", layer.name, layer.offset, layer.offset + layer.length);
    for (const TreeField& field : layer.fields) {
      out += fmt::format("    {}: {}{}\n", field.name, field.value, field.note.empty() ? "" : " (" + field.note + ")");
    }
  }
  return out;
}

std::string packet_tree_json(const std::vector<TreeLayer>& tree) {
  using TreeJson = nlohmann::ordered_json;
  TreeJson layers = TreeJson::array();
  for (const TreeLayer& layer : tree) {
    TreeJson fields = TreeJson::array();
    for (const TreeField& field : layer.fields) {
      TreeJson each{{"name", field.name},
                    {"filter", field.filter},
                    {"value", field.value},
                    {"offset", field.offset},
                    {"length", field.length}};
      if (!field.note.empty()) each["note"] = field.note;
      fields.push_back(std::move(each));
    }
    layers.push_back(
        {{"name", layer.name}, {"offset", layer.offset}, {"length", layer.length}, {"fields", std::move(fields)}});
  }
  return layers.dump(-1, ' ', false, TreeJson::error_handler_t::replace);
}

}  // namespace weft::analyze
