// Labs drawn at random: two to eight hosts on a cable, a switch or leaves and spines, NICs of the catalog, addresses,
// MTU and tags, and what the hosts send each other. What is planted is added to the draft by random_faults.cc.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "support/dice.h"

namespace weft::planted {

using support::Dice;

struct DraftHost {
  std::string name;     // "h0"
  std::string address;  // "10.0.0.1"
  std::string model, set, qos;
  int leaf = 0;
  std::string port() const { return name + ":p0"; }
};

struct DraftFlow {
  std::size_t client = 0, server = 1;  // in Draft::hosts
  std::string verb;                    // as a transfer names it
  std::int64_t size_B = 0, count = 1, depth = 16;
  std::int64_t start_ns = 0;
  std::string extra;  // ", timeout: 10"
  bool is_read() const { return verb == "read"; }
  bool is_atomic() const { return verb == "fetch-add" || verb == "compare-swap"; }
};

struct Draft {
  enum class Shape : std::uint8_t { kCable, kSwitch, kLeafSpine };

  Shape shape = Shape::kCable;
  std::vector<DraftHost> hosts;
  int leaves = 0, spines = 0;
  std::string switch_model, rate;  // of all cables; empty: the highest
  std::string cable = "kind: dac, length: 1 m";
  bool v4 = true;
  int vlan = 0;  // 0: untagged
  int mtu_B = 1500;
  std::string qos;  // of the lab, without braces
  std::map<std::string, std::string> switch_extra;
  std::vector<DraftFlow> flows;
  std::vector<std::string> faults;  // each without braces

  int path_mtu_B() const;
  std::int64_t packets(const DraftFlow& flow) const;  // with payload
  // Ports that packets from one host to the other leave by, in order; where there are two spines the ports between leaf
  // and spine are left out.
  std::vector<std::string> hops(std::size_t from, std::size_t to) const;
  std::string text(std::uint64_t seed) const;
};

// What a family of faults needs of the traffic.
struct TrafficWish {
  std::vector<std::string> verbs;     // of the first flow; empty: any
  std::int64_t packets = 0;           // of the first flow at least; 0: any
  std::int64_t most_packets = 0;      // of all; 0: as many as the shape allows
  std::vector<Draft::Shape> shapes;   // empty: any
  std::vector<std::string> models;    // empty: any
  std::vector<std::string> profiles;  // of the QoS; empty: any
  int least_hosts = 2, most_flows = 4;
  bool incast = false;  // all flows go to one host
};
Draft draw_traffic(const TrafficWish& wish, Dice& dice);

}  // namespace weft::planted
