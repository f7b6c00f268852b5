// The routed Clos of a lab (RFC 7938): every switch its own AS, a loopback, eBGP on every link between switches, the
// hosts' subnets behind a VLAN interface of their leaf. Addresses that the lab does not give are made here, the same
// for every target: loopbacks of 10.255.0.0/16, /31s of 10.254.0.0/16, gateways the last free address of a subnet.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gear/emit/emit.h"
#include "model/lab.h"

namespace weft::gear {

struct RoutedVlan {
  std::uint16_t id = 0;
  std::string subnet;   // "10.0.0.0/24"
  std::string gateway;  // "10.0.0.254"
  std::uint32_t prefix_bits = 0;
  bool tagged = false;               // hosts send the tag
  std::vector<std::uint32_t> ports;  // numbers from 1; of a LAG its first
};

struct RoutedLink {
  std::uint32_t port = 0;  // number from 1; of a LAG its first
  std::uint32_t peer = 0;  // switch
  std::string address;     // "10.254.0.0", of the numbered variant: a /31
  std::string peer_address;
  std::uint32_t lag = 0;  // number; 0: one cable
};

// A LAG to another switch, over which it routes, or to the bond of a host, which is in a VLAN.
struct SwitchLag {
  std::uint32_t number = 0;            // on this switch, from 1
  std::vector<std::uint32_t> members;  // numbers of ports
  std::string peer;                    // node
  std::uint32_t port() const { return members.front(); }
};

struct Router {
  std::uint32_t asn = 0;
  std::string loopback;  // "10.255.0.1"
  std::vector<RoutedVlan> vlans;
  std::vector<RoutedLink> links;
  std::vector<SwitchLag> lags;
};

struct RoutingPlan {
  std::vector<Router> routers;  // by switch
  bool routed = false;          // several subnets: there is something to route
  std::vector<EmitProblem> problems;
};

RoutingPlan routing_plan(const lab::Lab& lab);

// Gateway of the subnet of a host's port, or empty.
std::string gateway_of(const lab::Lab& lab, const RoutingPlan& plan, const lab::PortRef& port);
// Every subnet of the plan but the port's own, in order.
std::vector<std::string> other_subnets(const RoutingPlan& plan, const std::string& own);
// Those of them that links between switches lead to from the leaf of `own`.
std::vector<std::string> reachable_subnets(const RoutingPlan& plan, const std::string& own);

}  // namespace weft::gear
