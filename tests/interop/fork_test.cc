// Programs that fork and execute others: their sockets and RDMA CM objects, in both clocks.
#include <gtest/gtest.h>

#include "interop/live_world.h"

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

}  // namespace
}  // namespace weft::interop
