// Which ports any path of cables and switches joins. Hosts do not forward: two rails that only hosts have in common are
// apart. Says nothing of routes and VLANs, and nothing changes it while a lab runs: what is apart can never be reached.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "model/lab.h"

namespace weft::lab {

class JoinedPorts {
 public:
  explicit JoinedPorts(const Lab& lab);
  // Of hosts; of a virtual function, the port of its NIC.
  bool joined(const PortRef& a, const PortRef& b) const;

 private:
  std::uint32_t segment_of(const PortRef& port) const;

  const Lab& lab_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> of_port_;  // of hosts -> link
  std::vector<std::uint32_t> segment_;                                                        // by link
};

}  // namespace weft::lab
