#include "analyze/random_traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weft::planted {
namespace {

template <class T>
const T& any_of(const std::vector<T>& from, Dice& dice) {
  return from[static_cast<std::size_t>(dice.pick(0, static_cast<std::int64_t>(from.size()) - 1))];
}

// Each power of two is as likely as the next.
std::int64_t draw_size_B(Dice& dice) {
  const std::int64_t bits = dice.pick(0, 22);
  return dice.pick(std::int64_t{1} << std::max<std::int64_t>(bits - 1, 0), std::int64_t{1} << bits);
}

constexpr int kUplink = 31;  // the first port of a leaf that leads to a spine

std::string leaf_port(const Draft& draft, std::size_t host) {
  int number = 1;
  for (std::size_t i = 0; i < host; ++i) number += draft.hosts[i].leaf == draft.hosts[host].leaf ? 1 : 0;
  return fmt::format("leaf{}:swp{}", draft.hosts[host].leaf, number);
}

void draw_shape(const TrafficWish& wish, Draft& draft, Dice& dice) {
  using enum Draft::Shape;
  const std::vector<Draft::Shape> shapes = {kCable, kCable, kSwitch, kSwitch, kLeafSpine};
  draft.shape = any_of(wish.shapes.empty() ? shapes : wish.shapes, dice);
  int hosts = 2;
  if (draft.shape != kCable)
    hosts =
        static_cast<int>(dice.pick(std::max(2, wish.least_hosts), std::max(wish.least_hosts, dice.chance(50) ? 4 : 8)));
  if (draft.shape == kSwitch) draft.leaves = 1;
  if (draft.shape == kLeafSpine) {
    draft.leaves = 2;
    draft.spines = dice.chance(70) ? 1 : 2;
  }
  const std::vector<std::string> models = {"cx4-lx-25g", "cx5-100g", "cx5-100g",  "cx5-25g",  "cx6-200g",   "cx6-25g",
                                           "cx7-400g",   "bf2-100g", "e810-100g", "bf3-400g", "cx5-ex-100g"};
  const std::string model = any_of(wish.models.empty() ? models : wish.models, dice);
  draft.v4 = dice.chance(75);
  draft.vlan = dice.chance(15) ? static_cast<int>(dice.pick(2, 4000)) : 0;
  draft.mtu_B = dice.one_of({1500, 2200, 4200, 4200, 9000});
  for (int i = 0; i < hosts; ++i) {
    DraftHost host;
    host.name = fmt::format("h{}", i);
    host.leaf = draft.leaves == 2 ? (i < (hosts + 1) / 2 ? 0 : 1) : 0;
    host.address =
        draft.v4 ? fmt::format("10.0.{}.{}", host.leaf, i + 1) : fmt::format("fd00:{}::{}", host.leaf, i + 1);
    host.model = model;
    draft.hosts.push_back(std::move(host));
  }
  draft.switch_model = dice.one_of<const char*>({"sn3700c", "sn3700", "sn2700"});
  if (model.ends_with("400g"))
    draft.rate = dice.one_of<const char*>({"100 Gbps", "25 Gbps"});
  else if (!model.ends_with("25g") && dice.chance(25))
    draft.rate = "25 Gbps";
  if (model == "cx6-200g" && draft.shape == kCable && dice.chance(50)) draft.rate = "200 Gbps";
}

void draw_qos(const TrafficWish& wish, Draft& draft, Dice& dice) {
  std::vector<std::string> profiles = wish.profiles;
  if (profiles.empty()) profiles = {"none", "roce-lossless", "roce-lossless", "roce-lossy", "sonic-default"};
  const std::string profile = any_of(profiles, dice);
  draft.qos =
      profile == "class" ? "dscp: 26, priority: 3, ecn: true, cnp_dscp: 48, cnp_priority: 6" : "profile: " + profile;
}

}  // namespace

int Draft::path_mtu_B() const {
  int path_mtu_B = 256;
  while (path_mtu_B < 4096 && path_mtu_B * 2 + 96 <= mtu_B) path_mtu_B *= 2;
  return path_mtu_B;
}

std::int64_t Draft::packets(const DraftFlow& flow) const {
  return flow.count *
         (flow.is_atomic() ? 1 : std::max<std::int64_t>(1, (flow.size_B + path_mtu_B() - 1) / path_mtu_B()));
}

std::vector<std::string> Draft::hops(std::size_t from, std::size_t to) const {
  std::vector<std::string> ports = {hosts[from].port()};
  if (shape == Shape::kCable) return ports;
  if (hosts[from].leaf != hosts[to].leaf && spines == 1) {
    ports.push_back(fmt::format("leaf{}:swp{}", hosts[from].leaf, kUplink));
    ports.push_back(fmt::format("spine0:swp{}", hosts[to].leaf + 1));
  }
  ports.push_back(leaf_port(*this, to));
  return ports;
}

std::string Draft::text(std::uint64_t seed) const {
  std::string out = fmt::format("version: 1\nname: random\nseed: {}\nnodes:\n", seed);
  for (const DraftHost& host : hosts) {
    out += fmt::format("  {}:\n    kind: host\n", host.name);
    if (!host.qos.empty()) out += fmt::format("    qos: {{{}}}\n", host.qos);
    out += fmt::format(
        "    nics:\n      - model: {}\n        set: {{{}}}\n        ports:\n          p0: {{address: \"{}/{}\", mtu: "
        "{} B{}}}\n",
        host.model, host.set, host.address, v4 ? 24 : 64, mtu_B, vlan == 0 ? "" : fmt::format(", vlan: {}", vlan));
  }
  const auto add_switch = [&](const std::string& name) {
    out += fmt::format("  {}:\n    kind: switch\n    model: {}\n", name, switch_model);
    if (switch_extra.contains(name)) out += switch_extra.at(name);
  };
  for (int i = 0; i < leaves; ++i) add_switch(fmt::format("leaf{}", i));
  for (int i = 0; i < spines; ++i) add_switch(fmt::format("spine{}", i));
  const std::string tail = "cable: {" + cable + (rate.empty() ? "" : ", rate: " + rate) + "}}\n";
  out += "links:\n";
  if (shape == Shape::kCable) {
    out += fmt::format("  - {{endpoints: [\"{}\", \"{}\"], {}", hosts[0].port(), hosts[1].port(), tail);
  } else {
    for (std::size_t i = 0; i < hosts.size(); ++i)
      out += fmt::format("  - {{endpoints: [\"{}\", \"{}\"], {}", hosts[i].port(), leaf_port(*this, i), tail);
    for (int leaf = 0; spines > 0 && leaf < leaves; ++leaf)
      for (int spine = 0; spine < spines; ++spine)
        out += fmt::format("  - {{endpoints: [\"leaf{}:swp{}\", \"spine{}:swp{}\"], {}", leaf, kUplink + spine, spine,
                           leaf + 1, tail);
  }
  out += "qos: {" + qos + "}\n";
  if (!faults.empty()) out += "faults:\n";
  for (const std::string& fault : faults) out += "  - {" + fault + "}\n";
  out += "workloads:\n";
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const DraftFlow& flow = flows[i];
    out +=
        fmt::format("  - {{name: w{}, client: {}, server: {}, transfer: {}, {}count: {}, depth: {}, start: {} ns{}}}\n",
                    i, hosts[flow.client].name, hosts[flow.server].name, flow.verb,
                    flow.is_atomic() ? "" : fmt::format("size: {} B, ", flow.size_B), flow.count, flow.depth,
                    flow.start_ns, flow.extra);
  }
  return out;
}

Draft draw_traffic(const TrafficWish& wish, Dice& dice) {
  Draft draft;
  draw_shape(wish, draft, dice);
  draw_qos(wish, draft, dice);
  using enum Draft::Shape;
  std::int64_t budget = draft.shape == kCable ? 2500 : draft.shape == kSwitch ? 1500 : 900;
  if (wish.most_packets != 0) budget = wish.most_packets;
  budget = std::max(dice.pick(150, budget), wish.packets);
  const auto hosts = static_cast<std::int64_t>(draft.hosts.size());
  const std::int64_t flows = wish.incast ? hosts - 1 : dice.pick(1, wish.most_flows);
  const std::vector<std::string> verbs = {"write",     "write",    "send",      "read",        "read",
                                          "write-imm", "send-imm", "fetch-add", "compare-swap"};
  for (std::int64_t i = 0; i < flows; ++i) {
    DraftFlow flow;
    flow.verb = any_of(i == 0 && !wish.verbs.empty() ? wish.verbs : verbs, dice);
    if (wish.incast) {
      flow.verb = any_of(wish.verbs.empty() ? verbs : wish.verbs, dice);
      flow.server = 0;
      flow.client = static_cast<std::size_t>(i + 1);
    } else {
      flow.client = static_cast<std::size_t>(dice.pick(0, hosts - 1));
      flow.server = static_cast<std::size_t>(dice.pick(0, hosts - 2));
      if (flow.server >= flow.client) ++flow.server;
    }
    flow.size_B = draw_size_B(dice);
    flow.depth = dice.one_of({1, 2, 4, 16, 16, 64});
    flow.start_ns = i == 0 || dice.chance(50) ? 0 : dice.pick(0, 100'000);
    const std::int64_t least = i == 0 || wish.incast ? wish.packets : 0;
    const std::int64_t most = std::max(wish.incast ? budget / flows : i == 0 ? budget : budget / (2 * flows), least);
    flow.size_B = std::min(flow.size_B, most * draft.path_mtu_B());
    if (least > 1) flow.size_B = std::max<std::int64_t>(flow.size_B, 64);
    const std::int64_t each = draft.packets(flow);
    flow.count = std::clamp<std::int64_t>(dice.pick(1, 2 * most / each + 1), (least + each - 1) / each,
                                          std::max<std::int64_t>(1, most / each + 1));
    draft.flows.push_back(std::move(flow));
  }
  return draft;
}

}  // namespace weft::planted
