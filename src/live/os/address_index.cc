#include "live/os/address_index.h"

#include <algorithm>

namespace weft::live {

std::array<std::uint8_t, 16> link_local(const std::array<std::uint8_t, 6>& mac) {
  return {0xfe,   0x80,   0,    0,    0,      0,      0,     0, static_cast<std::uint8_t>(mac[0] ^ 2),
          mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};
}

AddressIndex::AddressIndex(const lab::World& world) {
  const auto& hosts = world.lab().hosts;
  for (std::uint32_t host = 0; host < hosts.size(); ++host) {
    for (std::uint32_t nic = 0; nic < hosts[host].nics.size(); ++nic) {
      for (std::uint32_t number = 0; number < hosts[host].nics[nic].ports.size(); ++number) {
        const std::uint32_t port = world.port_id({host, nic, number});
        const fabric::PortAddress& address = world.book()[port];
        for (const Key& key : {address.ip, link_local(address.mac)}) owners_.try_emplace(key, Owner{port, host});
      }
    }
  }
}

const AddressIndex::Owner* AddressIndex::find(const std::uint8_t* address) const {
  Key key;
  std::copy_n(address, key.size(), key.begin());
  const auto found = owners_.find(key);
  return found == owners_.end() ? nullptr : &found->second;
}

}  // namespace weft::live
