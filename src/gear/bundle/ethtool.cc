// ethtool in its forms, and the QoS of a NIC by mlnx_qos or dcb.
#include <algorithm>

#include "gear/bundle/host.h"

namespace weft::gear {

namespace {

// The fastest of "25000baseSR/Full 100000baseCR4/Full", in Mb/s.
std::uint64_t fastest_mode(std::string_view modes) {
  std::uint64_t fastest = 0;
  for (std::string_view mode : words_of(modes)) {
    // 56000base* of ConnectX-3 is InfiniBand's FDR rate with Ethernet frames: no switch but Mellanox's had it.
    const std::uint64_t rate_Mbps = mode.find("base") == mode.npos ? 0 : leading_number(mode).value_or(0);
    if (rate_Mbps != 56000) fastest = std::max(fastest, rate_Mbps);
  }
  return fastest;
}

}  // namespace

void HostReader::read_ethtool(const std::vector<std::string_view>& words) {
  NicPort& port = port_of_netdev(std::string(words.back()));
  const std::string_view form = words.size() == 2 ? "" : words[1];
  if (form.empty()) return read_settings(port);
  if (form == "-S") return read_counters(port);
  bool current = false;
  for (std::size_t i = 0; i < section_->lines.size(); ++i) {
    const std::string_view line = section_->lines[i];
    if (form == "-i") {
      if (auto value = value_after(line, "bus-info:"); value && !value->empty()) port.pci = std::string(*value);
      if (auto value = value_after(line, "firmware-version:"); value && !value->empty()) {
        const auto parts = words_of(*value);
        port.firmware = seen(std::string(parts.front()), i);
        if (parts.size() > 1 && parts[1].starts_with("(")) port.board = seen(std::string(parts[1]), i);
      }
    } else if (form == "-a") {
      if (auto value = value_after(line, "RX:")) port.pause_rx = seen(*value == "on", i);
      if (auto value = value_after(line, "TX:")) port.pause_tx = seen(*value == "on", i);
    } else if (form == "-g") {
      current = current || line.starts_with("Current hardware settings");
      if (auto value = value_after(line, "RX:")) {
        if (const auto number = leading_number(*value)) (current ? port.ring_rx : port.ring_rx_max) = seen(*number, i);
      }
    } else if (form == "--show-fec") {
      if (auto value = value_after(line, "Supported/Configured FEC encodings:"))
        port.fec_set = seen(lower_case(*value), i);
      if (auto value = value_after(line, "Configured FEC encodings:")) port.fec_set = seen(lower_case(*value), i);
      if (auto value = value_after(line, "Active FEC encoding:")) port.fec = seen(lower_case(*value), i);
      if (auto value = value_after(line, "Active FEC encodings:")) port.fec = seen(lower_case(*value), i);
    }
  }
}

void HostReader::read_settings(NicPort& port) {
  Maybe<std::uint64_t>* modes = nullptr;  // a list of modes goes on in the next lines
  for (std::size_t i = 0; i < section_->lines.size(); ++i) {
    const std::string_view line = section_->lines[i];
    std::optional<std::string_view> value;
    if ((value = value_after(line, "Supported link modes:"))) {
      modes = &port.supported_Mbps;
    } else if ((value = value_after(line, "Advertised link modes:"))) {
      modes = &port.advertised_Mbps;
    } else if ((value = value_after(line, "Link partner advertised link modes:"))) {
      modes = &port.partner_Mbps;
    } else if (line.find(':') != line.npos) {
      modes = nullptr;
    }
    if (modes != nullptr) {
      const std::uint64_t fastest = fastest_mode(value ? *value : line);
      if (fastest > 0 && (!*modes || (*modes)->value < fastest)) *modes = seen(fastest, i);
    }
    if (auto speed = value_after(line, "Speed:")) {
      if (const auto number = leading_number(*speed)) port.speed_Mbps = seen(*number, i);
    }
    if (auto link = value_after(line, "Link detected:")) port.link = seen(link->starts_with("yes"), i);
  }
}

void HostReader::read_counters(NicPort& port) {
  for (std::size_t i = 0; i < section_->lines.size(); ++i) {
    const std::string_view line = trimmed(section_->lines[i]);
    const std::size_t colon = line.rfind(':');
    if (colon == line.npos || colon == 0) continue;
    const auto number = leading_number(line.substr(colon + 1));
    if (number && line.find(' ') > colon)
      port.counters.insert_or_assign(std::string(line.substr(0, colon)), seen(*number, i));
  }
}

void HostReader::read_qos(NicPort& port) {
  bool is_pfc = false;
  for (std::size_t i = 0; i < section_->lines.size(); ++i) {
    const std::string_view line = section_->lines[i];
    if (auto value = value_after(line, "Priority trust state:")) port.qos.trust = seen(lower_case(*value), i);
    if (auto value = value_after(line, "DCBX mode:")) port.qos.dcbx = seen(std::string(*value), i);
    if (auto value = value_after(line, "prio:")) {
      // prio:3 dscp:31,30,29,
      const auto priority = leading_number(*value);
      const std::size_t list = value->find("dscp:");
      if (!priority || *priority > 7 || list == value->npos) continue;
      for (std::string_view item : words_of(value->substr(list + 5), ", ")) {
        const auto dscp = dscp_number(item);
        if (dscp) port.qos.dscp_priority.insert_or_assign(*dscp, seen(static_cast<std::uint32_t>(*priority), i));
      }
    }
    is_pfc = is_pfc || trimmed(line).starts_with("PFC configuration");
    if (auto value = value_after(line, "enabled"); value && is_pfc) {
      const auto bits = words_of(*value);
      std::uint8_t mask = 0;
      for (std::size_t bit = 0; bit < std::min<std::size_t>(bits.size(), 8); ++bit)
        mask = static_cast<std::uint8_t>(mask | (bits[bit] == "1" ? 1 : 0) << bit);
      if (bits.size() >= 8) port.qos.pfc = seen(mask, i);
    }
  }
}

void HostReader::read_dcb(NicPort& port) {
  bool is_app = false;
  for (std::string_view word : words_of(section_->command)) is_app = is_app || word == "app";
  bool any_dscp = false;
  std::size_t last = 0;
  for (std::size_t i = 0; i < section_->lines.size(); ++i) {
    const std::string_view line = section_->lines[i];
    if (auto value = value_after(line, "prio-pfc"); value && !port.qos.pfc) {
      std::uint8_t mask = 0;
      for (std::string_view item : words_of(*value)) {
        const auto priority = leading_number(item);
        if (priority && *priority < 8 && item.ends_with(":on")) mask = static_cast<std::uint8_t>(mask | 1 << *priority);
      }
      port.qos.pfc = seen(mask, i);
    }
    if (auto value = value_after(line, "dscp-prio")) {
      last = i;
      for (std::string_view item : words_of(*value)) {
        const std::size_t colon = item.find(':');
        const auto dscp = dscp_number(item.substr(0, colon));
        const auto priority = colon == item.npos ? std::nullopt : leading_number(item.substr(colon + 1));
        if (!dscp || !priority || *priority > 7) continue;
        any_dscp = true;
        port.qos.dscp_priority.emplace(*dscp, seen(static_cast<std::uint32_t>(*priority), i));
      }
    }
  }
  // The kernel's drivers trust DSCP as long as the table has an entry of it.
  if (is_app && !port.qos.trust && any_dscp) port.qos.trust = seen(std::string("dscp"), last);
  // inspect adds "[exit 1]" to what a command that failed printed.
  const bool failed = std::any_of(section_->lines.begin(), section_->lines.end(),
                                  [](const std::string& line) { return line.starts_with("[exit "); });
  if (is_app && !port.qos.trust && !any_dscp && !failed) port.qos.trust = seen(std::string("pcp"), 0);
}

}  // namespace weft::gear
