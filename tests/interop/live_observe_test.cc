// Looking at a world that is up: its counters, its captures, its faults, and what the verbs say as JSON.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "interop/interop_support.h"
#include "interop/live_world.h"
#include "interop/tshark_fields.h"
#include "support/matching.h"

namespace weft::interop {
namespace {

using Json = nlohmann::ordered_json;

Json counters(const Live& world, const std::string& port) {
  EXPECT_EQ(world.shell("counters " + port + " --json"), 0) << world.output();
  return Json::parse(world.output(), nullptr, false);
}

// " local address: LID 0000 QPN 0x0108 PSN 0xc365b1 RKey 0x00013b VAddr 0x00aaaaaab27000"
std::uint64_t told(const std::string& said, const std::string& whose, const std::string& what) {
  const std::vector<std::string> found = test::match(said, whose + " address:.* " + what + " (0x[0-9a-f]+)");
  EXPECT_FALSE(found.empty()) << what << "\n" << said;
  return found.empty() ? 0 : number(found[1]);
}

// What the program prints of its own queue pair is what is on the wire: tshark reads it there.
TEST(LiveObserve, CapturesHoldPacketsOfRealProgram) {
  TempDir temp;
  std::string said;
  {
    Live world("two-node-25g.yaml", "--capture vm01:p0 --out " + temp.file("cap"));
    said = world.pair("vm00", "vm01", "ib_write_bw -F -x 3 -n 20");
    EXPECT_GT(fs::file_size(temp.file("cap/capture.pcapng")), 20U * 65536) << "written while the world is up";
    ASSERT_EQ(world.shell("down --json"), 0) << world.output();
    EXPECT_EQ(Json::parse(world.output(), nullptr, false)["down"], true);
  }
  static constexpr const char* kFields[] = {"infiniband.bth.opcode",
                                            "infiniband.bth.psn",
                                            "infiniband.bth.destqp",
                                            "infiniband.reth.va",
                                            "infiniband.reth.r_key",
                                            "infiniband.reth.dmalen",
                                            "ip.src",
                                            "frame.len"};
  const auto frames = dissect(temp.file("cap/capture.pcapng"), kFields);
  constexpr std::uint64_t kWriteFirst = 6, kAcknowledge = 17;
  std::size_t firsts = 0, acknowledges = 0;
  std::set<std::uint64_t> psns;
  for (const Dissection& frame : frames) {
    const std::uint64_t opcode = number(frame.at("infiniband.bth.opcode")[0]);
    if (opcode == kAcknowledge) ++acknowledges;
    if (opcode == kAcknowledge) continue;
    EXPECT_EQ(frame.at("ip.src")[0], "10.0.0.2");
    EXPECT_EQ(number(frame.at("infiniband.bth.destqp")[0]), told(said, "remote", "QPN"));
    psns.insert(number(frame.at("infiniband.bth.psn")[0]));
    if (opcode != kWriteFirst) continue;
    if (firsts++ == 0) {
      EXPECT_EQ(number(frame.at("infiniband.bth.psn")[0]), told(said, "local", "PSN"));
      EXPECT_EQ(number(frame.at("infiniband.reth.va")[0]), told(said, "remote", "VAddr"));
    }
    EXPECT_EQ(number(frame.at("infiniband.reth.r_key")[0]), told(said, "remote", "RKey"));
    EXPECT_EQ(number(frame.at("infiniband.reth.dmalen")[0]), 65536U);
  }
  EXPECT_EQ(firsts, 20U);
  EXPECT_EQ(psns.size(), 20U * 65536 / 4096);
  EXPECT_GT(acknowledges, 0U);
}

// ibv_rc_pingpong -c looks at every page that comes; the pages are full of 0x7b, and so are the packets.
TEST(LiveObserve, FaultsApplyAndShowInCounters) {
  TempDir temp;
  Live world("two-node-25g.yaml", "--capture vm00:p0 --out " + temp.file("cap") +
                                      " --set 'faults=[{link: \"vm01:p0\", action: drop, probability: 1 %}]'");
  std::string said = world.pair("vm00", "vm01", "ibv_rc_pingpong -g 3 -c -s 20000 -n 300");
  EXPECT_NE(said.find("300 iters in"), said.npos) << said;
  EXPECT_EQ(said.find("invalid data"), said.npos) << said;
  world.pair("vm00", "vm01", "ib_write_bw -F -x 3 -n 200");

  // Every gap is seen by the responder, and answered by the requester from where it began.
  const Json client = counters(world, "vm01:p0"), server = counters(world, "vm00:p0");
  EXPECT_GT(client["weft"]["retransmitted_packets"].get<std::uint64_t>(), 0U);
  EXPECT_GT(client["hw_counters"]["packet_seq_err"].get<std::uint64_t>(), 0U);
  EXPECT_EQ(client["hw_counters"]["packet_seq_err"], server["hw_counters"]["out_of_sequence"]);
  EXPECT_EQ(server["hw_counters"]["rx_write_requests"], 200U);
  EXPECT_EQ(server["hw_counters"].value("out_of_buffer", 0U), 0U);
  ASSERT_EQ(world.shell("counters vm00 --world w --as rdma"), 0) << world.output();
  EXPECT_NE(world.output().find("link mlx5_0/1 rx_write_requests 200 "), std::string::npos) << world.output();

  EXPECT_EQ(world.shell("down w"), 0) << world.output();
  const CommandResult shown = run_command("tshark -n -r " + temp.file("cap/capture.pcapng") +
                                          " -c 1 -Y infiniband -x 2>/dev/null | grep -c '7b 7b 7b 7b 7b 7b 7b 7b'");
  EXPECT_NEAR(std::atoi(shown.output.c_str()), 1024 / 16, 1) << "lines of 16 bytes of the first packet's 1,024";
}

TEST(LiveObserve, CommandsPrintJsonAndErrors) {
  Live world("two-node-25g.yaml");
  ASSERT_EQ(world.shell("ps w --json"), 0) << world.output();
  const Json ps = Json::parse(world.output(), nullptr, false);
  ASSERT_EQ(ps.size(), 1U) << world.output();
  EXPECT_EQ(ps[0]["world"], "w");
  EXPECT_EQ(ps[0]["clock"], "virtual");
  EXPECT_TRUE(ps[0]["programs"].empty());
  ASSERT_EQ(world.shell("up " WEFT_SOURCE_DIR "/labs/two-node-25g.yaml --name other --json"), 0) << world.output();
  const Json up = Json::parse(world.output(), nullptr, false);
  EXPECT_EQ(up["world"], "other");
  EXPECT_EQ(up["nodes"], Json::array({"vm00", "vm01"}));
  EXPECT_NE(world.shell("counters vm00"), 0);
  EXPECT_NE(world.output().find("several worlds are up (other, w)"), std::string::npos) << world.output();
  EXPECT_EQ(world.shell("down other"), 0) << world.output();
  EXPECT_NE(world.shell("counters vm7"), 0);
  EXPECT_NE(world.output().find("there is no node vm7 in the world w"), std::string::npos) << world.output();
  EXPECT_NE(world.shell("counters vm00:p7"), 0);
  EXPECT_NE(world.output().find("vm00 has no port"), std::string::npos) << world.output();
  EXPECT_NE(world.shell("ps nobody"), 0);
  EXPECT_NE(world.output().find("no world named nobody is up; there are: w"), std::string::npos) << world.output();
  EXPECT_NE(world.shell("up " WEFT_SOURCE_DIR "/labs/two-node-25g.yaml --name x --capture vm00:p9"), 0);
  EXPECT_NE(world.output().find("no cable ends at this port"), std::string::npos) << world.output();
  EXPECT_NE(world.shell("up " WEFT_SOURCE_DIR "/labs/two-node-25g.yaml --name x --capture all --out /proc/nowhere"), 0);
  EXPECT_NE(world.output().find("cannot make /proc/nowhere"), std::string::npos) << world.output();
}

}  // namespace
}  // namespace weft::interop
