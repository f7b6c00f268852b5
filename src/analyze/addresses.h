// Addresses by number: an analysis meets few of them in many packets, and a number is quick to compare.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/frame.h"
#include "wire/ipv6.h"

namespace weft::analyze {

class Addresses {
 public:
  // IPv4 in the last four bytes, as ::ffff:a.b.c.d; GIDs of RoCEv1 and InfiniBand as they are.
  AddressId id_of(const wire::IpAddress& address);
  const wire::IpAddress& at(AddressId id) const { return addresses_[id]; }
  std::size_t size() const { return addresses_.size(); }
  // "10.0.0.1", "fe80::1"
  std::string text(AddressId id) const;

 private:
  void grow();

  std::vector<wire::IpAddress> addresses_;
  std::vector<std::uint32_t> slots_;  // open addressing: number of the address + 1, 0 where free
};

}  // namespace weft::analyze
