#include <gtest/gtest.h>

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

// The fourth seed: up to 8 nodes one switch, above a routed Clos, above 16 nothing else.
TEST(PlanFabric, ThresholdsOfNodes) {
  for (std::uint32_t hosts = 2; hosts <= 24; ++hosts) {
    const FabricPlan plan = planned(cluster(hosts, 1, 100));
    EXPECT_EQ(plan.routed, hosts > 8) << hosts;
    EXPECT_EQ(plan.leaves == 1, hosts <= 8) << hosts;
    EXPECT_EQ(plan.why.find("only sensible") != std::string::npos, hosts > 16) << hosts;
    EXPECT_TRUE(plan.leaves == 1 || plan.spines >= 2) << hosts;
  }
  FabricOptions options = cluster(12, 1, 100);
  options.single_switch = true;
  EXPECT_EQ(planned(options).leaves, 1u);
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
  EXPECT_EQ(ports.name(ports.down_port(25'000'000'000, 0)), "Ethernet1");
  EXPECT_EQ(ports.name(ports.up_port(100'000'000'000, 0)), "Ethernet56");
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
  options = cluster(4000, 8, 200);
  EXPECT_NE(message(options).find("two tiers of switches"), std::string::npos);
  options = cluster(8, 8, 100);
  options.leaf = options.spine = "crs504";
  EXPECT_EQ(message(options), "two tiers of crs504 do not hold 64 ports at 100G with oversubscription 1");
  options = cluster(64, 8, 100);
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
