#include <gtest/gtest.h>

#include "unit/preload/fake_world.h"
#include "unit/preload/run_program.h"

namespace weft::test {
namespace {

bool has_line(const Outcome& outcome, const std::string& line) {
  return ("\n" + outcome.text).find("\n" + line + "\n") != std::string::npos;
}

TEST(PreloadStreams, TwoProgramsCommunicateOverWorld) {
  FakeWorld world;
  Running server(world.socket_path(), "right", "echo");
  Running client(world.socket_path(), "left", "talk");
  const Outcome said = client.finish(), heard = server.finish();
  ASSERT_EQ(said.status, 0) << said.text;
  ASSERT_EQ(heard.status, 0) << heard.text;
  EXPECT_TRUE(has_line(said, "client_is 10.0.0.1")) << said.text;
  EXPECT_TRUE(has_line(heard, "server_sees 10.0.0.1")) << heard.text;
  // 5 us each way, and the reading of the clock that ends it.
  EXPECT_EQ(said.value("round_trip_ns"), 2 * 5'000 + 20);
  EXPECT_TRUE(has_line(said, "back headtail")) << said.text;
  EXPECT_EQ(said.value("line"), 1);
  EXPECT_EQ(said.value("big_is_equal"), 1);
  EXPECT_EQ(said.value("end"), 0);
  EXPECT_EQ(said.value("closed"), 1);
}

TEST(PreloadStreams, RefusesWithoutListener) {
  FakeWorld world;
  const Outcome outcome = run_program(world.socket_path(), "refused");
  EXPECT_EQ(outcome.value("refused"), 1) << outcome.text;
  EXPECT_EQ(outcome.value("unix_is_real"), 1) << outcome.text;
}

TEST(PreloadStreams, EpollHoldsStreamsAndRealDescriptors) {
  FakeWorld world;
  Running server(world.socket_path(), "right", "epoll_server");
  Running first(world.socket_path(), "left", "nonblocking_client");
  Running second(world.socket_path(), "left", "nonblocking_client");
  const Outcome one = first.finish(), two = second.finish(), heard = server.finish();
  ASSERT_EQ(heard.status, 0) << heard.text;
  EXPECT_EQ(heard.value("bytes"), 2 * 'a');
  EXPECT_EQ(heard.values("pipe").size(), 2u);
  EXPECT_EQ(heard.value("time_went_on"), 1);
  EXPECT_EQ(heard.value("nothing"), 0);
  EXPECT_EQ(heard.value("idle_ns"), 250'000'000 + 20);  // it is alone by now
  for (const Outcome& client : {one, two}) {
    ASSERT_EQ(client.status, 0) << client.text;
    EXPECT_EQ(client.value("connected"), 1);
    EXPECT_EQ(client.value("would_block"), 1);
    EXPECT_EQ(client.value("select"), 0);
    // This world lets the other program's clock run ahead by a few reads.
    EXPECT_GE(client.value("select_ns"), 70'000 + 20);
    EXPECT_LT(client.value("select_ns"), 70'000 + 500);
    EXPECT_EQ(client.value("waiting"), 0);
  }
}

TEST(PreloadStreams, NodesHaveNames) {
  FakeWorld world;
  const Outcome outcome = run_program(world.socket_path(), "names");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  for (const char* line : {"hostname left", "nodename left", "right 10.0.0.2", "left 10.0.0.1", "localhost 0",
                           "interface lo 127.0.0.1", "interface p0 10.0.0.1"}) {
    EXPECT_TRUE(has_line(outcome, line)) << line << " is not in\n" << outcome.text;
  }
}

TEST(PreloadStreams, ProgramCannotCloseWorldConnection) {
  FakeWorld world;
  const Outcome outcome = run_program(world.socket_path(), "close_everything");
  EXPECT_EQ(outcome.value("still_there"), 1) << outcome.text;
  EXPECT_EQ(world.hellos(), 1);
}

}  // namespace
}  // namespace weft::test
