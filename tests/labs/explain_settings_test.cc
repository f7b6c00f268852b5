// What `weft explain` says of a lab in which one device was told something else than the others, two faults at once,
// and capacity that is not there. Devices and settings are drawn at random; what is expected is what was planted.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "labfile/reader.h"
#include "results/explanation.h"
#include "results/headline.h"
#include "results/results_json.h"
#include "world/runner.h"

namespace {

using namespace weft;

struct Explained {
  lab::Lab lab;
  lab::RunResult result;
  lab::Explanation why;
  std::string summary, headline;
  bool says(const std::string& part) const { return summary.find(part) != std::string::npos; }
};

std::unique_ptr<Explained> explained_text(const std::string& text, const std::vector<std::string>& set = {}) {
  auto lab = lab::read_lab(text, "test.yaml", set);
  if (!lab) {
    ADD_FAILURE() << lab.error().front().message << "\n" << text << (set.empty() ? "" : set.front());
    return nullptr;
  }
  auto out = std::make_unique<Explained>();
  out->lab = *std::move(lab);
  auto result = lab::run_lab(out->lab, {});
  EXPECT_TRUE(result);
  if (!result) return nullptr;
  out->result = *std::move(result);
  out->why = lab::explain(lab::evidence_of(out->lab, out->result));
  out->summary = lab::summary_text(out->why);
  out->headline = lab::headline(out->lab, out->result, out->why);
  return out;
}

std::unique_ptr<Explained> explained(const std::string& name, const std::vector<std::string>& set = {}) {
  std::ostringstream text;
  text << std::ifstream(std::string(WEFT_SOURCE_DIR) + "/labs/" + name + ".yaml").rdbuf();
  return explained_text(text.str(), set);
}

// What one device is told in place of the contract, and the word that the answer must have.
struct Planted {
  const char* qos;
  const char* key;
};
constexpr Planted kOfHost[] = {
    {"{dscp: 0}", "dscp"},
    {"{dscp: 8}", "dscp"},
    {"{cnp_dscp: 26}", "cnp_dscp"},
    {"{cnp_dscp: 0}", "cnp_dscp"},
    {"{ecn: false}", "ecn"},
    {"{pfc: {mode: none}}", "pfc"},
    {"{pfc: {priorities: [4]}}", "pfc"},
    {"{congestion: {algorithm: off}}", "congestion.algorithm"},
    {"{congestion: {ROCE_CC_PRIO_MASK: 0}}", "congestion.ROCE_CC_PRIO_MASK"},
    {"{congestion: {RPG_AI_RATE: 500}}", "congestion.RPG_AI_RATE"},
};
constexpr Planted kOfSwitch[] = {
    {"{dscp_to_priority: {26: 0}}", "dscp_to_priority.26"},
    {"{dscp_to_priority: {48: 3}}", "dscp_to_priority.48"},
    {"{queues: {3: {ecn: off}}}", "queues.3.ecn"},
    {"{queues: {3: {ecn: {min: 5 kB, max: 10 kB, probability: 100 %}}}}", "queues.3.ecn"},
    {"{pfc: {mode: none}}", "pfc"},
    {"{queues: {6: {scheduling: dwrr}}}", "queues.6.scheduling"},
    {"{groups: {3: {alpha: -4}}}", "groups.3.alpha"},
    {"{priority_to_queue: {3: 1}}", "priority_to_queue.3"},
};

struct Drawn {
  std::string text, node, qos, key;
};
// A leaf-spine with an incast; one host or switch differs, or none.
Drawn draw(std::mt19937& random, bool healthy) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  Drawn out;
  const std::size_t hosts = 4 + 2 * below(4), leaves = 2, spines = 1 + below(2);
  const bool at_host = below(2) == 0;
  const std::size_t target = below(hosts);
  std::ostringstream text;
  text << "version: 1\nname: drawn\nseed: " << 1 + below(1000)
       << "\nfabric:\n  template: leaf-spine\n  hosts: " << hosts << "\n  leaves: " << leaves
       << "\n  spines: " << spines
       << "\n  switch: sn3700c\n  host: {nic: cx5-100g, mtu: 4200 B}\n  cable: {kind: dac, length: 2 m}\n"
          "  uplink_cable: {kind: aoc, length: 20 m}\nqos: {profile: roce-lossless}\n"
          "workloads:\n  - {name: incast, flows: incast, hosts: all, to: h"
       << target << ", size: " << 100 + 100 * below(10) << " kB}\n";
  if (!healthy) {
    const Planted& planted = at_host ? kOfHost[below(std::size(kOfHost))] : kOfSwitch[below(std::size(kOfSwitch))];
    out.node = at_host
                   ? "h" + std::to_string(below(hosts))
                   : (below(2) == 0 ? "leaf" + std::to_string(below(leaves)) : "spine" + std::to_string(below(spines)));
    out.qos = planted.qos;
    out.key = planted.key;
    text << "nodes:\n  " << out.node << ": {qos: " << planted.qos << "}\n";
  }
  out.text = text.str();
  return out;
}

TEST(ExplainSettings, NamesDeviceAndSettingThatDiffer) {
  std::mt19937 random(30);
  for (int i = 0; i < 40; ++i) {
    const Drawn drawn = draw(random, false);
    const auto told = explained_text(drawn.text);
    ASSERT_NE(told, nullptr);
    ASSERT_FALSE(told->why.settings.empty()) << drawn.text;
    const lab::SettingEvidence& first = told->why.settings.front();
    EXPECT_EQ(first.nodes, std::vector<std::string>{drawn.node}) << told->summary << drawn.text;
    const bool named = std::any_of(told->why.settings.begin(), told->why.settings.end(),
                                   [&](const auto& each) { return each.key == drawn.key; });
    EXPECT_TRUE(named) << told->summary << drawn.text;
    EXPECT_TRUE(told->says("settings: " + drawn.node + ": ")) << told->summary << drawn.text;
  }
}

TEST(ExplainSettings, SilentAboutEqualDevices) {
  std::mt19937 random(31);
  for (int i = 0; i < 10; ++i) {
    const Drawn drawn = draw(random, true);
    const auto told = explained_text(drawn.text);
    ASSERT_NE(told, nullptr);
    EXPECT_TRUE(told->why.settings.empty()) << told->summary;
    EXPECT_FALSE(told->says("settings:")) << told->summary;
  }
}

// What the devices do with it is said too, and comes first where packets were lost for it.
TEST(ExplainSettings, SaysWhatFollows) {
  const auto dscp = explained("fabric/incast-pfc", {"nodes.h3={qos: {dscp: 0}}"});
  EXPECT_TRUE(dscp->says("h3: dscp is 0, and 26 in the lab's contract: leaf0 takes RoCE as priority 0"))
      << dscp->summary;
  EXPECT_TRUE(dscp->says("lossy there")) << dscp->summary;
  EXPECT_NE(dscp->headline.find("h3: dscp is 0"), std::string::npos) << dscp->headline;
  const auto ecn = explained("fabric/incast-ecn", {"nodes.leaf0={qos: {queues: {3: {ecn: off}}}}"});
  EXPECT_TRUE(ecn->says("leaf0: queues.3.ecn is off")) << ecn->summary;
  EXPECT_TRUE(ecn->says("hear of a queue by pauses")) << ecn->summary;
  const auto pace = explained("fabric/incast-ecn", {"nodes.h5={qos: {congestion: {algorithm: off}}}"});
  EXPECT_TRUE(pace->says("h5: congestion.algorithm is off, and dcqcn")) << pace->summary;
  const auto cnp = explained("fabric/incast-ecn", {"nodes.h0={qos: {cnp_dscp: 26}}"});
  EXPECT_TRUE(cnp->says("they wait behind the data")) << cnp->summary;
}

// Bits that a cable loses have nothing to do with the contract of a host that is elsewhere.
TEST(ExplainSettings, CableIsNotBlamedOnSetting) {
  const auto told = explained("faults/loss", {"nodes.node01.qos={congestion: {RPG_AI_RATE: 50}}"});
  if (told == nullptr) return;
  EXPECT_EQ(told->headline.find("RPG_AI_RATE"), std::string::npos) << told->headline;
}

// What all devices have alike is no difference; what contradicts itself is a note.
TEST(ExplainSettings, NotesContractThatContradictsItself) {
  const auto told = explained("fabric/incast-ecn", {"qos.cnp_dscp=26"});
  EXPECT_TRUE(told->why.settings.empty()) << told->summary;
  EXPECT_TRUE(std::any_of(told->why.notes.begin(), told->why.notes.end(), [](const std::string& note) {
    return note.starts_with("the lab: CNPs share priority 3 with the data");
  }));
}

// A port with another MTU than the others is named as well.
TEST(ExplainSettings, NamesMtuThatDiffers) {
  const auto told = explained("fabric/wrong-dscp-map");
  EXPECT_EQ(told->why.settings.front().nodes.front(), "spine0");
  EXPECT_TRUE(told->says("h2:p0: mtu is 1500, and 4200 at 3 other ports")) << told->summary;
}

TEST(ExplainEvents, OneLineForEachLoss) {
  const auto told = explained("fabric/permutation-1024",
                              {"fabric={template: single-switch, hosts: 8, switch: sn3700c, host: {nic: cx5-100g, mtu: "
                               "4200 B}, cable: {kind: dac, length: 2 m}}",
                               "workloads=[{name: p, flows: permutation, hosts: all, size: 2 MB}]", "expect={}",
                               "faults=[{link: \"h1:p0\", action: drop, probability: 1 %}, {link: \"h5:p0\", action: "
                               "drop, probability: 1 %}]"});
  ASSERT_NE(told, nullptr);
  std::size_t lines = 0;
  for (const char* port : {"frames lost from h1:p0", "frames lost from h5:p0"}) {
    const std::size_t at = told->summary.find(port);
    ASSERT_NE(at, std::string::npos) << told->summary;
    lines += told->summary.rfind("events: ", at) == at - 8 ? 1 : 0;
  }
  EXPECT_EQ(lines, 2U) << told->summary;
}

TEST(ExplainCapacity, EcmpCollisionHasLoadsOfAllMembers) {
  for (const char* name : {"fabric/ecmp-collision", "ai/ecmp-collision"}) {
    const auto told = explained(name);
    EXPECT_TRUE(told->says("ECMP collision")) << name << "\n" << told->summary;
    EXPECT_NE(told->headline.find("ECMP collision"), std::string::npos) << told->headline;
  }
  const auto told = explained("fabric/ecmp-collision");
  const auto& steps = told->why.incidents.front().steps;
  const auto loads = std::find_if(steps.begin(), steps.end(), [](const auto& step) { return step.what == "capacity"; });
  ASSERT_NE(loads, steps.end());
  EXPECT_NE(loads->text.find("swp31"), std::string::npos) << loads->text;
  EXPECT_NE(loads->text.find("swp32 idle"), std::string::npos) << loads->text;
  const auto spread = explained("fabric/ecmp-collision", {"routing={hash_seed: 2}", "expect={}"});
  EXPECT_FALSE(spread->says("ECMP collision")) << spread->summary;
  // What a cut uplink moves to the other is not put down to the hash.
  EXPECT_FALSE(explained("fabric/link-cut")->says("ECMP collision"));
}

TEST(ExplainCapacity, UnevenLagIsNoEcmpCollision) {
  const auto told = explained("fabric/lag", {"workloads[parts].size=5 MB", "expect={}"});
  EXPECT_TRUE(told->says("uneven LAG po1")) << told->summary;
  EXPECT_FALSE(told->says("ECMP collision")) << told->summary;
}

TEST(ExplainCapacity, OversubscriptionIsNotCollision) {
  // Four hosts of a leaf send at line rate over one cable of the same rate.
  const auto told =
      explained("fabric/ecmp-collision",
                {"fabric={template: leaf-spine, hosts: 8, leaves: 2, spines: 1, switch: sn3700c, host: {nic: "
                 "cx5-100g, mtu: 4200 B}, cable: {kind: dac, length: 2 m}, uplink_cable: {kind: aoc, "
                 "length: 20 m}}",
                 "workloads=[{name: pairs, flows: point-to-point, pairs: [[h0, h4], [h1, h5], [h2, h6], [h3, "
                 "h7]], size: 20 MB}]",
                 "expect={}"});
  ASSERT_NE(told, nullptr);
  EXPECT_TRUE(told->says("oversubscription: 400 Gb/s in, 100 Gb/s out")) << told->summary;
  EXPECT_FALSE(told->says("ECMP collision")) << told->summary;
}

TEST(ExplainCapacity, PoolThatIsTooSmallForBurst) {
  EXPECT_TRUE(explained("fabric/small-buffer-crs504")->says("the pool is too small for the burst"));
  EXPECT_FALSE(explained("fabric/small-buffer-sn3700c")->says("the pool is too small"));
  const auto more = explained("fabric/small-buffer-sn3700c", {"workloads[incast].size=6 MB", "expect={}"});
  EXPECT_TRUE(more->says("the pool is too small for the burst")) << more->summary;
}

// Of ports that two flows share each has half as its share, and a fabric that blocks takes from it.
TEST(FairShare, IsOfPortsOfHosts) {
  const auto shares_of = [](const std::string& name, const std::vector<std::string>& set) {
    const auto told = explained(name, set);
    const auto json = nlohmann::json::parse(lab::results_json(told->lab, told->result));
    return json["workloads"][0]["flows"];
  };
  const auto collision = shares_of("fabric/ecmp-collision", {});
  EXPECT_NEAR(collision["fair_share_p50"].get<double>(), 0.5, 0.02);
  const auto spread = shares_of("fabric/ecmp-collision", {"routing={hash_seed: 2}", "expect={}"});
  EXPECT_NEAR(spread["fair_share_min"].get<double>(), 1, 0.02);
  // Three into one: each gets a third of the line, which is all of its share.
  const auto incast = shares_of("fabric/small-buffer-sn3700c", {});
  EXPECT_NEAR(incast["fair_share_min"].get<double>(), 1, 0.02);
}

}  // namespace
