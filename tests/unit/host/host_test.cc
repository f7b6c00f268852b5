#include "host/host.h"

#include <gtest/gtest.h>

#include "support/host_pair.h"

namespace weft::host {
namespace {

using support::HostPair;
using support::HostPairOptions;
using support::Script;

// One RC queue pair on each side and a region of 4 KiB without bytes.
struct Connected : HostPair {
  std::uint32_t cq[2], receive_cq[2], qp[2], key[2];

  explicit Connected(const HostPairOptions& options = {}) : HostPair(options) {
    for (std::uint32_t side : {0U, 1U}) {
      cq[side] = device(side).create_cq(64);
      receive_cq[side] = device(side).create_cq(64);
      qp[side] = device(side).create_qp(nic::QpType::kRc, cq[side], receive_cq[side], 16, 16);
      key[side] = device(side).memory().add(0x1000, 4096, {true, true, true, true});
    }
    for (std::uint32_t side : {0U, 1U}) {
      nic::QpAttributes a;
      a.access = {true, true, true, true};
      a.path_mtu_B = 1024;
      a.remote_port = 1 - side;
      a.remote_qpn = qp[1 - side];
      for (auto state : {nic::QpState::kInit, nic::QpState::kRtr, nic::QpState::kRts})
        device(side).modify(qp[side], state, a);
    }
  }
  nic::SendRequest write(std::uint32_t length_B) {
    nic::SendRequest r;
    r.opcode = nic::WrOpcode::kWrite;
    r.length_B = length_B;
    r.local_va = r.remote_va = 0x1000;
    r.lkey = key[0];
    r.rkey = key[1];
    return r;
  }
};

TEST(Host, ProgramsRunAtRequestedTimes) {
  HostPair pair;
  Script script([](Time_ps now_ps) { return now_ps < us(3) ? now_ps + us(1) : kNever_ps; });
  pair.host(0).start(script, us(1));
  pair.run();
  EXPECT_EQ(script.stepped_ps, (std::vector<Time_ps>{us(1), us(2), us(3)}));
  EXPECT_EQ(pair.host(0).last_event_ps(), us(3));
}

TEST(Host, ProgramsAtSameInstantRunByNumber) {
  HostPair pair;
  std::vector<int> order;
  std::vector<std::unique_ptr<Script>> scripts;
  for (int i = 0; i < 4; ++i) {
    scripts.push_back(std::make_unique<Script>([&order, i](Time_ps now_ps) {
      order.push_back(i);
      return now_ps == us(1) ? us(2) : kNever_ps;
    }));
    EXPECT_EQ(pair.host(0).start(*scripts.back(), us(1)), static_cast<std::uint32_t>(i));
  }
  pair.run();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 0, 1, 2, 3}));
}

TEST(Host, StoppedProgramIsNotSteppedAndFreesNumber) {
  HostPair pair;
  Script one([](Time_ps) { return kNever_ps; });
  Script two([](Time_ps) { return kNever_ps; });
  std::uint32_t first = pair.host(0).start(one, us(5));
  pair.host(0).stop(first);
  pair.host(0).stop(kNoProgram);
  EXPECT_EQ(pair.host(0).start(two, us(6)), first);
  pair.run();
  EXPECT_TRUE(one.stepped_ps.empty());
  EXPECT_EQ(two.stepped_ps, (std::vector<Time_ps>{us(6)}));
}

TEST(Host, WakeMovesProgramForward) {
  HostPair pair;
  Script script([](Time_ps) { return kNever_ps; });
  std::uint32_t number = pair.host(0).start(script, us(50));
  pair.host(0).wake(number, us(7));
  pair.host(0).wake(number, us(9));  // later than what is planned: no effect
  pair.run();
  EXPECT_EQ(script.stepped_ps, (std::vector<Time_ps>{us(7)}));
}

TEST(Host, WaitWakesWhenCompletionIsVisible) {
  Connected pair;
  std::uint32_t number = 0;
  Time_ps seen_ps = 0;
  Script script([&](Time_ps now_ps) -> Time_ps {
    if (now_ps == us(1)) {
      pair.device(0).post_send(pair.qp[0], pair.write(64), now_ps);
    } else if (pair.device(0).cq(pair.cq[0]).peek(now_ps) != nullptr) {
      seen_ps = pair.device(0).cq(pair.cq[0]).peek(now_ps)->visible_ps;
      pair.device(0).cq(pair.cq[0]).pop();
      return kNever_ps;
    }
    return pair.host(0).wait(number, pair.device(0), pair.cq[0]);
  });
  number = pair.host(0).start(script, us(1));
  pair.run();
  ASSERT_EQ(script.stepped_ps.size(), 2U);
  EXPECT_EQ(script.stepped_ps[1], seen_ps);
  EXPECT_GT(seen_ps, us(3)) << "a round trip of two flights";
}

// Its number goes to another program, which must not be woken for it.
TEST(Host, StoppedProgramDoesNotWait) {
  Connected pair;
  pair.device(0).post_send(pair.qp[0], pair.write(64), us(1));
  Script waiter([](Time_ps) { return kNever_ps; });
  Script other([](Time_ps) { return kNever_ps; });
  std::uint32_t number = pair.host(0).start(waiter, us(1));
  std::uint32_t second = pair.host(0).start(other, us(1));
  EXPECT_EQ(pair.host(0).wait(number, pair.device(0), pair.cq[0]), kNever_ps);
  pair.host(0).stop(second);
  EXPECT_TRUE(pair.device(0).cq(pair.cq[0]).armed) << "somebody else stopped";
  pair.host(0).stop(number);
  Script next([](Time_ps) { return kNever_ps; });
  EXPECT_EQ(pair.host(0).start(next, us(2)), number);
  pair.run();
  EXPECT_EQ(next.stepped_ps, (std::vector<Time_ps>{us(2)}));
}

TEST(Host, WaitForExistingEntryReturnsEntryTime) {
  HostPair pair;
  std::uint32_t cq = pair.device(0).create_cq(4);
  nic::Completion completion;
  completion.visible_ps = us(9);
  pair.device(0).cq(cq).push(completion);
  EXPECT_EQ(pair.host(0).wait(0, pair.device(0), cq), us(9));
  EXPECT_FALSE(pair.device(0).cq(cq).armed);
}

// Four WRITEs, room for two completions. A program of this simulator would be broken; an unmodified one is notified.
TEST(Host, NotifiesListenerOfOverrun) {
  struct Listener {
    std::vector<nic::AsyncKind> kinds;
    nic::Device* device = nullptr;
  } listener;
  auto overrun = [](Listener* to) {
    Connected pair;
    if (to != nullptr) {
      pair.host(0).set_hooks({to,
                              [](void* self, nic::Device& device, nic::AsyncKind kind, std::uint32_t, Time_ps) {
                                if (!nic::is_internal(kind)) static_cast<Listener*>(self)->kinds.push_back(kind);
                                static_cast<Listener*>(self)->device = &device;
                              },
                              nullptr});
    }
    std::uint32_t small = pair.device(0).create_cq(2);
    std::uint32_t qp = pair.device(0).create_qp(nic::QpType::kRc, small, small, 16, 16);
    ASSERT_TRUE(pair.device(0).modify(qp, nic::QpState::kInit));
    ASSERT_TRUE(pair.device(0).modify(qp, nic::QpState::kErr));
    Script script([&](Time_ps now_ps) {
      for (int i = 0; i < 4; ++i) pair.device(0).post_send(qp, pair.write(8), now_ps);
      return kNever_ps;
    });
    pair.host(0).start(script, us(1));
    pair.run();
    if (to != nullptr) {
      EXPECT_EQ(to->device, &pair.device(0));
    }
  };
  overrun(&listener);
  EXPECT_EQ(listener.kinds, (std::vector{nic::AsyncKind::kCqError}));
  EXPECT_DEATH(overrun(nullptr), "overrun");
}

TEST(Host, WatchReportsWritesToRegionOnly) {
  Connected pair;
  Script watcher([](Time_ps) { return kNever_ps; });
  std::uint32_t number = pair.host(1).start(watcher, us(1));
  pair.host(1).watch(number, pair.device(1), pair.key[1]);
  std::uint32_t other = pair.device(1).memory().add(0x9000, 64, {true, true, true, true});
  Script sender([&](Time_ps now_ps) {
    nic::SendRequest elsewhere = pair.write(8);
    elsewhere.rkey = other;
    elsewhere.remote_va = 0x9000;
    pair.device(0).post_send(pair.qp[0], elsewhere, now_ps);
    pair.device(0).post_send(pair.qp[0], pair.write(3000), now_ps);
    return kNever_ps;
  });
  pair.host(0).start(sender, us(2));
  pair.run();
  ASSERT_EQ(watcher.written_ps.size(), 1U) << "one for the whole message";
  EXPECT_EQ(watcher.stepped_ps, (std::vector<Time_ps>{us(1), watcher.written_ps[0]}));
}

TEST(Host, InterruptsTakeCpuTime) {
  HostPairOptions options;
  options.host.interrupt_period_ps = us(100);
  options.host.interrupt_cost_ps = us(4);
  HostPair pair(options);
  Host& host = pair.host(0);
  Time_ps stolen_ps = 0;
  for (Time_ps t = ms(1); t < ms(2); t += ns(500)) {
    Time_ps runs_ps = host.cpu_ps(t);
    ASSERT_GE(runs_ps, t);
    ASSERT_LE(runs_ps - t, us(4));
    ASSERT_EQ(host.cpu_ps(runs_ps), runs_ps);
    if (runs_ps > t) stolen_ps += ns(500);
  }
  EXPECT_NEAR(static_cast<double>(stolen_ps), static_cast<double>(us(40)), static_cast<double>(us(2)))
      << "4 % of the time";
  // Two hosts do not tick together.
  bool differ = false;
  for (Time_ps t = 0; t < us(100); t += us(1))
    differ = differ || (host.cpu_ps(t) == t) != (pair.host(1).cpu_ps(t) == t);
  EXPECT_TRUE(differ);
}

TEST(Host, CpuIsAlwaysAvailableWithoutInterrupts) {
  HostPair pair;
  for (Time_ps t : {Time_ps{0}, us(1), ms(7) + 1}) EXPECT_EQ(pair.host(0).cpu_ps(t), t);
}

// At one instant the port is served before a program looks: a completion visible now is seen now.
TEST(Host, NicRunsBeforeProgramAtSameInstant) {
  Time_ps first_bit_ps = 0;
  for (int pass = 0; pass < 2; ++pass) {
    Connected pair;
    std::uint64_t sent_when_stepped = 99;
    Script poster([&](Time_ps now_ps) {
      pair.device(0).post_send(pair.qp[0], pair.write(64), now_ps);
      return kNever_ps;
    });
    Script looker([&](Time_ps) {
      sent_when_stepped = pair.link(0).sent.sent;
      return kNever_ps;
    });
    pair.host(0).start(poster, us(1));
    // The WQE is ready after MMIO 100 ns, DMA read 200 ns and NIC 100 ns: the frame leaves at 1.4 us.
    first_bit_ps = us(1) + ns(400);
    pair.host(0).start(looker, pass == 0 ? first_bit_ps : first_bit_ps - 1);
    pair.run();
    EXPECT_EQ(sent_when_stepped, pass == 0 ? 1U : 0U);
  }
}

TEST(HostDeathTest, ProgramMustTakeTime) {
  HostPair pair;
  Script script([](Time_ps now_ps) { return now_ps; });
  pair.host(0).start(script, us(1));
  EXPECT_DEATH(pair.run(), "must take time");
}

}  // namespace
}  // namespace weft::host
