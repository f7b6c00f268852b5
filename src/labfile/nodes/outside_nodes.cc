// A node that is a port to the outside: what carries its frames.
#include <fmt/format.h>

#include <charconv>

#include "labfile/lab_fields.h"
#include "labfile/sections.h"
#include "text/yaml_walk.h"

namespace weft::lab {
namespace {

constexpr std::size_t kMaxInterfaceName = 15;  // IFNAMSIZ with its final zero is 16

template <class Number>
bool take_number(std::string_view& text, Number& value, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end == text.data()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}
bool take_character(std::string_view& text, char wanted) {
  if (text.empty() || text.front() != wanted) return false;
  text.remove_prefix(1);
  return true;
}

bool parse_udp_address(std::string_view text, UdpAddress& address) {
  for (std::size_t i = 0; i < address.ip.size(); ++i) {
    if ((i > 0 && !take_character(text, '.')) || !take_number(text, address.ip[i], 10)) return false;
  }
  return take_character(text, ':') && take_number(text, address.port, 10) && text.empty() && address.port != 0;
}

// Of one station: the lowest bit of the first byte makes it a group's.
bool parse_mac(std::string_view text, std::array<std::uint8_t, 6>& mac) {
  for (std::size_t i = 0; i < mac.size(); ++i) {
    if (i > 0 && !take_character(text, ':')) return false;
    const std::size_t before = text.size();
    if (!take_number(text, mac[i], 16) || before - text.size() != 2) return false;
  }
  return text.empty() && (mac[0] & 1) == 0;
}

void read_udp_address(const MapReader& map, std::string_view key, UdpAddress& address, ProblemList& problems) {
  const YamlNode* node = map.require(key, fmt::format("{}: 127.0.0.1:7001", key));
  const auto text = node == nullptr ? std::nullopt : read_text(*node, key, problems);
  if (text && !parse_udp_address(*text, address)) {
    problems.add(node->place, fmt::format("{} {} is not ADDRESS:PORT", key, in_quotes(*text)),
                 "write an IPv4 address and a UDP port, e.g. 127.0.0.1:7001");
  }
}

}  // namespace

void read_outside(const MapReader& map, OutsideConfig& outside, ProblemList& problems) {
  const YamlNode *udp = map.get("udp"), *tap = map.get("tap"), *mac = map.get("mac");
  if ((udp == nullptr) == (tap == nullptr)) {
    problems.add(map.place(), udp == nullptr ? "nothing carries the frames of this node" : "both tap and udp",
                 "write either tap: weft0 or udp: {listen: 127.0.0.1:7001, peer: 127.0.0.1:7002}");
  }
  if (udp != nullptr) {
    const MapReader ends(*udp, "udp", kUdpKeys, problems);
    if (ends.ok()) {
      read_udp_address(ends, "listen", outside.listen, problems);
      read_udp_address(ends, "peer", outside.peer, problems);
    }
  }
  if (tap != nullptr) {
    store(outside.tap, read_name(*tap, "tap", problems));
    if (outside.tap.size() > kMaxInterfaceName)
      problems.add(tap->place, fmt::format("{} is too long for an interface", in_quotes(outside.tap)),
                   fmt::format("use at most {} characters", kMaxInterfaceName));
  }
  if (mac != nullptr) {
    const auto text = read_text(*mac, "mac", problems);
    if (text && !parse_mac(*text, outside.mac.emplace())) {
      problems.add(mac->place, fmt::format("mac {} is not the address of one station", in_quotes(*text)),
                   "write six bytes, the first one even: 52:54:00:12:34:56");
    }
  }
}

}  // namespace weft::lab
