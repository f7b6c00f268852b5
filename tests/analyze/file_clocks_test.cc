// Captures of several hosts, one file each, whose clocks differ by amounts that are drawn: the offsets are found, and
// the findings are those of what was planted in the lab, as with one clock.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "analyze/planted_run.h"

namespace weft::planted {
namespace {

struct Clock {
  std::int64_t ahead_ns = 0;
  double drift = 0;
};

class FileClocks : public testing::Test {
 protected:
  // Runs the lab and keeps what each of its ports saw.
  void run_lab(const std::string& lab, const std::string& ports) {
    PlantedCase row;
    row.lab = lab;
    row.ports = ports;
    row.run_options = "--snaplen '128 B'";
    make_capture(row, run_);
    if (HasFatalFailure()) return;
    capture_ = EditableCapture::read(run_.capture_path);
  }
  // One file for each interface, in an order that is drawn, and its clock.
  std::string write_files(const std::vector<Clock>& clocks) {
    order_.resize(clocks.size());
    for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = i;
    std::shuffle(order_.begin(), order_.end(), random_);
    std::string names;
    for (const std::size_t at : order_) {
      EditableCapture file;
      file.interfaces = {capture_.interfaces[at]};
      for (const Record& each : capture_.records) {
        if (each.interface != at) continue;
        Record record = each;
        record.interface = 0;
        record.time_ns += clocks[at].ahead_ns +
                          static_cast<std::int64_t>(clocks[at].drift *
                                                    static_cast<double>(each.time_ns - capture_.records[0].time_ns));
        file.records.push_back(std::move(record));
      }
      const std::string path = path_of(at);
      draw(0, 1) == 0 ? file.write(path) : file.write_pcap(path);
      names += " " + interop::shell_quoted(path);
    }
    return names;
  }
  std::string path_of(std::size_t at) { return run_.dir.file(fmt::format("host{}.pcap", at)); }
  std::int64_t draw(std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random_);
  }
  // Microseconds to hours, either way.
  Clock draw_clock() {
    const double exponent = std::uniform_real_distribution<double>(4, 13.5)(random_);
    const auto size_ns = static_cast<std::int64_t>(std::pow(10.0, exponent));
    return {draw(0, 1) == 0 ? size_ns : -size_ns, static_cast<double>(draw(-50, 50)) * 1e-6};
  }
  // The clocks of the files against the one that was named first: as planted, to within what is said.
  void expect_clocks(const nlohmann::json& json, const std::vector<Clock>& clocks) {
    const auto file_of = [&](const std::string& path) {
      for (std::size_t at = 0; at < clocks.size(); ++at)
        if (path == path_of(at)) return at;
      ADD_FAILURE() << path;
      return std::size_t{0};
    };
    ASSERT_TRUE(json.contains("clocks"));
    EXPECT_EQ(json.at("clocks").size(), clocks.size() - 1);
    for (const auto& each : json.at("clocks")) {
      const Clock &clock = clocks[file_of(each.at("file"))], &reference = clocks[file_of(each.at("reference"))];
      const std::int64_t error_ns = each.at("ahead_ns").get<std::int64_t>() - (clock.ahead_ns - reference.ahead_ns);
      EXPECT_LE(std::abs(error_ns), each.at("uncertainty_ns").get<std::int64_t>() + 500) << each;
      EXPECT_TRUE(each.at("corrected")) << each;
    }
  }
  PlantedRun run_;
  EditableCapture capture_;
  std::vector<std::size_t> order_;
  std::mt19937_64 random_{7};
};

constexpr int kVariants = 12;

TEST_F(FileClocks, HealthyHostsStayHealthy) {
  run_lab(pair_lab(transfer("write, size: 64 KiB, count: 40")), "all");
  for (int i = 0; i < kVariants; ++i) {
    const std::vector<Clock> clocks = {draw_clock(), draw_clock()};
    const AnalyzeRun analysis = analyze(write_files(clocks));
    ASSERT_FALSE(analysis.json.is_discarded()) << analysis.output;
    EXPECT_EQ(joined(named(analysis).findings), "");
    EXPECT_EQ(joined(named(analysis).notes), "capture.snapped, capture.clocks");
    expect_clocks(analysis.json, clocks);
  }
}

TEST_F(FileClocks, LossStaysLossBetweenHosts) {
  run_lab(pair_lab(lose_packets({5, 90, 91, 333, 602}) + transfer("write, size: 64 KiB, count: 40")), "all");
  std::uint64_t dropped = 0;
  for (const auto& fault : run_.results.at("faults")) dropped += fault.at("hits").get<std::uint64_t>();
  ASSERT_EQ(dropped, 5U);
  for (int i = 0; i < kVariants; ++i) {
    const std::vector<Clock> clocks = {draw_clock(), draw_clock()};
    const AnalyzeRun analysis = analyze(write_files(clocks));
    ASSERT_FALSE(analysis.json.is_discarded()) << analysis.output;
    EXPECT_EQ(joined(named(analysis).findings), "psn.lost");
    EXPECT_EQ(analysis.json.at("findings")[0].at("count"), dropped);
    expect_clocks(analysis.json, clocks);
  }
}

TEST_F(FileClocks, ThreeHostsOfIncast) {
  run_lab(switch_lab(3,
                     "qos: {profile: roce-lossless}\n"
                     "workloads:\n  - {name: incast, flows: incast, hosts: all, to: h0, size: 500 kB}\n"),
          "h0:p0,h1:p0,h2:p0");
  for (int i = 0; i < kVariants; ++i) {
    const std::vector<Clock> clocks = {draw_clock(), draw_clock(), draw_clock()};
    const AnalyzeRun analysis = analyze(write_files(clocks));
    ASSERT_FALSE(analysis.json.is_discarded()) << analysis.output;
    EXPECT_EQ(joined(named(analysis).findings), "");
    expect_clocks(analysis.json, clocks);
  }
}

}  // namespace
}  // namespace weft::planted
