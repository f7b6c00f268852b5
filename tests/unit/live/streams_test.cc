// The management network: ports, clients that come before their server, buffers, and who holds a stream.
#include "live/os/streams.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include "support/labs.h"
#include "support/live_program.h"
#include "unit/live/no_threads.h"

namespace weft {
namespace {

using verbs::Op;

constexpr verbs::Address kAny{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0}};
constexpr verbs::Address kNodeB{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2}};

std::uint32_t open_stream(LiveProgram& program) {
  return program.make(Op::kStreamOpen, verbs::Handle{});
}

// Without a program: all 28,232 ports are given out.
TEST(StreamPorts, WrapAndSkipPortsInUse) {
  const lab::Lab lab = support::two_host_lab();
  lab::World world(lab, {});
  const live::AddressIndex addresses(world);
  live::NoThreads threads;
  std::vector<std::unique_ptr<live::Node>> nodes;
  for (std::uint32_t i = 0; i < 2; ++i) nodes.push_back(std::make_unique<live::Node>(threads, world.host(i), i));
  live::ManagementNetwork network(world, addresses, nodes);
  const auto process = std::make_shared<live::Process>();
  process->node = nodes[0].get();
  process->node->processes.push_back(process);

  const auto request = []<typename Body>(Op op, const Body& body) {
    live::Request made{.op = op, .body = std::vector<std::byte>(sizeof(body))};
    std::memcpy(made.body.data(), &body, sizeof(body));
    return made;
  };
  const auto read = []<typename Out>(const live::Reply& reply, Out out) {
    EXPECT_EQ(reply.error, 0);
    if (reply.body.size() == sizeof(out)) std::memcpy(&out, reply.body.data(), sizeof(out));
    return out;
  };
  const auto open = [&] {
    return read(network.open(*process, request(Op::kStreamOpen, verbs::Handle{})), verbs::Handle{}).handle;
  };
  const auto new_port = [&](std::uint32_t stream) {
    const live::Request bind = request(Op::kStreamBind, verbs::StreamAddress{stream, 0, kAny, 0});
    return read(network.bind(*process, bind, 0), verbs::StreamAddress{}).port;
  };

  const std::uint32_t kept_port = new_port(open());
  EXPECT_EQ(kept_port, 32768u);
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 28232 + 10; ++i) {
    const std::uint32_t stream = open(), port = new_port(stream);
    ASSERT_GE(port, 32768u);
    ASSERT_LE(port, 60999u);
    ASSERT_NE(port, kept_port);
    seen.insert(port);
    ASSERT_EQ(network.close(*process, request(Op::kStreamClose, verbs::Handle{stream}), 0).error, 0);
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

// Virtual time goes on meanwhile, and who waits is refused only when the listener is closed.
TEST(StreamBacklog, ClientWaitsForRoom) {
  LiveWorld world;
  LiveProgram server(world, "b"), client(world, "a");
  const std::uint32_t at = open_stream(server);
  ASSERT_EQ(server.ask(Op::kStreamBind, verbs::StreamAddress{at, 0, kAny, 7000}).error, 0);
  ASSERT_EQ(server.ask(Op::kStreamListen, verbs::StreamListen{at, 1}).error, 0);
  const auto connect = [&](std::uint32_t stream) {
    return client.ask(Op::kStreamConnect, verbs::StreamAddress{stream, 0, kNodeB, 7000}).error;
  };
  std::array<std::uint32_t, 6> streams;
  for (std::uint32_t& each : streams) {
    each = open_stream(client);
    EXPECT_EQ(connect(each), EINPROGRESS);
  }
  const Time_ps began_ps = server.now_ps();
  client.begin_sleep(4 * kSecond_ps);
  ASSERT_TRUE(server.sleep(5 * kSecond_ps / 2));
  ASSERT_TRUE(server.begin_sleep(5 * kSecond_ps / 2));
  ASSERT_TRUE(client.hear().came);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(connect(streams[i]), i < 2 ? EISCONN : EALREADY) << i;
  client.begin_sleep(2 * kSecond_ps);
  ASSERT_TRUE(server.hear().came);
  for (int i = 0; i < 3; ++i) {
    Answer accepted = server.ask(Op::kStreamAccept, verbs::StreamWait{at, 1});
    EXPECT_EQ(accepted.error, 0);
    LiveProgram::close_fds(accepted);
  }
  EXPECT_NEAR(static_cast<double>(server.now_ps() - began_ps) / kSecond_ps, 5, 0.001);
  ASSERT_EQ(server.ask(Op::kStreamClose, verbs::Handle{at}).error, 0);
  server.begin_sleep(10 * kSecond_ps);
  ASSERT_TRUE(client.hear().came);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(connect(streams[i]), i < 5 ? EISCONN : ECONNREFUSED) << i;
}

// A connection from a client on node a to a server on node b. The server's programs run in turn with the client's: what
// one waits for, the other has done before.
struct Connected {
  LiveWorld world;
  LiveProgram server{world, "b"}, client{world, "a"};
  std::uint32_t listener = verbs::kNoHandle, at_server = verbs::kNoHandle, at_client = verbs::kNoHandle;
  Answer accepted;

  explicit Connected(std::vector<std::pair<verbs::StreamOption, std::uint32_t>> client_options = {},
                     std::vector<std::pair<verbs::StreamOption, std::uint32_t>> server_options = {}) {
    listener = open_stream(server);
    for (const auto& [option, value] : server_options)
      EXPECT_EQ(server.ask(Op::kStreamSet, verbs::StreamSet{listener, option, value}).error, 0);
    EXPECT_EQ(server.ask(Op::kStreamBind, verbs::StreamAddress{listener, 0, kAny, 9000}).error, 0);
    EXPECT_EQ(server.ask(Op::kStreamListen, verbs::StreamListen{listener, 4}).error, 0);
    at_client = open_stream(client);
    for (const auto& [option, value] : client_options)
      EXPECT_EQ(client.ask(Op::kStreamSet, verbs::StreamSet{at_client, option, value}).error, 0);
    EXPECT_EQ(client.ask(Op::kStreamConnect, verbs::StreamAddress{at_client, 1, kNodeB, 9000}).error, 0);
    accepted = server.ask(Op::kStreamAccept, verbs::StreamWait{listener, 1});
    at_server = accepted.as<verbs::StreamAccepted>().stream;
  }
  ~Connected() { LiveProgram::close_fds(accepted); }
};

Answer send_bytes(const LiveProgram& program, std::uint32_t stream, std::size_t size_B) {
  std::vector<std::byte> body(sizeof(verbs::StreamBytes) + size_B);
  const verbs::StreamBytes head{stream, static_cast<std::uint32_t>(size_B)};
  std::memcpy(body.data(), &head, sizeof(head));
  return program.ask_bytes(static_cast<std::uint32_t>(Op::kStreamSend), body);
}
std::uint32_t readiness(const LiveProgram& program, std::uint32_t stream, std::int64_t for_ps = 0) {
  struct {
    verbs::Wait wait;
    verbs::WaitItem item;
  } ask{{program.now_ps() + for_ps, 1, 0}, {verbs::WaitItem::kStream, stream, POLLIN | POLLOUT, 0}};
  return program.ask(Op::kWait, ask).as<verbs::WaitItem>().ready;
}
Answer receive_bytes(const LiveProgram& program, std::uint32_t stream, std::uint32_t size_B) {
  return program.ask(Op::kStreamReceive, verbs::StreamReceive{stream, 0, size_B, 0});
}
std::size_t fill(const LiveProgram& program, std::uint32_t stream) {
  std::size_t sent_B = 0;
  for (;;) {
    Answer answer = send_bytes(program, stream, verbs::kMaxStreamChunk_B);
    if (answer.error != 0) {
      EXPECT_EQ(answer.error, EAGAIN);
      return sent_B;
    }
    sent_B += answer.as<verbs::Count>().count;
  }
}

TEST(StreamBuffers, FullWhenPeerDoesNotRead) {
  Connected pair;
  EXPECT_EQ(readiness(pair.client, pair.at_client) & POLLOUT, std::uint32_t{POLLOUT});
  EXPECT_EQ(fill(pair.client, pair.at_client), std::size_t{5} << 20);
  EXPECT_EQ(readiness(pair.client, pair.at_client) & POLLOUT, 0u);
  ASSERT_TRUE(pair.server.sleep(kSecond_ps));
  // Room for a write again when a third of the send buffer is free, and not before.
  std::size_t read_B = 0;
  while (readiness(pair.client, pair.at_client, us(100)) == 0) {
    ASSERT_LT(read_B, std::size_t{5} << 20);
    Answer answer = receive_bytes(pair.server, pair.at_server, verbs::kMaxStreamChunk_B);
    ASSERT_EQ(answer.error, 0);
    read_B += answer.body.size();
    ASSERT_TRUE(pair.server.sleep(us(100)));
  }
  EXPECT_NEAR(static_cast<double>(read_B), (2 << 20) / 3.0, verbs::kMaxStreamChunk_B);
}

TEST(StreamBuffers, HaveConfiguredSizes) {
  Connected pair({{verbs::StreamOption::kSendBuffer, 10'000}}, {{verbs::StreamOption::kReceiveBuffer, 20'000}});
  const auto info = pair.client.ask(Op::kStreamStatus, verbs::Handle{pair.at_client}).as<verbs::StreamInfo>();
  EXPECT_EQ(info.options[0], 20'000u) << "Linux tells twice what was set";
  EXPECT_EQ(fill(pair.client, pair.at_client), 30'000u);
}

// 1448 B of payload in 1538 B on a line of 1 Gb/s, after 30 us.
TEST(StreamBuffers, DeliverAtLineRate) {
  Connected pair;
  ASSERT_EQ(send_bytes(pair.client, pair.at_client, 1448 * 40).error, 0);
  const std::int64_t start_ps = pair.client.now_ps();
  for (int i = 1; i < 16; ++i) ASSERT_EQ(send_bytes(pair.client, pair.at_client, 1448 * 40).error, 0);
  std::size_t read_B = 0;
  while (read_B < 16 * 1448 * 40) {
    Answer answer = pair.server.ask(Op::kStreamReceive, verbs::StreamReceive{pair.at_server, 1, 1u << 16, 0});
    ASSERT_EQ(answer.error, 0);
    read_B += answer.body.size();
  }
  EXPECT_EQ(pair.server.now_ps() - start_ps, us(30) + 16 * 40 * 1538 * ns(8));
}

TEST(StreamEnds, UnreadBytesAreAnsweredWithReset) {
  Connected pair;
  ASSERT_EQ(send_bytes(pair.client, pair.at_client, 10).error, 0);
  ASSERT_TRUE(pair.server.sleep(us(100)));
  LiveProgram::close_fds(pair.accepted);
  pair.accepted = {};
  ASSERT_EQ(pair.server.ask(Op::kStreamClose, verbs::Handle{pair.at_server}).error, 0);
  ASSERT_TRUE(pair.client.sleep(us(200)));
  EXPECT_EQ(readiness(pair.client, pair.at_client) & (POLLERR | POLLHUP), std::uint32_t{POLLERR | POLLHUP});
  EXPECT_EQ(receive_bytes(pair.client, pair.at_client, 10).error, ECONNRESET);
  EXPECT_EQ(send_bytes(pair.client, pair.at_client, 10).error, EPIPE);
}

TEST(StreamHolders, ChildGoesOnWhenParentCloses) {
  Connected pair;
  LiveProgram::close_fds(pair.accepted);
  pair.accepted = {};
  Answer forked = pair.server.ask(Op::kFork, verbs::Handle{});
  ASSERT_EQ(forked.error, 0);
  ASSERT_GE(forked.fds[0], 0);
  std::thread parent([&] {
    EXPECT_EQ(pair.server.ask(Op::kStreamClose, verbs::Handle{pair.at_server}).error, 0);
    EXPECT_TRUE(pair.server.sleep(us(500)));
  });
  {
    LiveProgram child(forked.fds[0]);
    EXPECT_TRUE(child.sleep(us(100)));
    EXPECT_EQ(send_bytes(child, pair.at_server, 5).error, 0);
    EXPECT_TRUE(pair.client.sleep(us(400)));
    EXPECT_EQ(receive_bytes(pair.client, pair.at_client, 10).body.size(), 5u);
    EXPECT_EQ(receive_bytes(pair.client, pair.at_client, 10).error, EAGAIN) << "the child holds it";
    EXPECT_EQ(child.ask(Op::kStreamClose, verbs::Handle{pair.at_server}).error, 0);
    parent.join();
  }
  EXPECT_TRUE(pair.client.sleep(us(400)));
  Answer end = receive_bytes(pair.client, pair.at_client, 10);
  EXPECT_EQ(end.error, 0);
  EXPECT_TRUE(end.body.empty()) << "the last holder is gone";
}

TEST(StreamHolders, DescriptorKeepsStreamOpen) {
  Connected pair;
  // The process closes it, but somebody else has the descriptor: a program that was executed.
  ASSERT_EQ(pair.server.ask(Op::kStreamClose, verbs::Handle{pair.at_server}).error, 0);
  ASSERT_TRUE(pair.client.sleep(us(200)));
  EXPECT_EQ(receive_bytes(pair.client, pair.at_client, 10).error, EAGAIN);
  LiveProgram::close_fds(pair.accepted);
  pair.accepted = {};
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(pair.client.sleep(us(200)));
    if (receive_bytes(pair.client, pair.at_client, 10).error == 0) return;
    usleep(1000);
  }
  FAIL() << "the peer never hears of the end";
}

TEST(StreamHolders, IdentifiesPassedDescriptor) {
  Connected pair;
  sockaddr_un name{};
  socklen_t name_B = sizeof(name);
  ASSERT_EQ(getsockname(pair.accepted.fds[0], reinterpret_cast<sockaddr*>(&name), &name_B), 0);
  const std::string text(name.sun_path + 1, 12 + 32);
  ASSERT_EQ(text.substr(0, 12), verbs::kStreamName);
  const verbs::StreamName id{std::stoull(text.substr(12, 16), nullptr, 16), std::stoull(text.substr(28), nullptr, 16)};
  const auto info = pair.server.ask(Op::kStreamAdopt, id).as<verbs::StreamInfo>();
  EXPECT_EQ(info.stream, pair.at_server);
  EXPECT_EQ(info.connected, 1u);
  EXPECT_EQ(pair.server.ask(Op::kStreamAdopt, verbs::StreamName{id.world, 999'999}).error, EBADF);
  EXPECT_EQ(pair.server.ask(Op::kStreamAdopt, verbs::StreamName{id.world + 1, id.stream}).error, EBADF);
  EXPECT_EQ(pair.client.ask(Op::kStreamAdopt, id).error, EBADF) << "it is of another node";
}

TEST(StreamPorts, FollowReuseOptions) {
  LiveWorld world;
  LiveProgram program(world, "a");
  const auto bound = [&](std::initializer_list<verbs::StreamOption> options, bool listens) {
    const std::uint32_t stream = open_stream(program);
    for (verbs::StreamOption option : options)
      EXPECT_EQ(program.ask(Op::kStreamSet, verbs::StreamSet{stream, option, 1}).error, 0);
    int error = program.ask(Op::kStreamBind, verbs::StreamAddress{stream, 0, kAny, 7777}).error;
    if (error == 0 && listens) error = program.ask(Op::kStreamListen, verbs::StreamListen{stream, 1}).error;
    program.ask(Op::kStreamClose, verbs::Handle{error == 0 ? verbs::kNoHandle : stream});
    return error;
  };
  EXPECT_EQ(bound({verbs::StreamOption::kReuseAddress}, false), 0);
  EXPECT_EQ(bound({}, false), EADDRINUSE);
  EXPECT_EQ(bound({verbs::StreamOption::kReuseAddress, verbs::StreamOption::kReusePort}, true), 0);
  EXPECT_EQ(bound({verbs::StreamOption::kReuseAddress}, true), EADDRINUSE) << "one that listens is not shared so";
}

}  // namespace
}  // namespace weft
