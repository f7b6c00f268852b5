// The LAGs of a switch (802.1AX): which of its ports are members of one, and the member that a packet takes. A member
// without a signal takes none, at once; its flows are dealt to the others. Not modelled: LACP's frames and timers, and
// hashes that keep the flows of the members that stay (resilient hashing).
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.h"
#include "fabric/route_table.h"

namespace weft::fabric {

class LagTable {
 public:
  void add(std::vector<std::uint16_t> ports) {
    for (std::uint16_t port : ports) {
      if (port >= lag_of_port_.size()) lag_of_port_.resize(port + 1U, kNoGroup);
      WEFT_CHECK(lag_of_port_[port] == kNoGroup, "a port is in one LAG");
      lag_of_port_[port] = static_cast<std::uint16_t>(members_.size());
    }
    members_.push_back(std::move(ports));
  }
  bool empty() const { return members_.empty(); }

  // In place of `port`: the port itself where it is in no LAG, or where no member has a signal.
  template <class IsDown>
  std::uint32_t member(std::uint32_t port, std::uint32_t hash, IsDown is_down) const {
    if (port >= lag_of_port_.size() || lag_of_port_[port] == kNoGroup) return port;
    const std::vector<std::uint16_t>& members = members_[lag_of_port_[port]];
    std::uint32_t up = 0;
    for (std::uint16_t each : members) up += is_down(each) ? 0 : 1;
    if (up == 0) return port;
    std::uint32_t left = pick(hash, up);
    for (std::uint16_t each : members) {
      if (!is_down(each) && left-- == 0) return each;
    }
    WEFT_DCHECK(false, "one of the members that are up is chosen");
    return port;
  }

 private:
  std::vector<std::vector<std::uint16_t>> members_;
  std::vector<std::uint16_t> lag_of_port_;  // kNoGroup: in none
};

}  // namespace weft::fabric
