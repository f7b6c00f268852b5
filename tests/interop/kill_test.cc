// Programs that are killed at any moment: while they start, connect, send or wait; every second pair is sure to send
// when one of its ends is killed, however slow the machine. The world goes on, and the other end sees what a NIC gives
// it: transport retry counter exceeded (12), or remote operation error (11) where the memory was gone before the queue
// pair.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/random.h"
#include "interop/load_world.h"

namespace weft {
namespace {

constexpr int kPairs = 8;  // 25 rounds are 200 kills

TEST(Kill, WorldSurvivesTwoHundredKilledPrograms) {
  const char* asked = std::getenv("WEFT_KILL_ROUNDS");
  const int rounds = asked == nullptr ? 25 : std::atoi(asked);
  LoadWorld world("live/load-32x25g.yaml", "h63");
  const std::size_t descriptors = world.descriptors();
  RandomStream random(2026, 1, RandomPurpose::kTest);
  int failed = 0, alone = 0;
  for (int round = 0; round < rounds; ++round) {
    struct Pair {
      pid_t ends[2];
      std::string out[2];
      bool sends = false;
    } pairs[kPairs];
    for (int i = 0; i < kPairs; ++i) {
      std::string node = "h" + std::to_string(2 * i), other = "h" + std::to_string(2 * i + 1);
      pairs[i].out[0] = "server" + std::to_string(i);
      pairs[i].out[1] = "client" + std::to_string(i);
      // What the round before left in them is not what these ends say.
      for (const std::string& out : pairs[i].out) std::ofstream(world.path(out)).close();
      pairs[i].ends[0] = world.start(node, {WEFT_LOAD_PEER, "serve", "7000", "2", "4096"}, pairs[i].out[0]);
    }
    for (int i = 0; i < kPairs; ++i) {
      std::string node = "h" + std::to_string(2 * i), other = "h" + std::to_string(2 * i + 1);
      ASSERT_TRUE(world.says(pairs[i].out[0], "listening")) << world.text(pairs[i].out[0]);
      pairs[i].ends[1] = world.start(
          other, {WEFT_LOAD_PEER, "call", "7000", "2", "4096", node, "1000000", std::to_string(round), "1000"},
          pairs[i].out[1]);
    }
    for (int i = 0; i < kPairs; ++i) {
      Pair& pair = pairs[i];
      pair.sends = i % 2 == 0;
      if (pair.sends) ASSERT_TRUE(world.says(pair.out[1], "sending")) << world.text(pair.out[1]);
      std::this_thread::sleep_for(std::chrono::microseconds(random.below(20'000)));
      std::size_t victim = random.below(2);
      kill(pair.ends[victim], SIGKILL);
      EXPECT_EQ(LoadWorld::wait(pair.ends[victim], std::chrono::seconds(10)), 128 + SIGKILL);
      pair.ends[victim] = 0;
    }
    for (Pair& pair : pairs) {
      std::size_t left = pair.ends[0] == 0 ? 1 : 0;
      // A server whose caller did not come that far may wait for the next one.
      bool met = world.text(pair.out[1]).find("connected") != std::string::npos;
      int status = LoadWorld::wait(pair.ends[left], std::chrono::milliseconds(met || left == 1 ? 20'000 : 500));
      if (!met && left == 0 && status == LoadWorld::kStillRuns) continue;
      std::string said = world.text(pair.out[left]);
      bool error = said.find("status 12 ") != std::string::npos || said.find("status 11 ") != std::string::npos;
      EXPECT_TRUE((status == 3 && error) || status == 4) << "round " << round << ": " << status << ": " << said;
      if (pair.sends && left == 1) EXPECT_EQ(status, 3) << "a caller that sends sees an error: " << said;
      ++(status == 3 ? failed : alone);
    }
    ASSERT_TRUE(world.is_up()) << "round " << round << ": " << world.text("world");
  }
  EXPECT_GT(failed, rounds) << "kills hit connections that work";
  std::printf("%d ends saw an error, %d saw that the other was gone\n", failed, alone);
  ASSERT_EQ(world.weft({"ps"}, "ps"), 0);
  EXPECT_EQ(world.text("ps").find("load_peer"), std::string::npos) << world.text("ps");
  EXPECT_LE(world.descriptors_left(descriptors), descriptors);

  // And the world is what it was.
  pid_t server = world.start("h0", {"ib_write_bw", "-x", "3", "--report_gbits"}, "bw_server");
  int status = 1;
  for (int i = 0; i < 20 && status != 0; ++i) {  // the server may not listen yet
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    pid_t client = world.start("h1", {"ib_write_bw", "-x", "3", "--report_gbits", "h0"}, "bw_client");
    status = LoadWorld::wait(client, std::chrono::seconds(60));
  }
  EXPECT_EQ(status, 0) << world.text("bw_client");
  EXPECT_EQ(LoadWorld::wait(server, std::chrono::seconds(60)), 0);
  std::string table = world.text("bw_client");
  std::size_t row = table.find("\n 65536");
  ASSERT_NE(row, std::string::npos) << table;
  double size_B = 0, iterations = 0, peak_Gbps = 0, average_Gbps = 0;
  ASSERT_EQ(std::sscanf(table.c_str() + row, " %lf %lf %lf %lf", &size_B, &iterations, &peak_Gbps, &average_Gbps), 4);
  // 16 packets of 4096 B with 82 B of headers, preamble and gap each, and a RETH of 16 B.
  EXPECT_NEAR(average_Gbps, 25.0 * 65536 / (16 * (4096 + 82) + 16), 0.05);
  EXPECT_EQ(world.down(), 0) << world.text("world");
}

}  // namespace
}  // namespace weft
