// The story of each lab, as `weft explain` tells it: what held which flow, where it began, who suffered. Held on the
// key fields, not on the words.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "explain/explain.h"
#include "labfile/reader.h"
#include "results/explanation.h"
#include "results/results_store.h"
#include "world/runner.h"

namespace {

using namespace weft;

struct Told {
  lab::Lab lab;
  lab::RunResult result;
  lab::Explanation why;

  const lab::FlowAnswer& flow(const std::string& id) const {
    const auto found =
        std::find_if(why.flows.begin(), why.flows.end(), [&](const auto& each) { return each.id == id; });
    EXPECT_NE(found, why.flows.end()) << id << "\n" << lab::summary_text(why);
    static const lab::FlowAnswer kNone;
    return found == why.flows.end() ? kNone : *found;
  }
  const lab::Incident& worst() const {
    static const lab::Incident kNone;
    EXPECT_FALSE(why.incidents.empty()) << lab::summary_text(why);
    return why.incidents.empty() ? kNone : why.incidents.front();
  }
  double share(const std::string& id, const std::string& cause) const {
    for (const lab::CauseShare& part : flow(id).shares) {
      if (part.cause == cause) return part.share;
    }
    return 0;
  }
};

std::vector<std::string> steps_of(const lab::Incident& incident) {
  std::vector<std::string> out;
  for (const lab::ChainStep& step : incident.steps) out.push_back(step.what);
  return out;
}

bool has_step(const lab::Incident& incident, const std::string& what) {
  const std::vector<std::string> steps = steps_of(incident);
  return std::find(steps.begin(), steps.end(), what) != steps.end();
}

std::unique_ptr<Told> tell(const std::string& name, const std::vector<std::string>& set = {}) {
  const std::string path = std::string(WEFT_SOURCE_DIR) + "/labs/" + name + ".yaml";
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  auto lab = lab::read_lab(text.str(), path, set);
  EXPECT_TRUE(lab) << path;
  if (!lab) return nullptr;
  auto told = std::make_unique<Told>();
  told->lab = *std::move(lab);
  auto result = lab::run_lab(told->lab, {});
  EXPECT_TRUE(result);
  if (!result) return nullptr;
  told->result = *std::move(result);
  told->why = lab::explain(lab::evidence_of(told->lab, told->result));
  for (const lab::FlowAnswer& flow : told->why.flows) {
    double sum = 0;
    for (const lab::CauseShare& part : flow.shares) sum += part.share;
    if (!flow.shares.empty()) EXPECT_NEAR(sum, 1, 1e-9) << flow.id;
  }
  return told;
}

TEST(ExplainLabs, PfcIncast) {
  const auto told = tell("fabric/incast-pfc");
  EXPECT_EQ(told->worst().kind, "congestion");
  EXPECT_EQ(told->worst().root, "leaf0:swp1");
  EXPECT_EQ(told->worst().flows.size(), 16U);
  EXPECT_TRUE(told->worst().victims.empty());
  EXPECT_EQ(steps_of(told->worst()), (std::vector<std::string>{"queue", "pause"}));
  EXPECT_EQ(told->why.links.front().from, "leaf0:swp1");
  EXPECT_GT(told->why.links.front().busy, 0.98);
  for (const lab::FlowAnswer& flow : told->why.flows) {
    EXPECT_EQ(flow.bottleneck, lab::held::kPause) << flow.id;
    EXPECT_EQ(flow.root, "leaf0:swp1") << flow.id;
  }
}

TEST(ExplainLabs, IncastWithEcnMarksThenCutsRates) {
  const auto told = tell("fabric/incast-ecn");
  const lab::Incident& worst = told->worst();
  EXPECT_EQ(worst.root, "leaf0:swp1");
  for (const char* step : {"queue", "ce_mark", "cnp", "rate_cut"}) EXPECT_TRUE(has_step(worst, step)) << step;
  const auto at = [&](const char* what) {
    return std::find_if(worst.steps.begin(), worst.steps.end(), [&](const auto& step) { return step.what == what; });
  };
  EXPECT_LE(at("ce_mark")->time_ps, at("cnp")->time_ps);
  EXPECT_LT(at("cnp")->time_ps, at("rate_cut")->time_ps);
  // The counts are those of the devices.
  std::uint64_t marked = 0, cnps = 0;
  for (const lab::SwitchOutcome& node : told->result.switches) {
    for (const lab::SwitchPortOutcome& port : node.ports) {
      for (std::uint64_t n : port.counters.ecn_marked) marked += n;
    }
  }
  for (const lab::PortOutcome& port : told->result.ports) cnps += port.counters.np_cnp_sent;
  EXPECT_EQ(at("ce_mark")->count, marked);
  EXPECT_EQ(at("cnp")->count, cnps);
}

TEST(ExplainLabs, PausesWalkUpstream) {
  const auto told = tell("fabric/pause-propagation");
  EXPECT_EQ(told->worst().kind, "congestion");
  EXPECT_EQ(told->worst().root, "edge0:swp1");
  EXPECT_TRUE(has_step(told->worst(), "pause"));
  EXPECT_TRUE(has_step(told->worst(), "pause_upstream"));
}

TEST(ExplainLabs, VictimFlow) {
  const auto told = tell("fabric/victim-flow");
  const lab::Incident& worst = told->worst();
  EXPECT_EQ(worst.root, "leaf2:Ethernet1");
  EXPECT_TRUE(has_step(worst, "pause_upstream"));
  EXPECT_TRUE(has_step(worst, "victim"));
  ASSERT_FALSE(worst.victims.empty());
  for (const std::string& victim : worst.victims) EXPECT_TRUE(victim.starts_with("victim")) << victim;
}

TEST(ExplainLabs, Deadlock) {
  const auto told = tell("fabric/deadlock");
  EXPECT_EQ(told->worst().kind, "deadlock");
  EXPECT_EQ(told->worst().flows.size(), 3U);
  for (const lab::FlowAnswer& flow : told->why.flows) {
    EXPECT_EQ(flow.bottleneck, lab::held::kPause);
    EXPECT_NE(flow.because.find("circle"), std::string::npos) << flow.because;
  }
}

TEST(ExplainLabs, SlowReceiver) {
  const auto told = tell("fabric/slow-receiver");
  EXPECT_EQ(told->worst().kind, "receiver");
  EXPECT_EQ(told->worst().root, "h0:p0");
  EXPECT_NE(told->worst().title.find("memory"), std::string::npos) << told->worst().title;
}

TEST(ExplainLabs, NicPauseStorm) {
  const auto told = tell("fabric/nic-pause-storm");
  EXPECT_EQ(told->worst().kind, "storm");
  EXPECT_EQ(told->worst().root, "h0:p0");
  EXPECT_TRUE(has_step(told->worst(), "watchdog"));
  EXPECT_TRUE(has_step(told->worst(), "drop"));
}

TEST(ExplainLabs, LossyIncast) {
  const auto told = tell("fabric/lossy-incast");
  EXPECT_EQ(told->worst().kind, "congestion");
  EXPECT_EQ(told->worst().root, "leaf0:swp1");
  EXPECT_TRUE(has_step(told->worst(), "drop"));
  EXPECT_TRUE(has_step(told->worst(), "recovery"));
  for (const lab::FlowAnswer& flow : told->why.flows) {
    EXPECT_TRUE(flow.bottleneck == lab::held::kPace || flow.bottleneck == lab::held::kRecovery) << flow.bottleneck;
    EXPECT_NE(flow.because.find("Tail drop"), std::string::npos) << flow.because;
  }
}

TEST(ExplainLabs, EcmpCollision) {
  const auto told = tell("fabric/ecmp-collision");
  EXPECT_EQ(told->worst().root, "leaf0:swp31");
  EXPECT_EQ(told->worst().flows.size(), 2U);
  for (const lab::FlowAnswer& flow : told->why.flows) EXPECT_EQ(flow.root, "leaf0:swp31") << flow.because;
}

TEST(ExplainLabs, LinkCut) {
  const auto told = tell("fabric/link-cut");
  const auto link = std::find_if(told->why.incidents.begin(), told->why.incidents.end(),
                                 [](const lab::Incident& incident) { return incident.kind == "link"; });
  ASSERT_NE(link, told->why.incidents.end());
  EXPECT_EQ(steps_of(*link), (std::vector<std::string>{"link", "drop", "drop", "routes", "recovery"}));
  EXPECT_EQ(link->flows, (std::vector<std::string>{"pairs/0", "pairs/2"})) << "by the routes of that time";
  for (const lab::Incident& incident : told->why.incidents) {
    if (incident.kind != "congestion") continue;
    // Four hosts of 100G send into two uplinks of 100G.
    EXPECT_NE(incident.title.find("oversubscription: 400 Gb/s in, 200 Gb/s out"), std::string::npos) << incident.title;
    EXPECT_EQ(steps_of(incident), (std::vector<std::string>{"queue", "capacity", "ce_mark", "cnp", "rate_cut"}))
        << incident.root;
  }
}

TEST(ExplainLabs, FlapIsOneIncident) {
  const auto told = tell("faults/flap");
  ASSERT_EQ(told->why.incidents.size(), 1U);
  EXPECT_EQ(told->worst().kind, "link");
  EXPECT_EQ(steps_of(told->worst()).front(), "link");
  std::uint64_t lost = 0;
  for (const lab::ChainStep& step : told->worst().steps) lost += step.what == "drop" ? step.count : 0;
  std::uint64_t counted = 0;
  for (const lab::LinkOutcome& link : told->result.links) counted += link.ledger.of(fabric::Fate::kLinkDown);
  EXPECT_EQ(lost, counted);
}

TEST(ExplainLabs, WatchdogBreaksDeadlock) {
  const auto told = tell("fabric/deadlock-watchdog");
  EXPECT_EQ(told->worst().kind, "deadlock");
  EXPECT_NE(told->worst().title.find("watchdog broke it"), std::string::npos) << told->worst().title;
  EXPECT_EQ(told->worst().flows.size(), 3U);
  for (const char* step : {"pause", "watchdog", "drop", "recovery"}) EXPECT_TRUE(has_step(told->worst(), step)) << step;
  std::uint64_t lost = 0, dropped = 0;
  for (const lab::ChainStep& step : told->worst().steps) lost += step.what == "drop" ? step.count : 0;
  for (const lab::SwitchOutcome& node : told->result.switches) dropped += node.drops.total();
  EXPECT_EQ(lost, dropped);
}

TEST(ExplainLabs, ClassThatIsLossyAtOneSwitch) {
  const auto told = tell("fabric/wrong-dscp-map");
  EXPECT_EQ(told->worst().root, "spine0:swp1");
  EXPECT_TRUE(told->worst().title.starts_with("spine0 takes DSCP 26 as priority 0")) << told->worst().title;
  EXPECT_NE(told->flow("pairs/1").because.find("spine0 takes DSCP 26"), std::string::npos);
  EXPECT_EQ(told->flow("pairs/1").root, "spine0:swp1");
  const auto repaired = tell("fabric/wrong-dscp-map", {"nodes.spine0={kind: switch, model: sn3700c}"});
  EXPECT_EQ(lab::summary_text(repaired->why).find("DSCP"), std::string::npos) << lab::summary_text(repaired->why);
}

TEST(ExplainLabs, StagingWithoutGpuDirect) {
  const auto told = tell("ai/gdr-off");
  for (const lab::FlowAnswer& flow : told->why.flows) {
    EXPECT_EQ(flow.bottleneck, "GPUDirect is off") << flow.id << ": " << flow.because;
    EXPECT_NE(flow.because.find("n0, n1"), std::string::npos) << flow.because;
  }
  const auto healthy = tell("ai/healthy-2x4");
  for (const lab::FlowAnswer& flow : healthy->why.flows) EXPECT_NE(flow.bottleneck, "GPUDirect is off") << flow.id;
}

TEST(ExplainLabs, SocketsInPlaceOfRdma) {
  const auto told = tell("ai/socket-fallback");
  EXPECT_EQ(told->flow("sockets").bottleneck, lab::held::kSockets);
  EXPECT_NE(told->flow("sockets").because.find("NCCL_IB_DISABLE=1"), std::string::npos);
  EXPECT_GT(told->flow("sockets").share, 0.3);
}

TEST(ExplainLabs, CpuOfSoftwareForwarder) {
  const auto told = tell("forwarder/bridge-25g");
  EXPECT_NE(told->flow("bw/vm01:p0>vm00:p0").because.find("CPU 0 of br-cp"), std::string::npos);
  EXPECT_EQ(told->flow("lat/vm01:p0>vm00:p0").because.find("CPU"), std::string::npos) << "it had time for that one";
}

TEST(ExplainLabs, RingOfSoftwareForwarder) {
  const auto told =
      tell("forwarder/bridge-rx-ring",
           {"workloads=[{name: w, perftest: write_bw, client: b2048, server: a2048, args: -n 3000}]", "expect={}"});
  EXPECT_EQ(told->worst().kind, "loss");
  EXPECT_NE(told->worst().title.find("descriptors, CPU"), std::string::npos) << told->worst().title;
}

// 16 workloads between the same two ports at the same time, with 32 queue pairs each: they keep their names.
TEST(ExplainLabs, ContextsOfManyQueuePairs) {
  const auto told_of = [](int queue_pairs) {
    std::string workloads = "workloads=[";
    for (int i = 0; i < 16; ++i)
      workloads += "{name: w" + std::to_string(i) +
                   ", perftest: read_bw, client: h0, server: h1, args: -s 16 -t 1 -n 50 -q " +
                   std::to_string(queue_pairs) + ", start: 0 ms}" + (i < 15 ? ", " : "]");
    return tell("queue-pairs", {workloads, "expect={}"});
  };
  const auto many = told_of(32);
  for (const char* name : {"w0", "w15"}) {
    const lab::FlowAnswer& flow = many->flow(std::string(name) + "/h1:p0>h0:p0");
    EXPECT_EQ(flow.bottleneck, lab::held::kContext) << flow.because;
    EXPECT_EQ(flow.workload, name);
    EXPECT_EQ(flow.queue_pairs, 32U);
  }
  EXPECT_EQ(many->why.flows.size(), 16U);
  EXPECT_TRUE(many->why.notes.empty());
  const auto few = told_of(1);
  EXPECT_EQ(few->share("w0/h1:p0>h0:p0", lab::held::kContext), 0) << "16 fit into the NIC";
}

TEST(ExplainLabs, SprayedFlowsSendAgain) {
  const auto told = tell("fabric/spray");
  ASSERT_EQ(told->why.incidents.size(), 1U);
  EXPECT_NE(told->worst().title.find("out of order"), std::string::npos) << told->worst().title;
  for (const lab::FlowAnswer& flow : told->why.flows) {
    EXPECT_EQ(flow.bottleneck, lab::held::kAgain) << flow.because;
    EXPECT_TRUE(flow.because.starts_with("sent again ")) << flow.because;
    EXPECT_GT(flow.again, flow.packets / 10);
    EXPECT_GT(flow.wire, 0.95) << flow.because;
    EXPECT_TRUE(flow.path.empty());
  }
}

TEST(ExplainLabs, LossFault) {
  const auto told = tell("faults/loss");
  EXPECT_EQ(told->worst().kind, "loss");
  EXPECT_EQ(told->worst().root, "node00:p0");
  EXPECT_TRUE(has_step(told->worst(), "recovery"));
}

TEST(ExplainLabs, CeMarkFault) {
  const auto told = tell("faults/ce-mark");
  EXPECT_EQ(told->worst().kind, "fault");
  EXPECT_TRUE(has_step(told->worst(), "cnp"));
  EXPECT_TRUE(has_step(told->worst(), "rate_cut"));
  EXPECT_EQ(told->why.flows.front().bottleneck, lab::held::kPace);
}

TEST(ExplainLabs, ReceiverWithoutReceives) {
  const auto told = tell("faults/rnr");
  EXPECT_EQ(told->worst().kind, "receiver");
  EXPECT_EQ(told->worst().root, "node01:p0");
  EXPECT_EQ(told->why.flows.front().bottleneck, lab::held::kRecovery);
}

TEST(ExplainLabs, DeadPeerDoesNotAnswer) {
  const auto told = tell("faults/dead-peer");
  EXPECT_EQ(told->why.flows.front().bottleneck, lab::held::kRecovery);
  EXPECT_GT(told->why.flows.front().share, 0.95);
  EXPECT_TRUE(has_step(told->worst(), "recovery"));
}

TEST(ExplainLabs, NarrowSlotIsPcie) {
  const auto told = tell("host/narrow-slot");
  const bool pcie = std::any_of(told->why.flows.begin(), told->why.flows.end(), [](const lab::FlowAnswer& flow) {
    return flow.bottleneck == "PCIe" && flow.share > 0.5;
  });
  EXPECT_TRUE(pcie) << lab::summary_text(told->why);
}

TEST(ExplainLabs, ReportEndsWithSummary) {
  const auto told = tell("fabric/spray");
  const std::string end = lab::report_summary(told->lab, told->result);
  EXPECT_EQ(std::count(end.begin(), end.end(), '\n'), 7) << end;
  EXPECT_NE(end.find("links: "), std::string::npos);
  EXPECT_NE(end.find("flows: "), std::string::npos);
  EXPECT_NE(end.find("packets came out of order"), std::string::npos);
}

class ExplainDirectory : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() / ("weft-explain-" + std::to_string(getpid()));
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string path() const { return directory_.string(); }

  std::filesystem::path directory_;
};

TEST_F(ExplainDirectory, ReadsBackEvidence) {
  for (const char* name : {"fabric/victim-flow", "fabric/lossy-incast", "faults/ce-mark", "fabric/wrong-dscp-map",
                           "fabric/ecmp-collision", "fabric/small-buffer-crs504"}) {
    const auto told = tell(name);
    ASSERT_TRUE(lab::write_results_store(path() + "/results.sqlite", told->lab, told->result));
    const auto read = explain::explain_run({path(), "", ""});
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(explain::explanation_json(*read), explain::explanation_json(told->why)) << name;
  }
}

TEST_F(ExplainDirectory, CutsToWindow) {
  const auto told = tell("fabric/incast-pfc", {"sample=10 us"});
  ASSERT_TRUE(lab::write_results_store(path() + "/results.sqlite", told->lab, told->result));
  const auto part = explain::explain_run({path(), "", "100us,200us"});
  ASSERT_TRUE(part) << part.error().message;
  EXPECT_EQ(part->from_ps, us(100));
  EXPECT_EQ(part->to_ps, us(200));
  ASSERT_FALSE(part->incidents.empty());
  for (const lab::ChainStep& step : part->incidents.front().steps) EXPECT_LE(step.time_ps, us(200)) << step.text;
  double sum = 0;
  for (const lab::CauseShare& each : part->flows.front().shares) sum += each.share;
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_GT(part->links.front().busy, 0.9);
  const auto late = explain::explain_run({path(), "", "100s,200s"});
  EXPECT_FALSE(late);
}

TEST_F(ExplainDirectory, SaysWhatIsWrong) {
  const auto problem = [](const explain::Request& request) {
    const auto told = explain::explain_run(request);
    return told ? std::string() : told.error().message;
  };
  EXPECT_EQ(problem({path() + "/none", "", ""}), "no such directory: " + path() + "/none");
  EXPECT_NE(problem({path(), "", ""}).find("has no results.sqlite"), std::string::npos);
  std::ofstream(path() + "/results.sqlite.part") << "half";
  EXPECT_NE(problem({path(), "", ""}).find("did not end"), std::string::npos);
  std::ofstream(path() + "/results.sqlite") << "this is not a database, whatever its name says, and long enough";
  EXPECT_NE(problem({path(), "", ""}).find("cannot read"), std::string::npos) << problem({path(), "", ""});
  const auto told = tell("fabric/spray");
  ASSERT_TRUE(lab::write_results_store(path() + "/results.sqlite", told->lab, told->result));
  EXPECT_EQ(problem({path(), "", ""}), "");
  EXPECT_EQ(problem({path(), "sprayed/0", ""}), "");
  EXPECT_NE(problem({path(), "sprayed/77", ""}).find("no flow sprayed/77"), std::string::npos);
  EXPECT_NE(problem({path(), "", "1us,2us"}).find("needs samples"), std::string::npos);
  for (const char* times : {"1us", "2us,1us", "1,2", "a,b", "1us,2us,3us", ",", "-1us,2us"})
    EXPECT_NE(problem({path(), "", times}).find("--between"), std::string::npos) << times;
}

}  // namespace
