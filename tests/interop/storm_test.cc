// Fork storms (programs/fork_storm.cc), in both clocks: children with verbs of their own, executed, killed at any
// moment, orphaned. Afterwards the world is what it was, and traffic beside it has lost nothing. WEFT_STORM=5000 for
// more of them than the 200 of every run.
#include <gtest/gtest.h>

#include <cstdlib>

#include "interop/load_world.h"

namespace weft {
namespace {

class Storm : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Clocks, Storm, ::testing::Values("virtual", "wall"));

TEST_P(Storm, WorldIsWholeAfterHundredsOfForks) {
  const char* asked = std::getenv("WEFT_STORM");
  const std::string count = asked == nullptr ? "200" : asked;
  const auto patience = std::chrono::seconds(60 + std::atol(count.c_str()) / 5);
  LoadWorld world("live/one-switch-100g.yaml", "h3", GetParam());
  const std::size_t descriptors = world.descriptors();
  // Checks every byte and completion.
  const pid_t load_server = world.start("h2", {WEFT_LOAD_PEER, "serve", "7000", "2", "4096"}, "load_server");
  ASSERT_TRUE(world.says("load_server", "listening"));
  const pid_t load =
      world.start("h3", {WEFT_LOAD_PEER, "call", "7000", "2", "4096", "h2", "100", "1", "100"}, "load_client");
  const pid_t server = world.start("h1", {WEFT_FORK_STORM, "serve", "7000"}, "server");
  ASSERT_TRUE(world.says("server", "listening"));
  // A storm whose parent dies in the midst of it.
  const pid_t dies = world.start("h3", {WEFT_FORK_STORM, "storm", "10000", "2", "h1", "7000"}, "dies");
  const pid_t storm = world.start("h0", {WEFT_FORK_STORM, "storm", count, "1", "h1", "7000"}, "storm");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  kill(dies, SIGKILL);
  EXPECT_EQ(LoadWorld::wait(dies, patience), 128 + SIGKILL);
  EXPECT_EQ(LoadWorld::wait(storm, patience), 0) << world.text("storm") << world.text("server");
  EXPECT_EQ(LoadWorld::wait(server, patience), 0) << world.text("server");
  EXPECT_EQ(LoadWorld::wait(load, patience), 0) << world.text("load_client");
  EXPECT_EQ(LoadWorld::wait(load_server, patience), 0) << world.text("load_server");
  EXPECT_NE(world.text("storm").find(count + " children"), std::string::npos) << world.text("storm");

  ASSERT_TRUE(world.is_up()) << world.text("world");
  const auto all_gone = [&] {
    return world.weft({"ps", "--json"}, "ps") == 0 && world.text("ps").find("\"programs\": []") != std::string::npos;
  };
  for (int i = 0; i < 500 && !all_gone(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(all_gone()) << world.text("ps");  // children of the parent that was killed, too
  for (const char* node : {"h0", "h1", "h3"}) {
    EXPECT_EQ(world.weft({"exec", node, "--", "rdma", "resource"}, "resource"), 0);
    EXPECT_NE(world.text("resource").find("pd 0 cq 0 qp 0 cm_id 0 mr 0 ctx 0"), std::string::npos)
        << node << ": " << world.text("resource");
  }
  EXPECT_LE(world.descriptors_left(descriptors), descriptors);
  EXPECT_EQ(world.down(), 0) << world.text("world");
}

}  // namespace
}  // namespace weft
