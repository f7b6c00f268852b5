#include "engine/engine.h"

#include <gtest/gtest.h>

#include "base/check.h"
#include "base/random.h"
#include "support/thread_exchange.h"

namespace weft::engine {
namespace {

constexpr Time_ps kLatency_ps = ns(500);
constexpr std::uint32_t kNodes = 4;

// A node of a full mesh: what arrives is logged and sent on, to a node and after a time that depend on the packet
// alone. Its own timer sends the first packets.
struct MeshNode {
  std::uint32_t index = 0;
  std::vector<Inlet*> in;
  std::vector<Outlet> out;
  Domain* domain = nullptr;
  Time_ps timer_ps = 0;
  std::uint32_t to_start = 0;
  std::vector<std::uint64_t> log;
  std::vector<Time_ps> last_ps = std::vector<Time_ps>(kNodes);

  void forward(std::uint32_t value, std::uint32_t hops, Time_ps now_ps) {
    if (hops == 0) return;
    std::uint64_t dice = mix64(value);
    std::uint32_t to = (index + 1 + static_cast<std::uint32_t>(dice % (kNodes - 1))) % kNodes;
    Packet p;
    // A link never reorders.
    p.time_ps = std::max(last_ps[to], now_ps + kLatency_ps + static_cast<Time_ps>(dice % 700'000));
    last_ps[to] = p.time_ps;
    p.aux = static_cast<std::uint32_t>(dice >> 32);
    p.word = hops - 1;
    out[to].push(p);
  }

  static Time_ps run(void* self, Time_ps end_ps) { return static_cast<MeshNode*>(self)->run_to(end_ps); }
  Time_ps run_to(Time_ps end_ps) {
    for (;;) {
      Time_ps next_ps = to_start > 0 ? timer_ps : kNever_ps;
      Inlet* from = nullptr;
      for (Inlet* inlet : in) {
        if (inlet != nullptr && inlet->next_ps() < next_ps) {
          next_ps = inlet->next_ps();
          from = inlet;
        }
      }
      if (next_ps >= end_ps) return next_ps;
      if (from == nullptr) {
        --to_start;
        forward(index * 1000 + to_start, 50, timer_ps);
        timer_ps += ns(130);
      } else {
        Packet p = from->front();
        from->pop();
        log.push_back(mix64(static_cast<std::uint64_t>(next_ps)) ^ p.aux);
        forward(p.aux, p.word, next_ps);
      }
    }
  }
};

struct Mesh {
  Engine engine;
  MeshNode nodes[kNodes];

  // Of the nodes that belong to another engine nothing is used.
  explicit Mesh(std::uint32_t domains, std::int64_t divisor = 1, std::uint32_t packets = 20, Part part = {})
      : engine(domains, part) {
    engine.divide_window(divisor);
    for (std::uint32_t i = 0; i < kNodes; ++i) {
      nodes[i].index = i;
      nodes[i].out.resize(kNodes);
      nodes[i].in.resize(kNodes);
      if (!engine.has_domain(i % domains)) continue;
      nodes[i].to_start = packets;
      nodes[i].domain = &engine.domain(i % domains);
      nodes[i].domain->add_node({&nodes[i], &MeshNode::run});
    }
    for (std::uint32_t from = 0; from < kNodes; ++from) {
      for (std::uint32_t to = 0; to < kNodes; ++to) {
        if (from == to) continue;
        LinkEnds ends = engine.connect(from % domains, to % domains, to / domains, kLatency_ps);
        nodes[from].out[to] = ends.outlet;
        nodes[to].in[from] = ends.inlet;
      }
    }
  }
  std::vector<std::vector<std::uint64_t>> logs() const {
    std::vector<std::vector<std::uint64_t>> all;
    for (const MeshNode& node : nodes) all.push_back(node.log);
    return all;
  }
};

std::vector<std::vector<std::uint64_t>> reference() {
  Mesh mesh(1);
  EXPECT_EQ(mesh.engine.run(kNever_ps), RunEnd::kIdle);
  std::size_t events = 0;
  for (const auto& log : mesh.logs()) events += log.size();
  EXPECT_EQ(events, kNodes * 20 * 50);
  return mesh.logs();
}

TEST(Engine, ResultDoesNotDependOnWindow) {
  auto expected = reference();
  for (std::int64_t divisor : {2, 3, 7, 100}) {
    Mesh mesh(1, divisor);
    mesh.engine.run(kNever_ps);
    EXPECT_EQ(mesh.logs(), expected) << "window / " << divisor;
  }
}

TEST(Engine, ResultDoesNotDependOnDomainsOrThreads) {
  auto expected = reference();
  for (std::uint32_t domains : {2U, 4U}) {
    for (std::uint32_t threads : {1U, 2U, 4U}) {
      Mesh mesh(domains, 3);
      EXPECT_EQ(mesh.engine.run(kNever_ps, threads), RunEnd::kIdle);
      EXPECT_EQ(mesh.logs(), expected) << domains << " domains, " << threads << " threads";
    }
  }
}

// A check that fails on a worker's thread says when and with which seed, as on the first thread.
TEST(EngineDeathTest, FailedCheckOnWorkerPrintsTimeAndSeed) {
  struct Node {
    Time_ps wake_ps = 0;
    bool fails = false;
    static Time_ps run(void* self, Time_ps end_ps) {
      auto& node = *static_cast<Node*>(self);
      WEFT_CHECK(!(node.fails && node.wake_ps >= us(3)), "it breaks here");
      while (node.wake_ps < end_ps) node.wake_ps += us(1);
      return node.wake_ps;
    }
  };
  auto run = [](std::uint32_t failing) {
    check_context().seed = 77;
    Engine engine(4);
    Node nodes[4];
    for (std::uint32_t i = 0; i < 4; ++i) {
      nodes[i].fails = i == failing;
      engine.domain(i).add_node({&nodes[i], &Node::run});
    }
    engine.run(us(10), 4);
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (std::uint32_t failing : {0U, 1U, 3U})
    EXPECT_DEATH(run(failing), "it breaks here.*simulated time 3000000 ps, seed 77") << failing;
}

TEST(Engine, StopsAtDeadlineAndResumes) {
  auto expected = reference();
  for (std::uint32_t threads : {1U, 2U}) {
    Mesh mesh(2);
    for (Time_ps deadline_ps = us(1);; deadline_ps += us(1)) {
      RunEnd end = mesh.engine.run(deadline_ps, threads);
      ASSERT_LT(mesh.engine.now_ps(), deadline_ps);
      if (end == RunEnd::kIdle) break;
      ASSERT_EQ(end, RunEnd::kDeadline);
    }
    EXPECT_EQ(mesh.logs(), expected);
  }
}

// The threads of one run serve the next, and mail of the last window is delivered before a run ends.
TEST(Engine, ShortRunsOnChangingThreadsGiveSameResult) {
  auto expected = reference();
  Mesh mesh(4);
  std::uint32_t runs = 0;
  for (Time_ps deadline_ps = us(3); mesh.engine.run(deadline_ps, 1 + runs / 2 % 3) == RunEnd::kDeadline;
       deadline_ps += us(3)) {
    ++runs;
    std::uint32_t in_flight = 0;
    for (const MeshNode& node : mesh.nodes) {
      for (const Inlet* inlet : node.in) in_flight += inlet == nullptr ? 0 : inlet->in_flight();
    }
    EXPECT_GT(in_flight, 0U) << "mail was left behind";
  }
  EXPECT_GT(runs, 8U);
  EXPECT_EQ(mesh.logs(), expected);
}

// Four domains: two engines with one and three of them, or four engines; the larger also on two threads.
TEST(Engine, SharedWorldGivesSameResult) {
  auto expected = reference();
  const std::vector<std::vector<Part>> divisions = {{{0, 1}, {1, 3}}, {{0, 1}, {1, 1}, {2, 1}, {3, 1}}};
  for (const std::vector<Part>& parts : divisions) {
    for (std::uint32_t threads : {1U, 2U}) {
      std::vector<std::uint32_t> owner(4);
      for (std::uint32_t e = 0; e < parts.size(); ++e) std::fill_n(owner.begin() + parts[e].first, parts[e].count, e);
      support::ThreadExchange exchange(static_cast<std::uint32_t>(parts.size()), owner);
      std::vector<std::vector<std::uint64_t>> logs(kNodes);
      {
        std::vector<std::jthread> runners;
        for (std::uint32_t e = 0; e < parts.size(); ++e) {
          runners.emplace_back([&, e] {
            Mesh mesh(4, 3, 20, parts[e]);
            mesh.engine.share(exchange.end(e));
            EXPECT_EQ(mesh.engine.run(kNever_ps, threads), RunEnd::kIdle);
            for (std::uint32_t i = 0; i < kNodes; ++i) {
              if (owner[i] == e) logs[i] = mesh.nodes[i].log;
            }
          });
        }
      }
      EXPECT_EQ(logs, expected) << parts.size() << " engines, " << threads << " threads";
      EXPECT_GT(exchange.parcels(), 100U);
    }
  }
}

TEST(Engine, CancelOfOneEngineStopsAll) {
  support::ThreadExchange exchange(2, {0, 1});
  std::atomic<bool> cancel{true};
  RunEnd ends[2] = {RunEnd::kIdle, RunEnd::kIdle};
  {
    std::vector<std::jthread> runners;
    for (std::uint32_t e = 0; e < 2; ++e) {
      runners.emplace_back([&, e] {
        Mesh mesh(2, 1, 20, {e, 1});
        mesh.engine.share(exchange.end(e));
        ends[e] = mesh.engine.run(kNever_ps, 1, e == 0 ? &cancel : nullptr);
      });
    }
  }
  EXPECT_EQ(ends[0], RunEnd::kCancelled);
  EXPECT_EQ(ends[1], RunEnd::kCancelled);
}

TEST(Engine, SkipsIdleTime) {
  Engine engine(1);
  struct Sleeper {
    int visits = 0;
    static Time_ps run(void* self, Time_ps end_ps) {
      auto& me = *static_cast<Sleeper*>(self);
      if (me.visits == 3) return kNever_ps;
      ++me.visits;
      return end_ps + kSecond_ps;
    }
  } sleeper;
  std::uint32_t node = engine.domain(0).add_node({&sleeper, &Sleeper::run});
  engine.connect(0, 0, node, ns(1));
  EXPECT_EQ(engine.run(kNever_ps), RunEnd::kIdle);
  EXPECT_EQ(sleeper.visits, 3);
  EXPECT_GT(engine.now_ps(), 2 * kSecond_ps);
  EXPECT_LT(engine.windows(), 10U);
}

// A node that asks for a visit within the window that it is being visited in has done that by the end of it: no window
// is opened for it, and what others are to be woken for is not forgotten.
TEST(Engine, WakeWithinOwnVisitOpensNoWindow) {
  Engine engine(1);
  struct Node {
    Domain* domain = nullptr;
    std::uint32_t node = 0;
    std::uint32_t other = 0;
    std::vector<Time_ps> visits;  // by the end of their windows
    static Time_ps run(void* self, Time_ps end_ps) {
      auto& me = *static_cast<Node*>(self);
      me.visits.push_back(end_ps);
      if (me.visits.size() > 1) return kNever_ps;
      me.domain->wake(me.node, end_ps - 1);
      me.domain->wake(me.other, end_ps + us(10));
      return kNever_ps;
    }
  } nodes[2];
  for (Node& each : nodes) {
    each.domain = &engine.domain(0);
    each.node = engine.domain(0).add_node({&each, &Node::run});
  }
  nodes[0].other = 1;
  nodes[1].other = 0;
  engine.connect(0, 0, 0, us(1));
  EXPECT_EQ(engine.run(kNever_ps), RunEnd::kIdle);
  for (const Node& each : nodes) EXPECT_EQ(each.visits, (std::vector<Time_ps>{us(1), us(12)}));
  EXPECT_EQ(engine.windows(), 3U) << "the third finds nothing to do";
}

TEST(Engine, CanBeCancelled) {
  for (std::uint32_t threads : {1U, 2U}) {
    Mesh mesh(2, 50, 100'000);
    std::atomic<bool> cancel = true;
    EXPECT_EQ(mesh.engine.run(kNever_ps, threads, &cancel), RunEnd::kCancelled);
    EXPECT_GT(mesh.nodes[0].to_start, 0U);
  }
}

TEST(Engine, ReportsProgressWithIncreasingTime) {
  Mesh mesh(2, 50, 1000);
  Time_ps last_ps = -1;
  int calls = 0;
  mesh.engine.run(kNever_ps, 2, nullptr, [&](Time_ps now_ps) {
    EXPECT_GT(now_ps, last_ps);
    last_ps = now_ps;
    ++calls;
  });
  EXPECT_GT(calls, 0);
}

TEST(EngineDeathTest, RejectsLinkWithoutDelay) {
  Engine engine(1);
  EXPECT_DEATH(engine.connect(0, 0, 0, 0), "delay above zero");
}

}  // namespace
}  // namespace weft::engine
