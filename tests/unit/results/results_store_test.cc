#include "results/results_store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "results/class_quantities.h"
#include "results/report.h"
#include "results/results_json.h"
#include "store/rows/flow_rows.h"
#include "store/table.h"
#include "support/fabric_lab.h"
#include "world/runner.h"

namespace weft::lab {
namespace {

support::FabricLab sampled_incast(std::optional<Time_ps> sample_ps) {
  support::FabricLab fabric = support::leaf_spine(2, 1, 4);
  fabric.add_flows("incast", support::incast_to(0, 8, 2'000'000));
  fabric.lab.sample_ps = sample_ps;
  return fabric;
}

RunResult run_lab_to_end(const Lab& lab) {
  auto result = run_lab(lab, {});
  EXPECT_TRUE(result.has_value());
  return std::move(*result);
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

class ResultsStore : public testing::Test {
 protected:
  std::string path(const std::string& name) {
    return (std::filesystem::temp_directory_path() /
            (std::string("weft_store_") + testing::UnitTest::GetInstance()->current_test_info()->name() + name))
        .string();
  }
  void TearDown() override {
    for (const char* name : {"a", "b"}) std::filesystem::remove(path(name));
  }
};

TEST_F(ResultsStore, SamplesChangeNothing) {
  support::FabricLab without = sampled_incast(std::nullopt);
  RunResult plain = run_lab_to_end(without.lab);
  for (Time_ps interval_ps : {us(1), us(7), ns(333)}) {
    support::FabricLab with = sampled_incast(interval_ps);
    RunResult sampled = run_lab_to_end(with.lab);
    EXPECT_EQ(results_json(with.lab, sampled), results_json(without.lab, plain));
    EXPECT_EQ(report(with.lab, sampled, {}), report(without.lab, plain, {}));
    EXPECT_GT(sampled.series.samples, 0u);
  }
}

TEST_F(ResultsStore, RepeatsExactly) {
  support::FabricLab fabric = sampled_incast(us(5));
  ASSERT_TRUE(write_results_store(path("a"), fabric.lab, run_lab_to_end(fabric.lab)).has_value());
  ASSERT_TRUE(write_results_store(path("b"), fabric.lab, run_lab_to_end(fabric.lab)).has_value());
  EXPECT_EQ(bytes_of(path("a")), bytes_of(path("b")));
  EXPECT_GT(bytes_of(path("a")).size(), 4096u);
  // Again over what is there.
  ASSERT_TRUE(write_results_store(path("a"), fabric.lab, run_lab_to_end(fabric.lab)).has_value());
  EXPECT_EQ(bytes_of(path("a")), bytes_of(path("b")));
}

TEST_F(ResultsStore, SeriesEndAtCounterValues) {
  support::FabricLab fabric = sampled_incast(us(1));
  RunResult result = run_lab_to_end(fabric.lab);
  ASSERT_TRUE(write_results_store(path("a"), fabric.lab, result).has_value());
  auto tx = read_series(path("a"), {"leaf0", "swp1", 3, "tx_bytes"});
  ASSERT_TRUE(tx.has_value());
  EXPECT_EQ(tx->unit, "B");
  EXPECT_EQ(tx->interval_ps, us(1));
  ASSERT_EQ(tx->samples.size(), result.series.samples);
  EXPECT_EQ(tx->samples.front(), 0);
  const SwitchPortOutcome& port = result.switches[0].ports[0];
  EXPECT_EQ(static_cast<std::uint64_t>(tx->samples.back()), port.counters.tx[3].bytes);
  EXPECT_TRUE(std::is_sorted(tx->samples.begin(), tx->samples.end()));
  // 100 Gb/s is 12.5 kB in a microsecond; a frame may fall on either side of a sample.
  for (std::size_t i = 1; i < tx->samples.size(); ++i) EXPECT_LE(tx->samples[i] - tx->samples[i - 1], 12'500 + 4200);
  auto queue = read_series(path("a"), {"leaf0", "swp1", 3, "queue_B"});
  ASSERT_TRUE(queue.has_value());
  std::int64_t most_B = *std::max_element(queue->samples.begin(), queue->samples.end());
  EXPECT_GT(most_B, 100'000);
  EXPECT_LE(static_cast<std::uint64_t>(most_B), port.counters.max_queue_B[3]);
  EXPECT_EQ(queue->samples.back(), 0);
  auto stopped = read_series(path("a"), {"h4", "p0", 3, "pause_rx_ps"});
  ASSERT_TRUE(stopped.has_value());
  EXPECT_EQ(stopped->samples.back(), result.ports[4].pause_rx_ps[3]);
  EXPECT_GT(stopped->samples.back(), 0);
}

// A flow waits for the CPU of its host before it is posted, and its completion time has that wait.
TEST_F(ResultsStore, FlowsArePostedAfterTheirStart) {
  support::FabricLab fabric = sampled_incast(std::nullopt);
  const RunResult result = run_lab_to_end(fabric.lab);
  ASSERT_TRUE(write_results_store(path("a"), fabric.lab, result).has_value());
  store::SqliteFile file(path("a"), store::SqliteFile::Mode::kRead);
  std::size_t done = 0;
  for (const store::FlowRow& flow : store::Reader<store::FlowRow>(file)) {
    ASSERT_TRUE(flow.fct_ps && flow.posted_ps && flow.start_ps) << flow.number;
    EXPECT_GE(*flow.posted_ps, *flow.start_ps) << flow.number;
    EXPECT_LT(*flow.posted_ps, *flow.start_ps + *flow.fct_ps) << flow.number;
    ++done;
  }
  EXPECT_EQ(done, result.workloads.front().as<workload::FlowsOutcome>()->flows.size());
}

// The same names and values in both files; a NIC has no queue, and says so.
TEST_F(ResultsStore, ClassesMatchJson) {
  support::FabricLab fabric = sampled_incast(std::nullopt);
  RunResult result = run_lab_to_end(fabric.lab);
  ASSERT_TRUE(write_results_store(path("a"), fabric.lab, result).has_value());
  const auto json = nlohmann::json::parse(results_json(fabric.lab, result));
  const auto& port = json.at("switches").at(0).at("ports").at(0);
  ASSERT_EQ(port.at("name"), "swp1");
  store::SqliteFile file(path("a"), store::SqliteFile::Mode::kRead);
  std::size_t checked = 0;
  ASSERT_EQ(port.at("classes").size(), 8U);
  const auto& counted = port.at("classes").at(3);
  ASSERT_EQ(counted.at("class"), 3);
  for (const ClassQuantity& quantity : class_quantities()) {
    const std::string name(quantity.name);
    const std::string sql = "SELECT " + name + " FROM port_class WHERE node='leaf0' AND port='swp1' AND class=3";
    store::SqliteRows row(file, sql.c_str());
    ASSERT_TRUE(row.next()) << name << ": " << file.error();
    EXPECT_EQ(row.integer(0), counted.at(name).get<std::int64_t>()) << name;
    ++checked;
  }
  EXPECT_EQ(checked, 19u);
  EXPECT_GT(counted.at("tx_packets"), 0);
  store::SqliteRows nic(file, "SELECT tx_packets, max_queue_B IS NULL FROM port_class WHERE node='h1' AND class=3");
  ASSERT_TRUE(nic.next());
  EXPECT_EQ(nic.integer(0), static_cast<std::int64_t>(result.ports[1].counters.priorities[3].tx.packets));
  EXPECT_EQ(nic.integer(1), 1);
  store::SqliteRows idle(file, "SELECT count(*) FROM port_class WHERE node='h1'");
  ASSERT_TRUE(idle.next());
  EXPECT_EQ(idle.integer(0), 1) << "classes of which nothing was counted are left out";
}

TEST_F(ResultsStore, WritesInterruptedRunCompletely) {
  support::FabricLab fabric = sampled_incast(ns(100));
  std::atomic<bool> cancel = false;
  SessionOptions options;
  options.cancel = &cancel;
  auto result =
      run_lab(fabric.lab, options, [&](const SessionProgress& progress) { cancel = progress.now_ps > us(50); });
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(result->interrupted);
  ASSERT_TRUE(write_results_store(path("a"), fabric.lab, *result).has_value());
  auto tx = read_series(path("a"), {"h1", "p0", 3, "tx_bytes"});
  ASSERT_TRUE(tx.has_value());
  ASSERT_GT(tx->samples.size(), 40u);
  EXPECT_GT(tx->samples.back(), 0);
  EXPECT_NE(results_json(fabric.lab, *result).find("\"interrupted\": true"), std::string::npos);
}

TEST_F(ResultsStore, AbsentRowsAreZero) {
  support::FabricLab fabric = sampled_incast(us(10));
  RunResult result = run_lab_to_end(fabric.lab);
  ASSERT_TRUE(write_results_store(path("a"), fabric.lab, result).has_value());
  auto none = read_series(path("a"), {"leaf0", "swp1", 5, "tx_bytes"});
  ASSERT_TRUE(none.has_value());
  EXPECT_EQ(none->samples, std::vector<std::int64_t>(result.series.samples, 0));
  EXPECT_FALSE(read_series(path("b"), {"leaf0", "swp1", 5, "tx_bytes"}).has_value());
  EXPECT_FALSE(write_results_store("/nowhere/at/all.sqlite", fabric.lab, result).has_value());
}

}  // namespace
}  // namespace weft::lab
