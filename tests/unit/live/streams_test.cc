// The management network: ports, and clients that come before their server.
#include "live/os/streams.h"

#include <gtest/gtest.h>

#include <set>

#include "support/live_program.h"

namespace weft {
namespace {

using verbs::Op;

constexpr verbs::Address kAny{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0}};
constexpr verbs::Address kNodeB{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2}};

std::uint32_t open_stream(LiveProgram& program) {
  return program.make(Op::kStreamOpen, verbs::Handle{});
}
std::uint32_t any_port(LiveProgram& program, std::uint32_t stream) {
  Answer answer = program.ask(Op::kStreamBind, verbs::StreamAddress{stream, 0, kAny, 0});
  return answer.error == 0 ? answer.as<verbs::StreamAddress>().port : 0;
}

TEST(StreamPorts, WrapAndSkipPortsInUse) {
  LiveWorld world;
  LiveProgram program(world, "a");
  const std::uint32_t kept = open_stream(program);
  const std::uint32_t kept_port = any_port(program, kept);
  EXPECT_EQ(kept_port, 32768u);
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 28232 + 10; ++i) {
    const std::uint32_t stream = open_stream(program);
    const std::uint32_t port = any_port(program, stream);
    ASSERT_GE(port, 32768u);
    ASSERT_LE(port, 60999u);
    ASSERT_NE(port, kept_port);
    seen.insert(port);
    ASSERT_EQ(program.ask(Op::kStreamClose, verbs::Handle{stream}).error, 0);
  }
  EXPECT_EQ(seen.size(), 28231u);
}

// The client asks first; virtual time stands still until the server listens, whatever timers the client has set.
TEST(StreamPatience, ClientWaitsForServer) {
  LiveWorld world;
  LiveProgram client(world, "a");
  const std::uint32_t from = open_stream(client);
  const verbs::StreamAddress to{from, 1, kNodeB, 18515};
  ASSERT_EQ(client.ask(Op::kSetTimer, verbs::SetTimer{0, 0}).error, 0);
  client.say(static_cast<std::uint32_t>(Op::kStreamConnect), std::as_bytes(std::span(&to, 1)), sizeof(to),
             client.now_ps());
  LiveProgram sleeper(world, "a");
  const verbs::Sleep until{sleeper.now_ps() + 100 * kSecond_ps};
  sleeper.say(static_cast<std::uint32_t>(Op::kSleep), std::as_bytes(std::span(&until, 1)), sizeof(until),
              sleeper.now_ps());
  LiveProgram server(world, "b");
  const std::uint32_t at = open_stream(server);
  ASSERT_EQ(server.ask(Op::kStreamBind, verbs::StreamAddress{at, 0, kAny, 18515}).error, 0);
  ASSERT_EQ(server.ask(Op::kStreamListen, verbs::StreamListen{at, 1}).error, 0);
  Answer accepted = server.ask(Op::kStreamAccept, verbs::StreamWait{at, 1});
  EXPECT_TRUE(accepted.came);
  EXPECT_EQ(accepted.error, 0);
  Answer connected = client.hear();
  EXPECT_TRUE(connected.came);
  EXPECT_EQ(connected.error, 0);
  EXPECT_LT(server.now_ps(), kSecond_ps) << "the clock has not run to the end of a sleep";
}

TEST(StreamPatience, DoesNotApplyToLoopback) {
  LiveWorld world;
  LiveProgram program(world, "a");
  constexpr verbs::Address kLoopback{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}};
  for (const verbs::Address& address : {kLoopback, kAny}) {
    Answer answer = program.ask(Op::kStreamConnect, verbs::StreamAddress{open_stream(program), 1, address, 6000});
    EXPECT_TRUE(answer.came);
    EXPECT_EQ(answer.error, ECONNREFUSED);
  }
}

TEST(StreamPatience, ClientWaitsForFullBacklog) {
  LiveWorld world;
  LiveProgram server(world, "b"), first(world, "a"), second(world, "a");
  const std::uint32_t at = open_stream(server);
  ASSERT_EQ(server.ask(Op::kStreamBind, verbs::StreamAddress{at, 0, kAny, 7000}).error, 0);
  ASSERT_EQ(server.ask(Op::kStreamListen, verbs::StreamListen{at, 1}).error, 0);
  for (LiveProgram* client : {&first, &second}) {
    const verbs::StreamAddress to{open_stream(*client), 1, kNodeB, 7000};
    client->say(static_cast<std::uint32_t>(Op::kStreamConnect), std::as_bytes(std::span(&to, 1)), sizeof(to),
                client->now_ps());
  }
  for (int i = 0; i < 2; ++i) EXPECT_EQ(server.ask(Op::kStreamAccept, verbs::StreamWait{at, 1}).error, 0);
  EXPECT_EQ(first.hear().error, 0);
  EXPECT_EQ(second.hear().error, 0);
}

}  // namespace
}  // namespace weft
