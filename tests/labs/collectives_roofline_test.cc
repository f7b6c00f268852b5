// The roofline of collectives against what the labs of labs/ai with nccl-tests measure: nothing is faster than it, and
// where nothing is wrong large sizes come near to it. WEFT_PRINT_TABLE=1 prints the table.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "labfile/reader.h"
#include "world/runner.h"
#include "world/workloads/collective_roofline.h"

namespace {

using namespace weft;

lab::Lab roofline_lab(const std::string& name, const std::vector<std::string>& overrides = {}) {
  const std::string path = std::string(WEFT_SOURCE_DIR) + "/labs/ai/" + name + ".yaml";
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  auto read = lab::read_lab(text.str(), path, overrides);
  EXPECT_TRUE(read) << name;
  return std::move(*read);
}

struct RooflineLab {
  const char* name;
  double near;  // of the roofline that the largest size reaches at least
};
class CollectivesRoofline : public testing::TestWithParam<RooflineLab> {};

TEST_P(CollectivesRoofline, BoundsBusBandwidth) {
  const lab::Lab lab = roofline_lab(GetParam().name);
  const auto result = lab::run_lab(lab, {});
  ASSERT_TRUE(result);
  const bool prints = std::getenv("WEFT_PRINT_TABLE") != nullptr;
  for (const lab::WorkloadOutcome& workload : result->workloads) {
    const auto* tests = workload.as<workload::NcclResult>();
    if (tests == nullptr) continue;
    const auto rooflines = lab::nccl_rooflines(lab, *workload.config);
    ASSERT_EQ(rooflines.size(), tests->report.rows.size());
    for (std::size_t i = 0; i < rooflines.size(); ++i) {
      const nccl::TestRow& row = tests->report.rows[i];
      ASSERT_EQ(rooflines[i].size_B, row.size_B);
      if (row.size_B == 0) continue;
      ASSERT_FALSE(rooflines[i].bounds.empty());
      const workload::RooflineBound& least = rooflines[i].bounds.front();
      const double share = row.places[0]->busbw * 1e9 / least.busbw_Bps;
      const std::string text = fmt::format("{} {} {} B {}: {:.2f} of {:.2f} GB/s, {:.1f} %, {} ({})", GetParam().name,
                                           workload.config->name, row.size_B, tests->choices[i], row.places[0]->busbw,
                                           least.busbw_Bps / 1e9, 100 * share, least.name, least.where);
      if (prints) {
        fmt::print("{}\n", text);
        for (const workload::RooflineBound& bound : rooflines[i].bounds)
          if (i + 1 == rooflines.size())
            fmt::print("    {:8.2f} {} {}\n", bound.busbw_Bps / 1e9, bound.name, bound.where);
      }
      EXPECT_LE(share, 1.01) << text;
      if (i + 1 == rooflines.size()) {
        EXPECT_GE(share, GetParam().near) << text;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Labs, CollectivesRoofline,
                         testing::Values(RooflineLab{"healthy-2x4", 0.7}, RooflineLab{"healthy-4x4", 0.7},
                                         RooflineLab{"nvlink-8", 0.7}, RooflineLab{"nvls-tree-2x8", 0.7},
                                         RooflineLab{"gdr-off", 0}, RooflineLab{"socket-fallback", 0}),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           std::erase(name, '-');
                           return name;
                         });

// Of the bound with this name.
double bound_Bps(const std::vector<workload::RooflineBound>& bounds, std::string_view name) {
  for (const workload::RooflineBound& bound : bounds) {
    if (bound.name == name) return bound.busbw_Bps;
  }
  return 0;
}
constexpr double kLine400G_Bps = 50e9 * 4096 / (4096 + 82);  // less headers, path MTU 4096

TEST(JobRooflines, RingAtLineRate) {
  const lab::Lab lab = roofline_lab("gpt-step-dp-tp");
  lab::JobRooflines rooflines(lab, lab.workloads.front());
  const auto data = rooflines.bounds("gradient all-reduce", "data", 4, 26214400);
  EXPECT_NEAR(bound_Bps(data, "NIC line rate") / kLine400G_Bps, 1, 0.005);
  EXPECT_EQ(data.front().name, "NIC line rate");
  // Within a host nothing leaves it.
  const auto tensor = rooflines.bounds("tensor all-reduce", "tensor", 8, 8388608);
  EXPECT_EQ(tensor.front().name, "NVLink to NVSwitch");
  EXPECT_EQ(bound_Bps(tensor, "NIC line rate"), 0);
  EXPECT_TRUE(rooflines.bounds("no such collective", "data", 4, 26214400).empty());
}

TEST(JobRooflines, AllToAllOverSharedPort) {
  const lab::Lab lab = roofline_lab("moe-incast");
  lab::JobRooflines rooflines(lab, lab.workloads.front());
  const auto expert = rooflines.bounds("expert dispatch", "expert", 32, 16777216);
  // Each of four ranks sends 28/32 of its buffer to other hosts; bus bandwidth counts 31/32 of it.
  EXPECT_NEAR(bound_Bps(expert, "NIC line rate") / (kLine400G_Bps * 31 / (4 * 28)), 1, 0.01);
}

TEST(JobRooflines, GroupsWithSharedPort) {
  // Two GPUs of each host, one NIC: a group of two hosts for each GPU.
  const auto of = [](const char* tensor) {
    const lab::Lab lab =
        roofline_lab("wrong-numa", {std::string("workloads[step].job.parallel={tensor: ") + tensor + "}"});
    lab::JobRooflines rooflines(lab, lab.workloads.front());
    const auto& graph = *lab.workloads.front().as<workload::JobOptions>()->graph;
    double least = 0;
    for (const workload::JobNode& node : graph.program_of(0).nodes) {
      if (graph.names[node.name] != "gradient all-reduce") continue;
      const auto bounds = rooflines.bounds("gradient all-reduce", "data", tensor[0] == '1' ? 4 : 2, node.size_B);
      if (!bounds.empty()) least = bound_Bps(bounds, "NIC line rate");
    }
    return least;
  };
  // One ring through both hosts has the line; two groups have half of it each.
  EXPECT_NEAR(of("2") / (kLine400G_Bps / 2), 1, 0.01);
}

}  // namespace
