// Libraries of Debian that speak verbs and RDMA CM and have no program there: programs of ours over them.
#include <gtest/gtest.h>

#include "interop/live_world.h"

namespace weft::interop {
namespace {

class Libraries : public ::testing::TestWithParam<const char*> {
 protected:
  Live world_{"two-node-25g.yaml", std::string("--clock ") + GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Clocks, Libraries, ::testing::Values("virtual", "wall"));

TEST_P(Libraries, GlooReducesAndBroadcasts) {
  for (const std::string transport : {"tcp", "ibverbs"}) {
    const Live::Said said = world_.run_well("vm00", WEFT_GLOO_PROBE " serve " + transport, "vm01",
                                            WEFT_GLOO_PROBE " ask " + transport + " vm00");
    EXPECT_NE(said.client.find(transport == "tcp" ? "addr=[10.0.0.2]" : "dev=mlx5_0"), said.client.npos) << said.client;
    EXPECT_NE(said.server.find("all: ok"), said.server.npos) << said.server;
  }
}

TEST_P(Libraries, RpmaWritesFlushesAndReads) {
  const Live::Said said =
      world_.run_well("vm00", WEFT_RPMA_PROBE " serve 10.0.0.1", "vm01", WEFT_RPMA_PROBE " ask 10.0.0.1");
  EXPECT_EQ(said.client, "well\n");
  EXPECT_EQ(said.server, "well\n");
}

}  // namespace
}  // namespace weft::interop
