// A switch that runs Linux alone (a bridge, or the ports of mlxsw): ethtool and dcb as on a host, `dcb buffer show`,
// `tc qdisc show` and `bridge link show`.
#include <algorithm>

#include "gear/bundle/host.h"
#include "gear/bundle/switch_readers.h"

namespace weft::gear {

namespace {

constexpr const char* kRedEcn = "red ecn";

// qdisc ets 1: dev swp1 root … priomap 7 7 7 4 7 7 1 7 …
// qdisc red 13: dev swp1 parent 1:5 limit … ecn
class QdiscReader {
 public:
  QdiscReader(const Bundle& bundle, SwitchState& state) : bundle_(bundle), state_(state) {}

  void read(const BundleSection& section) {
    for (std::size_t i = 0; i < section.lines.size(); ++i) {
      const auto words = words_of(section.lines[i]);
      if (words.size() < 3 || words[0] != "qdisc") continue;
      const auto after = [&](std::string_view word) {
        const auto it = std::find(words.begin(), words.end(), word);
        return it == words.end() || it + 1 == words.end() ? std::string_view() : *(it + 1);
      };
      Port& port = ports_[std::string(after("dev"))];
      if (words[1] == "ets" || words[1] == "prio") {
        const auto map = std::find(words.begin(), words.end(), "priomap");
        std::uint32_t priority = 0;
        for (auto it = map == words.end() ? map : map + 1; it != words.end() && priority < 8; ++it, ++priority)
          port.bands[priority] = static_cast<std::uint32_t>(leading_number(*it).value_or(0) & 15);
      }
      const std::string_view parent = after("parent");
      if (words[1] == "red" && std::find(words.begin(), words.end(), "ecn") != words.end()) {
        const std::size_t colon = parent.find(':');
        const auto band = colon == parent.npos ? std::nullopt : leading_hex(parent.substr(colon + 1));
        port.marks.emplace(static_cast<std::uint32_t>(band.value_or(0) & 63), bundle_.at(section, i));
      }
    }
  }
  // Queues are named by the priority that they serve.
  void finish() {
    for (const auto& [name, own] : ports_) {
      const auto port = state_.ports.find(name);
      if (port == state_.ports.end()) continue;
      if (const auto whole = own.marks.find(0); whole != own.marks.end() && own.bands.empty()) {
        for (std::uint32_t priority = 0; priority < 8; ++priority)
          port->second.queue_wred[priority] = {kRedEcn, whole->second};
      }
      for (const auto& [priority, band] : own.bands) {
        const auto mark = own.marks.find(band + 1);  // class 1:1 is band 0
        if (mark != own.marks.end()) port->second.queue_wred[priority] = {kRedEcn, mark->second};
      }
    }
  }

 private:
  struct Port {
    std::map<std::uint32_t, std::uint32_t> bands;  // priority -> band
    std::map<std::uint32_t, Evidence> marks;       // class -> RED that marks; 0: the root
  };
  const Bundle& bundle_;
  SwitchState& state_;
  std::map<std::string, Port> ports_;
};

// prio-buffer 0:0 1:0 2:0 3:3 …
// buffer-size 0:0b 1:0b 2:0b 3:60416b …
void read_port_buffer(const Bundle& bundle, const BundleSection& section, SwitchPort& port, SwitchState& state) {
  std::map<std::uint32_t, std::uint32_t> buffer_of;
  std::map<std::uint32_t, std::uint64_t> size_B;
  std::size_t at = section.lines.size();
  for (std::size_t i = 0; i < section.lines.size(); ++i) {
    for (const char* key : {"prio-buffer", "buffer-size"}) {
      const auto list = value_after(section.lines[i], key);
      if (!list) continue;
      if (key == std::string_view("buffer-size")) at = i;
      for (std::string_view item : words_of(*list)) {
        // "59Kb" and "60416b": tc's units.
        const std::size_t colon = item.find(':');
        const auto index = leading_number(item);
        if (colon == item.npos || !index || *index > 7) continue;
        const std::string text = lower_case(item.substr(colon + 1));
        const std::uint64_t value = leading_number(text).value_or(0);
        const auto number = static_cast<std::uint32_t>(*index);
        if (key == std::string_view("prio-buffer")) {
          buffer_of[number] = static_cast<std::uint32_t>(value & 7);
        } else {
          const std::uint64_t scale = text.ends_with("kb") ? 1024 : text.ends_with("mb") ? 1024 * 1024 : 1;
          size_B[number] = std::min<std::uint64_t>(value, 1 << 30) * scale;
        }
      }
    }
  }
  if (buffer_of.empty() || size_B.empty()) return;
  state.has_buffers = true;
  for (const auto& [priority, buffer] : buffer_of) {
    const std::string name = port.name + " buffer " + std::to_string(buffer);
    port.group_profile[priority] = {name, bundle.at(section, at)};
    // Buffer 0 takes what is lossy.
    state.profile_lossless[name] = {buffer != 0 && size_B[buffer] > 0, bundle.at(section, at)};
  }
}

}  // namespace

void read_linux_switch(const Bundle& bundle, SwitchState& state) {
  const HostState host = read_host_bundle(bundle, true);
  for (const NicPort& nic : host.ports) {
    SwitchPort* port = nic.netdev.empty() ? nullptr : state.port(nic.netdev);
    if (port == nullptr) continue;
    port->speed_Mbps = nic.speed_Mbps;
    port->mtu = nic.mtu;
    port->fec = nic.fec;
    if (nic.link) port->oper = {nic.link->value ? "up" : "down", nic.link->from};
    port->pfc = nic.qos.pfc;
    if (nic.qos.pfc) state.has_config = true;
    if (nic.qos.trust && nic.qos.trust->value == "dscp") {
      NamedMap& map = state.dscp_to_tc[nic.netdev];
      map.from = nic.qos.trust->from;
      for (const auto& [dscp, priority] : nic.qos.dscp_priority) map.map[dscp] = priority.value;
      port->dscp_map = {nic.netdev, nic.qos.trust->from};
    }
    const auto errors = nic.counters.find("a_frame_check_sequence_errors");
    if (errors != nic.counters.end()) port->rx_errors = errors->second;
    if (const auto peer = host.neighbours.find(nic.netdev); peer != host.neighbours.end()) {
      port->neighbour_host = peer->second.first;
      port->neighbour_port = peer->second.second;
    }
  }
  QdiscReader qdiscs(bundle, state);
  for (const BundleSection& section : bundle.sections) {
    const auto words = words_of(section.command);
    if (section.command.starts_with("tc ") && section.command.find("qdisc") != section.command.npos)
      qdiscs.read(section);
    if (section.command.starts_with("dcb buffer show dev ") && words.size() == 5) {
      const auto port = state.ports.find(std::string(words[4]));
      if (port != state.ports.end()) read_port_buffer(bundle, section, port->second, state);
    }
  }
  qdiscs.finish();
  state.wred_marks[kRedEcn] = {true, {}};
}

}  // namespace weft::gear
