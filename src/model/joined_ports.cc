#include "model/joined_ports.h"

#include <algorithm>
#include <optional>

namespace weft::lab {

// Links that meet at a switch are one segment: the least number of them stands for it.
JoinedPorts::JoinedPorts(const Lab& lab) : lab_(lab), segment_(lab.links.size()) {
  const auto root = [this](std::uint32_t link) {
    while (segment_[link] != link) link = segment_[link] = segment_[segment_[link]];
    return link;
  };
  for (std::uint32_t i = 0; i < segment_.size(); ++i) segment_[i] = i;
  std::vector<std::optional<std::uint32_t>> of_switch(lab.switches.size());
  for (std::uint32_t i = 0; i < segment_.size(); ++i) {
    for (const PortRef& end : {lab.links[i].a, lab.links[i].b}) {
      if (!end.is_switch()) {
        of_port_[{end.host, end.nic, end.port}] = i;
        continue;
      }
      std::optional<std::uint32_t>& known = of_switch[end.host];
      const std::uint32_t own = root(i), other = known ? root(*known) : own;
      segment_[std::max(own, other)] = std::min(own, other);
      known = i;
    }
  }
  for (std::uint32_t i = 0; i < segment_.size(); ++i) segment_[i] = root(i);
}

std::uint32_t JoinedPorts::segment_of(const PortRef& port) const {
  const PortRef own = carrier_of(lab_, port);
  const auto it = of_port_.find({own.host, own.nic, own.port});
  return it == of_port_.end() ? static_cast<std::uint32_t>(segment_.size()) : segment_[it->second];
}

bool JoinedPorts::joined(const PortRef& a, const PortRef& b) const {
  if (carrier_of(lab_, a) == carrier_of(lab_, b)) return true;
  const std::uint32_t segment = segment_of(a);
  return segment < segment_.size() && segment == segment_of(b);
}

}  // namespace weft::lab
