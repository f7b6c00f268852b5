// Programs that use the rarer verbs: rdma-core's examples, and a script of ours over Debian's pyverbs. The whole suite
// of rdma-core needs its sources: make rdma-core-suite.
#include <sys/wait.h>

#include <csignal>

#include "interop_support.h"
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

// As Linux 6.1 answers it with rdma_rxe.
TEST(VerbsPrograms, ChildReachesObjectsOfParent) {
  for (const char* clock : kClocks) {
    Live world("two-node-25g.yaml", clock);
    ASSERT_EQ(world.shell("exec vm00 -- " WEFT_WAITS_PROBE " children_of_verbs"), 0) << clock << world.output();
    EXPECT_EQ(world.output(),
              "poll 0, then success\nquery_qp -3, then success\nmodify_qp 0, then an error\n"
              "dereg_mr 0, then an error\ndestroy_qp 0, then nothing\ndestroy_cq 1, then success\n"
              "dealloc_pd 1, then success\nclose_device 0, then success\nreg_mr 1, then success\n"
              "pd_in_use 1, then success\n")
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

// Both kinds of queue pair are given the attributes of RC; 4,096 of 4,182 bytes, with the header of XRC.
TEST(VerbsPrograms, PerftestFillsCableOverXrc) {
  Live world("two-node-25g.yaml");
  for (const char* test : {"ib_send_bw", "ib_write_bw", "ib_read_bw"}) {
    const auto row = row_of(world.pair("vm00", "vm01", std::string(test) + " -F -x 3 -c XRC -n 500 --report_gbits"));
    ASSERT_GE(row.size(), 4U) << test;
    EXPECT_NEAR(row[3], 25.0 * 4096 / 4182, 0.05) << test;
  }
}

// Newer perftest asks libmlx5 for capabilities of every device of Mellanox, and stops where that fails.
TEST(VerbsPrograms, LibraryOfMlx5AnswersForItsDevices) {
  {
    Live world("two-node-25g.yaml");
    EXPECT_EQ(world.shell("exec vm00 " WEFT_VERBS_PROBE " vendor"), 0);
    EXPECT_EQ(world.output(), "mlx5_0: Success, capabilities 0\n");
  }
  Live world("live/e810-and-cx6.yaml");
  EXPECT_EQ(world.shell("exec a " WEFT_VERBS_PROBE " vendor"), 0);
  EXPECT_NE(world.output().find(": Operation not supported"), std::string::npos) << world.output();
}

// tshark 4.0 shows the BTH of XRC and no more; our own reader reads the header behind it (IBTA annex A14).
TEST(VerbsPrograms, XrcFramesNameQueue) {
  TempDir directory;
  {
    Live world("two-node-25g.yaml", "--capture all --out " + directory.file("run"));
    world.run_well("vm00", "ibv_xsrq_pingpong -g 3 -n 3 -s 3000", "vm01", "ibv_xsrq_pingpong -g 3 -n 3 -s 3000 vm00");
  }
  const std::string path = directory.file("run/capture.pcapng");
  const auto capture = open_capture(path);
  ASSERT_TRUE(capture != nullptr && capture->errors.empty());
  std::size_t requests = 0, answers = 0;
  for (const Frame& frame : capture->frames) {
    const wire::Opcode opcode = frame.headers().opcode;
    ASSERT_TRUE(wire::is_xrc(static_cast<std::uint8_t>(opcode))) << wire::name(opcode);
    EXPECT_TRUE(frame.roce.icrc_ok);
    ++(wire::has_xrc_eth(opcode) ? requests : answers);
    if (wire::has_xrc_eth(opcode)) EXPECT_EQ(frame.headers().xrc_srq, 0x40U) << "the first of its device";
  }
  EXPECT_GE(requests, 3U * 2 * 3);
  EXPECT_GE(answers, 3U * 2);
  if (!has_program("tshark")) return;
  const CommandResult shown = run_command("tshark -r " + shell_quoted(path) + " 2>/dev/null");
  std::size_t unknown = 0;
  for (const std::string& line : split(shown.output, '\n')) unknown += line.find("Unknown OpCode") != line.npos ? 1 : 0;
  EXPECT_EQ(unknown, requests + answers) << "a gap of tshark has closed: docs/interop.md\n" << shown.output;
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
