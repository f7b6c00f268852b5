// qperf, fio and iSER over RDMA, as Debian has them: figures in virtual time, bytes in both clocks.
#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "interop/interop_support.h"
#include "interop/live_world.h"
#include "support/matching.h"
#include "support/slowdown.h"

namespace weft::interop {
namespace {

// 4,096 B of payload in 4,178 B of line (BTH 12, ICRC 4, IPv4 and UDP 28, Ethernet 14, FCS 4, preamble and gap 20).
constexpr double kGoodput = 4096.0 / 4178;

// A test of qperf lasts a second at least, whatever the messages are worth. A cable of 40 km makes few of them, and
// its 4.9 ns/m are what qperf has to print.
constexpr double kCable_us = 40e3 * 4.9e-3;
Live::File long_lab(const TempDir& dir) {
  const std::string path = dir.file("long.yaml");
  std::ofstream(path) << test::replaced(text_of(WEFT_SOURCE_DIR "/labs/two-node-25g.yaml"), "length: 3 m",
                                        "length: 40 km, rate: 10 Gb/s");
  return {path};
}

// What qperf prints for a test, in us, B/s or messages per second.
double figure(const std::string& said, const std::string& test) {
  const std::vector<std::string> found =
      test::match(said, "(^|\n)" + test + ":\\s+[a-z_]+ += +([0-9.]+) ([A-Za-z]*)(/sec)?\n");
  if (found.empty()) return NAN;
  const std::string& unit = found[3];
  double scale = 1;
  if (unit == "ns") scale = 1e-3;
  if (unit == "ms" || unit[0] == 'K') scale = 1e3;
  if (unit[0] == 'M') scale = 1e6;
  if (unit[0] == 'G') scale = 1e9;
  return std::stod(found[2]) * scale;
}

TEST(Qperf, SeriesOverRdmaCmPrintsWhatCableAllows) {
  const TempDir dir;
  Live world(long_lab(dir));
  const Live::Said said = world.run_well("vm00", "qperf", "vm01",
                                         "qperf vm00 -t 1 -cm1 -m 1M rc_bw -cm1 -m 1 rc_lat rc_rdma_write_lat "
                                         "rc_rdma_read_lat -m 64K rc_rdma_read_bw ver_rc_fetch_add ver_rc_compare_swap "
                                         "tcp_bw quit");
  // qperf counts time in ticks of 10 ms.
  EXPECT_NEAR(figure(said.client, "rc_bw"), 10e9 / 8 * kGoodput, 0.02 * 10e9 / 8) << said.client;
  // One way, with what NIC and CPU add; a READ there and back.
  for (const char* test : {"rc_lat", "rc_rdma_write_lat"}) {
    EXPECT_GT(figure(said.client, test), kCable_us) << said.client;
    EXPECT_LT(figure(said.client, test), kCable_us + 5) << said.client;
  }
  EXPECT_GT(figure(said.client, "rc_rdma_read_lat"), 2 * kCable_us) << said.client;
  EXPECT_LT(figure(said.client, "rc_rdma_read_lat"), 2 * kCable_us + 5) << said.client;
  // qperf connects with an initiator depth of 1: one READ or atomic at a time. It compares what atomics return.
  const double read_us = 2 * kCable_us + 65536 * 8e-4 / kGoodput;
  EXPECT_NEAR(figure(said.client, "rc_rdma_read_bw"), 65536e6 / read_us, 0.02 * 65536e6 / read_us) << said.client;
  for (const char* test : {"ver_rc_fetch_add", "ver_rc_compare_swap"})
    EXPECT_NEAR(figure(said.client, test), 0.5e6 / kCable_us, 0.02 * 0.5e6 / kCable_us) << said.client;
  // The management network: 1 Gb/s, 1448 of 1538 bytes.
  EXPECT_NEAR(figure(said.client, "tcp_bw"), 1e9 / 8 * 1448 / 1538, 0.02e9 / 8) << said.client;
}

TEST(Qperf, RunsByWallClock) {
  Live world("two-node-25g.yaml", "--clock wall");
  const Live::Said said = world.run_well("vm00", "qperf", "vm01", "qperf vm00 -t 1 -cm1 rc_bw ver_rc_fetch_add quit");
  EXPECT_GT(figure(said.client, "rc_bw"), 0) << said.client;
  EXPECT_LT(figure(said.client, "rc_bw"), 1.02 * 25e9 / 8 * kGoodput) << said.client;
  EXPECT_GT(figure(said.client, "ver_rc_fetch_add"), 0) << said.client;
}

// qperf 0.4.11 without RDMA CM knows LIDs only, and RoCE has none: mlx5 asks for a GRH. RDS and SDP are sockets of
// other kernel modules. Both ends say so and go on.
TEST(Qperf, RefusesWhatRoceHasNot) {
  for (const char* clock : {"virtual", "wall"}) {
    Live world("two-node-25g.yaml", std::string("--clock ") + clock);
    std::string asks = "sh -c '";
    for (const char* test : {"rc_lat", "uc_bw", "ud_lat", "uc_rdma_write_lat", "rds_lat", "sdp_lat"})
      asks += std::string("qperf vm00 -t 1 ") + test + "; echo ended with $?; ";
    const Live::Said said = world.run_well("vm00", "qperf", "vm01", asks + "qperf vm00 quit'");
    EXPECT_EQ(test::matches(said.client, "ended with 1").size(), 6U) << said.client;
    EXPECT_EQ(test::matches(said.client, "failed to modify QP to RTR: Invalid argument").size(), 3U) << said.client;
    EXPECT_EQ(test::matches(said.client, "failed to create address handle: Invalid argument").size(), 1U)
        << said.client;
  }
}

// One process for each job. In virtual time fio takes seconds to measure the CPU's counter, whose reads are trapped.
// Senders ask for no RNR retry, so that the receiver has as many buffers as there are messages; it verifies each.
TEST(Fio, MovesBytesByEveryVerb) {
  const std::string common = "fio --ioengine=rdma --bs=64k --size=8m --iodepth=8 --verify_state_save=0 ";
  const std::string server = common +
                             "--name=w --port=8881 --rw=read "
                             "--name=r --port=8882 --rw=read --stonewall "
                             "--name=s --port=8883 --rw=read --stonewall --iodepth=128 --verify=crc32c";
  const std::string client = common +
                             "--hostname=vm00 "
                             "--name=w --port=8881 --rw=write --verb=write "
                             "--name=r --port=8882 --rw=write --verb=read --stonewall "
                             "--name=s --port=8883 --rw=write --verb=send --stonewall --verify=crc32c";
  for (const char* clock : {"virtual", "wall"}) {
    Live world("two-node-25g.yaml", std::string("--clock ") + clock);
    const Live::Said said = world.run_well("vm00", server, "vm01", client);
    EXPECT_EQ(test::matches(said.client, "err= 0").size(), 3U) << said.client;
    EXPECT_EQ(test::matches(said.client, "\\(8192KiB/").size(), 3U) << said.client;
    EXPECT_EQ(test::matches(said.server, "err= 0").size(), 3U) << said.server;
    EXPECT_EQ(test::matches(said.server, "read: IOPS=.*\\(8192KiB/").size(), 1U) << said.server;
    if (std::string(clock) == "wall") continue;
    // Eight messages are under way: each takes the time of eight on the line. READs go one at a time (initiator depth
    // 1), each with the way there and back and the first 32 KiB over PCIe 3.0 x8, at 53 Gb/s.
    const std::vector<std::string> clat_us = test::matches(said.client, "clat \\(usec\\):[^\n]*avg= *([0-9.]+)", 1);
    ASSERT_EQ(clat_us.size(), 3U) << said.client;
    const double message_us = 65536 * 8e-3 / 25 / kGoodput;
    EXPECT_NEAR(std::stod(clat_us[0]), 8 * message_us, 4);
    EXPECT_NEAR(std::stod(clat_us[1]), 8 * (message_us + 1.8 + 32768 * 8e-3 / 53), 8);
    EXPECT_NEAR(std::stod(clat_us[2]), 8 * message_us, 4);
  }
}

// The receiver's check finds what was not written for it.
TEST(Fio, VerifyFindsOtherBytes) {
  Live world("two-node-25g.yaml", "--clock wall");
  const std::string job =
      "fio --name=j --ioengine=rdma --port=8888 --bs=64k --size=1m --iodepth=16 --verify_state_save=0 ";
  const Live::Said said = world.run("vm00", job + "--rw=read --verify=crc32c", "vm01",
                                    job + "--rw=write --hostname=vm00 --verb=send --verify=0");
  EXPECT_NE(said.server_status, 0);
  EXPECT_NE(said.server.find("verify: bad magic header"), said.server.npos) << said.server;
}

// A disk of tgtd, which WRITEs and READs the memory of libiscsi's programs. It admits who is named by address and name.
class Iser {
 public:
  explicit Iser(const std::string& clock) : world_("two-node-25g.yaml", "--clock " + clock) {
    std::ofstream(dir_.file("disk")) << std::string(4 << 20, 0);
    const std::string tgtadm = "tgtadm -C 77 --lld iser --mode ";
    std::ofstream(dir_.file("serve")) << "export TGT_IPC_SOCKET=" << dir_.file("ipc") << "\n"
                                      << "tgtd -f -C 77 & daemon=$!\n"
                                      << "until tgtadm -C 77 --op show --mode sys; do sleep 0.1; done >/dev/null 2>&1\n"
                                      << tgtadm << "target --op new --tid 1 --targetname iqn.2026-01.lab:disk\n"
                                      << tgtadm << "logicalunit --op new --tid 1 --lun 1 --backing-store "
                                      << dir_.file("disk") << "\n"
                                      << tgtadm << "target --op bind --tid 1 -Q iqn.2026-01.lab:host\n"
                                      << tgtadm << "target --op bind --tid 1 -I ALL\n"
                                      << "echo $daemon >" << dir_.file("ready") << "\nwait\n";
    server_ = std::thread([this] { world_.shell("exec vm00 -- sh " + dir_.file("serve"), "server"); });
    for (int i = 0; i < test::slowed(100) && !fs::exists(dir_.file("ready")); ++i) std::this_thread::sleep_for(100ms);
  }
  ~Iser() {
    if (const int pid = std::atoi(text_of(dir_.file("ready")).c_str()); pid > 0) kill(pid, SIGKILL);
    server_.join();
  }
  int run(const std::string& program) const {
    return world_.shell("exec vm01 -- " + program + " iser://vm00/iqn.2026-01.lab:disk/1", "client");
  }
  std::string client() const { return world_.output("client"); }
  std::string server() const { return world_.output("server"); }

 private:
  TempDir dir_;
  Live world_;
  std::thread server_;
};

TEST(IserPrograms, DiskIsReadAndWritten) {
  Iser disk("wall");
  EXPECT_EQ(disk.run("iscsi-inq -i iqn.2026-01.lab:host"), 0) << disk.client() << disk.server();
  EXPECT_NE(disk.client().find("DIRECT_ACCESS"), std::string::npos) << disk.client();
  for (const char* test : {"SCSI.Write10.Simple", "SCSI.Read10.Simple", "SCSI.WriteSame10.Simple"}) {
    EXPECT_EQ(disk.run(std::string("iscsi-test-cu -d -i iqn.2026-01.lab:host -t ") + test), 0) << disk.client();
    EXPECT_NE(disk.client().find("Test: Simple ...passed"), std::string::npos) << test << "\n" << disk.client();
  }
}

TEST(IserPrograms, DiskAnswersInVirtualTime) {
  Iser disk("virtual");
  EXPECT_EQ(disk.run("iscsi-inq -i iqn.2026-01.lab:host"), 0) << disk.client() << disk.server();
  EXPECT_NE(disk.client().find("DIRECT_ACCESS"), std::string::npos) << disk.client();
}

}  // namespace
}  // namespace weft::interop
