// links: two ports and a cable; what must agree at its two ends. The cable itself is in lab_cables.cc.
#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "labfile/lab_fields.h"
#include "labfile/network/lags.h"
#include "labfile/sections.h"
#include "text/yaml_walk.h"

namespace weft::lab {
namespace {

class LinkReader {
 public:
  LinkReader(LabContext& context, LagReader& lags) : context_(context), problems_(context.problems), lags_(lags) {}

  void read(const YamlNode& node) {
    const MapReader map(node, fmt::format("links[{}]", context_.lab.links.size()), kLinkKeys, problems_);
    LinkConfig link;
    link.a = link.b = kNoPort;
    const YamlNode* endpoints = map.require("endpoints");
    const bool joined = endpoints != nullptr && read_endpoints(*endpoints, link);
    context_.links_complete = context_.links_complete && joined;
    const YamlNode* written = map.get("cable");
    CableSpec cable;
    cable.place = node.place;
    if (written != nullptr) cable = read_cable(*written, context_);
    if (joined) {
      settle_link(cable, link, context_);
      if (!link.a.is_switch() && !link.b.is_switch() && have_addresses_) check_addresses(endpoints->place, link);
    }
    if (const YamlNode* lag = map.get("lag")) lags_.add(*lag, joined, context_);
    context_.lab.links.push_back(link);
  }

 private:
  // True when both ports are known and sound.
  bool read_endpoints(const YamlNode& node, LinkConfig& link) {
    const auto* list = read_list(node, "endpoints", problems_);
    if (list == nullptr) return false;
    if (list->size() != 2) {
      problems_.add(node.place, fmt::format("a link has two endpoints, this has {}", list->size()),
                    "write [\"vm00:p0\", \"vm01:p0\"]");
    }
    PortState* ends[2] = {};
    for (std::size_t i = 0; i < std::min<std::size_t>(list->size(), 2); ++i) {
      ends[i] = read_port((*list)[i], "endpoint", context_);
      if (ends[i] != nullptr && !take((*list)[i], *ends[i])) ends[i] = nullptr;
    }
    if (ends[0] == nullptr || ends[1] == nullptr) return false;
    link.a = ends[0]->ref;
    link.b = ends[1]->ref;
    if (link.a.host == link.b.host && link.a.is_switch() == link.b.is_switch()) {
      problems_.add(node.place,
                    fmt::format("a cable from a {} to itself is not modelled", link.a.is_switch() ? "switch" : "host"),
                    link.a.is_switch() ? "join it to another switch or a host"
                                       : "make two hosts of it, as two virtual machines with a NIC each");
      return false;
    }
    have_addresses_ = !ends[0]->without_address && !ends[1]->without_address;
    return ends[0]->usable && ends[1]->usable;
  }

  bool take(const YamlNode& node, PortState& port) {
    if (is_vf(context_.lab, port.ref)) {
      problems_.add(node.place,
                    fmt::format("{} is a virtual function and has no cable of its own", in_quotes(node.text)),
                    fmt::format("plug it into {}", port_name(context_.lab, carrier_of(context_.lab, port.ref))));
      return false;
    }
    if (port.link) {
      problems_.add(node.place, fmt::format("{} has a cable already", in_quotes(node.text)),
                    fmt::format("a port takes one cable: the other is in line {}", port.link_place.line));
      return false;
    }
    port.link = context_.lab.links.size();
    port.link_place = node.place;
    return true;
  }

  // Over a cable there is no router: both ends are in one subnet and one VLAN.
  void check_addresses(const Place& place, const LinkConfig& link) {
    const PortConfig &a = context_.port(link.a), &b = context_.port(link.b);
    const std::string both =
        fmt::format("{}/{} and {}/{}", to_string(a.address), a.prefix_bits, to_string(b.address), b.prefix_bits);
    if (a.address.is_v4 != b.address.is_v4) {
      problems_.add(place, fmt::format("the ends have {}: IPv4 and IPv6", both),
                    "give both ends addresses of one family");
    } else if (a.address == b.address) {
      problems_.add(place, fmt::format("both ends have the address {}", to_string(a.address)),
                    "give each port an address of its own");
    } else if (!same_subnet(a.address, b.address, std::max(a.prefix_bits, b.prefix_bits))) {
      problems_.add(place, fmt::format("the ends have {}: two subnets", both),
                    "a cable has no router: put both ends in one subnet, e.g. 10.0.0.1/24 and 10.0.0.2/24");
    }
    if (a.netdev_mtu_B != b.netdev_mtu_B) {
      context_.warnings.add(place, fmt::format("the ends have mtu {} B and {} B", a.netdev_mtu_B, b.netdev_mtu_B),
                            "RoCE uses the smaller of the two; give both the same");
    }
    if (a.vlan != b.vlan) {
      const auto text = [](const PortConfig& port) {
        return port.vlan ? fmt::format("vlan {}", *port.vlan) : std::string("no vlan");
      };
      problems_.add(place, fmt::format("the ends have {} and {}", text(a), text(b)),
                    "give both ends the same vlan, or none");
    }
  }

  LabContext& context_;
  ProblemList& problems_;
  LagReader& lags_;
  bool have_addresses_ = true;
};

}  // namespace

void read_links(const YamlNode& node, LabContext& context) {
  const auto* list = read_list(node, "links", context.problems);
  context.links_complete = context.links_complete && list != nullptr;
  if (list == nullptr) return;
  LagReader lags;
  for (const YamlNode& item : *list) LinkReader(context, lags).read(item);
  lags.settle(context);
}

}  // namespace weft::lab
