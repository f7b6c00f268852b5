// Memory windows: what binds, who may come in, and how they end.
#include <gtest/gtest.h>

#include "support/rc_pair.h"

namespace weft::nic {
namespace {

using support::RcOptions;
using support::RcPair;

constexpr std::uint32_t kPd = 7, kQpn = 0x108;

struct Table {
  MemoryTable memory{1, 1};
  std::uint32_t region = memory.add(0x1000, 0x1000, {true, false, false, false});
  std::uint32_t window1 = 0, window2 = 0;
  Table() {
    memory.find(region)->pd = kPd;
    memory.find(region)->kind = RegionKind::kBindable;
    window1 = memory.add_window(kPd, RegionKind::kWindow1);
    window2 = memory.add_window(kPd, RegionKind::kWindow2);
  }
  MemoryTable::Binding binding(std::uint32_t key) const {
    return {key, region, 0x1800, 0x100, {false, true, true, false}, kPd, kQpn};
  }
};

std::uint32_t next_key(std::uint32_t key) {
  return (key & ~0xffu) | ((key + 1) & 0xff);
}

TEST(MemoryWindow, OpensPartOfRegionUnderNewKey) {
  Table table;
  EXPECT_EQ(table.memory.find(table.window2), nullptr) << "not bound yet";
  const std::uint32_t key = next_key(table.window2);
  ASSERT_TRUE(table.memory.bind(table.binding(key)));
  const MemoryRegion* window = table.memory.find(key);
  ASSERT_NE(window, nullptr);
  EXPECT_TRUE(window->covers(0x1800, 0x100));
  EXPECT_FALSE(window->covers(0x1800, 0x101));
  EXPECT_TRUE(window->access.remote_write && window->access.remote_read);
  EXPECT_FALSE(window->access.remote_atomic || window->access.local_write);
  EXPECT_TRUE(window->admits(99, kQpn)) << "its queue pair";
  EXPECT_FALSE(window->admits(kPd, kQpn + 1)) << "another one of the same domain";
  EXPECT_EQ(table.memory.find(table.window2), nullptr) << "the key before";
}

TEST(MemoryWindow, BindChecksWindowRegionAndRights) {
  Table table;
  auto with = [&](auto change) {
    MemoryTable::Binding binding = table.binding(next_key(table.window1));
    change(binding);
    return table.memory.bind(binding);
  };
  EXPECT_FALSE(with([](auto& b) { b.key = 0; }));
  EXPECT_FALSE(with([](auto& b) { b.key = 0xffffff00; }));
  EXPECT_FALSE(with([&](auto& b) { b.key = table.region; })) << "a region is no window";
  EXPECT_FALSE(with([](auto& b) { b.pd = kPd + 1; }));
  EXPECT_FALSE(with([](auto& b) { b.region_key ^= 1; }));
  EXPECT_FALSE(with([](auto& b) { b.va = 0x0fff; }));
  EXPECT_FALSE(with([](auto& b) { b.length_B = 0x801; }));
  EXPECT_FALSE(with([&](auto& b) { b.region_key = table.window2; }));
  table.memory.find(table.region)->access.local_write = false;
  EXPECT_FALSE(with([](auto&) {})) << "the device may not write there itself";
  EXPECT_TRUE(with([](auto& b) { b.access = {false, false, true, false}; }));
  table.memory.find(table.region)->kind = RegionKind::kRegion;
  EXPECT_FALSE(with([](auto& b) { b.access = {}; })) << "not registered for windows";
}

TEST(MemoryWindow, TypeOneIsBoundAgainAndClosedByLengthZero) {
  Table table;
  std::uint32_t key = next_key(table.window1);
  ASSERT_TRUE(table.memory.bind(table.binding(key)));
  EXPECT_TRUE(table.memory.find(key)->admits(kPd, 1));
  std::uint32_t again = next_key(key);
  ASSERT_TRUE(table.memory.bind(table.binding(again)));
  EXPECT_EQ(table.memory.find(key), nullptr);
  EXPECT_FALSE(table.memory.remove(table.region)) << "a window is bound to it";
  EXPECT_FALSE(table.memory.change(table.region, 0, 1, {}, kPd));
  MemoryTable::Binding nothing = table.binding(next_key(again));
  nothing.length_B = 0;
  ASSERT_TRUE(table.memory.bind(nothing));
  EXPECT_EQ(table.memory.find(nothing.key), nullptr);
  EXPECT_EQ(table.memory.current_key(table.window1), nothing.key);
  EXPECT_TRUE(table.memory.remove(table.region));
}

TEST(MemoryWindow, TypeTwoIsInvalidatedBeforeItIsBoundAgain) {
  Table table;
  std::uint32_t key = next_key(table.window2);
  ASSERT_TRUE(table.memory.bind(table.binding(key)));
  EXPECT_FALSE(table.memory.bind(table.binding(next_key(key))));
  EXPECT_FALSE(table.memory.invalidate_window(key, kPd, kQpn + 1)) << "not this queue pair's";
  EXPECT_FALSE(table.memory.invalidate_window(table.region, kPd, kQpn)) << "no window";
  EXPECT_TRUE(table.memory.invalidate_window(key, kPd, kQpn));
  EXPECT_FALSE(table.memory.invalidate_window(key, kPd, kQpn)) << "it is not bound";
  EXPECT_TRUE(table.memory.bind(table.binding(next_key(key))));
}

TEST(MemoryWindow, EndOfRegionClosesItsWindows) {
  Table table;
  std::uint32_t key = next_key(table.window2);
  ASSERT_TRUE(table.memory.bind(table.binding(key)));
  table.memory.remove_with_windows(table.region);
  EXPECT_EQ(table.memory.find(table.region), nullptr);
  EXPECT_EQ(table.memory.find(key), nullptr);
  EXPECT_TRUE(table.memory.remove(key)) << "the window itself is still there";
}

// Side 1 opens windows of its memory, side 0 comes in through them.
struct Windows : RcPair {
  std::uint32_t region = 0;
  explicit Windows(RcOptions options = {}) : RcPair(options) {
    device(1).memory().find(node(1).key)->kind = RegionKind::kBindable;
  }
  std::uint32_t add(RegionKind kind) { return device(1).memory().add_window(0, kind); }
  void bind(std::uint32_t key, std::uint64_t rights, std::uint64_t length_B = 4096, Time_ps at_ps = 0) {
    SendRequest r;
    r.opcode = WrOpcode::kBindWindow;
    r.rkey = key;
    r.lkey = node(1).key;
    r.remote_va = node(1).va();
    r.swap_add = length_B;
    r.compare = rights;
    EXPECT_TRUE(device(1).post_local(qp[1], r, at_ps));
    node(1).at(at_ps, [] {});
  }
  void write(std::uint32_t key, Time_ps at_ps, std::uint32_t length_B = 100) {
    SendRequest r = request(WrOpcode::kWrite, length_B);
    r.rkey = key;
    post(r, at_ps);
  }
  std::vector<Completion> bound() { return node(1).poll(node(1).send_cq); }
};

TEST(MemoryWindow, LetsPeersInByItsRights) {
  for (RegionKind kind : {RegionKind::kWindow1, RegionKind::kWindow2}) {
    Windows pair;
    std::uint32_t key = next_key(pair.add(kind));
    pair.bind(key, kWindowWrite);
    pair.write(key, us(10), 3000);
    SendRequest read = pair.request(WrOpcode::kRead, 100);
    read.rkey = key;
    pair.post(read, us(20));
    pair.run();
    auto bound = pair.bound();
    ASSERT_GE(bound.size(), 1U);
    EXPECT_EQ(bound[0].status, WcStatus::kSuccess);
    EXPECT_EQ(bound[0].opcode, WcOpcode::kBindWindow);
    auto c = pair.sent_completions();
    ASSERT_EQ(c.size(), 2U);
    EXPECT_EQ(c[0].status, WcStatus::kSuccess);
    EXPECT_EQ(c[1].status, WcStatus::kRemoteAccessError) << "not open for READ";
    EXPECT_TRUE(pair.same_bytes(0, 0, 3000));
  }
}

TEST(MemoryWindow, KeyBeforeBindIsRefused) {
  Windows pair;
  std::uint32_t first = pair.add(RegionKind::kWindow2);
  pair.bind(next_key(first), kWindowWrite);
  pair.write(first, us(10));
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kRemoteAccessError);
}

TEST(MemoryWindow, BindKeepsSendOrder) {
  Windows pair;
  std::uint32_t key = next_key(pair.add(RegionKind::kWindow2));
  // A long WRITE of side 1's own, the bind, a second bind that fails because the first has been done.
  SendRequest own;
  own.wr_id = 100;
  own.length_B = 16000;
  own.local_va = pair.node(1).va();
  own.lkey = pair.node(1).key;
  own.remote_va = pair.node(0).va() + 65536;
  own.rkey = pair.node(0).key;
  EXPECT_TRUE(pair.device(1).post_send(pair.qp[1], own, 0));
  pair.bind(key, kWindowWrite);
  pair.bind(next_key(key), kWindowWrite);
  pair.run();
  auto c = pair.bound();
  ASSERT_EQ(c.size(), 3U);
  EXPECT_EQ(c[0].opcode, WcOpcode::kWrite);
  EXPECT_EQ(c[1].status, WcStatus::kSuccess);
  EXPECT_GE(c[1].visible_ps, c[0].visible_ps);
  EXPECT_EQ(c[2].status, WcStatus::kWindowBindError);
  EXPECT_EQ(pair.state(1), QpState::kErr);
}

// Packets before and behind a bind have PSNs that follow each other: it has none.
TEST(MemoryWindow, BindUsesNoPsn) {
  Windows pair;
  std::uint32_t key = next_key(pair.device(0).memory().add_window(0, RegionKind::kWindow2));
  pair.device(0).memory().find(pair.node(0).key)->kind = RegionKind::kBindable;
  SendRequest bind;
  bind.opcode = WrOpcode::kBindWindow;
  bind.rkey = key;
  bind.lkey = pair.node(0).key;
  bind.remote_va = pair.node(0).va();
  bind.swap_add = 64;
  pair.post(WrOpcode::kWrite, 2000);
  EXPECT_TRUE(pair.device(0).post_local(pair.qp[0], bind, 0));
  pair.post(WrOpcode::kWrite, 2000);
  pair.run();
  EXPECT_EQ(pair.psns(0), (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(pair.sent_completions().size(), 3U);
}

TEST(MemoryWindow, EndsBySendWithInvalidateAndLocally) {
  for (bool remote : {true, false}) {
    Windows pair;
    std::uint32_t key = next_key(pair.add(RegionKind::kWindow2));
    pair.bind(key, kWindowWrite);
    pair.write(key, us(10));
    if (remote) {
      pair.receive(64, 8192);
      SendRequest send = pair.request(WrOpcode::kSendInv, 8);
      send.imm = key;
      pair.post(send, us(20));
    } else {
      SendRequest end;
      end.opcode = WrOpcode::kLocalInvalidate;
      end.rkey = key;
      EXPECT_TRUE(pair.device(1).post_local(pair.qp[1], end, us(20)));
      pair.node(1).at(us(20), [] {});
    }
    pair.write(key, us(40));
    pair.run();
    auto c = pair.sent_completions();
    ASSERT_EQ(c.size(), remote ? 3U : 2U);
    EXPECT_EQ(c.front().status, WcStatus::kSuccess);
    EXPECT_EQ(c.back().status, WcStatus::kRemoteAccessError);
  }
}

TEST(MemoryWindow, TypeOneIsNotInvalidatedByPeers) {
  Windows pair;
  std::uint32_t key = next_key(pair.add(RegionKind::kWindow1));
  pair.bind(key, kWindowWrite);
  pair.receive(64, 8192);
  SendRequest send = pair.request(WrOpcode::kSendInv, 8);
  send.imm = key;
  pair.post(send, us(20));
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kRemoteAccessError);
  EXPECT_NE(pair.device(1).memory().find(key), nullptr);
}

TEST(MemoryWindow, DatagramQueuePairsBindNothing) {
  RcOptions options;
  options.type = QpType::kUd;
  Windows pair(options);
  pair.bind(next_key(pair.add(RegionKind::kWindow1)), kWindowWrite);
  pair.run();
  auto c = pair.bound();
  ASSERT_EQ(c.size(), 1U);
  EXPECT_EQ(c[0].status, WcStatus::kLocalQpOperationError);
}

}  // namespace
}  // namespace weft::nic
