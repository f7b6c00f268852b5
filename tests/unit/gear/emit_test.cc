// Which nodes a target fits, what the ASIC cannot hold, and where the lab file says so.
#include "gear/emit/emit.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/gear_labs.h"

namespace weft::gear {
namespace {

std::vector<EmitProblem> problems_of(const lab::Lab& lab, const std::string& target, const std::string& node = "") {
  EmitOptions options;
  options.node = node;
  const auto emission = emit(lab, target, options);
  EXPECT_FALSE(emission.has_value()) << target;
  return emission ? std::vector<EmitProblem>{{}} : emission.error();
}

TEST(Emit, UnknownTargetsAndNodes) {
  const auto lab = support::small_clos("sn3700c");
  EXPECT_NE(problems_of(lab, "sonik")[0].remedy.find("sonic"), std::string::npos);
  const auto node = problems_of(lab, "sonic", "laef0");
  EXPECT_EQ(node[0].message, "the lab has no switch laef0");
  EXPECT_NE(node[0].remedy.find("leaf0"), std::string::npos);
  EXPECT_EQ(problems_of(lab, "host", "leaf0")[0].message, "leaf0 is a switch: --for host is for hosts");
  EXPECT_EQ(problems_of(lab, "nvue", "h0")[0].message, "h0 is a host: --for nvue is for switches");
  EXPECT_EQ(problems_of(lab, "containerlab", "h0")[0].message,
            "--for containerlab writes the whole lab: h0 is one node");
}

// An option of another target is a mistake, not something to pass over.
TEST(Emit, OptionsOfOtherTargets) {
  const auto lab = support::small_clos("sn3700c");
  const auto message = [&](const char* target, auto set) {
    EmitOptions options;
    set(options);
    const auto emission = emit(lab, target, options);
    return emission ? std::string("taken") : emission.error()[0].message;
  };
  const auto network = [](EmitOptions& options) { options.network = Network::kNetplan; };
  const auto stack = [](EmitOptions& options) { options.stack = DriverStack::kAuto; };
  const auto management = [](EmitOptions& options) { options.management = "eno1"; };
  const auto sonic_vs = [](EmitOptions& options) { options.sonic_vs = true; };
  const auto numbered = [](EmitOptions& options) { options.numbered = true; };
  EXPECT_EQ(message("sonic", network), "--network has no meaning with --for sonic");
  EXPECT_EQ(message("frr", stack), "--stack has no meaning with --for frr");
  EXPECT_EQ(message("containerlab", management), "--management has no meaning with --for containerlab");
  EXPECT_EQ(message("sonic", sonic_vs), "--sonic-vs has no meaning with --for sonic");
  EXPECT_EQ(message("host", numbered), "--numbered has no meaning with --for host");
  EXPECT_EQ(message("host", network), "taken");
  EXPECT_EQ(message("host", stack), "taken");
  EXPECT_EQ(message("host", management), "taken");
  EXPECT_EQ(message("containerlab", sonic_vs), "taken");
  EXPECT_EQ(message("nvue", numbered), "taken");
}

// The emitters write one ramp for each queue: a second one is said to be missing.
TEST(Emit, SaysThatYellowRampIsNotWritten) {
  for (const bool yellow : {true, false}) {
    auto lab = support::small_clos("sn3700c");
    for (auto& device : lab.switches) device.qos.queues[3].ecn.yellow_dscps = yellow ? 1U << 26 : 0;
    const auto emission = emit(lab, "sonic", EmitOptions{});
    ASSERT_TRUE(emission);
    EXPECT_EQ(std::any_of(emission->notes.begin(), emission->notes.end(),
                          [](const EmitNote& note) { return note.message.find("yellow") != std::string::npos; }),
              yellow);
  }
}

TEST(Emit, PlatformDecidesTargets) {
  const auto spectrum = support::small_clos("sn3700c");
  const auto wrong = problems_of(spectrum, "eos", "leaf0");
  EXPECT_EQ(wrong[0].message, "leaf0: sn3700c does not run eos");
  EXPECT_EQ(wrong[0].remedy, "it runs sonic, nvue, linux, frr");
  const auto mikrotik = support::gear_lab_file("labs/fabric/small-buffer-crs504.yaml");
  EXPECT_EQ(problems_of(mikrotik, "sonic")[0].message, "leaf0: crs504 does not run sonic");
}

// More lossless classes than the ASIC has; a shared headroom pool that is smaller than one cable's need.
TEST(Emit, ContractBeyondAsic) {
  const auto jericho = support::small_clos(
      "7800r3-48cq2",
      {"qos.pfc.priorities=[2, 3, 4]", "qos.priority_to_group={2: 2, 4: 4}", "qos.priority_to_queue={2: 2, 4: 4}"});
  ASSERT_FALSE(jericho.switches.empty());
  const auto classes = problems_of(jericho, "sonic", "leaf0");
  EXPECT_EQ(classes[0].message, "leaf0: 3 lossless priorities (2, 3, 4), and 7800r3-48cq2 has 2 at most");
  EXPECT_EQ(classes[0].part, LabPart::kQos);
  auto pool = support::small_clos("7050cx3-32s");
  ASSERT_FALSE(pool.switches.empty());
  for (auto& device : pool.switches) device.qos.headroom_pool_B = 10'000;
  EXPECT_NE(problems_of(pool, "sonic")[0].message.find("headroom pool of all ports has 10 kB"), std::string::npos)
      << problems_of(pool, "sonic")[0].message;
}

TEST(Emit, ProblemsHavePlaces) {
  const std::string text =
      "version: 1\nname: x\nnodes:\n  leaf0:\n    kind: switch\n    model: crs504\n    qos: {dscp: 4}\nqos:\n"
      "  profile: none\n";
  EXPECT_EQ(place_of(text, {"leaf0", LabPart::kModel, "", ""}).line, 6);
  EXPECT_EQ(place_of(text, {"leaf0", LabPart::kQos, "", ""}).line, 7);
  EXPECT_EQ(place_of(text, {"leaf1", LabPart::kQos, "", ""}).line, 9);
  EXPECT_EQ(place_of("fabric:\n  leaf: a\n  spine: b\n", {"spine1", LabPart::kModel, "", ""}).line, 3);
  EXPECT_EQ(place_of("{", {"spine1", LabPart::kModel, "", ""}).line, 1);
}

TEST(Emit, LinuxHasItsQosItself) {
  const auto lab = support::gear_lab_file("labs/gear/clos-2x4.yaml");
  const auto says = [&](const char* target) {
    const auto emission = support::emitted(lab, target);
    return std::any_of(emission.notes.begin(), emission.notes.end(),
                       [](const EmitNote& note) { return note.message.starts_with("FRR routes only"); });
  };
  EXPECT_TRUE(says("frr"));
  EXPECT_FALSE(says("linux"));
}

TEST(Emit, SamePlanTwice) {
  const auto lab = support::gear_lab_file("labs/gear/clos-2x4.yaml");
  for (const EmitTarget& target : emit_targets()) {
    const auto first = emit(lab, target.name, {}), second = emit(lab, target.name, {});
    ASSERT_EQ(first.has_value(), second.has_value());
    if (!first) continue;
    ASSERT_EQ(first->files.size(), second->files.size());
    for (std::size_t i = 0; i < first->files.size(); ++i) EXPECT_EQ(first->files[i].text, second->files[i].text);
  }
}

}  // namespace
}  // namespace weft::gear
