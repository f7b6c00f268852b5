// One sentence for each lab: what happened, the slowest flow and what held it back, and the shares that tell runs
// apart.
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <sstream>

#include "labfile/reader.h"
#include "results/explanation.h"
#include "results/headline.h"
#include "results/lossless_loss.h"
#include "world/runner.h"

namespace {

using namespace weft;

struct Headlined {
  lab::Lab lab;
  lab::RunResult result;
  lab::Explanation why;
  std::string text;
  bool has(const std::string& part) const { return text.find(part) != std::string::npos; }
};

std::unique_ptr<Headlined> headline_of(const std::string& name, const std::vector<std::string>& set = {}) {
  const std::string path = std::string(WEFT_SOURCE_DIR) + "/labs/" + name + ".yaml";
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  auto lab = lab::read_lab(text.str(), path, set);
  EXPECT_TRUE(lab) << path;
  if (!lab) return nullptr;
  auto out = std::make_unique<Headlined>();
  out->lab = *std::move(lab);
  auto result = lab::run_lab(out->lab, {});
  EXPECT_TRUE(result);
  if (!result) return nullptr;
  out->result = *std::move(result);
  out->why = lab::explain(lab::evidence_of(out->lab, out->result));
  out->text = lab::headline(out->lab, out->result, out->why);
  return out;
}

double share_of(const lab::FlowAnswer& flow, const std::string& cause) {
  for (const lab::CauseShare& part : flow.shares) {
    if (part.cause == cause) return part.share;
  }
  return 0;
}

TEST(HeadlineLabs, TellsPausesFromMarks) {
  const auto pfc = headline_of("fabric/incast-pfc"), ecn = headline_of("fabric/incast-ecn");
  EXPECT_NE(pfc->text, ecn->text);
  EXPECT_TRUE(pfc->has("paused)")) << pfc->text;
  EXPECT_TRUE(pfc->has("pauses stopped 16 ports")) << pfc->text;
  EXPECT_FALSE(pfc->has("marked CE")) << pfc->text;
  EXPECT_TRUE(ecn->has("of the packets of leaf0:swp1 marked CE")) << ecn->text;
  EXPECT_TRUE(ecn->has("the slowest, " + lab::slowest_flow(ecn->why)->id + ", in ")) << ecn->text;
}

// The priority group of one ingress port is a sixteenth of the queue that it waits for.
TEST(HeadlineLabs, PauseSentencesHaveBothSizes) {
  const auto pfc = headline_of("fabric/incast-pfc");
  ASSERT_FALSE(pfc->why.incidents.empty());
  const lab::Incident& worst = pfc->why.incidents.front();
  ASSERT_EQ(worst.steps.size(), 2U);
  EXPECT_NE(worst.steps[0].text.find("fills (13.9 MB)"), std::string::npos) << worst.steps[0].text;
  EXPECT_NE(worst.steps[1].text.find("the priority group of leaf0:swp10 holds 873 kB, 873 kB of it in queue 3 of "
                                     "leaf0:swp1, which holds 13.9 MB"),
            std::string::npos)
      << worst.steps[1].text;
}

TEST(HeadlineLabs, WaitingInQueueIsNamedSo) {
  const auto ecn = headline_of("fabric/incast-ecn");
  double most = 0;
  for (const lab::FlowAnswer& flow : ecn->why.flows) {
    EXPECT_EQ(share_of(flow, lab::held::kRoundTrip), 0) << flow.id;
    if (flow.bottleneck != lab::held::kQueueing) continue;
    most = std::max(most, flow.share);
    EXPECT_EQ(flow.root, "leaf0:swp1") << flow.id;
    EXPECT_EQ(share_of(flow, lab::held::kQueueing), flow.share) << flow.id;
  }
  EXPECT_GT(most, 0.3);
}

TEST(HeadlineLabs, NamesSlowestFlowAndItsLoss) {
  const auto loss = headline_of("fabric/loss-rate");
  EXPECT_TRUE(loss->has("the slowest, as-shipped/0, in 4.6")) << loss->text;
  EXPECT_TRUE(loss->has("98 % congestion control")) << loss->text;
  EXPECT_TRUE(loss->has("frames lost from r1:p0 to r2:p0: 2759 fault drops")) << loss->text;
  EXPECT_FALSE(loss->has("g1:p0")) << loss->text;
}

TEST(HeadlineLabs, LossesOfLinkCutAddUp) {
  const auto cut = headline_of("fabric/link-cut");
  EXPECT_TRUE(cut->has("3570 packets of lossless class 3 lost (3509 in leaf0, 61 in spine0): port down")) << cut->text;
  EXPECT_TRUE(cut->has("119 packets lost besides")) << cut->text;
  EXPECT_FALSE(cut->has("3689")) << cut->text;
}

TEST(HeadlineLabs, StragglerIsNamedWithItsMoment) {
  const auto rail = headline_of("ai/one-slow-rail");
  ASSERT_EQ(rail->why.stragglers.size(), 1U);
  const lab::Straggler& late = rail->why.stragglers.front();
  EXPECT_EQ(late.who, "group data3");
  EXPECT_EQ(late.port, "h2:p3");
  EXPECT_GT(late.time_ps, 0);
  EXPECT_TRUE(rail->has("group data3 late: ")) << rail->text;
}

TEST(HeadlineLabs, SocketsAsCause) {
  const auto sockets = headline_of("ai/socket-fallback");
  const auto groups = lab::held_groups(sockets->why);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups.front().cause, lab::held::kSockets);
  EXPECT_TRUE(sockets->has("NCCL_IB_DISABLE=1")) << sockets->text;
}

}  // namespace
