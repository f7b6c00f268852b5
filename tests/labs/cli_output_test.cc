// Exit status and files of the command line when something goes wrong: a full disk, a closed stdout, two runs into one
// directory, workloads that fail, inputs that are no lab.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "support/cli.h"

namespace weft {
namespace {

using support::Cli;
using support::Ran;
using support::slurp;
using Json = nlohmann::json;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(Cli, FailedOutputExitsWithOne) {
  const std::string commands[] = {"catalog list",
                                  "catalog show cx5-100g",
                                  "--version",
                                  "--help",
                                  "validate " + lab("first-light"),
                                  "qos " + lab("first-light"),
                                  "perftest " + lab("two-node-25g") + " write_lat -n 10",
                                  "run --json --out r " + lab("first-light"),
                                  "run --out r " + lab("first-light")};
  for (const std::string& command : commands) {
    for (const char* where : {">/dev/full", ">&-"}) {
      const Ran ran = weft(command, where);
      EXPECT_EQ(ran.status, 1) << command << where;
      EXPECT_TRUE(has(ran.err, "weft: cannot write to standard output: ")) << command << where << ran.err;
    }
  }
  // A closed stdout does not end up in a file.
  EXPECT_TRUE(Json::accept(slurp(directory_ / "r/results.json")));
}

TEST_F(Cli, UnwritableFileExitsWithOneAndLeavesNothing) {
  const std::string perftest = "perftest " + lab("two-node-25g") + " write_lat -n 10 --out_json_file=";
  EXPECT_EQ(weft(perftest + "/dev/full").status, 1);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
  EXPECT_EQ(weft(perftest + "nowhere/x.json").status, 1);
  // A directory in the place of a file: everything else is written.
  std::filesystem::create_directories(directory_ / "r/results.json/x");
  const Ran ran = weft("run --out r " + lab("first-light"));
  EXPECT_EQ(ran.status, 1);
  EXPECT_TRUE(has(ran.err, "weft: cannot write r/results.json: ")) << ran.err;
  EXPECT_TRUE(has(ran.out, "## Expectations")) << "the report is printed all the same";
  EXPECT_TRUE(std::filesystem::is_regular_file(directory_ / "r/report.md"));
  for (const auto& entry : std::filesystem::directory_iterator(directory_ / "r"))
    EXPECT_NE(entry.path().extension(), ".part") << entry.path();
}

TEST_F(Cli, KeepsReportWhenCaptureFails) {
  // The file may grow to 400 blocks of 1024 bytes; the signal is ignored, as on a full disk only the write fails.
  const std::string command = "cd " + directory_.string() +
                              " && bash -c 'trap \"\" XFSZ; ulimit -f 400; " WEFT_BINARY " run --capture all --out r " +
                              lab("first-light") + "' >out 2>err";
  const int raw = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(raw), 1);
  EXPECT_TRUE(has(slurp(directory_ / "err"), "cannot write all of r/capture.pcapng")) << slurp(directory_ / "err");
  EXPECT_TRUE(has(slurp(directory_ / "out"), "## Expectations"));
  EXPECT_TRUE(has(slurp(directory_ / "r/report.md"), "no capture: "));
  EXPECT_TRUE(Json::accept(slurp(directory_ / "r/results.json")));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "r/capture.pcapng"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "r/capture.pcapng.part"));
}

constexpr const char* kEndless =
    " --set 'expect={}' --set 'workloads=[{name: long, perftest: write_bw, client: node00, server: node01, "
    "args: \"-D 600\"}]'";

TEST_F(Cli, AllowsOneRunPerDirectory) {
  const std::string command = "cd " + directory_.string() + " && (" WEFT_BINARY " run --out r " + lab("two-node-400g") +
                              kEndless + " >first 2>&1 & echo $! >pid; sleep 0.5; " WEFT_BINARY " run --out r " +
                              lab("first-light") + " >out 2>err; echo $? >status; kill -HUP $(cat pid); wait)";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(slurp(directory_ / "status"), "2\n");
  EXPECT_TRUE(has(slurp(directory_ / "err"), "weft: another weft is writing to r\n  wait until it has ended"))
      << slurp(directory_ / "err");
  // Hung up, the first one has reported what had happened until then.
  EXPECT_EQ(Json::parse(slurp(directory_ / "r/results.json"))["interrupted"], true);
  EXPECT_EQ(Json::parse(slurp(directory_ / "r/results.json"))["lab"], "two-node-400g");
}

TEST_F(Cli, FailedWorkloadExitsWithOne) {
  const Ran transfer = weft("run --out r --set 'expect={}' " + lab("faults/dead-peer"));
  EXPECT_EQ(transfer.status, 1);
  EXPECT_TRUE(has(transfer.err, "weft: w: 1 of 1 operation failed, the first with status 12")) << transfer.err;
  EXPECT_EQ(weft("run --out r " + lab("faults/dead-peer")).status, 0) << "it is what the lab expects";
  const Ran flows = weft("run --out r --set 'expect={}' " + lab("fabric/deadlock"));
  EXPECT_EQ(flows.status, 1);
  EXPECT_TRUE(has(flows.err, "weft: round: 3 of 3 flows unfinished, and nothing more would happen")) << flows.err;
  const std::string cut = " --set 'expect={}' --set 'faults=[{link: \"vm00:p0\", action: cut, start: 10 us}]' ";
  const Ran perftest = weft("run --out r" + cut + lab("first-light"));
  EXPECT_EQ(perftest.status, 1);
  EXPECT_TRUE(has(perftest.err, "weft: bw: ")) << perftest.err;
}

TEST_F(Cli, RejectsEndlessFiles) {
  const auto reason = [&](const std::string& path) {
    const Ran ran = weft("validate " + path);
    EXPECT_EQ(ran.status, 2) << path;
    return ran.err;
  };
  EXPECT_TRUE(has(reason("/dev/zero"), "cannot read /dev/zero: it is a device"));
  EXPECT_TRUE(has(reason("."), "cannot read .: it is a directory"));
  EXPECT_TRUE(has(reason("nowhere.yaml"), "cannot read nowhere.yaml: No such file or directory"));
  ASSERT_EQ(mkfifo((directory_ / "fifo").c_str(), 0600), 0);
  EXPECT_TRUE(has(reason("fifo"), "fifo:1:1: "));  // nobody writes to it: empty
  std::filesystem::resize_file((write("huge.yaml", ""), directory_ / "huge.yaml"), 17'000'000'000);
  EXPECT_TRUE(has(reason("huge.yaml"), "cannot read huge.yaml: it is larger than 16 MB"));
  write("lab.yaml", slurp(lab("first-light")));
  EXPECT_EQ(weft("validate /dev/stdin", "<lab.yaml >out").status, 0);
}

TEST_F(Cli, HonoursCaptureLimits) {
  const std::string run = "run --out r --capture all " + lab("first-light");
  ASSERT_EQ(weft(run).status, 0);
  const auto whole_B = std::filesystem::file_size(directory_ / "r/capture.pcapng");
  ASSERT_EQ(weft(run + " --snaplen 64").status, 0);
  const auto cut_B = std::filesystem::file_size(directory_ / "r/capture.pcapng");
  EXPECT_LT(cut_B, whole_B / 5);
  // It stops.
  const Ran stopped = weft(run + " --capture-size '1 MB'");
  EXPECT_EQ(stopped.status, 0) << stopped.err;
  EXPECT_TRUE(has(stopped.out, "the capture was full then: ")) << stopped.out;
  EXPECT_LE(std::filesystem::file_size(directory_ / "r/capture.pcapng"), 1'000'000U);
  EXPECT_GT(std::filesystem::file_size(directory_ / "r/capture.pcapng"), 990'000U);
  // A ring.
  const Ran ring = weft(run + " --capture-size 1MB --capture-files 3");
  EXPECT_EQ(ring.status, 0) << ring.err;
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory_ / "r")) {
    if (entry.path().extension() != ".pcapng") continue;
    names.push_back(entry.path().filename());
    EXPECT_LE(entry.file_size(), 1'000'000U);
  }
  EXPECT_EQ(names.size(), 3U);
  const auto last = whole_B / 1'000'000 + 1;
  EXPECT_TRUE(has(ring.out, "capture_000" + std::to_string(last - 2) + ".pcapng to r/capture_000" +
                                std::to_string(last) + ".pcapng (11631 frames)"))
      << ring.out;
  EXPECT_EQ(weft(run + " --capture-files 3").status, 2);
  EXPECT_EQ(weft(run + " --capture-size 3").status, 2);
  EXPECT_EQ(weft(run + " --snaplen zwei").status, 2);
}

TEST_F(Cli, EstimatesLargeCaptures) {
  // Ends before the first frame: there is no such directory.
  const auto said = [&](const std::string& options) {
    const Ran ran =
        weft("perftest " + lab("two-node-25g") + " write_bw --capture all --capture-file none/x.pcapng" + options);
    EXPECT_EQ(ran.status, 1) << ran.err;
    return ran.err;
  };
  // 200,000 messages of 64 KiB at both ends of the cable.
  const std::string large = said(" -n 200000");
  EXPECT_TRUE(has(large,
                  "weft: whole frames of 2 ports will be about 27 GB (an estimate, from what the workloads send): "
                  "the capture ends at 2 GB; --snaplen '128 B' keeps headers, --capture PORT[,PORT] chooses "
                  "ports, --capture-size sets another limit\n"))
      << large;
  EXPECT_TRUE(has(said(" -n 200000 --snaplen '128 B'"), "weft: frames of 2 ports will be about 1.")) << large;
  for (const char* small : {" -n 100", " -n 200000 --capture-size '100 MB'", " -n 200000 --snaplen '60 B' -s 4096"})
    EXPECT_FALSE(has(said(small), "estimate")) << small;
}

TEST_F(Cli, RunsPerftestBetweenAnyTwoHosts) {
  const std::string test = " write_lat -n 20";
  for (const char* name : {"live/one-switch-100g", "fabric/incast-ecn", "fabric/pause-propagation",
                           "fabric/ecmp-collision", "fabric/deadlock", "two-node-25g", "dgx-spark"}) {
    const Ran ran = weft("perftest " + lab(name) + test);
    EXPECT_EQ(ran.status, 0) << name << ran.err;
    EXPECT_TRUE(has(ran.out, "t_typical[usec]")) << name;
  }
  const std::string switched = "perftest " + lab("live/one-switch-100g") + test;
  EXPECT_EQ(weft(switched + " --client h3 --server h1").status, 0);
  EXPECT_EQ(weft(switched + " --client h3:p0 --server=h1:p0").out, weft(switched + " --client h3 --server h1").out);
  const auto refused = [&](const std::string& ends) {
    const Ran ran = weft(switched + " " + ends);
    EXPECT_EQ(ran.status, 2) << ends;
    return ran.err;
  };
  EXPECT_EQ(refused("--client h0 --server h0"),
            "weft: client and server are one host, h0\n  name two hosts of the lab\n");
  EXPECT_EQ(refused("--client h9"), "weft: --client h9: the lab has no such host\n  did you mean h0, or h1, or h2?\n");
  EXPECT_TRUE(has(refused("--client leaf0"), "weft: --client leaf0: this is a switch\n"));
  EXPECT_TRUE(has(refused("--server h1:p7"), "weft: --server h1:p7: h1 has no such port with a cable\n"));
}

TEST_F(Cli, AllPairsListsOutliers) {
  const std::string matrix = "perftest " + lab("live/one-switch-100g") + " write_bw -n 50 --report_gbits --all-pairs";
  const Ran well = weft(matrix);
  EXPECT_EQ(well.status, 0) << well.err;
  EXPECT_TRUE(has(well.out, "every pair is within 5 % of it")) << well.out;
  // Each cell is what the test between those two prints.
  const Json json = Json::parse(weft(matrix + " --json --threads 2").out);
  EXPECT_EQ(json["pairs"].size(), 12U);
  const Json one = Json::parse(
      weft("perftest " + lab("live/one-switch-100g") + " write_bw -n 50 --report_gbits --json --client h2 --server h1")
          .out);
  for (const Json& pair : json["pairs"]) {
    if (pair["client"] == "h2" && pair["server"] == "h1") {
      EXPECT_EQ(pair["value"], one["results"]["BW_average"]);
    }
  }
  const std::string slow = " --set 'faults=[{link: \"h2:p0\", action: slow-receiver, rate: 10 Gbps}]'";
  const Ran odd = weft(matrix + slow);
  EXPECT_EQ(odd.status, 0) << odd.err;
  for (const char* pair : {"h0 -> h2", "h1 -> h2", "h3 -> h2"}) EXPECT_TRUE(has(odd.out, pair)) << odd.out;
  EXPECT_TRUE(has(odd.out, "3 of 12 pairs failed or are more than 5 % away from the median:")) << odd.out;
  EXPECT_TRUE(has(odd.out, "among them every pair with h2 as server\n")) << odd.out;
  const Json listed = Json::parse(weft(matrix + slow + " --json").out);
  for (const Json& pair : listed["pairs"]) EXPECT_EQ(pair["odd"], pair["server"] == "h2") << pair;
  EXPECT_EQ(weft(matrix + " -a").status, 2);
  EXPECT_EQ(weft(matrix + " --capture all").status, 2);
}

TEST_F(Cli, MessagesNameProblemAndRemedy) {
  struct Case {
    std::string arguments, message;
  };
  const std::string light = lab("first-light");
  const Case cases[] = {
      {"frob", "weft: no verb frob\n  known verbs: run, "},
      {"perftst", "weft: no verb perftst\n  did you mean perftest?\n"},
      {"", "weft: no verb\n  use one of run, "},
      {"--frob", "weft: no option --frob\n"},
      {"run", "weft: LAB is required\n  weft run --help shows the arguments\n"},
      {"run " + light + " --threads abc", "weft: --threads: abc is not a whole number from 1 to 256\n"},
      {"run " + light + " --seed -1", "weft: --seed: -1 is not a whole number from 0 to 18446744073709551615\n"},
      {"up " + light + " --seed 1.5", "weft: --seed: 1.5 is not a whole number from 0 to "},
      {"run " + light + " --capture ''", "weft: --capture names no port\n"},
      {"catalog show nope", "weft: no device nope in the catalog\n  weft catalog list shows them all\n"},
      {"validate " + light + " --set 'links[0].cable={kind: fibre, length: 50 km}'", "write a shorter length\n"},
      {"validate " + light + " --set 'links[0].cable.length=12345678901234567890123456 m'",
       "has more than 18 digits\n"},
      {"validate " + light + " --set 'workloads[bw].client=vm01'", "client and server are one host, vm01\n"},
      {"perftest " + light + " write_bw -m 8192", "weft: -m 8192"},
      {"perftest " + lab("two-node-25g-mtu1500") + " write_bw -m 4096",
       "the path has a RoCE MTU of 1024 B\n  raise the netdev mtu to 4192 B at both ends"},
      {"counters nowhere vm00", "weft: cannot read nowhere/results.json: No such file or directory\n"},
  };
  for (const Case& each : cases) {
    const Ran ran = weft(each.arguments);
    EXPECT_EQ(ran.status, 2) << each.arguments;
    EXPECT_EQ(ran.out, "") << each.arguments;
    EXPECT_TRUE(has(ran.err, each.message)) << each.arguments << "\n" << ran.err;
  }
}

TEST_F(Cli, CountsWarningsAsProblems) {
  const Ran mtu = weft("validate " + lab("first-light") + " --set 'nodes.vm00.nics[0].ports.p0.mtu=1500 B'");
  EXPECT_EQ(mtu.status, 0);
  EXPECT_TRUE(has(mtu.err, "warning: the ends have mtu 1500 B and 4200 B\n")) << mtu.err;
  EXPECT_TRUE(has(mtu.out, "2 hosts, 1 link, 2 workloads, 1 fault, 4 expectations; no errors, 1 warning\n")) << mtu.out;
}

TEST_F(Cli, JsonOptionPrintsProblemsAsJson) {
  const auto problem = [&](const std::string& arguments) {
    const Ran ran = weft(arguments);
    EXPECT_EQ(ran.status, 2) << arguments;
    EXPECT_EQ(ran.err, "") << arguments;
    return Json::parse(ran.out)["errors"][0];
  };
  write("bad.yaml", "version: 1\nname: \"a\\\"b\"\nseed: 010\n");
  EXPECT_EQ(problem("validate --json bad.yaml")["file"], "bad.yaml");
  EXPECT_EQ(problem("run --json nowhere.yaml")["message"], "cannot read nowhere.yaml: No such file or directory");
  EXPECT_EQ(problem("validate --json " + lab("first-light") + " --set seed=x")["where"], "--set seed");
  for (const std::string& arguments :
       {std::string("catalog show nope --json"), std::string("frob --json"), "qos --json " + lab("first-light") + " x",
        "perftest --json " + lab("first-light") + " write_bw --frob", std::string("counters --json nowhere x"),
        "up --json --capture x " + lab("first-light")})
    EXPECT_FALSE(problem(arguments)["remedy"].get<std::string>().empty()) << arguments;
  const Json summary = Json::parse(weft("validate --json " + lab("fabric/deadlock")).out);
  EXPECT_EQ(summary["valid"], true);
  EXPECT_EQ(summary["warnings"][0]["line"], 35);
}

}  // namespace
}  // namespace weft
