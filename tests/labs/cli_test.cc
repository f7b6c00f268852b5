// The command line as a user meets it: exit status, what goes to stdout and stderr, files, JSON.
#include "support/cli.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace weft {
namespace {

using support::Cli;
using support::Ran;
using support::slurp;

TEST_F(Cli, RunWritesSameBytesAgain) {
  Ran first = weft("run " + lab("first-light") + " --capture all --out a");
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(first.err, "");
  Ran second = weft("run " + lab("first-light") + " --capture all --out b");
  EXPECT_EQ(second.status, 0);
  for (const char* name : {"report.md", "results.json", "capture.pcapng", "lab.yaml"}) {
    std::string a = slurp(directory_ / "a" / name);
    EXPECT_FALSE(a.empty()) << name;
    EXPECT_EQ(a, slurp(directory_ / "b" / name)) << name;
  }
  auto json = nlohmann::json::parse(slurp(directory_ / "a/results.json"));
  EXPECT_EQ(json["lab"], "first-light");
  EXPECT_EQ(json["ports"][1]["hw_counters"]["out_of_sequence"], 1);
  Ran uncaptured = weft("run " + lab("first-light") + " --out c --json");
  auto without = nlohmann::json::parse(uncaptured.out);
  json.erase("captured_frames");
  without.erase("captured_frames");
  EXPECT_EQ(json, without) << "looking must not change the result";
}

TEST_F(Cli, SeedAndSettingChangeResult) {
  std::string one = weft("run " + lab("first-light") + " --json").out;
  std::string other = weft("run " + lab("first-light") + " --json --seed 2").out;
  EXPECT_NE(nlohmann::json::parse(one)["seed"], nlohmann::json::parse(other)["seed"]);
  Ran changed = weft("run " + lab("first-light") + " --json --set 'links[0].cable.length=100 m' --set expect={}");
  auto json = nlohmann::json::parse(changed.out);
  EXPECT_EQ(json["set"].size(), 2U);
  double far_us = json["workloads"][1]["perftest"]["results"]["t_typical"];
  double near_us = nlohmann::json::parse(one)["workloads"][1]["perftest"]["results"]["t_typical"];
  // 97 m more of fibre at 4.9 ns/m, one way.
  EXPECT_NEAR(far_us - near_us, 0.475, 0.02);
}

TEST_F(Cli, SettingTakesOneValueInAnyPosition) {
  const std::string set = "--set 'links[0].cable.length=10 m' ";
  EXPECT_EQ(weft("validate " + set + lab("first-light")).status, 0);
  EXPECT_EQ(weft("run " + set + set + lab("first-light")).status, 0);
  EXPECT_EQ(weft("perftest " + set + lab("two-node-25g") + " write_lat -n 10").status, 0);
  EXPECT_EQ(weft("perftest " + lab("two-node-25g") + " " + set + "write_lat -n 10").status, 0);
}

TEST_F(Cli, RejectsNamesThatAreNoWorldsName) {
  Ran ran = weft("up " + lab("two-node-25g") + " --name 'a b'");
  EXPECT_EQ(ran.status, 2);
  EXPECT_NE(ran.err.find("'a b' cannot be the name of a world; with --name, use"), std::string::npos) << ran.err;
}

#ifndef __SANITIZE_ADDRESS__  // reserves more than any limit
TEST_F(Cli, ReportsMemoryLimit) {
  const std::string command = "ulimit -v 60000; cd " + directory_.string() + " && " WEFT_BINARY " validate " +
                              lab("two-node-25g") + " >out 2>err";
  const int raw = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(raw), 1);
  EXPECT_EQ(slurp(directory_ / "err"), "weft: out of memory: 60000 kB are allowed; raise `ulimit -v`\n");
}
#endif

TEST_F(Cli, FailedExpectationExitsWithOne) {
  Ran ran = weft("run " + lab("first-light") + " --set 'expect={bw.bw_average_Gbps: {min: 99}}'");
  EXPECT_EQ(ran.status, 1) << ran.err;
  EXPECT_NE(ran.out.find("FAIL bw.bw_average_Gbps"), std::string::npos) << ran.out;
}

TEST_F(Cli, WrongInputExitsWithTwoPlaceAndRemedy) {
  write("bad.yaml", "version: 1\nname: x\nseed: 010\nnodes: {}\nnodes: {}\n");
  Ran ran = weft("validate bad.yaml");
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.err.find("bad.yaml:3:7: "), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("bad.yaml:5:1: "), std::string::npos) << ran.err;
  EXPECT_EQ(weft("run nowhere.yaml").status, 2);
  EXPECT_EQ(weft("run").status, 2);
  EXPECT_EQ(weft("fly").status, 2);
  EXPECT_EQ(weft("run " + lab("first-light") + " --capture vm07:p0").status, 2);
  EXPECT_EQ(weft("run " + lab("first-light") + " --out /dev/null/x").status, 2);
  EXPECT_EQ(weft("perftest " + lab("first-light") + " write_bw --nonsense").status, 2);
  EXPECT_EQ(weft("catalog show nothing-like-it").status, 2);
}

TEST_F(Cli, PerftestPrintsTableOrJson) {
  Ran table = weft("perftest " + lab("two-node-25g") + " write_bw -s 65536 -n 100 --report_gbits");
  EXPECT_EQ(table.status, 0) << table.err;
  EXPECT_NE(table.out.find(" #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"),
            std::string::npos);
  EXPECT_NE(table.out.find("65536      100"), std::string::npos) << table.out;
  Ran json = weft("perftest --json " + lab("two-node-25g") + " read_lat -n 50 --out_json_file=p.json");
  auto parsed = nlohmann::json::parse(json.out);
  EXPECT_GT(parsed["results"]["t_typical"], 1.0);
  EXPECT_EQ(parsed, nlohmann::json::parse(slurp(directory_ / "p.json")));
  auto all = nlohmann::json::parse(weft("perftest --json " + lab("two-node-25g") + " write_bw -a -n 100").out);
  EXPECT_EQ(all["results"].size(), 23U);
}

TEST_F(Cli, InterruptedRunReports) {
  Ran ran;
  std::string command =
      "cd " + directory_.string() + " && timeout -s INT 1 " WEFT_BINARY " run " + lab("two-node-400g") +
      " --out i --set 'expect={}' --set "
      "'workloads=[{name: long, perftest: write_bw, client: node00, server: node01, args: \"-D 600\"}]'"
      " >out 2>err; true";
  ASSERT_EQ(std::system(command.c_str()), 0);
  auto json = nlohmann::json::parse(slurp(directory_ / "i/results.json"));
  EXPECT_EQ(json["interrupted"], true);
  EXPECT_GT(json["ports"][0]["ethtool"]["tx_packets_phy"], 0);
  EXPECT_NE(slurp(directory_ / "i/report.md").find("Interrupted"), std::string::npos);
}

// Loss that is drawn: each run is that of its seed, and what they say together is made of them.
TEST_F(Cli, SeedsGiveMeanAndSpread) {
  Ran ran = weft("run " + lab("faults/loss") + " --seed 3 --seeds 4 --out s");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_NE(ran.out.find("This lab's answer depends on the seed: 2 of 6 figures"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find(slurp(directory_ / "s/report.md")), 0U);
  auto study = nlohmann::json::parse(slurp(directory_ / "s/results.json"));
  EXPECT_EQ(study["seeds"], nlohmann::json({3, 4, 5, 6}));
  double sum = 0;
  for (int seed = 3; seed <= 6; ++seed) {
    const std::string place = "seed-" + std::to_string(seed);
    weft("run " + lab("faults/loss") + " --seed " + std::to_string(seed) + " --out one");
    for (const char* name : {"report.md", "results.json", "lab.yaml"})
      EXPECT_EQ(slurp(directory_ / "s" / place / name), slurp(directory_ / "one" / name)) << place << " " << name;
    auto one = nlohmann::json::parse(slurp(directory_ / "one/results.json"));
    sum += one["ports"][0]["hw_counters"]["packet_seq_err"].get<double>();
  }
  for (const auto& figure : study["figures"]) {
    if (figure["metric"] == "packet_seq_err") EXPECT_DOUBLE_EQ(figure["mean"], sum / 4);
    EXPECT_EQ(figure["values"].size(), 4U);
  }
  EXPECT_EQ(nlohmann::json::parse(weft("run --json " + lab("faults/loss") + " --seed 3 --seeds 4 --out s").out), study);
  weft("run " + lab("faults/loss") + " --seed 3 --seeds 2 --out s");
  EXPECT_TRUE(std::filesystem::exists(directory_ / "s/seed-4"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "s/seed-5")) << "of the study before";
  Ran failing = weft("run " + lab("faults/loss") + " --seeds 2 --set 'expect={w.completed: {equal: 19}}'");
  EXPECT_EQ(failing.status, 1);
  EXPECT_NE(failing.out.find("0 of 2"), std::string::npos) << failing.out;
  EXPECT_EQ(weft("run " + lab("faults/loss") + " --seeds 2 --seed 18446744073709551615").status, 2);
  EXPECT_EQ(weft("run " + lab("faults/loss") + " --seeds 0").status, 2);
}

TEST_F(Cli, InterruptedSeedsReport) {
  const std::string command = "cd " + directory_.string() + " && timeout -s INT 1 " WEFT_BINARY " run " +
                              lab("two-node-400g") + " --seeds 3 --out i --set 'expect={}' --set " +
                              "'workloads=[{name: long, perftest: write_bw, client: node00, server: node01, "
                              "args: \"-D 600\"}]' >out 2>err";
  EXPECT_EQ(WEXITSTATUS(std::system((command + "; test $? = 124").c_str())), 0);
  EXPECT_NE(slurp(directory_ / "i/report.md").find("Interrupted: 0 of 3 runs came to their end."), std::string::npos);
  auto json = nlohmann::json::parse(slurp(directory_ / "i/results.json"));
  EXPECT_EQ(json["interrupted"], true);
  EXPECT_EQ(json["seeds"].size(), 0U);
  EXPECT_EQ(nlohmann::json::parse(slurp(directory_ / "i/seed-1/results.json"))["interrupted"], true);
}

// Each cause planted by itself: the verdict names it, and nothing else.
TEST_F(Cli, VerdictNamesWhatExplainsGap) {
  const struct {
    std::string name, arguments, says;
  } rows[] = {
      {"two-node-100g", "write_bw", "healthy: 98.0"},
      {"two-node-100g", "read_bw", "healthy: 97.9"},
      {"two-node-25g-mtu1500", "write_bw", "that headers leave of 25: path MTU 6 % of the line"},
      {"two-node-100g", "write_bw -s 1024", "that headers leave of 100: CPU 65 % of the line"},
      {"two-node-100g", "write_bw -t 1", "that headers leave of 100: round trip "},
      {"two-node-100g", "write_bw --set 'nodes.node00.nics[0].set={pcie_generation: 2}'",
       "that headers leave of 100: PCIe 46 % of the line"},
      {"faults/loss", "write_bw", "that headers leave of 100: congestion control"},
  };
  for (const auto& row : rows) {
    const Ran ran = weft("perftest " + lab(row.name) + " " + row.arguments);
    EXPECT_EQ(ran.status, 0) << row.name;
    EXPECT_EQ(ran.out.find("verdict"), std::string::npos) << "perftest's own output stays as it is";
    EXPECT_EQ(ran.err.substr(0, 9), "verdict: ") << row.name << " " << row.arguments;
    EXPECT_NE(ran.err.find(row.says), std::string::npos) << row.name << " " << row.arguments << "\n" << ran.err;
  }
  EXPECT_EQ(weft("perftest " + lab("two-node-100g") + " write_lat").err, "")
      << "messages are followed with --why alone";
  EXPECT_EQ(weft("perftest " + lab("two-node-100g") + " atomic_bw").err, "");
  EXPECT_NE(weft("perftest " + lab("two-node-100g") + " atomic_bw -n 100").out.find("MsgRate"), std::string::npos);
  const Ran lasting = weft("perftest " + lab("two-node-100g") + " send_bw -D 1 --report_gbits");
  EXPECT_EQ(lasting.err.substr(0, 18), "verdict: healthy: ") << lasting.err;
  const Ran average = weft("perftest " + lab("two-node-100g") + " write_lat -D 1 --why");
  EXPECT_NE(average.out.find("of a round trip of 2 B went; half of it is t_avg"), std::string::npos) << average.out;
  const Ran latency = weft("perftest " + lab("two-node-100g") + " write_lat --why");
  EXPECT_NE(latency.out.find("\nverdict: healthy: 1.39 us"), std::string::npos) << latency.out;
  EXPECT_NE(latency.out.find("of a round trip of 2 B went; half of it is t_typical"), std::string::npos) << latency.out;
  EXPECT_NE(latency.out.find(", 0.0 ns have no explanation\n"), std::string::npos) << latency.out;
  const auto message = nlohmann::json::parse(
      weft("perftest " + lab("two-node-100g") + " read_lat --why --json").out)["verdict"]["message"];
  double stages_ns = 0;
  for (const auto& stage : message["stages"])
    stages_ns += stage["there_ns"].get<double>() + stage["back_ns"].get<double>();
  EXPECT_NEAR(stages_ns, message["t_typical_ns"].get<double>(), 0.02);
  EXPECT_EQ(message["unexplained_ns"], 0.0);
  EXPECT_EQ(weft("run " + lab("two-node-100g") + " --why --seeds 2").status, 2);
  EXPECT_EQ(weft("perftest " + lab("two-node-100g") + " write_bw --why --all-pairs").status, 2);
  // Flows: 16 senders share a port, each sends for a sixteenth of the time and is stopped for most of the rest.
  const std::string flows = weft("run " + lab("fabric/incast-pfc") + " --why").out;
  const std::size_t ports = flows.find("\nwhat ports did");
  ASSERT_NE(ports, std::string::npos) << flows;
  EXPECT_NE(flows.find("paused", ports), std::string::npos) << flows.substr(ports);
  EXPECT_EQ(flows.find("congestion control", ports), std::string::npos) << "ECN is off: the column is left out";
  const Ran why = weft("perftest " + lab("two-node-100g") + " write_bw -s 1024 --why");
  EXPECT_NE(why.out.find("where 100 Gb/s went, messages of 1024 B"), std::string::npos) << why.out;
  const auto json =
      nlohmann::json::parse(weft("perftest " + lab("two-node-100g") + " write_bw -s 1024 --why --json").out);
  EXPECT_EQ(json["verdict"]["healthy"], false);
  double sum_Gbps = 0;
  for (const auto& line : json["verdict"]["budget_Gbps"]) sum_Gbps += line.get<double>();
  EXPECT_NEAR(sum_Gbps, 100, 0.02);
  EXPECT_FALSE(
      nlohmann::json::parse(weft("perftest " + lab("two-node-100g") + " write_bw --json").out).contains("verdict"));
  const Ran run = weft("run " + lab("two-node-100g") + " --why");
  EXPECT_NE(run.out.find("where 100 Gb/s went"), std::string::npos);
  EXPECT_NE(run.out.find("\nverdict: healthy"), std::string::npos) << "in the report";
}

TEST_F(Cli, TourShowsActualOutput) {
  std::string tour = slurp(std::string(WEFT_SOURCE_DIR) + "/docs/tour.md");
  std::size_t begin = tour.find("<!-- sample:first-light -->\n````\n");
  std::size_t end = tour.find("````\n<!-- /sample:first-light -->");
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  begin = tour.find("````\n", begin) + 5;
  EXPECT_EQ(tour.substr(begin, end - begin), weft("run " + lab("first-light") + " --capture all").out);
}

TEST_F(Cli, CatalogShowsSources) {
  Ran list = weft("catalog");
  EXPECT_EQ(list.status, 0);
  EXPECT_NE(list.out.find("cx7-400g"), std::string::npos);
  auto json = nlohmann::json::parse(weft("catalog show cx4-lx-25g --json").out);
  for (const auto& [field, value] : json["fields"].items())
    EXPECT_FALSE(value["source"].get<std::string>().empty()) << field;
  EXPECT_NE(weft("--version").out.find("weft "), std::string::npos);
}

}  // namespace
}  // namespace weft
