// The world under load: 64 programs with 4,096 queue pairs, 32 pairs at 25 Gb/s through a switch, every operation of
// RC, and every message, byte and completion accounted for (load_peer.cc). 20 ms of virtual time in every run;
// WEFT_LOAD_MS=2000 for two seconds, which move some 270 GB.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "interop/load_world.h"

namespace weft {
namespace {

constexpr int kPairs = 32, kQps = 64;
constexpr double kRate_Gbps = 25;

struct Said {
  std::uint64_t operations = 0, bytes = 0, elapsed_ns = 0, kinds[8] = {};
};
Said read(const std::string& text) {
  Said said;
  std::istringstream in(text.substr(std::min(text.find("operations"), text.size())));
  std::string word;
  in >> word >> said.operations >> word >> said.bytes >> word >> said.elapsed_ns >> word;
  for (std::uint64_t& kind : said.kinds) in >> kind;
  return said;
}

TEST(Load, SixtyFourProgramsAndFourThousandQueuePairs) {
  const char* asked = std::getenv("WEFT_LOAD_MS");
  const long duration_ms = asked == nullptr ? 20 : std::atol(asked);
  LoadWorld world("live/load-32x25g.yaml", "h63");
  const std::size_t descriptors = world.descriptors();
  const auto patience = std::chrono::seconds(120 + duration_ms);
  const auto started = std::chrono::steady_clock::now();
  std::vector<pid_t> servers, clients;
  for (int i = 0; i < kPairs; ++i) {
    std::string number = std::to_string(i);
    servers.push_back(world.start("h" + std::to_string(2 * i),
                                  {WEFT_LOAD_PEER, "serve", "7000", std::to_string(kQps), "16384"}, "server" + number));
  }
  for (int i = 0; i < kPairs; ++i) {
    std::string number = std::to_string(i);
    ASSERT_TRUE(world.says("server" + number, "listening")) << i;
    clients.push_back(world.start("h" + std::to_string(2 * i + 1),
                                  {WEFT_LOAD_PEER, "call", "7000", std::to_string(kQps), "16384",
                                   "h" + std::to_string(2 * i), std::to_string(duration_ms), std::to_string(i + 1)},
                                  "client" + number));
  }
  Said all;
  for (int i = 0; i < kPairs; ++i) {
    std::string number = std::to_string(i);
    auto each = static_cast<std::size_t>(i);
    ASSERT_EQ(LoadWorld::wait(clients[each], patience), 0) << i << ": " << world.text("client" + number);
    ASSERT_EQ(LoadWorld::wait(servers[each], patience), 0) << i << ": " << world.text("server" + number);
    const Said client = read(world.text("client" + number)), server = read(world.text("server" + number));
    // What takes a receive, or is announced by a message that does, was checked by the other end.
    std::uint64_t sent = 0;
    for (std::size_t kind = 0; kind < 4; ++kind) {
      EXPECT_EQ(client.kinds[kind], server.kinds[kind]) << i;
      sent += client.kinds[kind];
    }
    for (std::size_t kind = 0; kind < 7; ++kind) EXPECT_GT(client.kinds[kind], 0u) << kind;
    // The way to the server is full, but for headers, requests and acknowledgements, and the end.
    const double used_Gbps = static_cast<double>(server.bytes) * 8 / static_cast<double>(client.elapsed_ns);
    EXPECT_GT(used_Gbps, 0.8 * kRate_Gbps) << i;
    EXPECT_LT(used_Gbps, kRate_Gbps) << i;
    all.operations += client.operations + server.operations;
    all.bytes += client.bytes;
    EXPECT_GT(sent, 0u);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  std::printf("%llu operations, %.1f GB in %ld ms of virtual time and %.1f s; %s\n",
              static_cast<unsigned long long>(all.operations), static_cast<double>(all.bytes) / 1e9, duration_ms,
              took.count(), world.peak_memory().c_str());
  ASSERT_TRUE(world.is_up()) << world.text("world");
  ASSERT_EQ(world.weft({"ps"}, "ps"), 0);
  EXPECT_EQ(world.text("ps").find("load_peer"), std::string::npos) << world.text("ps");
  EXPECT_LE(world.descriptors_left(descriptors), descriptors) << "what the programs had, the world has given back";
  EXPECT_EQ(world.down(), 0) << world.text("world");
}

}  // namespace
}  // namespace weft
