// What commands have changed of the ports of hosts while the world runs (docs/commands.md); the lab says the rest.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "model/lab.h"

namespace weft::lab {

class PortSettings {
 public:
  explicit PortSettings(const Lab& lab) : lab_(lab) {}

  // Of RoCE that asks for no traffic class of its own.
  std::uint8_t dscp(const PortRef& port) const { return of(port, dscps_, lab_.hosts[port.host].qos.dscp); }
  std::uint8_t tos(const PortRef& port) const {
    constexpr std::uint8_t kEct0 = 2;
    return static_cast<std::uint8_t>(dscp(port) << 2 | (lab_.hosts[port.host].qos.ect ? kEct0 : 0));
  }
  void set_dscp(const PortRef& port, std::uint8_t dscp) { dscps_[place_of(port)] = dscp; }
  // Of the interface: it bounds the path MTU of what is connected from now on.
  std::int64_t mtu_B(const PortRef& port) const {
    return of(port, mtus_B_, lab_.hosts[port.host].nics[port.nic].ports[port.port].netdev_mtu_B);
  }
  void set_mtu(const PortRef& port, std::int64_t mtu_B) { mtus_B_[place_of(port)] = mtu_B; }

 private:
  using Place = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;

  static Place place_of(const PortRef& port) { return {port.host, port.nic, port.port}; }
  template <typename T>
  static T of(const PortRef& port, const std::map<Place, T>& changed, T in_lab) {
    const auto found = changed.find(place_of(port));
    return found == changed.end() ? in_lab : found->second;
  }

  const Lab& lab_;
  std::map<Place, std::uint8_t> dscps_;
  std::map<Place, std::int64_t> mtus_B_;
};

}  // namespace weft::lab
