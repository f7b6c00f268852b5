// Unmodified programs of Debian on the simulated NICs, in virtual time: what they print is what the simulated hardware
// gives, and they print it again the next time.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <thread>

#include "interop/live_world.h"
#include "support/matching.h"
#include "support/slowdown.h"

namespace weft::interop {
namespace {

TEST(Programs, DevinfoMatchesRealDevice) {
  Live world("two-node-25g.yaml");
  ASSERT_EQ(world.shell("exec vm00 ibv_devinfo -v"), 0) << world.output();
  std::string said = world.output();
  for (const char* line : {"hca_id:\tmlx5_0", "link_layer:\t\tEthernet", "active_mtu:\t\t4096 (5)",
                           "GID[  3]:\t\t::ffff:10.0.0.1, RoCE v2", "state:\t\t\tPORT_ACTIVE (4)"})
    EXPECT_NE(said.find(line), said.npos) << line << "\n" << said;
}

// The table of [mcornea-lab]: 24.5 Gb/s for 64 KiB and 1.41 us on 25 GbE.
TEST(Programs, WriteBandwidthAndLatencyAt25Gigabit) {
  Live world("two-node-25g.yaml");
  auto bandwidth = row_of(world.pair("vm00", "vm01", "ib_write_bw -F -x 3 --report_gbits"));
  ASSERT_GE(bandwidth.size(), 4U);
  EXPECT_NEAR(bandwidth[3], 24.5, 24.5 * 0.03);
  auto both = row_of(world.pair("vm00", "vm01", "ib_write_bw -F -x 3 -b --report_gbits"));
  ASSERT_GE(both.size(), 4U);
  EXPECT_NEAR(both[3] / (2 * bandwidth[3]), 1 - 0.0013, 0.001) << "less the share of the ACKs";
  auto second = row_of(world.pair("vm00", "vm01", "ib_write_bw -F -x 3 -D 1 --report_gbits"));
  ASSERT_GE(second.size(), 4U);
  EXPECT_NEAR(second[3], bandwidth[3], 0.01 * bandwidth[3]);
  auto latency = row_of(world.pair("vm00", "vm01", "ib_write_lat -F -x 3"));
  ASSERT_GE(latency.size(), 5U);
  EXPECT_NEAR(latency[4], 1.41, 1.41 * 0.05);
}

// [mcornea-lab]: two ConnectX-4 Lx back to back; message rate in millions, then Gb/s where it is the link's.
TEST(Programs, MessageSizeSweepAt25Gigabit) {
  Live world("two-node-25g.yaml");
  struct {
    int size_B;
    double rate_Mpps;
  } const measured[] = {{2, 3.751204},    {64, 3.769190},    {512, 3.768025},    {1024, 2.766892},
                        {4096, 0.744519}, {65536, 0.046733}, {1 << 20, 0.002922}};
  for (const auto& each : measured) {
    std::string sizes =
        " -n " + std::to_string(each.size_B > 65536 ? 500 : 3000) + " -s " + std::to_string(each.size_B);
    auto row = row_of(world.pair("vm00", "vm01", "ib_write_bw -F -x 3" + sizes));
    ASSERT_GE(row.size(), 5U);
    EXPECT_NEAR(row[4], each.rate_Mpps, 0.03 * each.rate_Mpps) << each.size_B;
  }
}

TEST(Programs, SameCommandPrintsSameNumbersTwice) {
  std::array<std::string, 2> said;
  for (std::string& each : said) {
    Live world("two-node-25g.yaml");
    each = world.pair("vm00", "vm01", "ib_send_bw -F -x 3 -s 5000 -n 500");
    each += world.pair("vm00", "vm01", "ib_read_lat -F -x 3 -s 333 -n 300");
  }
  // Addresses of buffers and the keys and numbers drawn by the program itself may differ; the tables may not.
  EXPECT_EQ(row_of(said[0]), row_of(said[1])) << said[0] << said[1];
  EXPECT_EQ(said[0].substr(said[0].rfind("#bytes")), said[1].substr(said[1].rfind("#bytes")));
}

TEST(Programs, PerftestThroughSwitch) {
  Live world("live/one-switch-100g.yaml");
  auto write = row_of(world.pair("h0", "h1", "ib_write_bw -F -x 3 --report_gbits"));
  ASSERT_GE(write.size(), 4U);
  // 4,096 of 4,096 + 82 bytes; within 0.2 % of 100G's framing limit.
  EXPECT_NEAR(write[3], 100.0 * 4096 / 4178, 0.2);
  for (const char* program :
       {"ib_send_bw -F -x 3 --use-srq", "ib_send_bw -F -x 3 -e", "ib_read_bw -F -x 3 -q 4", "ib_atomic_bw -F -x 3",
        "ib_send_bw -F -x 3 -c UD", "ib_send_bw -F -x 3 -c UC -s 10001", "ib_atomic_lat -F -x 3 -n 100",
        "ib_send_lat -F -x 3 -c UD -n 200", "ib_send_bw -F -x 3 -b -s 777"}) {
    auto row = row_of(world.pair("h2", "h3", program));
    ASSERT_GE(row.size(), 4U) << program;
    EXPECT_GT(row[3], 0) << program;
  }
}

TEST(Programs, PingpongsThroughSwitch) {
  Live world("live/one-switch-100g.yaml");
  for (const char* program : {"ibv_rc_pingpong -g 3 -c", "ibv_rc_pingpong -g 3 -e -s 9999", "ibv_uc_pingpong -g 3",
                              "ibv_ud_pingpong -g 3", "ibv_srq_pingpong -g 3 -n 1000"}) {
    std::string said = world.pair("h0", "h1", program);
    EXPECT_FALSE(test::match(said, "1000 iters in 0\\.0[0-9] seconds").empty()) << said;
    EXPECT_EQ(said.find("invalid data"), said.npos) << "-c looks at every page that came\n" << said;
  }
}

// A program that dies leaves the world up and its peer with the error that a NIC gives.
TEST(Programs, KilledPeerCausesRetryErrorAndWorldSurvives) {
  Live world("two-node-25g.yaml");
  std::thread server([&] {
    [[maybe_unused]] int status = std::system(
        (test::timeout(100) + WEFT_BINARY " exec vm00 -- ib_write_bw -F -x 3 -D 20 >/dev/null 2>&1 </dev/null")
            .c_str());
  });
  std::this_thread::sleep_for(test::slowed(700ms));
  std::thread killer([&] {
    std::this_thread::sleep_for(test::slowed(1500ms));
    int pid = world.pid_on("vm00");
    EXPECT_GT(pid, 0);
    if (pid > 0) kill(pid, SIGKILL);
  });
  int status = world.shell("exec vm01 -- ib_write_bw -F -x 3 -D 20 vm00");
  std::string said = world.output();
  server.join();
  killer.join();
  EXPECT_NE(status, 0) << said;
  EXPECT_NE(said.find("Failed status 12"), std::string::npos) << said;
  ASSERT_EQ(world.shell("exec vm01 ibv_devices"), 0) << world.output();
  EXPECT_NE(world.output().find("mlx5_0"), std::string::npos);
}

// libibumad reads /sys/class/infiniband.
TEST(Programs, IbstatReadsSysfsOfNode) {
  Live world("live/one-switch-100g.yaml");
  ASSERT_EQ(world.shell("exec h2 ibstat"), 0) << world.output();
  for (const char* line : {"CA 'mlx5_0'", "State: Active", "Rate: 100", "Link layer: Ethernet"})
    EXPECT_NE(world.output().find(line), std::string::npos) << world.output();
}

TEST(Programs, CommandsExplainErrors) {
  {
    Live world("two-node-25g.yaml");
    EXPECT_NE(world.shell("up " WEFT_SOURCE_DIR "/labs/two-node-25g.yaml --name w"), 0);
    EXPECT_NE(world.output().find("a world named w is up already"), std::string::npos) << world.output();
    EXPECT_NE(world.shell("exec nobody ibv_devinfo"), 0);
    EXPECT_NE(world.output().find("has no node nobody; there are: vm00 vm01"), std::string::npos) << world.output();
    EXPECT_NE(world.shell("exec --world other vm00 ibv_devinfo"), 0);
    EXPECT_NE(world.output().find("no world named other is up; there are: w"), std::string::npos) << world.output();
    EXPECT_NE(world.shell("exec vm00"), 0);
    EXPECT_NE(world.output().find("no program"), std::string::npos) << world.output();
  }
  char name[] = "/tmp/weft-test-XXXXXX";
  std::string empty = mkdtemp(name);
  setenv("XDG_RUNTIME_DIR", empty.c_str(), 1);
  EXPECT_NE(std::system((std::string(WEFT_BINARY) + " down >" + empty + "/out 2>&1").c_str()), 0);
  EXPECT_NE(text_of(empty + "/out").find("no world is up"), std::string::npos);
  fs::remove_all(empty);
}

TEST(Programs, ExportsEverySymbolNcclResolves) {
  Live world("two-node-25g.yaml");
  EXPECT_EQ(world.shell("exec vm00 -- " WEFT_VERBS_PROBE " names"), 0) << world.output();
  EXPECT_NE(world.output().find("26 of 26 names resolved"), std::string::npos) << world.output();
}

TEST(Programs, DeliversAsynchronousEvents) {
  Live world("two-node-25g.yaml");
  EXPECT_EQ(world.shell("exec vm00 -- " WEFT_VERBS_PROBE " events"), 0) << world.output();
  EXPECT_EQ(
      world.output(),
      "communication established of the receiving end\nlocal access violation work queue error of the receiving end\n");
}

// The recipe of docs/live.md: a client behind its server, and here even before it.
TEST(Programs, ClientMayStartBeforeServer) {
  Live world("two-node-25g.yaml");
  for (const std::string program : {"ib_write_bw -x 3 -n 100", "rping"}) {
    const bool cm = program == "rping";
    int client_status = -1;
    std::thread client([&] {
      client_status = world.shell("exec vm01 -- " + program + (cm ? " -c -C 2 -a vm00" : " vm00"), "client");
    });
    while (Live::pid_on("vm01") == 0) std::this_thread::sleep_for(10ms);
    EXPECT_EQ(world.shell("exec vm00 -- " + program + (cm ? " -s -C 2" : ""), "server"), 0) << world.output("server");
    client.join();
    EXPECT_EQ(client_status, 0) << world.output("client");
    // rping's TIMEWAIT of 1.02 s may be among it; a REQ is retransmitted after 4.6 s.
    EXPECT_LT(Live::now_s(), 4.0) << "no time-out of the client has ended meanwhile";
  }
}

// Shells and coreutils, too, find the devices of the node and their counters.
TEST(Programs, ShowsSysfsOfNode) {
  Live world("two-node-25g.yaml");
  EXPECT_EQ(world.shell("exec vm00 -- ls /sys/class/infiniband"), 0);
  EXPECT_EQ(world.output(), "mlx5_0\n");
  EXPECT_EQ(world.shell("exec vm00 -- ibstatus"), 0);
  EXPECT_NE(world.output().find("Infiniband device 'mlx5_0' port 1 status:"), std::string::npos) << world.output();
  EXPECT_NE(world.output().find("25 Gb/sec (1X EDR)"), std::string::npos) << world.output();
  EXPECT_EQ(world.output().find("unknown"), std::string::npos) << world.output();
  const std::string counter = "rx_write_requests", folder = "/sys/class/infiniband/mlx5_0/ports/1/hw_counters";
  EXPECT_EQ(world.shell("exec vm00 -- sh -c 'cat " + folder + "/*'"), 0) << world.output();
  world.run_well("vm00", "ib_write_bw -x 3 -n 100", "vm01", "ib_write_bw -x 3 -n 100 vm00");
  EXPECT_EQ(world.shell("exec vm00 -- cat " + folder + "/" + counter), 0);
  EXPECT_EQ(world.output(), "100\n");
  EXPECT_EQ(world.shell("exec vm00 -- sh -c 'cd " + folder + " && cat " + counter + "'"), 0);
  EXPECT_EQ(world.output(), "100\n");
  EXPECT_EQ(world.shell("exec vm01 -- cat " + folder + "/" + counter), 0);
  EXPECT_EQ(world.output(), "0\n");
}

TEST(Programs, RejectsRoceV1WithReason) {
  Live world("two-node-25g.yaml");
  Live::Said said = world.run("vm00", "ib_write_bw -x 0", "vm01", "ib_write_bw -x 0 vm00");
  EXPECT_NE(said.client_status, 0);
  EXPECT_NE(said.client.find("GID index 0 of mlx5_0 is RoCE v1"), std::string::npos) << said.client;
}

TEST(Programs, SendsFromMemoryUnmappedAfterPost) {
  Live world("two-node-25g.yaml");
  EXPECT_EQ(world.shell("exec vm00 -- " WEFT_VERBS_PROBE " unmapped"), 0) << world.output();
  EXPECT_EQ(world.output(), "success, 1048576 of 1048576 bytes\n");
}

TEST(Programs, ThreadsMayPostAsFirstCall) {
  Live world("two-node-25g.yaml");
  EXPECT_EQ(world.shell("exec vm00 -- " WEFT_VERBS_PROBE " threads"), 0) << world.output();
  EXPECT_EQ(world.output(), "128 messages from 8 threads\n");
}

// The thread has been patient for a second of virtual time by then; nothing else happens that would wake it.
TEST(Programs, FindsCompletionOfQueueThatIsPolledRarely) {
  Live world("two-node-25g.yaml");
  EXPECT_EQ(world.shell("exec vm00 -- " WEFT_VERBS_PROBE " rarely"), 0) << world.output();
  EXPECT_EQ(world.output(), "success, found at once\n");
}

}  // namespace
}  // namespace weft::interop
