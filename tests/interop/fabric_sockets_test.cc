// Sockets of unmodified programs over the simulated TCP (`network: fabric`, `weft exec --net fabric`): Debian's iperf3
// prints what the workload iperf3 measures on the same lab, programs behave as on Linux, and the frames are true.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "interop/interop_support.h"
#include "interop/live_world.h"
#include "support/matching.h"
#include "support/slowdown.h"

namespace weft::interop {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kLoss = R"(faults:
  - {name: loss, link: "vm00:p0", action: drop, probability: 0.1 %}
)";

struct FabricRun {
  int status = -1;
  std::string report, results, capture;
  Json json() const { return Json::parse(results, nullptr, false); }
};

class FabricSockets : public testing::Test {
 protected:
  FabricRun run_file(const std::string& lab, const std::string& options = "") const {
    const std::string out = temp_.file("out");
    const int status = std::system((test::timeout(200) + WEFT_BINARY " run " + lab + " --out " + out + " " + options +
                                    " >" + temp_.file("said") + " 2>&1 </dev/null")
                                       .c_str());
    FabricRun run;
    run.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    run.report = text_of(out + "/report.md");
    run.results = text_of(out + "/results.json");
    run.capture = out + "/capture.pcapng";
    if (run.report.empty()) run.report = text_of(temp_.file("said"));
    return run;
  }
  // Two hosts with 25 Gb/s back to back.
  FabricRun run(const std::string& sections, const std::string& options = "") const {
    std::string text = text_of(WEFT_SOURCE_DIR "/labs/two-node-25g.yaml");
    text.erase(text.find("\nworkloads:") + 1);
    std::ofstream(temp_.file("lab.yaml")) << text << sections;
    return run_file(temp_.file("lab.yaml"), options);
  }
  // A server on vm01 and a client on vm00, each a line for bash.
  FabricRun run_pair(const std::string& server, const std::string& client, const std::string& more = "",
                     const std::string& options = "") const {
    return run("network: fabric\n" + more + "workloads:\n  - name: pair\n    program:\n      - {node: vm01, script: '" +
                   server + "', timeout: 300 s}\n      - {node: vm00, script: '" + client +
                   "', start: 1 ms, timeout: 300 s}\n",
               options);
  }
  static double number(const FabricRun& run, const std::string& expression) {
    const std::vector<std::string> found = test::match(run.report, expression);
    EXPECT_EQ(found.size(), 2U) << expression << "\n" << run.report;
    return found.size() == 2 ? std::stod(found[1]) : -1;
  }

  TempDir temp_;
};

constexpr const char* kRate = " ([0-9.]+) Gbits/sec +[0-9]+ +sender";
constexpr const char* kRetransmits = "Gbits/sec +([0-9]+) +sender";

// The ready lab: its expectations hold, and everything again is the same, the programs' words included.
TEST_F(FabricSockets, ReadyLabRepeatsExactly) {
  const std::string lab = WEFT_SOURCE_DIR "/labs/live/iperf3-over-fabric.yaml";
  const FabricRun first = run_file(lab), second = run_file(lab);
  ASSERT_EQ(first.status, 0) << first.report;
  const Json workloads = first.json()["workloads"];
  EXPECT_NEAR(workloads[1]["found"]["Gbps"].get<double>(), number(first, " ([0-9.]+) Gbits/sec +0 +sender"), 0.02 * 34)
      << "the first such line is the workload's";
  // What the switch drops of TCP is what TCP retransmits.
  EXPECT_EQ(number(first, "= +[0-9.]+ retransmits = ([0-9]+)\n\n## rdma"), number(first, "([0-9]+) +WRED +504"));
  if (!test::may_be_taken_for_spinning()) {
    EXPECT_EQ(first.report, second.report);
    EXPECT_EQ(first.results, second.results);
    EXPECT_TRUE(workloads[1]["deterministic"].get<bool>());
  }
}

// On a cable that loses packets every window and every recovery counts: the same rate and the same retransmissions.
TEST_F(FabricSockets, Iperf3MeasuresWhatWorkloadDoes) {
  for (const char* algorithm : {"cubic", "reno"}) {
    const std::string flags = std::string("-n 500M -i 0 -C ") + algorithm;
    const FabricRun model =
        run(std::string(kLoss) + "workloads:\n  - {name: tcp, iperf3: " + flags + ", client: vm00, server: vm01}\n");
    const FabricRun program = run_pair("iperf3 -s -1", "iperf3 -c vm01 " + flags, kLoss);
    ASSERT_EQ(program.status, 0) << program.report;
    const double rate_Gbps = number(model, kRate), lost = number(model, kRetransmits);
    EXPECT_NEAR(number(program, kRate), rate_Gbps, 0.03 * rate_Gbps) << algorithm;
    EXPECT_GT(lost, 50);
    EXPECT_NEAR(number(program, kRetransmits), lost, 0.05 * lost) << algorithm;
  }
}

TEST_F(FabricSockets, Iperf3TakesItsFlags) {
  // 4148 of 4238 bytes of a frame on the line are payload.
  const double limit_Gbps = 25.0 * 4148 / 4238;
  FabricRun said = run_pair("iperf3 -s -1", "iperf3 -c vm01 -R -n 200M -i 0");
  EXPECT_NEAR(number(said, " ([0-9.]+) Gbits/sec +receiver"), limit_Gbps, 0.04 * limit_Gbps);
  said = run_pair("iperf3 -s -1", "iperf3 -c vm01 -P 4 -n 200M -i 0");
  EXPECT_NEAR(number(said, "SUM.* ([0-9.]+) Gbits/sec +receiver"), limit_Gbps, 0.04 * limit_Gbps);
  said = run_pair("iperf3 -s -1", "iperf3 -c vm01 --bidir -n 100M -i 0");
  EXPECT_EQ(said.status, 0) << said.report;
  EXPECT_GT(number(said, "TX-C.* ([0-9.]+) Gbits/sec +receiver"), 10);
  EXPECT_GT(number(said, "RX-C.* ([0-9.]+) Gbits/sec +receiver"), 10);
  // A window of 32 KB for each round trip, which takes 30 us or so; and so says the workload.
  const std::string small = "-w 32K -n 50M -i 0 -f g";
  const double small_Gbps =
      number(run("workloads:\n  - {name: tcp, iperf3: " + small + ", client: vm00, server: vm01}\n"), kRate);
  said = run_pair("iperf3 -s -1", "iperf3 -c vm01 " + small);
  EXPECT_GT(small_Gbps, 3);
  EXPECT_LT(small_Gbps, 15);
  EXPECT_NEAR(number(said, kRate), small_Gbps, 0.05 * small_Gbps);
  said = run_pair("iperf3 -s -1", "iperf3 -c vm01 -C dctcp -n 50M --json");
  EXPECT_NE(said.report.find("\"sender_tcp_congestion\":\t\"dctcp\""), said.report.npos) << said.report;
  EXPECT_NE(said.report.find("\"tcp_mss_default\":\t4148"), said.report.npos) << said.report;
  said = run_pair("iperf3 -s -1", "iperf3 -c vm01 -C bbr -n 1M || echo refused");
  EXPECT_NE(said.report.find("unable to set TCP_CONGESTION"), said.report.npos) << said.report;
}

// The mode of a cable that is cut: SYNs after 1, 3, 7 … seconds, and ETIMEDOUT after 127 (tcp_syn_retries 6); what was
// written before waits for the link and arrives.
TEST_F(FabricSockets, CutLinkHoldsConnectionsUp) {
  const auto cut = [](const std::string& end) {
    return "faults:\n  - {name: cut, link: \"vm00:p0\", action: cut, start: 100 ms, end: " + end + "}\n";
  };
  const std::string connect =
      "python3 -c \"import socket,time; time.sleep(0.2); t=time.time(); s=socket.socket(); "
      "print(s.connect_ex((chr(49)+chr(48)+\\\".0.0.2\\\", 7000)), round(time.time()-t, 2))\"";
  FabricRun said = run_pair("sleep 1", connect, cut("290 s"));
  EXPECT_NE(said.report.find("\n110 127.0\n"), said.report.npos) << said.report;
  said = run_pair("nc -l 7000 >/dev/null", connect, cut("2 s"));
  EXPECT_NE(said.report.find("\n0 3.0\n"), said.report.npos) << said.report;
  said = run_pair("nc -l 7000 | tail -1", "(seq 1000; sleep 0.2; seq 200000) | nc -N vm01 7000", cut("2 s"));
  EXPECT_EQ(said.status, 0);
  EXPECT_NE(said.report.find("\n200000\n"), said.report.npos) << said.report;
}

constexpr const char* kDeadPeer = R"(
import socket, time
s = socket.create_connection(('vm01', 7000))
time.sleep(0.1)
print(s.recv(9))
try:
    for i in range(3):
        s.send(b'x')
        time.sleep(0.01)
except OSError as e: print(type(e).__name__)
try: socket.create_connection(('vm01', 7000))
except OSError as e: print(type(e).__name__)
)";

// A peer that is killed sends FIN, and RST for what comes after; a port that nobody listens at refuses.
TEST_F(FabricSockets, DeadPeersReset) {
  std::ofstream(temp_.file("dead.py")) << kDeadPeer;
  const FabricRun said =
      run_pair("timeout -s KILL 0.05 nc -l 7000 >/dev/null || true", "python3 " + temp_.file("dead.py"));
  EXPECT_NE(said.report.find("b''\nBrokenPipeError\nConnectionRefusedError\n"), said.report.npos) << said.report;
}

class FabricSocketClocks : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Clocks, FabricSocketClocks, ::testing::Values("virtual", "wall"));

TEST_P(FabricSocketClocks, BehaveAsOnLinux) {
  Live world("two-node-25g.yaml", std::string("--clock ") + GetParam() + " --set network=fabric");
  const Live::Said said = world.run_well("vm00", "env WEFT_NET=fabric " WEFT_SOCKET_PROBE " serve", "vm01",
                                         "env WEFT_NET=fabric " WEFT_SOCKET_PROBE " ask vm00");
  EXPECT_NE(said.client.find("many: ok"), said.client.npos) << said.client;
}

// The side that connects decides: a listener of the management network takes a connection of the fabric.
TEST(FabricSocketPrograms, SideThatConnectsDecides) {
  Live world("two-node-25g.yaml");
  const auto bytes = [&] {
    world.shell("exec vm00 -- sh -c 'cat /sys/class/net/p0/statistics/rx_bytes'");
    return std::stol(world.output());
  };
  const std::string send = "sh -c 'seq 20000 | nc -N vm00 5001'";
  world.run_well("vm00", "nc -l 5001", "vm01", send);
  EXPECT_EQ(bytes(), 0);
  world.run_well("vm00", "nc -l 5001", "vm01", "env WEFT_NET=fabric " + send);
  EXPECT_GT(bytes(), 108'894) << "seq 20000 | wc -c, and headers";
}

// Programs of two VMs, each on vCPUs of its own that stress threads of their machine want, too: what the workload gets
// whose CPUs nobody names. And a server that has rested for hours still hears of what comes.
TEST(FabricSocketPrograms, GuestsShareCpusOfTheirMachine) {
  std::string lab = text_of(WEFT_SOURCE_DIR "/labs/two-vms-one-host.yaml");
  const std::string isolated = "cpu: {isolated: \"2-29,34-61\"}";
  ASSERT_NE(lab.find(isolated), lab.npos);
  TempDir temp;
  const std::string path = temp.file("busy.yaml");
  const std::string busy = lab.replace(lab.find(isolated), isolated.size(), "cpu: {stress: 64}");
  std::ofstream(path) << busy.substr(0, busy.find("\nworkloads:"));
  const Live world(Live::File{path}, "--set network=fabric");
  const Live::Said said =
      world.run_well("vm00", "sh -c 'sleep 29370; exec iperf3 -s -1'", "vm01", "iperf3 -c vm00 -t 1");
  const std::vector<std::string> found = test::match(said.client, kRate);
  ASSERT_EQ(found.size(), 2U) << said.client;
  EXPECT_GT(std::stod(found[1]), 3);
  EXPECT_LT(std::stod(found[1]), 6);
}

TEST(FabricSocketPrograms, WrongNetworkIsRefused) {
  Live world("two-node-25g.yaml");
  EXPECT_NE(world.shell("exec --net foo vm00 -- true"), 0);
  EXPECT_NE(world.output().find("--net foo is no network of a world"), std::string::npos) << world.output();
  EXPECT_EQ(world.shell("exec --net fabric vm00 -- true"), 0) << world.output();
}

// The capture has the program's own bytes, in frames that tshark has no complaint about.
TEST_F(FabricSockets, CapturesHaveBytesOfStreams) {
  const FabricRun said = run_pair("nc -l 7000 >/dev/null", "seq 3000 | nc -N vm01 7000", "", "--capture vm01:p0");
  ASSERT_EQ(said.status, 0) << said.report;
  const auto tshark = [&](const std::string& arguments) {
    std::system(("tshark -r " + said.capture + " " + arguments + " 2>/dev/null >" + temp_.file("tshark")).c_str());
    return text_of(temp_.file("tshark"));
  };
  EXPECT_EQ(tshark("-Y tcp.analysis.flags"), "");
  EXPECT_EQ(tshark("-o tcp.check_checksum:TRUE -Y tcp.checksum.status==0"), "");
  const std::string stream = tshark("-q -z follow,tcp,ascii,0");
  EXPECT_NE(stream.find("\n2998\n2999\n3000\n"), stream.npos) << stream.substr(0, 400);
}

}  // namespace
}  // namespace weft::interop
