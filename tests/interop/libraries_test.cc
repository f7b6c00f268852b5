// Libraries of Debian that speak verbs and RDMA CM and have no program there: programs of ours over them.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "interop/live_world.h"

namespace weft::interop {
namespace {

class Libraries : public ::testing::TestWithParam<const char*> {
 protected:
  Live world_{"two-node-25g.yaml", std::string("--clock ") + GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Clocks, Libraries, ::testing::Values("virtual", "wall"),
                         [](const auto& info) { return std::string(info.param); });

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

// uDAPL's own test: WRITEs, READs and messages, every byte of which it compares. On arm64 uDAPL 2.1.10 loses an event
// when the store of its compare-and-swap fails for no reason, which it does not look at (stlxr in libdaplofa), and then
// waits without end.
TEST_P(Libraries, DaplWritesReadsAndSends) {
#if defined(__aarch64__)
  GTEST_SKIP() << "uDAPL loses events on arm64 (docs/LIMITS.md)";
#endif
  char directory[] = "/tmp/weft-dapl-XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  const std::string config = std::string(directory) + "/dat.conf";
  std::ofstream(config) << "weft u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 \"p0 0\" \"\"\n";
  const std::string dtest = "env DAT_OVERRIDE=" + config + " dtest -P weft -b 4096 -B 10 ";
  const Live::Said said = world_.run("vm00", dtest + "-s", "vm01", dtest + "-h vm00");
  for (const std::string& each : {said.client, said.server}) {
    EXPECT_NE(each.find("RDMA write buffer contains"), each.npos) << each;
    EXPECT_NE(each.find("RDMA read buffer contains"), each.npos) << each;
    EXPECT_NE(each.find("DAPL Test Complete. PASSED"), each.npos) << each;
  }
  fs::remove_all(directory);
}

}  // namespace
}  // namespace weft::interop
