// Programs that lie: in their messages, in their handles, in their rings. The world answers with an error or hangs up,
// never reads or writes what was not registered, and serves the next program as if nothing had happened.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "support/live_program.h"

namespace weft {
namespace {

using verbs::Op;

constexpr std::uint32_t kWild[] = {0, 1, 2, 1000, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};

// Both ends of a connection, in two "processes" that are both this one: a on host a, b on host b.
class Hostile : public testing::Test {
 protected:
  struct Side {
    explicit Side(LiveWorld& world, const char* node, std::uint8_t fill) : program(world, node) {
      memory.fill(fill);
      pd = program.make(Op::kAllocPd, verbs::OnDevice{0});
      Answer answer = program.ask(Op::kRegMr, reg(pd, 0x1f));
      keys = answer.as<verbs::MrKeys>();
      cq = program.make_cq(64);
      qp = program.make_qp(pd, cq.info.handle, 16);
    }
    verbs::RegMr reg(std::uint32_t in, std::uint32_t access) {
      return {in, access, address(kRegistered_B), kRegistered_B, address(kRegistered_B)};
    }
    // The middle of the memory is registered.
    std::uint64_t address(std::size_t offset_B) { return reinterpret_cast<std::uint64_t>(memory.data()) + offset_B; }
    void send(std::uint32_t opcode, const verbs::Sge& sge, std::uint64_t remote_va = 0, std::uint32_t rkey = 0) {
      verbs::SendEntry entry{};
      entry.wr_id = ++wr_id;
      entry.opcode = opcode;
      entry.flags = IBV_SEND_SIGNALED;
      entry.sges = 1;
      entry.remote_va = remote_va;
      entry.rkey = rkey;
      program.post(qp.send, entry, {&sge, 1});
    }
    void receive(const verbs::Sge& sge) { program.post(qp.receive, verbs::ReceiveEntry{0, ++wr_id, 1, 0}, {&sge, 1}); }
    verbs::Sge all() { return {address(kRegistered_B), kRegistered_B, keys.lkey}; }
    bool alive() { return program.sleep(us(1)); }

    static constexpr std::uint32_t kRegistered_B = 4096;
    alignas(4096) std::array<std::uint8_t, 3 * kRegistered_B> memory;
    LiveProgram program;
    std::uint32_t pd = 0;
    std::uint64_t wr_id = 0;
    verbs::MrKeys keys{};
    LiveProgram::Mapped cq;
    LiveProgram::Qp qp;
  };

  // One thread of the test is all programs: they act one at a time, each while the others wait.
  void connect() {
    ASSERT_TRUE(a.program.connect(a.qp, b.qp.number, "\x0a\0\0\x02"));
    ASSERT_TRUE(b.program.connect(b.qp, a.qp.number, "\x0a\0\0\x01"));
  }
  std::uint32_t status_of_a() {
    auto entry = a.program.take(a.cq);
    return entry ? entry->status : 999;
  }

  LiveWorld world;
  Side a{world, "a", 0xaa};
  Side b{world, "b", 0xbb};
};

TEST_F(Hostile, RejectsMessagesOfAnySizeAndKind) {
  for (std::uint32_t op = 0; op < 300; ++op) {
    // An exec ends the process, which `a` is of.
    if (op == static_cast<std::uint32_t>(Op::kSleep) || op == static_cast<std::uint32_t>(Op::kExec)) continue;
    for (std::size_t size_B : {0, 4, 24, 300}) {
      LiveProgram program(world, "a", 50);
      std::vector<std::byte> body(size_B, std::byte{0xff});
      LiveProgram::close_fds(program.ask_bytes(op, body));
    }
  }
  EXPECT_TRUE(a.alive());
}

TEST_F(Hostile, RejectsForeignHandles) {
  for (std::uint32_t handle : kWild) {
    for (std::uint32_t kind = 0; kind < 10; ++kind) {
      Answer answer = a.program.ask(Op::kDestroy, verbs::Destroy{static_cast<verbs::Kind>(kind), handle + 50});
      EXPECT_TRUE(answer.came && answer.error != 0) << kind << " " << handle;
    }
    EXPECT_NE(a.program.ask(Op::kQueryQp, verbs::Handle{handle + 50}).error, 0);
    EXPECT_NE(a.program.ask(Op::kArmCq, verbs::ArmCq{handle + 50, 0}).error, 0);
    EXPECT_NE(a.program.ask(Op::kAllocPd, verbs::OnDevice{handle | 1}).error, 0);
    EXPECT_NE(a.program.ask(Op::kModifySrq, verbs::ModifySrq{handle + 50, 1}).error, 0);
  }
}

TEST_F(Hostile, RejectsSizesBeyondDeviceLimits) {
  for (std::uint32_t size : {0u, 4194304u, 0x80000000u, 0xffffffffu}) {
    EXPECT_NE(a.program.ask(Op::kCreateCq, verbs::CreateCq{0, size, verbs::kNoHandle, 0}).error, 0) << size;
    // One of size 0 is as small as there are, as on mlx5.
    Answer srq = a.program.ask(Op::kCreateSrq, verbs::CreateSrq{a.pd, size, 1, 0, 0});
    LiveProgram::close_fds(srq);
    EXPECT_EQ(srq.error != 0, size != 0) << size;
  }
  verbs::CreateQp fine{a.pd, IBV_QPT_RC, a.cq.info.handle, a.cq.info.handle, verbs::kNoHandle, 4, 4, 1, 1, 0, 0, 0};
  for (std::uint32_t verbs::CreateQp::*field :
       {&verbs::CreateQp::max_send_wr, &verbs::CreateQp::max_receive_wr, &verbs::CreateQp::max_send_sge,
        &verbs::CreateQp::max_receive_sge, &verbs::CreateQp::max_inline_B, &verbs::CreateQp::type}) {
    verbs::CreateQp wrong = fine;
    wrong.*field = 0xffffffff;
    EXPECT_NE(a.program.ask(Op::kCreateQp, wrong).error, 0);
  }
  verbs::RegMr wraps = a.reg(a.pd, 0x1f);
  wraps.length_B = UINT64_MAX;
  EXPECT_NE(a.program.ask(Op::kRegMr, wraps).error, 0);
  wraps = {a.pd, 0x1f, 8, 4096, 8};
  EXPECT_NE(a.program.ask(Op::kRegMr, wraps).error, 0) << "nothing is mapped there";
}

TEST_F(Hostile, HandlesTimesThatNeverCome) {
  for (std::int64_t time_ps : {INT64_MAX, INT64_MAX - 1, INT64_MAX / 2, INT64_MIN}) {
    LiveProgram timer(world, "a", 200);
    EXPECT_TRUE(timer.ask(Op::kSetTimer, verbs::SetTimer{0, time_ps}).came);
    LiveProgram sleeper(world, "a", 50);
    sleeper.ask(Op::kSleep, verbs::Sleep{time_ps});
    LiveProgram waiter(world, "a", 50);
    waiter.ask(Op::kWait, verbs::Wait{time_ps, 0, 0});
    LiveProgram liar(world, "a", 50);
    verbs::Handle none{0};
    liar.say(static_cast<std::uint32_t>(Op::kQueryQp), std::as_bytes(std::span(&none, 1)), 4, time_ps);
    liar.hear();
  }
  EXPECT_TRUE(a.alive());
}

TEST_F(Hostile, RejectsListsOutsideRegisteredMemory) {
  const std::uint32_t size_B = Side::kRegistered_B;
  const verbs::Sge wrong[] = {
      {a.address(0), size_B, a.keys.lkey},           // before
      {a.address(2 * size_B), 1, a.keys.lkey},       // behind
      {a.address(size_B), size_B + 1, a.keys.lkey},  // one too many
      {a.address(2 * size_B - 1), 0xffffffff, a.keys.lkey},
      {UINT64_MAX, 2, a.keys.lkey},
      {a.address(size_B), 64, a.keys.lkey + 1},  // no such key
      {b.address(size_B), 64, b.keys.lkey},
  };
  for (const verbs::Sge& sge : wrong) {
    connect();
    b.receive(b.all());
    EXPECT_TRUE(b.alive());
    a.send(IBV_WR_SEND, sge);
    EXPECT_EQ(status_of_a(), static_cast<std::uint32_t>(IBV_WC_LOC_PROT_ERR)) << sge.length_B << " " << sge.lkey;
    EXPECT_EQ(b.memory[size_B], 0xbb) << "nothing came";
    ASSERT_TRUE(a.program.modify(a.qp, IBV_QPS_RESET, 0) && b.program.modify(b.qp, IBV_QPS_RESET, 0));
  }
}

TEST_F(Hostile, RejectsReceivesIntoForeignMemory) {
  Answer read_only = b.program.ask(Op::kRegMr, b.reg(b.pd, IBV_ACCESS_REMOTE_READ));
  for (const verbs::Sge& sge : {verbs::Sge{b.address(0), 64, b.keys.lkey},
                                verbs::Sge{b.address(Side::kRegistered_B), 64, read_only.as<verbs::MrKeys>().lkey}}) {
    connect();
    b.receive(sge);
    EXPECT_TRUE(b.alive());
    a.send(IBV_WR_SEND, {a.address(Side::kRegistered_B), 64, a.keys.lkey});
    EXPECT_EQ(status_of_a(), static_cast<std::uint32_t>(IBV_WC_REM_OP_ERR));
    auto failed = b.program.take(b.cq);
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->status, static_cast<std::uint32_t>(IBV_WC_LOC_PROT_ERR));
    EXPECT_TRUE(b.alive());
    EXPECT_EQ(b.memory[0], 0xbb);
    EXPECT_EQ(b.memory[Side::kRegistered_B], 0xbb);
    ASSERT_TRUE(a.program.modify(a.qp, IBV_QPS_RESET, 0) && b.program.modify(b.qp, IBV_QPS_RESET, 0));
  }
}

// A key of another domain is as good as none (IBTA vol 1, 10.6.3.5).
TEST_F(Hostile, RejectsKeysOfOtherProtectionDomain) {
  std::uint32_t other = b.program.make(Op::kAllocPd, verbs::OnDevice{0});
  auto foreign = b.program.ask(Op::kRegMr, b.reg(other, 0x1f)).as<verbs::MrKeys>();
  verbs::Sge own{a.address(Side::kRegistered_B), 8, a.keys.lkey};
  for (std::uint32_t opcode :
       {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP}) {
    for (std::uint32_t rkey : {foreign.rkey, b.keys.rkey}) {
      connect();
      a.send(opcode, own, b.address(Side::kRegistered_B), rkey);
      bool refused = rkey == foreign.rkey;
      EXPECT_EQ(status_of_a(), static_cast<std::uint32_t>(refused ? IBV_WC_REM_ACCESS_ERR : IBV_WC_SUCCESS)) << opcode;
      ASSERT_TRUE(a.program.modify(a.qp, IBV_QPS_RESET, 0) && b.program.modify(b.qp, IBV_QPS_RESET, 0));
    }
  }
}

// Queues have keys as well, by which the NIC reaches their lists; a program could guess one.
TEST(HostileKeys, QueueKeysAreNotMemoryKeys) {
  nic::MemoryTable memory(1, 1);
  nic::RegionAccess queue{};
  std::uint32_t key = memory.add(0, std::uint64_t{16} << 32, {}, queue, 7);
  EXPECT_EQ(live::find_range(memory, 7, key, false), nullptr);
}

TEST_F(Hostile, RejectsInvalidQueueEntries) {
  for (std::uint32_t wild : kWild) {
    connect();
    verbs::SendEntry entry{};
    std::memset(&entry, static_cast<int>(wild & 0xff), sizeof(entry));
    entry.opcode = wild;
    entry.sges = static_cast<std::uint16_t>(wild);
    entry.inline_B = static_cast<std::uint16_t>(wild);
    for (std::uint32_t flags : {0u, static_cast<std::uint32_t>(IBV_SEND_INLINE), wild}) {
      entry.flags = flags | IBV_SEND_SIGNALED;
      a.program.post(a.qp.send, entry, {});
    }
    b.program.post(b.qp.receive, verbs::ReceiveEntry{0, 1, wild, wild}, {});
    EXPECT_TRUE(a.program.sleep(ms(5)) && b.alive());
    ASSERT_TRUE(a.program.modify(a.qp, IBV_QPS_RESET, 0) && b.program.modify(b.qp, IBV_QPS_RESET, 0));
  }
}

TEST_F(Hostile, BoundsCountersAndDoorbells) {
  connect();
  for (std::uint32_t wild : kWild) {
    for (LiveProgram::Mapped* ring : {&a.qp.send, &a.qp.receive, &a.cq}) {
      ring->head().produced.store(wild);
      ring->head().consumed.store(~wild);
    }
    for (std::uint32_t bit = 0; bit < 200; ++bit) a.program.ring(bit);
    a.program.ring(wild);
    EXPECT_TRUE(a.program.sleep(us(50)));
  }
  EXPECT_TRUE(b.alive());
  EXPECT_EQ(a.program.ask(Op::kDestroy, verbs::Destroy{verbs::Kind::kQp, a.qp.handle}).error, 0);
  EXPECT_EQ(a.program.ask(Op::kDestroy, verbs::Destroy{verbs::Kind::kCq, a.cq.info.handle}).error, 0);
}

// What a queue pair took from its SRQ comes back when it is reset: the queue never runs dry of places.
TEST_F(Hostile, KeepsSharedReceivesWhenQueuePairEnds) {
  constexpr std::uint32_t kPlaces = 4;
  auto srq = b.program.make_srq(b.pd, kPlaces);
  verbs::Sge to{b.address(Side::kRegistered_B), 4096, b.keys.lkey};
  auto fill = [&](std::uint32_t receives) {
    while (srq.head().produced.load() - srq.head().consumed.load() < receives)
      b.program.post(srq, verbs::ReceiveEntry{0, 77, 1, 0}, {&to, 1});
    EXPECT_TRUE(b.alive());
  };
  // The first packet of a message takes a receive; then the queue pair goes, at one moment or another.
  for (int round = 0; round < 24; ++round) {
    auto qp = b.program.make_qp(b.pd, b.cq.info.handle, 4, srq.info.handle);
    ASSERT_TRUE(b.program.connect(qp, a.qp.number, "\x0a\0\0\x01"));
    fill(1);
    ASSERT_TRUE(a.program.connect(a.qp, qp.number, "\x0a\0\0\x02"));
    a.send(IBV_WR_SEND, {a.address(Side::kRegistered_B), 4096, a.keys.lkey});
    EXPECT_TRUE(a.program.sleep(ns(1000 + 200 * round)));
    EXPECT_EQ(b.program.ask(Op::kDestroy, verbs::Destroy{verbs::Kind::kQp, qp.handle}).error, 0);
    EXPECT_TRUE(b.alive());
    ASSERT_TRUE(a.program.modify(a.qp, IBV_QPS_RESET, 0));
  }
  EXPECT_TRUE(b.program.sleep(us(100)));
  b.cq.head().consumed.store(b.cq.head().produced.load());
  auto qp = b.program.make_qp(b.pd, b.cq.info.handle, 4, srq.info.handle);
  ASSERT_TRUE(b.program.connect(qp, a.qp.number, "\x0a\0\0\x01"));
  fill(kPlaces);
  ASSERT_TRUE(a.program.connect(a.qp, qp.number, "\x0a\0\0\x02"));
  for (std::uint32_t i = 0; i < kPlaces; ++i) a.send(IBV_WR_SEND, a.all());
  for (std::uint32_t i = 0; i < kPlaces; ++i) {
    auto entry = b.program.take(b.cq);
    ASSERT_TRUE(entry) << i;
    EXPECT_EQ(entry->wr_id, 77u);
  }
}

// After a reset the numbers of a queue go on, and entries are freed by them.
TEST_F(Hostile, ReusesQueuePairAfterReset) {
  for (std::uint32_t round = 0; round < 3; ++round) {
    connect();
    for (std::uint32_t i = 0; i < 5; ++i) {
      a.send(IBV_WR_RDMA_WRITE, a.all(), b.address(Side::kRegistered_B), b.keys.rkey);
      auto entry = a.program.take(a.cq);
      ASSERT_TRUE(entry);
      EXPECT_EQ(entry->status, static_cast<std::uint32_t>(IBV_WC_SUCCESS));
      EXPECT_EQ(entry->wr_id, a.wr_id);
      EXPECT_EQ(entry->freed, round * 5 + i + 1);
    }
    EXPECT_TRUE(b.alive());
    EXPECT_EQ(b.memory[Side::kRegistered_B], 0xaa);
    ASSERT_TRUE(a.program.modify(a.qp, IBV_QPS_RESET, 0) && b.program.modify(b.qp, IBV_QPS_RESET, 0));
  }
}

// A world for thousands of queue pairs runs with the descriptors that a shell gives it, 1024.
TEST_F(Hostile, QueuesUseNoDescriptors) {
  auto open_descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  const auto before = open_descriptors();
  for (int i = 0; i < 20; ++i) {
    auto cq = a.program.make_cq(4);
    ASSERT_NE(a.program.make_qp(a.pd, cq.info.handle, 4).handle, verbs::kNoHandle);
    ASSERT_NE(a.program.make_srq(a.pd, 4).memory, nullptr);
  }
  EXPECT_EQ(open_descriptors(), before);
}

// A work request does not outlive the registration of its memory.
TEST_F(Hostile, HandlesDeregistrationDuringSend) {
  connect();
  b.receive(b.all());
  EXPECT_TRUE(b.alive());
  a.send(IBV_WR_SEND, a.all());
  EXPECT_EQ(a.program.ask(Op::kDestroy, verbs::Destroy{verbs::Kind::kMr, a.keys.handle}).error, 0);
  EXPECT_EQ(status_of_a(), static_cast<std::uint32_t>(IBV_WC_LOC_PROT_ERR));
}

TEST_F(Hostile, HandlesUnreadCompletionQueue) {
  auto small = a.program.make_cq(2);
  auto qp = a.program.make_qp(a.pd, small.info.handle, 16);
  ASSERT_TRUE(a.program.connect(qp, b.qp.number, "\x0a\0\0\x02"));
  ASSERT_TRUE(b.program.connect(b.qp, qp.number, "\x0a\0\0\x01"));
  verbs::Sge sge = a.all();
  for (int i = 0; i < 12; ++i) {
    verbs::SendEntry entry{};
    entry.opcode = IBV_WR_RDMA_WRITE;
    entry.flags = IBV_SEND_SIGNALED;
    entry.sges = 1;
    entry.remote_va = b.address(Side::kRegistered_B);
    entry.rkey = b.keys.rkey;
    a.program.post(qp.send, entry, {&sge, 1});
    EXPECT_TRUE(a.program.sleep(us(20)));
  }
  Answer state = a.program.ask(Op::kQueryQp, verbs::Handle{qp.handle});
  EXPECT_EQ(state.as<verbs::QpAttr>().state, static_cast<std::uint32_t>(IBV_QPS_ERR)) << "the queue was overrun";
}

}  // namespace
}  // namespace weft
