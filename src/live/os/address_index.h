// Which port of the lab has an address: the one that the lab gives it, or its link-local one.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <unordered_map>

#include "world/world.h"

namespace weft::live {

// fe80::/64 with the modified EUI-64 of the MAC (RFC 4291, appendix A).
std::array<std::uint8_t, 16> link_local(const std::array<std::uint8_t, 6>& mac);

class AddressIndex {
 public:
  explicit AddressIndex(const lab::World& world);

  struct Owner {
    std::uint32_t port = 0, host = 0;
  };
  // 16 bytes, IPv4 mapped; null: nobody has it.
  const Owner* find(const std::uint8_t* address) const;

 private:
  using Key = std::array<std::uint8_t, 16>;
  struct Hash {
    std::size_t operator()(const Key& key) const {
      std::uint64_t words[2];
      std::memcpy(words, key.data(), sizeof(words));
      return static_cast<std::size_t>((words[0] * 0x9e3779b97f4a7c15ULL ^ words[1]) * 0xbf58476d1ce4e5b9ULL >> 16);
    }
  };
  std::unordered_map<Key, Owner, Hash> owners_;
};

}  // namespace weft::live
