#include "study/figures.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft::study {
namespace {

constexpr const char* kResults = R"({
  "lab": "incast", "seed": 7, "set": ["fabric.hosts=3"], "interrupted": false, "end_ns": 2000,
  "workloads": [{"name": "incast", "flows": {"done": 2, "goodput_Gbps": 97.5, "flows": [{"id": 1, "fct_ps": 5}]}}],
  "latency": [{"workload": "incast", "messages": 9, "latency_p99_ps": 1200000}, {"workload": "tcp", "none": "why"}],
  "ports": [{"name": "h0:p0", "ethtool": {"rx_prio3_pause": 4}, "hw_counters": {"np_cnp_sent": 3}},
            {"name": "h1:p0", "hw_counters": {"np_cnp_sent": 2}}],
  "switches": [{"name": "leaf0", "max_buffer_B": 1000,
                "ports": [{"name": "swp1", "drops": {"tail": 5}, "classes": [{"class": 3, "ecn_marked": 9, "max_queue_B": 70}]},
                          {"name": "swp2", "drops": {}, "classes": [{"class": 3, "ecn_marked": 1, "max_queue_B": 90}]}]}],
  "expect": [{"what": "incast.done", "met": true, "value": 2}, {"what": "fabric.drops", "met": false, "value": 5}]
})";

double value_of(const RunFigures& run, std::string_view name) {
  const auto it = std::find_if(run.figures.begin(), run.figures.end(), [&](const Figure& f) { return f.name == name; });
  return it == run.figures.end() ? -1 : it->value;
}

TEST(Figures, SumsOverPortsAndLargestQueues) {
  const auto run = parse_figures(kResults);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(value_of(*run, "incast.goodput_Gbps"), 97.5);
  EXPECT_EQ(value_of(*run, "incast.latency_p99_ps"), 1'200'000);
  EXPECT_EQ(value_of(*run, "hosts.np_cnp_sent"), 5);
  EXPECT_EQ(value_of(*run, "h1:p0.np_cnp_sent"), 2);
  EXPECT_EQ(value_of(*run, "fabric.drops"), 5);
  EXPECT_EQ(value_of(*run, "fabric.ecn_marked"), 10);
  EXPECT_EQ(value_of(*run, "fabric.max_queue_B"), 90);
  EXPECT_EQ(value_of(*run, "leaf0:swp1.drops.tail"), 5);
  EXPECT_EQ(run->seed, 7u);
  EXPECT_EQ(run->met, 1u);
  EXPECT_EQ(run->expectations, 2u);
}

TEST(Figures, RowsOfFlowsAreNoFigures) {
  const auto run = parse_figures(kResults);
  ASSERT_TRUE(run);
  for (const Figure& figure : run->figures) EXPECT_EQ(figure.name.find("fct_ps"), std::string::npos) << figure.name;
}

TEST(Figures, RejectsWhatIsNoRun) {
  for (const char* text : {"", "[]", "{}", R"({"runs": [], "workloads": []})", R"({"workloads": 3, "seed": "x"})",
                           R"({"workloads": [], "expect": [3]})"})
    EXPECT_FALSE(parse_figures(text)) << text;
}

TEST(Figures, TextHasUnitsOfNames) {
  EXPECT_EQ(figure_text("incast.goodput_Gbps", 97.807833), "97.81 Gb/s");
  EXPECT_EQ(figure_text("incast.fct_max_ps", 2617377294), "2.617 ms");
  EXPECT_EQ(figure_text("fabric.max_queue_B", 13958406), "13.96 MB");
  EXPECT_EQ(figure_text("fabric.drops", 12), "12");
  EXPECT_EQ(figure_text("incast.jain", 0.995407), "0.9954");
  EXPECT_EQ(figure_text("x_B", 0), "0 B");
}

}  // namespace
}  // namespace weft::study
