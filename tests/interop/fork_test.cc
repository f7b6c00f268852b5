// Programs that fork and execute others: their sockets and RDMA CM objects, in both clocks.
#include <gtest/gtest.h>

#include "interop/live_world.h"
#include "support/matching.h"

namespace weft::interop {
namespace {

class Fork : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Clocks, Fork, ::testing::Values("virtual", "wall"));

TEST_P(Fork, SocketsLiveUntilLastHolderCloses) {
  Live world("two-node-25g.yaml", std::string("--clock ") + GetParam());
  const Live::Said said = world.run_well("vm00", WEFT_FORK_PROBE " serve", "vm01", WEFT_FORK_PROBE " ask vm00");
  EXPECT_NE(said.client.find("close all: ok"), said.client.npos) << said.client;
  EXPECT_EQ(Live::pid_on("vm00"), 0) << "no child is left behind";
}

// fio starts a process for each job. In virtual time it takes seconds to measure the CPU's counter, whose reads are
// trapped.
TEST(ForkPrograms, FioWritesOverRdma) {
  const std::string job = "fio --name=j --ioengine=rdma --port=8888 --bs=64k --size=16m --iodepth=8";
  {
    Live world("two-node-25g.yaml");
    const Live::Said said =
        world.run_well("vm00", job + " --rw=read", "vm01", job + " --rw=write --hostname=vm00 --verb=write");
    // Eight messages of 64 KiB are under way: each takes the time of eight on the line, 16 packets of 4096 B and 82 B
    // of framing each.
    const std::vector<std::string> found = test::match(said.client, "clat \\(usec\\):[^\n]*avg= *([0-9.]+)");
    ASSERT_EQ(found.size(), 2U) << said.client;
    EXPECT_NEAR(std::stod(found[1]), 8 * 16 * (4096 + 82) * 8e-3 / 25, 4);
  }
  Live world("two-node-25g.yaml", "--clock wall");
  for (const char* verb : {"write", "read"}) {
    const Live::Said said =
        world.run_well("vm00", job + " --rw=read", "vm01", job + " --rw=write --hostname=vm00 --verb=" + verb);
    EXPECT_NE(said.client.find("io=16.0MiB"), said.client.npos) << verb << "\n" << said.client;
  }
}

}  // namespace
}  // namespace weft::interop
