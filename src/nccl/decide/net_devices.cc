#include "nccl/decide/net_devices.h"

#include <charconv>
#include <optional>

#include "nccl/decide/environment.h"

namespace weft::nccl {

namespace {

// "0000:01:00.1"
std::optional<std::uint64_t> parse_bus_id(std::string_view text) {
  std::uint64_t id = 0;
  for (char c : text) {
    if (c == ':' || c == '.') continue;
    std::uint32_t digit = 0;
    const auto [end, error] = std::from_chars(&c, &c + 1, digit, 16);
    if (error != std::errc()) return std::nullopt;
    id = id << 4 | digit;
  }
  return text.empty() ? std::nullopt : std::optional(id);
}

bool same_card(const Machine& machine, std::uint32_t a, std::uint32_t b) {
  return nic_bus_id(machine, a) >> 4 == nic_bus_id(machine, b) >> 4;
}

// How many ports of its card stand before it in the list, and it: mlx5 calls each of them port 1, NCCL counts them.
std::uint32_t port_of(const Machine& machine, std::uint32_t nic) {
  std::uint32_t port = 1;
  for (std::uint32_t i = 0; i < nic; ++i) port += same_card(machine, i, nic) ? 1 : 0;
  return port;
}

NetDevice device_of(const Machine& machine, std::uint32_t nic) {
  NetDevice device;
  device.name = machine.nics[nic].name;
  device.nics = {nic};
  device.bandwidth_GBps = static_cast<double>(machine.nics[nic].rate_bps / 1'000'000) / 8000.0;
  device.port = port_of(machine, nic);
  device.guid = 0x506b4b0300000000 | nic_bus_id(machine, nic);  // of an OUI of Mellanox
  device.gdr = machine.places.gpudirect;
  return device;
}

std::vector<NetDevice> ib_devices(const Machine& machine, const Environment& environment) {
  std::vector<NetDevice> devices;
  std::vector<std::uint32_t> used;
  for (std::uint32_t i = 0; i < machine.nics.size(); ++i) {
    if (machine.nics[i].rdma && name_matches(environment.ib_hca, machine.nics[i].name, 1)) used.push_back(i);
  }
  for (std::uint32_t nic : used) {
    NetDevice* card = nullptr;
    for (NetDevice& each : devices) {
      if (environment.ib_merge_nics && same_card(machine, each.nics.front(), nic)) card = &each;
    }
    const NetDevice device = device_of(machine, nic);
    if (card == nullptr) {
      devices.push_back(device);
      continue;
    }
    card->name += '+';
    card->name += device.name;
    card->nics.push_back(nic);
    card->bandwidth_GBps += device.bandwidth_GBps;
  }
  return devices;
}

std::vector<NetDevice> socket_devices(const Machine& machine, const Environment& environment) {
  std::vector<NetDevice> devices;
  for (std::uint32_t i = 0; i < machine.nics.size(); ++i) {
    if (!name_matches(environment.socket_ifname, machine.nics[i].interface, 0)) continue;
    NetDevice device = device_of(machine, i);
    device.name = machine.nics[i].interface;
    device.gdr = false;
    device.socket = true;
    devices.push_back(device);
  }
  return devices;
}

bool wants(std::string_view net, std::string_view name) {
  return net.empty() || same_word(net, name);
}

}  // namespace

std::uint64_t nic_bus_id(const Machine& machine, std::uint32_t nic) {
  if (const auto own = parse_bus_id(machine.nics[nic].pci)) return *own;
  std::uint64_t card = 1, port = 0;
  for (std::uint32_t i = 0; i < nic; ++i) {
    const auto& slot = machine.nics[i].slot;
    if (slot && slot == machine.nics[nic].slot) {
      if (port == 0) card = nic_bus_id(machine, i) >> 12;
      ++port;
    } else if (port == 0) {
      card = std::max(card, (nic_bus_id(machine, i) >> 12) + 1);
    }
  }
  return card << 12 | port;
}

std::vector<NetDevice> find_net_devices(const Machine& machine, const Environment& environment) {
  std::vector<NetDevice> devices;
  if (!environment.ib_disable && wants(environment.net, "IB")) devices = ib_devices(machine, environment);
  if (devices.empty() && wants(environment.net, "Socket")) devices = socket_devices(machine, environment);
  return devices;
}

std::optional<std::uint32_t> bootstrap_nic(const Machine& machine, const Environment& environment) {
  for (std::uint32_t i = 0; i < machine.nics.size(); ++i) {
    if (name_matches(environment.socket_ifname, machine.nics[i].interface, 0)) return i;
  }
  return std::nullopt;
}

}  // namespace weft::nccl
