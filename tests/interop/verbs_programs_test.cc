// Programs that use the rarer verbs: rdma-core's examples, and a script of ours over Debian's pyverbs. The whole suite
// of rdma-core needs its sources: make rdma-core-suite.
#include <sys/wait.h>

#include <csignal>

#include "live_world.h"

namespace weft::interop {
namespace {

constexpr const char* kClocks[] = {"--clock virtual", "--clock wall"};

TEST(VerbsPrograms, PyverbsUsesRareVerbs) {
  for (const char* clock : kClocks) {
    Live world("two-node-25g.yaml", clock);
    EXPECT_EQ(world.shell("exec vm00 -- /usr/bin/python3 " WEFT_SOURCE_DIR "/tests/interop/programs/rare_verbs.py"), 0)
        << world.output();
    EXPECT_EQ(world.output(),
              "windows\nextended_connection\ndevice_memory\nchanged_objects\non_demand\ndrained\nimported\nparent\n")
        << clock;
  }
}

// One connection for each client, and one receive queue for all of them.
TEST(VerbsPrograms, XrcPingpong) {
  for (const char* clock : kClocks) {
    Live world("two-node-25g.yaml", clock);
    Live::Said said = world.run("vm00", "ibv_xsrq_pingpong -g 3 -n 100 -s 9000", "vm01",
                                "ibv_xsrq_pingpong -g 3 -n 100 -s 9000 vm00");
    EXPECT_EQ(said.server_status, 0) << clock << said.server;
    EXPECT_EQ(said.client_status, 0) << clock << said.client;
    for (const std::string& each : {said.server, said.client}) EXPECT_NE(each.find("success"), each.npos) << each;
  }
}

// It waits for events of its device until it is ended.
TEST(VerbsPrograms, AsyncwatchWaits) {
  for (const char* clock : kClocks) {
    Live world("two-node-25g.yaml", clock);
    int status = world.shell("exec vm00 -- timeout -s KILL 1 stdbuf -o0 ibv_asyncwatch -d mlx5_0");
    EXPECT_EQ(WEXITSTATUS(status), 128 + SIGKILL) << world.output();
    EXPECT_NE(world.output().find("mlx5_0: async event FD"), std::string::npos) << world.output();
    EXPECT_EQ(world.shell("exec vm00 ibv_devices"), 0) << world.output();
  }
}

}  // namespace
}  // namespace weft::interop
