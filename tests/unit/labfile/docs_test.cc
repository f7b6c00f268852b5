// docs/lab-file.md knows every word of the reader, and its examples work.

#include "labfile/words.h"
#include "model/metrics.h"
#include "support/matching.h"
#include "text/units.h"
#include "unit/labfile/lab_text.h"

namespace weft::lab {
namespace {

const std::string& page() {
  static const std::string text = read_source_file("docs/lab-file.md");
  return text;
}
void expect_documented(std::string_view word) {
  EXPECT_NE(page().find(fmt::format("`{}`", word)), std::string::npos) << word << " is not in docs/lab-file.md";
}
template <class Enum>
void expect_words(std::span<const Word<Enum>> words) {
  for (const auto& word : words) expect_documented(word.text);
}

TEST(Docs, ExplainEveryKey) {
  for (const auto& keys : {mirror_keys(),       forwarder_keys(),   forwarder_port_keys(),
                           qdisc_keys(),        switch_keys(),      switch_port_keys(),
                           routing_keys(),      route_keys(),       fabric_keys(),
                           fabric_host_keys(),  pfc_keys(),         watchdog_keys(),
                           queue_keys(),        ecn_keys(),         group_keys(),
                           buffer_keys(),       congestion_keys(),  lab_keys(),
                           node_keys(),         outside_keys(),     udp_keys(),
                           nic_keys(),          layout_keys(),      gpu_keys(),
                           numactl_keys(),      port_keys(),        link_keys(),
                           cable_keys(),        qos_keys(),         fault_keys(),
                           workload_keys(),     expectation_keys(), program_keys(),
                           graph_flow_keys(),   job_keys(),         job_model_keys(),
                           job_parallel_keys(), job_slow_keys()}) {
    for (std::string_view key : keys) expect_documented(key);
  }
}

TEST(Docs, ExplainEveryWord) {
  expect_words(cable_words());
  expect_words(fec_words());
  expect_words(fault_action_words());
  expect_words(fault_frames_words());
  expect_words(transfer_words());
  expect_words(misuse_words());
  expect_words(flow_pattern_words());
  expect_words(flow_op_words());
  expect_words(job_kind_words());
  expect_words(job_precision_words());
  expect_words(job_recompute_words());
  expect_words(telemetry_words());
  expect_words(network_words());
  expect_words(mirror_words());
  expect_words(qdisc_words());
  expect_words(mirror_direction_words());
  expect_words(template_words());
  expect_words(balancing_words());
  expect_words(hash_words());
  expect_words(profile_words());
  expect_words(trust_words());
  expect_words(flow_control_words());
  expect_words(scheduling_words());
  expect_words(watchdog_words());
  expect_words(congestion_words());
  for (std::string_view test : perftest_words()) expect_documented(test);
  workload::for_each_kind([](auto kind) {
    for (std::string_view metric : known_metrics(kind)) expect_documented(metric);
  });
}

TEST(Docs, ListEveryCounter) {
  for (const std::string& counter : counted_counters())
    expect_documented(test::replaced(counter, "prio[0-7]", "prioN"));
}

TEST(Docs, ExamplesWork) {
  std::vector<std::string> blocks;
  const std::string_view fence = "```yaml\n";
  for (std::size_t at = page().find(fence); at != std::string::npos; at = page().find(fence, at + 1)) {
    const std::size_t start = at + fence.size();
    blocks.push_back(page().substr(start, page().find("```", start) - start));
  }
  ASSERT_EQ(blocks.size(), 12U);
  EXPECT_EQ(read_good(blocks[0]).workloads.size(), 1U);
  EXPECT_EQ(read_good(blocks[1]).switches.size(), 6U);
  EXPECT_EQ(read_good(blocks[2]).hosts[3].nics[0].function->number, 2U);
  EXPECT_EQ(read_good(good_lab_with("    kind: host\n", "    kind: host\n" + blocks[3])).hosts[0].places.gpus.size(),
            1U);
  EXPECT_EQ(read_good(blocks[4]).hosts.size(), 2U) << "one of them is outside";
  EXPECT_EQ(read_good(blocks[5]).switches.size(), 1U);
  EXPECT_EQ(read_good(blocks[1] + blocks[6]).warnings.size(), 0U);
  EXPECT_EQ(read_good(blocks[1] + blocks[7]).mirrors.size(), 2U);
  EXPECT_EQ(read_good(blocks[0] + blocks[8]).faults.size(), 4U);
  const std::string hosts = blocks[0].substr(0, blocks[0].find("workloads:"));
  EXPECT_EQ(read_good(hosts + blocks[9]).workloads.at(0).as<workload::FlowOptions>()->dependencies.size(), 3U);
  EXPECT_EQ(read_good(hosts + blocks[10]).workloads.at(0).as<workload::ProgramOptions>()->programs.size(), 2U);
  constexpr std::string_view kGpuHosts = R"(version: 1
name: gpus
fabric: {template: single-switch, hosts: 4, switch: sn5600, host: {nic: cx7-400g, host: dgx-h100, gpus: h100-sxm}}
)";
  EXPECT_EQ(read_good(std::string(kGpuHosts) + blocks[11]).workloads.at(0).as<workload::JobOptions>()->ranks.size(),
            32U);
}

}  // namespace
}  // namespace weft::lab
