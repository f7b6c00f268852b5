// `lag` of links: those with one name are one link, between two switches or from a bond of a host to a switch.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "labfile/sections.h"

namespace weft::lab {

class LagReader {
 public:
  // Of the link that is read and will be the next in Lab::links; `joined`: its ends are known.
  void add(const YamlNode& name, bool joined, LabContext& context);
  // Once all links are read: what the members of each must have in common.
  void settle(LabContext& context) const;

 private:
  struct Named {
    std::uint32_t lag = 0;
    std::vector<Place> places;  // of its members
    bool complete = true;       // false: a link was reported
  };
  std::map<std::string, Named, std::less<>> named_;
};

inline bool is_of_host(const LinkConfig& link) {
  return !link.a.is_switch() || !link.b.is_switch();
}
// bonds.cc. A bond was reported: what its ports lack says nothing more.
void leave_bond(std::uint32_t lag, LabContext& context);
// The LAG joins the two ports of a NIC to a switch. The second is like the first from here on.
void settle_bond(const std::string& name, const std::vector<Place>& places, std::uint32_t lag, LabContext& context);

// Members are chosen by hash alone: a switch with a LAG that balances in another way is refused.
void check_lag_balancing(LabContext& context, const YamlNode* routing);

}  // namespace weft::lab
