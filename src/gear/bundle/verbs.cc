// ibstat, ibv_devinfo -v, rdma statistic, and the files of /sys and /proc that `weft inspect` prints as "path:line".
#include <algorithm>

#include "gear/bundle/host.h"

namespace weft::gear {

void HostReader::read_ibstat() {
  std::string device;
  Maybe<std::string> firmware;
  NicPort* port = nullptr;
  for (std::size_t i = 0; i < section_->lines.size(); ++i) {
    const std::string_view line = section_->lines[i];
    if (line.starts_with("CA '")) {
      const std::string_view rest = line.substr(4);
      device = std::string(rest.substr(0, rest.find('\'')));
      port = nullptr;
      firmware.reset();
    } else if (device.empty()) {
      continue;
    } else if (auto value = value_after(line, "Firmware version:")) {
      firmware = seen(std::string(*value), i);
    } else if (auto number = value_after(line, "Port ");
               number && line.find(':') != line.npos && leading_number(*number)) {
      port = &port_of_device(device, *leading_number(*number));
      if (firmware && !port->firmware) port->firmware = firmware;
    }
    if (port == nullptr) continue;
    if (auto value = value_after(line, "State:")) port->state = seen(lower_case(*value), i);
    if (auto value = value_after(line, "Physical state:")) port->phys_state = seen(lower_case(*value), i);
    if (auto value = value_after(line, "Rate:")) {
      if (const auto rate = leading_decimal(*value)) port->rate_Gbps = seen(*rate, i);
    }
    if (auto value = value_after(line, "Link layer:")) port->link_layer = seen(lower_case(*value), i);
    if (auto value = value_after(line, "Base lid:")) {
      if (const auto lid = leading_number(*value)) port->base_lid = seen(*lid, i);
    }
    if (auto value = value_after(line, "SM lid:")) {
      if (const auto lid = leading_number(*value)) port->sm_lid = seen(*lid, i);
    }
    if (auto value = value_after(line, "Port GUID:")) {
      if (const auto guid = leading_hex(*value)) port->guid = seen(*guid, i);
    }
  }
}

void HostReader::read_devinfo() {
  std::string device;
  Maybe<std::string> firmware, board;
  NicPort* port = nullptr;
  for (std::size_t i = 0; i < section_->lines.size(); ++i) {
    const std::string_view line = section_->lines[i];
    if (auto value = value_after(line, "hca_id:")) {
      device = std::string(*value);
      port = nullptr;
      firmware.reset();
      board.reset();
    } else if (device.empty()) {
      continue;
    } else if (auto version = value_after(line, "fw_ver:")) {
      firmware = seen(std::string(*version), i);
    } else if (auto id = value_after(line, "board_id:")) {
      board = seen(std::string(*id), i);
    } else if (auto number = value_after(line, "port:")) {
      port = leading_number(*number) ? &port_of_device(device, *leading_number(*number)) : nullptr;
      if (port != nullptr && firmware && !port->firmware) port->firmware = firmware;
      if (port != nullptr && board && !port->board) port->board = board;
    }
    if (port == nullptr) continue;
    if (auto value = value_after(line, "state:"); value && !port->state) {
      // PORT_ACTIVE (4)
      std::string_view state = *value;
      if (state.starts_with("PORT_")) state.remove_prefix(5);
      port->state = seen(lower_case(state.substr(0, state.find(' '))), i);
    }
    if (auto value = value_after(line, "max_mtu:")) {
      if (const auto mtu = leading_number(*value)) port->max_mtu = seen(*mtu, i);
    }
    if (auto value = value_after(line, "active_mtu:")) {
      if (const auto mtu = leading_number(*value)) port->active_mtu = seen(*mtu, i);
    }
    if (auto value = value_after(line, "link_layer:"); value && !port->link_layer)
      port->link_layer = seen(lower_case(*value), i);
  }
}

// link mlx5_0/1 rx_write_requests 0 rx_read_requests 0 …
void HostReader::read_rdma_statistic() {
  NicPort* port = nullptr;
  for (std::size_t i = 0; i < section_->lines.size(); ++i) {
    const auto words = words_of(section_->lines[i]);
    std::size_t first = 0;
    if (words.size() >= 2 && words[0] == "link") {
      const std::size_t slash = words[1].find('/');
      const auto number = slash == words[1].npos ? std::nullopt : leading_number(words[1].substr(slash + 1));
      port = number ? &port_of_device(std::string(words[1].substr(0, slash)), *number) : nullptr;
      first = 2;
    }
    if (port == nullptr) continue;
    for (std::size_t w = first; w + 1 < words.size(); w += 2) {
      if (const auto value = leading_number(words[w + 1]))
        port->counters.insert_or_assign(std::string(words[w]), seen(*value, i));
    }
  }
}

void HostReader::read_files() {
  for (std::size_t i = 0; i < section_->lines.size(); ++i) {
    const std::string_view line = section_->lines[i];
    if (!line.starts_with("/")) continue;
    // Addresses of PCI devices have colons; values begin after one that no further component follows.
    std::size_t colon = line.find(':');
    for (std::size_t next = colon; next != line.npos; next = line.find(':', next + 1)) {
      const std::string_view rest = line.substr(next + 1);
      const std::size_t slash = rest.find('/');
      const bool in_address = rest.size() > 2 && slash != rest.npos && slash <= 7 && rest.find(' ') > slash &&
                              line.starts_with("/sys/bus/pci/devices/");
      colon = next;
      if (!in_address) break;
    }
    if (colon == line.npos) continue;
    const std::string path(line.substr(0, colon));
    const std::string_view value = trimmed(line.substr(colon + 1));
    host_.files[path].push_back(seen(std::string(value), i));
    read_port_file(path, value, i);
  }
  read_gids();
}

void HostReader::read_port_file(const std::string& path, std::string_view value, std::size_t index) {
  const auto parts = words_of(path, "/");
  const auto number = leading_number(value);
  if (parts.size() >= 5 && parts[1] == "class" && parts[2] == "net") {
    NicPort& port = port_of_netdev(std::string(parts[3]));
    if (parts[4] == "mtu" && number) port.mtu = seen(*number, index);
    // ecn/roce_np/enable/3
    if (parts.size() == 8 && parts[4] == "ecn" && parts[6] == "enable" && number) {
      const auto priority = leading_number(parts[7]);
      if (priority && *priority < 8)
        (parts[5] == "roce_np" ? port.ecn_np : port.ecn_rp)
            .insert_or_assign(static_cast<std::uint32_t>(*priority), seen(*number == 1, index));
    }
    return;
  }
  if (parts.size() >= 7 && parts[2] == "infiniband" && parts[4] == "ports") {
    const auto port_number = leading_number(parts[5]);
    if (!port_number) return;
    NicPort& port = port_of_device(std::string(parts[3]), *port_number);
    const std::string text = lower_case(value);
    const std::size_t colon = text.find(": ");
    if (parts[6] == "state" && colon != text.npos && !port.state) port.state = seen(text.substr(colon + 2), index);
    if (parts[6] == "phys_state" && colon != text.npos && !port.phys_state)
      port.phys_state = seen(text.substr(colon + 2), index);
    if (parts[6] == "link_layer" && !port.link_layer) port.link_layer = seen(text, index);
    if (parts[6] == "rate" && !port.rate_Gbps && leading_decimal(value))
      port.rate_Gbps = seen(*leading_decimal(value), index);
    if (parts.size() == 8 && (parts[6] == "hw_counters" || parts[6] == "counters") && number)
      port.counters.emplace(std::string(parts[7]), seen(*number, index));
    return;
  }
  // /sys/class/infiniband/mlx5_0/tc/1/traffic_class: "Global tclass=106"
  if (parts.size() == 7 && parts[2] == "infiniband" && parts[4] == "tc") {
    const auto port_number = leading_number(parts[5]);
    const std::size_t equal = value.rfind('=');
    const auto tclass = leading_number(equal == value.npos ? value : value.substr(equal + 1));
    if (port_number && tclass) port_of_device(std::string(parts[3]), *port_number).traffic_class = seen(*tclass, index);
  }
  // /sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_mode
  if (parts.size() == 8 && parts[3] == "rdma_cm" && parts[5] == "ports") {
    const auto port_number = leading_number(parts[6]);
    if (!port_number) return;
    NicPort& port = port_of_device(std::string(parts[4]), *port_number);
    if (parts[7] == "default_roce_mode") port.roce_mode = seen(lower_case(value), index);
    if (parts[7] == "default_roce_tos" && number) port.roce_tos = seen(*number, index);
  }
}

void HostReader::read_gids() {
  for (NicPort& port : host_.ports) {
    if (port.device.empty()) continue;
    const std::string base = "/sys/class/infiniband/" + port.device + "/ports/" + std::to_string(port.port);
    const std::string prefix = base + "/gids/";
    for (auto it = host_.files.lower_bound(prefix); it != host_.files.end() && it->first.starts_with(prefix); ++it) {
      const auto index = leading_number(std::string_view(it->first).substr(prefix.size()));
      const Seen<std::string>& gid = it->second.front();
      if (!index || gid.value.find_first_not_of("0:") == gid.value.npos) continue;
      GidEntry entry{*index, lower_case(gid.value), false, gid.from};
      if (const auto* type = host_.file_line(base + "/gid_attrs/types/" + std::to_string(*index))) {
        entry.v2 = type->value == "RoCE v2";
        entry.from = type->from;
      }
      port.gids.push_back(std::move(entry));
    }
  }
}

}  // namespace weft::gear
