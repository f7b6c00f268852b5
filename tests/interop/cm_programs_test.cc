// Unmodified programs that connect by RDMA CM, in virtual time: the handshake goes over the simulated wire.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "interop/live_world.h"
#include "interop/tshark_fields.h"
#include "support/slowdown.h"

namespace weft {
namespace {

using namespace interop;

struct Place {
  const char *lab, *server, *client;
};
constexpr Place kCable = {"two-node-25g.yaml", "vm00", "vm01"};
constexpr Place kSwitch = {"live/one-switch-100g.yaml", "h0", "h3"};

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// rping: the client's buffer is read and written by the server; ping n begins with letter n of the alphabet (rping.c).
TEST(CmPrograms, RpingPrintsPings) {
  for (const Place& place : {kCable, kSwitch}) {
    Live world(place.lab);
    auto said = world.run_well(place.server, "rping -s -v -C 10", place.client,
                               std::string("rping -c -v -C 10 -a ") + place.server);
    for (const std::string& text : {said.client, said.server}) {
      EXPECT_EQ(count_of(text, "ping data: rdma-ping-"), 10U) << text;
      EXPECT_NE(text.find("ping data: rdma-ping-0: ABCDEFGHIJKLMNOPQRSTUVWXYZ"), text.npos) << text;
      EXPECT_NE(text.find("ping data: rdma-ping-9: JKLMNOPQRSTUVWXYZ"), text.npos) << text;
    }
  }
}

TEST(CmPrograms, RunsUcmatoseWithSynchronousCalls) {
  for (const Place& place : {kCable, kSwitch}) {
    Live world(place.lab);
    auto said =
        world.run_well(place.server, "ucmatose -c 5", place.client, std::string("ucmatose -c 5 -s ") + place.server);
    EXPECT_NE(said.client.find("return status 0"), std::string::npos) << said.client;
    EXPECT_NE(said.server.find("return status 0"), std::string::npos) << said.server;
    said = world.run_well(place.server, "rdma_server", place.client, std::string("rdma_client -s ") + place.server);
    EXPECT_NE(said.client.find("rdma_client: end 0"), std::string::npos) << said.client;
    EXPECT_NE(said.server.find("rdma_server: end 0"), std::string::npos) << said.server;
  }
}

TEST(CmPrograms, PerftestOverRdmaCmMatchesSockets) {
  for (const Place& place : {kCable, kSwitch}) {
    Live world(place.lab);
    auto by_socket = row_of(world.pair(place.server, place.client, "ib_write_bw -F -x 3 --report_gbits"));
    auto by_cm = row_of(world.pair(place.server, place.client, "ib_write_bw -F -R --report_gbits"));
    ASSERT_GE(by_socket.size(), 4U);
    ASSERT_GE(by_cm.size(), 4U);
    EXPECT_NEAR(by_cm[3], by_socket[3], by_socket[3] * 0.01);
    auto latency = row_of(world.pair(place.server, place.client, "ib_send_lat -F -x 3 -n 200"));
    auto cm_latency = row_of(world.pair(place.server, place.client, "ib_send_lat -F -R -n 200"));
    ASSERT_GE(latency.size(), 5U);
    ASSERT_GE(cm_latency.size(), 5U);
    EXPECT_NEAR(cm_latency[4], latency[4], latency[4] * 0.01);
  }
}

TEST(CmPrograms, RunsPerftestDatagramsOverRdmaCm) {
  Live world(kSwitch.lab);
  auto row = row_of(world.pair("h1", "h2", "ib_send_bw -F -R -c UD -n 200"));
  ASSERT_GE(row.size(), 4U);
  EXPECT_GT(row[3], 0);
}

// As Wireshark sees it: five MADs, and each side sends with the PSN that the other has named.
TEST(CmPrograms, CapturesHandshake) {
  if (!has_program("tshark")) GTEST_SKIP() << "no tshark";
  const TempDir dir;
  {
    Live world(kCable.lab, "--capture vm01:p0 --out " + dir.file("out"));
    world.run_well("vm00", "rping -s -C 1", "vm01", "rping -c -C 1 -a vm00");
  }
  constexpr const char* kFields[] = {"ip.src",
                                     "infiniband.mad.attributeid",
                                     "infiniband.cm.req.startpsn",
                                     "infiniband.cm.rep.startpsn",
                                     "infiniband.bth.opcode",
                                     "infiniband.bth.psn"};
  std::vector<std::uint64_t> mads;
  std::map<std::string, std::uint64_t> named, used;  // by who sends
  for (const Dissection& frame : dissect(dir.file("out") + "/capture.pcapng", kFields)) {
    if (frame.contains("infiniband.mad.attributeid"))
      mads.push_back(number(frame.at("infiniband.mad.attributeid").front()));
    if (frame.contains("infiniband.cm.req.startpsn"))
      named["10.0.0.1"] = number(frame.at("infiniband.cm.req.startpsn").front());
    if (frame.contains("infiniband.cm.rep.startpsn"))
      named["10.0.0.2"] = number(frame.at("infiniband.cm.rep.startpsn").front());
    // The first RC request of each.
    if (number(frame.at("infiniband.bth.opcode").front()) <= 0x0c)
      used.emplace(frame.at("ip.src").front(), number(frame.at("infiniband.bth.psn").front()));
  }
  EXPECT_EQ(mads, (std::vector<std::uint64_t>{0x10, 0x13, 0x14, 0x15, 0x16})) << "REQ REP RTU DREQ DREP";
  EXPECT_EQ(used, named);
}

// Linux waits twice 256 ms, for the way, and 4,096 ms, for the answer, before it sends a REQ again.
TEST(CmPrograms, RetransmitsLostRequest) {
  std::string lab = text_of(WEFT_SOURCE_DIR "/labs/two-node-25g.yaml");
  lab = lab.substr(0, lab.find("\nworkloads:")) +
        "\nfaults:\n  - {link: \"vm01:p0\", action: drop, frames: request, qp: 0, psn: 0}\n";
  std::string path = testing::TempDir() + "/lost-req-" + std::to_string(getpid()) + ".yaml";
  std::ofstream(path) << lab;
  {
    Live world(Live::File{path});
    auto said = world.run_well("vm00", "rping -s -v -C 2", "vm01", "rping -c -v -C 2 -a vm00");
    EXPECT_EQ(count_of(said.client, "ping data"), 2U) << said.client;
    EXPECT_GE(Live::now_s(), 4.608);
    // On a busy machine the clock may reach the end of TIMEWAIT, 1.02 s later, before the client's process has ended.
    EXPECT_LT(Live::now_s(), 4.7 + 1.03) << "sent once more, not twice";
  }
  fs::remove(path);
}

TEST(CmPrograms, ReportsRefusedAndUnreachable) {
  Live world(kCable.lab);
  EXPECT_NE(world.shell("exec vm01 -- rping -c -v -C 1 -a vm00"), 0);
  EXPECT_NE(world.output().find("RDMA_CM_EVENT_REJECTED, error 8"), std::string::npos) << world.output();
  EXPECT_NE(world.shell("exec vm01 -- rping -c -v -C 1 -a 10.0.0.99"), 0);
  EXPECT_NE(world.output().find("RDMA_CM_EVENT_ADDR_ERROR"), std::string::npos) << world.output();
}

// The kernel closes a dead program's ids: its peer gets a DREQ, not a retry error after seconds.
TEST(CmPrograms, KilledPeerDisconnects) {
  Live world(kCable.lab);
  std::thread killer([&] {
    std::this_thread::sleep_for(test::slowed(2500ms));
    int pid = world.pid_on("vm00");
    EXPECT_GT(pid, 0);
    if (pid > 0) kill(pid, SIGKILL);
  });
  auto said = world.run("vm00", "rping -s", "vm01", "rping -c -a vm00 -C 1000000");
  killer.join();
  EXPECT_NE(said.client.find("client DISCONNECT EVENT"), std::string::npos) << said.client;
  ASSERT_EQ(world.shell("exec vm00 ibv_devices"), 0) << world.output();
}

}  // namespace
}  // namespace weft
