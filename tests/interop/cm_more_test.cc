// RDMA CM beyond connections: datagrams, multicast groups through switches, and sockets over RDMA, by unmodified
// programs.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "interop/live_world.h"
#include "interop/tshark_fields.h"
#include "support/bytes.h"
#include "support/matching.h"
#include "support/slowdown.h"

namespace weft {
namespace {

using namespace interop;

constexpr const char* kClocks[] = {"virtual", "wall"};
constexpr const char* kOneSwitch = "live/one-switch-100g.yaml";

std::string clock_option(const std::string& clock) {
  return "--clock " + clock;
}

// The last number of the line that begins with `name`, counted from the end.
double figure(const std::string& text, const std::string& name, std::size_t from_end) {
  std::size_t at = text.rfind("\n" + name);
  if (at == text.npos) return NAN;
  std::istringstream line(text.substr(at + 1, text.find('\n', at + 1) - at - 1));
  std::vector<std::string> words;
  for (std::string word; line >> word;) words.push_back(word);
  return words.size() > from_end ? std::atof(words[words.size() - 1 - from_end].c_str()) : NAN;
}

// Three switches in a ring, so that flooding without a tree would go round for ever; one subnet.
std::string ring_lab(const TempDir& dir) {
  std::string lab = "version: 1\nname: ring\nseed: 1\nnodes:\n";
  for (int h = 0; h < 4; ++h) {
    lab += "  h" + std::to_string(h) + ": {kind: host, nics: [{model: cx5-100g, ports: {p0: {address: 10.0.0." +
           std::to_string(h + 1) + "/24, mtu: 4200 B}}}]}\n";
  }
  for (int s = 0; s < 3; ++s) lab += "  s" + std::to_string(s) + ": {kind: switch, model: sn3700c}\n";
  lab +=
      "links:\n"
      "  - {endpoints: [\"h0:p0\", \"s0:swp1\"], cable: {kind: dac, length: 2 m}}\n"
      "  - {endpoints: [\"h1:p0\", \"s1:swp1\"], cable: {kind: dac, length: 2 m}}\n"
      "  - {endpoints: [\"h2:p0\", \"s2:swp1\"], cable: {kind: dac, length: 2 m}}\n"
      "  - {endpoints: [\"h3:p0\", \"s2:swp2\"], cable: {kind: dac, length: 2 m}}\n"
      "  - {endpoints: [\"s0:swp31\", \"s1:swp31\"], cable: {kind: dac, length: 2 m}}\n"
      "  - {endpoints: [\"s1:swp32\", \"s2:swp31\"], cable: {kind: dac, length: 2 m}}\n"
      "  - {endpoints: [\"s2:swp32\", \"s0:swp32\"], cable: {kind: dac, length: 2 m}}\n";
  std::string path = dir.file("ring.yaml");
  std::ofstream(path) << lab;
  return path;
}

// mckey on several nodes, then on the sender. Returns whether all ended well.
bool run_mckey(const Live& world, const std::vector<std::string>& receivers, const std::string& sender) {
  const std::string options = "mckey -m 239.1.2.3 -C 10 -S 1000 -b ";
  std::vector<int> statuses(receivers.size(), -1);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < receivers.size(); ++i) {
    threads.emplace_back([&, i] {
      statuses[i] = world.shell("exec " + receivers[i] + " -- " + options + receivers[i], "receiver-" + receivers[i]);
    });
  }
  // Attached: each has its queue pair and a second thread for events.
  auto ready = [&] {
    const std::string ps = Live::ps();
    std::size_t there = 0;
    for (const std::string& node : receivers) there += test::match(ps, node + " +[0-9]+ +2 +1 +mckey").empty() ? 0 : 1;
    return there == receivers.size();
  };
  for (int i = 0; i < test::slowed(100) && !ready(); ++i) std::this_thread::sleep_for(100ms);
  bool well = world.shell("exec " + sender + " -- " + options + sender + " -s", "sender") == 0;
  EXPECT_TRUE(well) << world.output("sender");
  for (std::size_t i = 0; i < receivers.size(); ++i) {
    threads[i].join();
    EXPECT_EQ(statuses[i], 0) << receivers[i] << "\n" << world.output("receiver-" + receivers[i]);
    well = well && statuses[i] == 0;
  }
  return well;
}

TEST(CmMore, UdaddyExchangesDatagrams) {
  for (const char* clock : kClocks) {
    Live world("two-node-25g.yaml", clock_option(clock));
    auto said = world.run_well("vm00", "udaddy -c 3 -C 5 -S 1000", "vm01", "udaddy -c 3 -C 5 -S 1000 -s vm00");
    EXPECT_NE(said.server.find("sending replies"), said.server.npos) << said.server;
    EXPECT_NE(said.client.find("data transfers complete"), said.client.npos) << said.client;
  }
}

// Its main thread waits for the others in sched_yield, which must not cost it the time-wait of a second.
TEST(CmMore, CmtimeEndsWithoutTimeWait) {
  Live world("two-node-25g.yaml");
  std::thread server([&] { world.shell("exec vm00 -- cmtime -c 20", "server"); });
  for (int i = 0; i < test::slowed(50) && Live::pid_on("vm00") == 0; ++i) std::this_thread::sleep_for(100ms);
  EXPECT_EQ(world.shell("exec vm01 -- cmtime -c 20 -s vm00", "client"), 0);
  const std::string said = world.output("client");
  for (const char* step :
       {"create id", "resolve addr", "resolve route", "create qp", "connect", "disconnect", "destroy"}) {
    EXPECT_GE(figure(said, step, 3), 0) << said;
    // Each of them takes a round trip at most, all twenty at once: some microseconds.
    EXPECT_LT(figure(said, step, 3), 0.03) << step << ", in ms\n" << said;
  }
  if (const int pid = Live::pid_on("vm00"); pid != 0) kill(pid, SIGTERM);
  server.join();
}

// A frame to a group has its MAC and IP address, queue pair 0xffffff and a DETH, at every port once.
TEST(CmMore, GroupReachesMembersBehindRingOfSwitches) {
  if (!has_program("tshark")) GTEST_SKIP() << "no tshark";
  const TempDir dir;
  const std::string out = dir.file("out");
  {
    Live world(Live::File{ring_lab(dir)}, "--capture h0:p0,h1:p0,h2:p0,h3:p0 --out " + out);
    run_mckey(world, {"h0", "h1", "h3"}, "h2");
  }
  constexpr const char* kFields[] = {"frame.interface_name", "eth.dst", "ip.dst", "infiniband.bth.destqp",
                                     "infiniband.deth.q_key"};
  std::map<std::string, int> frames;
  for (const Dissection& frame : dissect(out + "/capture.pcapng", kFields)) {
    if (!frame.contains("ip.dst") || frame.at("ip.dst").front() != "239.1.2.3") continue;
    ++frames[frame.at("frame.interface_name").front()];
    EXPECT_EQ(frame.at("eth.dst").front(), "01:00:5e:01:02:03");
    EXPECT_EQ(number(frame.at("infiniband.bth.destqp").front()), 0xffffffU);
    EXPECT_TRUE(frame.contains("infiniband.deth.q_key"));
  }
  EXPECT_EQ(frames, (std::map<std::string, int>{{"h0:p0", 10}, {"h1:p0", 10}, {"h2:p0", 10}, {"h3:p0", 10}}));
}

TEST(CmMore, GroupWorksByWallClock) {
  Live world(kOneSwitch, "--clock wall");
  run_mckey(world, {"h0", "h1"}, "h3");
}

// 4,096 of 4,096 + 8 (DETH) + 82 bytes at 25 Gb/s.
TEST(CmMore, PerftestToGroupFillsCable) {
  Live world("two-node-25g.yaml");
  auto row = row_of(world.pair("vm00", "vm01",
                               "ib_send_bw -F -x 3 -c UD -g -M 0:0:0:0:0:0:0:0:0:0:255:255:239:1:2:3 -n 1000 "
                               "--report_gbits"));
  ASSERT_GE(row.size(), 4U);
  EXPECT_NEAR(row[3], 25.0 * 4096 / 4186, 0.1);
}

TEST(CmMore, RstreamVerifiesBytesAndFillsCable) {
  for (const char* clock : kClocks) {
    Live world(kOneSwitch, clock_option(clock));
    for (const char* test :
         {"-T b -T v -S 5000 -I 20 -C 10", "-T a -T v -S 3001 -I 20 -C 10", "-S 65536 -I 2 -C 100"}) {
      auto said = world.run_well("h0", std::string("rstream ") + test, "h3", std::string("rstream -s h0 ") + test);
      const double rate_Gbps = figure(said.client, "custom", 1);
      EXPECT_GT(rate_Gbps, 0) << said.client;
      // 4,096 of 4,178 bytes, less the turns.
      if (std::string(clock) == "virtual" && test[1] == 'S') EXPECT_NEAR(rate_Gbps, 97.2, 0.8) << said.client;
    }
  }
}

// How far the world has come when they are started decides nothing, not even how its clock is rounded to microseconds.
TEST(CmMore, RstreamPrintsSameEachTime) {
  Live world(kOneSwitch);
  const std::string test = "rstream -S 65536 -I 2 -C 100";
  std::set<std::string> figures;
  for (const char* idle : {"0", "0.0000003", "0.0011117", "0.0000008"}) {
    ASSERT_EQ(world.shell(std::string("exec h1 -- sleep ") + idle), 0) << world.output();
    figures.insert(world.run_well("h0", test, "h3", test + " -s h0").client);
  }
  EXPECT_EQ(figures.size(), 1U) << testing::PrintToString(figures);
  EXPECT_EQ(Live::ps().find("not deterministic"), std::string::npos) << Live::ps();
}

TEST(CmMore, RiostreamWritesMappedMemory) {
  for (const char* clock : kClocks) {
    Live world(kOneSwitch, clock_option(clock));
    world.run_well("h0", "riostream -T v -S 64 -I 3 -C 1", "h3", "riostream -T v -S 64 -I 3 -C 1 -s h0");
  }
}

TEST(CmMore, RcopyCopiesFile) {
  const TempDir dir;
  std::string bytes(3'000'000, 0);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 2654435761U >> 13);
  std::ofstream(dir.file("from"), std::ios::binary) << bytes;
  for (const char* clock : kClocks) {
    Live world(kOneSwitch, clock_option(clock));
    const std::string to = dir.file(std::string("to-") + clock);
    std::thread server([&] { world.shell("exec h0 -- rcopy", "server"); });
    int status = -1;
    for (int i = 0; i < test::slowed(50) && Live::pid_on("h0") == 0; ++i) std::this_thread::sleep_for(100ms);
    status = world.shell("exec h3 -- rcopy " + dir.file("from") + " h0:" + to, "client");
    EXPECT_EQ(status, 0) << world.output("client");
    // It waits for the next: there is no end.
    if (const int pid = Live::pid_on("h0"); pid != 0) kill(pid, SIGTERM);
    server.join();
    EXPECT_EQ(text_of(to), bytes) << clock;
  }
}

// Datagram sockets: every message is counted by the server, and echoed.
TEST(CmMore, UdpongExchangesMessages) {
  for (const char* clock : kClocks) {
    Live world(kOneSwitch, clock_option(clock));
    for (const char* test : {"-S 1000 -C 20", "-T e -S 64 -C 20"}) {
      std::thread server([&] { world.shell(std::string("exec h0 -- udpong -b h0 ") + test, "server"); });
      for (int i = 0; i < test::slowed(50) && Live::pid_on("h0") == 0; ++i) std::this_thread::sleep_for(100ms);
      EXPECT_EQ(world.shell(std::string("exec h3 -- udpong -s h0 ") + test, "client"), 0) << world.output("client");
      const double transfers = figure(world.output("client"), "custom", 4);
      EXPECT_EQ(transfers, test[1] == 'T' ? 40 : 20) << world.output("client");
      if (const int pid = Live::pid_on("h0"); pid != 0) kill(pid, SIGTERM);
      server.join();
    }
  }
}

std::string rsocket_preload() {
  for (const char* place : {"/usr/lib/aarch64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/usr/lib64"}) {
    const std::string path = std::string(place) + "/rsocket/librspreload.so";
    if (fs::exists(path)) return path;
  }
  return "";
}

// A program of TCP sockets, whose calls Debian's librspreload.so turns into those of rsockets.
TEST(CmMore, TcpProgramRunsOverRsockets) {
  const std::string preload = rsocket_preload();
  ASSERT_FALSE(preload.empty()) << "librdmacm1 has it";
  if (!has_program("iperf3")) GTEST_SKIP() << "no iperf3";
  for (const char* clock : kClocks) {
    Live world(kOneSwitch, clock_option(clock));
    const std::string start = "sh -c 'LD_PRELOAD=\"" + preload + " $LD_PRELOAD\" exec iperf3 ";
    auto said = world.run_well("h0", start + "-s -1 --forceflush'", "h3", start + "-c 10.0.0.1 -n 20M -J'");
    auto found = test::match(said.client, "\"sum_received\":[^}]*\"bits_per_second\":\\s*([0-9.e+]+)");
    ASSERT_FALSE(found.empty()) << said.client;
    const double rate_Gbps = std::stod(found[1]) / 1e9;
    if (std::string(clock) == "virtual") {
      // Its buffers of 128 KiB are less than what the line takes in a round trip with the first burst over PCIe.
      EXPECT_NEAR(rate_Gbps, 80, 3);
    } else {
      EXPECT_GT(rate_Gbps, 0);
    }
  }
}

// Ethernet has no subnet manager, and the node no umad device: as on a host without the ib_umad module.
TEST(CmMore, ManagementDatagramsOfProgramsAreRefusedWithReason) {
  for (const char* clock : kClocks) {
    Live world("two-node-25g.yaml", clock_option(clock));
    EXPECT_NE(world.shell("exec vm00 -- ibping -S"), 0);
    const std::string said = world.output();
    EXPECT_NE(said.find("/sys/class/infiniband_mad/abi_version"), said.npos) << said;
    EXPECT_NE(said.find("is ib_umad module loaded?"), said.npos) << said;
    for (const char* program : {"sminfo", "perfquery", "smpquery nodeinfo 0", "iblinkinfo"}) {
      EXPECT_NE(world.shell(std::string("exec vm00 -- ") + program), 0) << program;
      EXPECT_NE(world.output().find("can't open UMAD port"), std::string::npos) << program << "\n" << world.output();
    }
    EXPECT_EQ(world.shell("exec vm00 -- ibstat"), 0) << "it needs no MAD";
    EXPECT_NE(world.output().find("Link layer: Ethernet"), std::string::npos) << world.output();
  }
}

// Endpoints of rdma_create_ep, which are synchronous. XRC by RDMA CM is refused at both ends.
TEST(CmMore, EndpointsOfXserverAndXclientConnect) {
  for (const char* clock : kClocks) {
    Live world("two-node-25g.yaml", clock_option(clock));
    // RC; then XRC: a target, whose shared receive queue's number comes with the REP.
    for (const std::string type : {"", " -c x"}) {
      const Live::Said said = world.run_well("vm00", "rdma_xserver" + type, "vm01", "rdma_xclient -s vm00" + type);
      EXPECT_NE(said.client.find("end 0"), said.client.npos) << said.client;
      EXPECT_NE(said.server.find("end 0"), said.server.npos) << said.server;
    }
  }
}

}  // namespace
}  // namespace weft
