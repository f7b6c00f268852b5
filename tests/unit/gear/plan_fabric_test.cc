#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "catalog/catalog.h"
#include "gear/plan/fabric.h"
#include "gear/plan/ports.h"
#include "labfile/reader.h"

namespace weft::gear {
namespace {

FabricOptions cluster(std::uint32_t hosts, std::uint32_t nics, std::int64_t rate_G) {
  FabricOptions options;
  options.gpus = hosts * 8;
  options.nics_per_host = nics;
  options.rate_bps = rate_G * 1'000'000'000;
  return options;
}

FabricPlan planned(const FabricOptions& options) {
  auto plan = plan_fabric(options, Market::built_in());
  EXPECT_TRUE(plan) << plan.error().message;
  return plan ? std::move(*plan) : FabricPlan();
}

// One switch where one is enough. With several, the thresholds of [kentino].
TEST(PlanFabric, ThresholdsOfNodes) {
  for (std::uint32_t hosts = 2; hosts <= 24; ++hosts) {
    FabricOptions options = cluster(hosts, 1, 100);
    const FabricPlan one = planned(options);
    EXPECT_EQ(one.leaves, 1u) << hosts;
    EXPECT_EQ(one.spines, 0u) << hosts;
    EXPECT_FALSE(one.routed) << hosts;
    options.clos = true;
    const FabricPlan clos = planned(options);
    EXPECT_TRUE(clos.routed && clos.leaves >= 2 && clos.spines >= 2) << hosts;
    EXPECT_EQ(clos.why.find("starts to pay") != std::string::npos, hosts > 8 && hosts <= 16) << hosts;
    EXPECT_EQ(clos.why.find("only sensible") != std::string::npos, hosts > 16) << hosts;
  }
}

// Two or three nodes: a cable and a subnet for each two, and a lab that runs.
TEST(PlanFabric, WithoutSwitch) {
  for (const auto& [hosts, nics] : {std::pair{2u, 1u}, {2u, 4u}, {3u, 2u}, {3u, 4u}}) {
    SCOPED_TRACE(fmt::format("{} hosts, {} NICs", hosts, nics));
    FabricOptions options = cluster(hosts, nics, 100);
    options.leaf = "none";
    const FabricPlan plan = planned(options);
    EXPECT_TRUE(plan.switches.empty());
    EXPECT_EQ(plan.cables.size(), hosts * nics / 2);
    std::map<std::string, std::set<std::string>> peers, subnets;
    std::set<std::string> ports;
    for (const FabricCable& cable : plan.cables) {
      EXPECT_TRUE(ports.insert(cable.from).second && ports.insert(cable.to).second);
      const std::string a = cable.from.substr(0, cable.from.find(':')), b = cable.to.substr(0, cable.to.find(':'));
      EXPECT_NE(a, b);
      peers[a].insert(b);
      peers[b].insert(a);
    }
    for (const auto& [host, others] : peers) EXPECT_EQ(others.size(), hosts - 1) << host;
    std::map<std::string, int> in_subnet;
    for (const FabricHostPort& port : plan.host_ports) ++in_subnet[port.address.substr(0, port.address.rfind('.'))];
    EXPECT_EQ(in_subnet.size(), plan.cables.size());
    for (const auto& [subnet, count] : in_subnet) EXPECT_EQ(count, 2) << subnet;
    const auto lab = lab::read_lab(fabric_lab(plan), "lab.yaml");
    ASSERT_TRUE(lab) << lab.error().front().message;
    EXPECT_TRUE(lab->warnings.empty()) << lab->warnings.front().message;
    // A cable's ends are in one subnet.
    for (const FabricCable& cable : plan.cables) {
      const auto address = [&](const std::string& end) {
        const auto found = std::find_if(
            plan.host_ports.begin(), plan.host_ports.end(),
            [&](const FabricHostPort& port) { return fmt::format("h{}:p{}", port.host, port.nic) == end; });
        return found == plan.host_ports.end() ? end : found->address.substr(0, found->address.rfind('.'));
      };
      EXPECT_EQ(address(cable.from), address(cable.to)) << cable.from;
    }
  }
}

// 24,000 GPUs: every port once, no switch has more cables than ports, no tier above the leaves has less capacity than
// the one below, and a core reaches every pod.
TEST(PlanFabric, ThreeTiers) {
  for (const auto& [hosts, rate, model] : {std::tuple{3000u, 400, ""}, {500u, 200, "sn3700"}}) {
    SCOPED_TRACE(fmt::format("{} hosts {}G {}", hosts, rate, model));
    FabricOptions options = cluster(hosts, 8, rate);
    options.leaf = options.spine = model;
    const FabricPlan plan = planned(options);
    ASSERT_GT(plan.cores, 0u);
    ASSERT_EQ(plan.switches.size(), plan.leaves + plan.spines + plan.cores);
    std::set<std::string> ports;
    std::map<std::string, std::int64_t> down, up;  // capacity by switch, Gb/s
    std::map<std::string, std::uint32_t> cables;
    std::map<std::string, std::set<std::uint32_t>> pods_of_core;
    const auto device = [](const std::string& end) { return end.substr(0, end.find(':')); };
    for (const FabricCable& cable : plan.cables) {
      ASSERT_TRUE(ports.insert(cable.from).second && ports.insert(cable.to).second) << cable.from << " " << cable.to;
      up[device(cable.from)] += cable.rate_bps / 1'000'000'000;
      down[device(cable.to)] += cable.rate_bps / 1'000'000'000;
      ++cables[device(cable.from)];
      ++cables[device(cable.to)];
      if (cable.to.starts_with("core"))
        pods_of_core[device(cable.to)].insert(static_cast<std::uint32_t>(std::stoul(cable.from.substr(5))) /
                                              (plan.spines / plan.pods));
    }
    for (const FabricSwitch& each : plan.switches) {
      const SwitchPorts has(*lab::Catalog::built_in().switch_model(each.model));
      EXPECT_EQ(cables[each.name] + each.ports_left, has.usable()) << each.name;
      if (!each.name.starts_with("core")) EXPECT_GE(up[each.name], down[each.name]) << each.name;
      if (each.name.starts_with("core")) EXPECT_EQ(pods_of_core[each.name].size(), plan.pods) << each.name;
    }
  }
}

TEST(PlanFabric, Budget) {
  FabricOptions options = cluster(4, 1, 100);
  EXPECT_FALSE(planned(options).within_budget());
  const NumberRange sum = planned(options).price_USD();
  for (const auto& [budget, answer] :
       {std::pair{sum.high, Answer::kYes}, {sum.low - 1, Answer::kNo}, {(sum.low + sum.high) / 2, Answer::kUnknown}}) {
    options.budget_USD = budget;
    EXPECT_EQ(planned(options).within_budget(), answer) << budget;
  }
  options.budget_USD = -5;
  EXPECT_FALSE(plan_fabric(options, Market::built_in()));
}

// Every port is used once, every leaf reaches every spine, and the oversubscription is what was allowed.
TEST(PlanFabric, CablesAreConsistent) {
  for (const auto& [hosts, nics, rate] : {std::tuple{8u, 8u, 200}, {32u, 1u, 100}, {64u, 2u, 25}, {16u, 4u, 400}}) {
    for (double most : {1.0, 3.0}) {
      FabricOptions options = cluster(hosts, nics, rate);
      options.oversubscription = most;
      const FabricPlan plan = planned(options);
      EXPECT_LE(plan.oversubscription, most + 1e-9);
      std::set<std::string> ports;
      std::map<std::string, std::uint32_t> uplinks;
      for (const FabricCable& cable : plan.cables) {
        EXPECT_TRUE(ports.insert(cable.from).second) << cable.from;
        EXPECT_TRUE(ports.insert(cable.to).second) << cable.to;
        if (cable.to.starts_with("spine")) ++uplinks[cable.from.substr(0, cable.from.find(':'))];
      }
      EXPECT_EQ(uplinks.size(), plan.spines == 0 ? 0 : plan.leaves);
      for (const auto& each : uplinks) EXPECT_EQ(each.second, plan.uplinks);
      EXPECT_EQ(plan.cables.size(), hosts * nics + plan.leaves * plan.uplinks);
      std::set<std::string> addresses;
      for (const FabricHostPort& port : plan.host_ports) EXPECT_TRUE(addresses.insert(port.address).second);
      EXPECT_EQ(plan.management_ports, 2 * hosts + plan.leaves + plan.spines);
    }
  }
}

// 64 GPUs of 200G: 64 ports on switches of 32 make four leaves of 16 + 16 and two spines.
TEST(PlanFabric, SixtyFourGpus) {
  FabricOptions options = cluster(8, 8, 200);
  options.leaf = options.spine = "sn3700";
  const FabricPlan plan = planned(options);
  EXPECT_EQ(plan.leaves, 4u);
  EXPECT_EQ(plan.spines, 2u);
  EXPECT_EQ(plan.down_ports, 16u);
  EXPECT_EQ(plan.uplinks, 16u);
  EXPECT_DOUBLE_EQ(plan.oversubscription, 1);
  EXPECT_EQ(plan.switches[0].ports_left, 0u);
  EXPECT_EQ(plan.switches[0].asn, 65001u);
  EXPECT_EQ(plan.switches[5].asn, 65006u);
  EXPECT_EQ(plan.switches[5].loopback, "10.255.0.6");
  EXPECT_EQ(plan.nic, "cx6-200g");
  EXPECT_GT(plan.price_USD().high, plan.price_USD().low);
}

// 48 ports of 25G with 8 of 100G: hosts take the slow ones, uplinks the fast ones.
TEST(PlanFabric, MixedPorts) {
  const SwitchPorts ports(*lab::Catalog::built_in().switch_model("as7326-56x"));
  EXPECT_EQ(ports.usable(), 56u);
  EXPECT_EQ(ports.left_for_uplinks(25'000'000'000, 48, 100'000'000'000), 8u);
  EXPECT_EQ(ports.name(ports.in_order(25'000'000'000).front()), "Ethernet1");
  EXPECT_EQ(ports.name(ports.in_order(100'000'000'000).back()), "Ethernet56");
  const auto shape = clos_shape(ports, ports, 96, 25'000'000'000, 1.5);
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->leaves, 2u);
  EXPECT_EQ(shape->per_leaf, 48u);
  EXPECT_EQ(shape->uplink_bps, 100'000'000'000);
}

TEST(PlanFabric, LabFilesAreValid) {
  for (const auto& [hosts, nics, rate] : {std::tuple{4u, 1u, 100}, {8u, 8u, 200}, {24u, 1u, 25}, {2u, 2u, 400}}) {
    const std::string text = fabric_lab(planned(cluster(hosts, nics, rate)));
    const auto lab = lab::read_lab(text, "lab.yaml");
    ASSERT_TRUE(lab) << text.substr(0, 400) << lab.error().front().message;
    EXPECT_TRUE(lab->warnings.empty()) << lab->warnings.front().message;
    EXPECT_EQ(lab->hosts.size(), hosts);
  }
}

// The example of docs/plan.md, and others whose switches are named: what the plan writes does not warn about itself.
TEST(PlanFabric, HeadroomSuffices) {
  for (const char* model : {"sn3700", "sn5600", "sn4600c", "sn3700c"}) {
    for (std::int64_t rate : {100, 200, 400}) {
      FabricOptions options = cluster(8, 8, rate);
      options.leaf = options.spine = model;
      const auto plan = plan_fabric(options, Market::built_in());
      if (!plan) continue;
      const auto lab = lab::read_lab(fabric_lab(*plan), "lab.yaml");
      ASSERT_TRUE(lab) << model << lab.error().front().message;
      EXPECT_TRUE(lab->warnings.empty()) << model << " " << rate << ": " << lab->warnings.front().message;
    }
  }
}

// GPUs of the lab are those that were asked for, beside their NICs where the host has such slots.
TEST(PlanFabric, LabsHaveTheirGpus) {
  for (const auto& [per_host, nics] : {std::pair{8u, 8u}, {4u, 1u}, {16u, 2u}}) {
    FabricOptions options = cluster(4, nics, 200);
    options.gpus_per_host = per_host;
    options.gpus = 4 * per_host;
    options.gpu = "h200";
    const auto lab = lab::read_lab(fabric_lab(planned(options)), "lab.yaml");
    ASSERT_TRUE(lab) << lab.error().front().message;
    for (const lab::HostConfig& host : lab->hosts) {
      ASSERT_EQ(host.places.gpus.size(), per_host);
      EXPECT_EQ(host.places.gpus.front().model.name, "h200");
    }
  }
  FabricOptions options = cluster(4, 1, 200);
  options.gpu = "h100-sxn";
  const auto wrong = plan_fabric(options, Market::built_in());
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "no GPU h100-sxn in the catalog");
  EXPECT_EQ(wrong.error().remedy, "did you mean h100-sxm?");
}

TEST(PlanFabric, Lengths) {
  EXPECT_EQ(cable_length_m(3, 3), 2u);
  EXPECT_EQ(cable_length_m(3, 4), 5u);
  EXPECT_EQ(cable_length_m(0, 10), 10u);
  EXPECT_EQ(management_address(1, 251), "172.16.65.2");
}

TEST(PlanFabric, RefusesWhatCannotBe) {
  const auto message = [](FabricOptions options) {
    const auto plan = plan_fabric(options, Market::built_in());
    return plan ? std::string("planned") : plan.error().message;
  };
  FabricOptions options = cluster(8, 1, 200);
  options.gpus = 63;
  EXPECT_EQ(message(options), "63 GPUs are no whole number of hosts of 8");
  options = cluster(8, 1, 200);
  options.leaf = "sn3700d";
  EXPECT_EQ(message(options), "no switch sn3700d in the catalog");
  options = cluster(8, 1, 123);
  EXPECT_NE(message(options).find("no NIC of the catalog"), std::string::npos);
  options = cluster(8, 1, 200);
  options.nic = "cx5-100g";
  EXPECT_EQ(message(options), "cx5-100g does not run at 200G");
  options = cluster(1, 1, 200);
  EXPECT_EQ(message(options), "one host needs no fabric");
  options = cluster(8000, 8, 100);
  options.leaf = options.spine = "sn2700";
  EXPECT_NE(message(options).find("three tiers of sn2700"), std::string::npos) << message(options);
  options = cluster(4, 3, 100);
  options.leaf = "none";
  EXPECT_EQ(message(options), "4 hosts without a switch");
  options = cluster(3, 1, 100);
  options.leaf = "none";
  EXPECT_EQ(message(options), "1 port of each host for 2 others");
  options = cluster(8, 8, 100);
  options.leaf = options.spine = "crs504";
  EXPECT_EQ(message(options), "three tiers of crs504 do not hold 64 ports at 100G with oversubscription 1");
  options = cluster(8000, 8, 100);
  options.leaf = "crs504";
  EXPECT_NE(message(options).find("crs504 below any spine of the catalog"), std::string::npos) << message(options);
  options = cluster(32, 8, 200);
  options.single_switch = true;
  EXPECT_EQ(message(options), "no switch of the catalog has 256 ports at 200G: one switch does not hold 32 hosts");
  options = cluster(8, 8, 200);
  options.single_switch = true;
  options.leaf = "sn3700";
  EXPECT_EQ(message(options), "no sn3700 has 64 ports at 200G: one switch does not hold 8 hosts");
  options = cluster(8, 1, 200);
  options.oversubscription = 0.5;
  EXPECT_NE(message(options).find("oversubscription"), std::string::npos);
}

}  // namespace
}  // namespace weft::gear
