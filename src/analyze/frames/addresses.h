// Addresses by number: an analysis meets few of them in many packets, and a number is quick to compare. At most
// kMostAddresses are kept; the number of any other is kNone.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "analyze/frames/frame.h"
#include "wire/ipv6.h"

namespace weft::analyze {

class Addresses {
 public:
  static constexpr std::size_t kMostAddresses = 1 << 20;

  // IPv4 in the last four bytes, as ::ffff:a.b.c.d; GIDs of RoCEv1 and InfiniBand as they are.
  AddressId id_of(const wire::IpAddress& address);
  // The same, quicker. `address` is in host order.
  AddressId id_of_ipv4(std::uint32_t address) {
    const Recent& recent = recent_[address * 0x9e3779b1U >> kRecentShift];
    return recent.id != kNone && recent.address == address ? recent.id : add_ipv4(address);
  }
  // A local identifier of InfiniBand, as ::lid.
  AddressId id_of_lid(std::uint16_t lid);

  const wire::IpAddress& at(AddressId id) const { return addresses_[id]; }
  std::size_t size() const { return addresses_.size(); }
  // "10.0.0.1", "fe80::1", "LID 7"
  std::string text(AddressId id) const;

 private:
  // The addresses of IPv4 packets seen last, by some bits of their hash.
  static constexpr int kRecentBits = 12, kRecentShift = 32 - kRecentBits;
  struct Recent {
    std::uint32_t address = 0;
    AddressId id = kNone;
  };

  AddressId add_ipv4(std::uint32_t address);
  void grow();

  std::vector<wire::IpAddress> addresses_;
  std::vector<std::uint32_t> slots_;  // open addressing: number of the address + 1, 0 where free
  std::vector<Recent> recent_ = std::vector<Recent>(std::size_t{1} << kRecentBits);
};

}  // namespace weft::analyze
