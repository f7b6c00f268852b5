// Registered memory as a program sees it: what may be registered, and what a NIC may still touch after a call has
// ended the registration or the queue pair.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "support/live_program.h"
#include "support/resident.h"

namespace weft {
namespace {

using verbs::Op;

constexpr std::uint32_t kBuffer_B = 64 << 10;
// 2.7 ms of a 25G link: the world looks at the sockets every millisecond, and the owner must find the stream underway.
constexpr std::uint32_t kMessages = 128;

// One end of a connection, with one registered buffer.
struct MemoryEnd {
  MemoryEnd(const LiveWorld& world, const char* node) : program(world, node), buffer(kBuffer_B) {
    pd = program.make(Op::kAllocPd, verbs::OnDevice{0});
    cq = program.make_cq(2 * kMessages);
    qp = program.make_qp(pd, cq.info.handle, kMessages);
    register_buffer();
  }
  void register_buffer() {
    const auto address = reinterpret_cast<std::uint64_t>(buffer.data());
    keys = program.ask(Op::kRegMr, verbs::RegMr{pd, 0xf, address, kBuffer_B, address}).as<verbs::MrKeys>();
  }
  bool destroy(verbs::Kind kind, std::uint32_t handle) const {
    return program.ask(Op::kDestroy, verbs::Destroy{kind, handle}).error == 0;
  }
  verbs::Sge all() const { return {reinterpret_cast<std::uint64_t>(buffer.data()), kBuffer_B, keys.lkey}; }
  void send(std::uint32_t opcode, const MemoryEnd& to) const {
    verbs::SendEntry entry{};
    entry.opcode = opcode;
    entry.flags = IBV_SEND_SIGNALED;
    entry.sges = 1;
    entry.remote_va = reinterpret_cast<std::uint64_t>(to.buffer.data());
    entry.rkey = to.keys.rkey;
    const verbs::Sge sge = all();
    program.post(qp.send, entry, {&sge, 1});
  }
  void receive() const {
    const verbs::Sge sge = all();
    program.post(qp.receive, verbs::ReceiveEntry{0, 1, 1, 0}, {&sge, 1});
  }
  // Fills the buffer and looks, 20 ms later, whether it is as it was.
  bool stays_untouched() {
    std::fill(buffer.begin(), buffer.end(), std::uint8_t{0x5a});
    program.sleep(ms(20));
    return std::all_of(buffer.begin(), buffer.end(), [](std::uint8_t byte) { return byte == 0x5a; });
  }

  LiveProgram program;
  std::vector<std::uint8_t> buffer;
  std::uint32_t pd = 0;
  verbs::MrKeys keys{};
  LiveProgram::Mapped cq;
  LiveProgram::Qp qp;
};

enum class Ends : std::uint8_t { kRegion, kQueuePair, kReset };

class MemoryAfter : public testing::TestWithParam<Ends> {
 protected:
  // A fresh pair for each moment, since a queue pair ends in error with its memory.
  template <typename Post>
  void each_moment(Post post) {
    for (int moment = 0; moment < 6; ++moment) {
      MemoryEnd a{world, "a"}, b{world, "b"};
      ASSERT_TRUE(a.program.connect(a.qp, b.qp.number, "\x0a\0\0\x02"));
      ASSERT_TRUE(b.program.connect(b.qp, a.qp.number, "\x0a\0\0\x01"));
      MemoryEnd& owner = post(a, b);
      owner.program.sleep(us(1200));
      // In the middle of a message, which takes 21 us.
      owner.program.sleep(us(10) + moment * ns(130));
      switch (GetParam()) {
        case Ends::kRegion:
          ASSERT_TRUE(owner.destroy(verbs::Kind::kMr, owner.keys.handle));
          break;
        case Ends::kQueuePair:
          ASSERT_TRUE(owner.destroy(verbs::Kind::kQp, owner.qp.handle));
          break;
        case Ends::kReset:
          ASSERT_TRUE(owner.program.modify(owner.qp, IBV_QPS_RESET, 0));
          break;
      }
      EXPECT_TRUE(owner.stays_untouched()) << moment;
    }
  }
  // The other side goes to sleep, so that the world runs.
  static void let_sleep(const MemoryEnd& end) {
    const verbs::Sleep ask{end.program.now_ps() + ms(500)};
    end.program.say(static_cast<std::uint32_t>(Op::kSleep), std::as_bytes(std::span(&ask, 1)), sizeof(ask),
                    end.program.now_ps());
  }

  LiveWorld world;
};

TEST_P(MemoryAfter, WriteDoesNotLand) {
  each_moment([](MemoryEnd& a, MemoryEnd& b) -> MemoryEnd& {
    for (std::uint32_t i = 0; i < kMessages; ++i) a.send(IBV_WR_RDMA_WRITE, b);
    let_sleep(a);
    return b;
  });
}

TEST_P(MemoryAfter, SendDoesNotLand) {
  each_moment([](MemoryEnd& a, MemoryEnd& b) -> MemoryEnd& {
    for (std::uint32_t i = 0; i < kMessages; ++i) b.receive();
    b.program.sleep(us(1));
    for (std::uint32_t i = 0; i < kMessages; ++i) a.send(IBV_WR_SEND, b);
    let_sleep(a);
    return b;
  });
}

TEST_P(MemoryAfter, ReadResponseDoesNotLand) {
  each_moment([](MemoryEnd& a, MemoryEnd& b) -> MemoryEnd& {
    let_sleep(b);
    for (std::uint32_t i = 0; i < kMessages; ++i) a.send(IBV_WR_RDMA_READ, b);
    return a;
  });
}

std::string name_of(const testing::TestParamInfo<Ends>& tested) {
  switch (tested.param) {
    case Ends::kRegion:
      return "Region";
    case Ends::kQueuePair:
      return "QueuePair";
    case Ends::kReset:
      return "Reset";
  }
  return "";
}
INSTANTIATE_TEST_SUITE_P(Ended, MemoryAfter, testing::Values(Ends::kRegion, Ends::kQueuePair, Ends::kReset), name_of);

// Pages of the test's own, unmapped at its end.
class Pages {
 public:
  explicit Pages(std::size_t count) : size_B_(count * kPage_B) {
    first_ =
        static_cast<std::uint8_t*>(mmap(nullptr, size_B_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { munmap(first_, size_B_); }
  void protect(std::size_t page, int protection) const { mprotect(first_ + page * kPage_B, kPage_B, protection); }
  void unmap(std::size_t page) const { munmap(first_ + page * kPage_B, kPage_B); }
  std::uint8_t* data() const { return first_; }
  std::size_t size_B() const { return size_B_; }

  static inline const std::size_t kPage_B = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

 private:
  std::size_t size_B_;
  std::uint8_t* first_;
};

class Registration : public testing::Test {
 protected:
  int error_of(const Pages& pages, std::uint32_t access) {
    const auto address = reinterpret_cast<std::uint64_t>(pages.data());
    return program.ask(Op::kRegMr, verbs::RegMr{pd, access, address, pages.size_B(), address}).error;
  }
  LiveWorld world;
  LiveProgram program{world, "a"};
  std::uint32_t pd = program.make(Op::kAllocPd, verbs::OnDevice{0});
};

TEST_F(Registration, FailsOverUnmappedGap) {
  Pages pages(5);
  pages.unmap(2);
  EXPECT_EQ(error_of(pages, IBV_ACCESS_LOCAL_WRITE), EFAULT);
  EXPECT_EQ(error_of(pages, 0), EFAULT);
}

TEST_F(Registration, FailsForWritableAccessToReadOnlyMemory) {
  Pages pages(5);
  pages.protect(3, PROT_READ);
  EXPECT_EQ(error_of(pages, IBV_ACCESS_LOCAL_WRITE), EFAULT);
  EXPECT_EQ(error_of(pages, IBV_ACCESS_REMOTE_READ), 0);
  pages.protect(1, PROT_NONE);
  EXPECT_EQ(error_of(pages, IBV_ACCESS_REMOTE_READ), EFAULT);
}

TEST_F(Registration, FailsBeyondEndOfFile) {
  Pages pages(4);
  int file = memfd_create("short", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, static_cast<off_t>(2 * Pages::kPage_B)), 0);
  ASSERT_NE(mmap(pages.data(), pages.size_B(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0), MAP_FAILED);
  EXPECT_EQ(error_of(pages, IBV_ACCESS_LOCAL_WRITE), EFAULT);
  ASSERT_EQ(ftruncate(file, static_cast<off_t>(pages.size_B())), 0);
  EXPECT_EQ(error_of(pages, IBV_ACCESS_LOCAL_WRITE), 0);
  close(file);
}

// Pinned pages outlive their mapping: the NIC sends what was there, and peers still reach them.
TEST(Pinned, UnmappedPagesStayReachable) {
  LiveWorld world;
  LiveProgram program(world, "a");
  Pages pages(4);
  std::vector<std::uint8_t> sink(pages.size_B());
  const std::uint32_t pd = program.make(Op::kAllocPd, verbs::OnDevice{0});
  LiveProgram::Mapped cq = program.make_cq(16);
  LiveProgram::Qp qp = program.make_qp(pd, cq.info.handle, 4);
  ASSERT_TRUE(program.connect(qp, qp.number, "\x0a\0\0\x01"));
  auto registered = [&](std::uint8_t* first) {
    const auto address = reinterpret_cast<std::uint64_t>(first);
    return program.ask(Op::kRegMr, verbs::RegMr{pd, 0xf, address, pages.size_B(), address}).as<verbs::MrKeys>();
  };
  for (std::size_t i = 0; i < pages.size_B(); ++i) pages.data()[i] = static_cast<std::uint8_t>(i >> 8 ^ i);
  const std::vector<std::uint8_t> before(pages.data(), pages.data() + pages.size_B());
  const verbs::MrKeys source = registered(pages.data()), target = registered(sink.data());
  auto move = [&](std::uint32_t opcode) {
    verbs::SendEntry entry{};
    entry.opcode = opcode;
    entry.flags = IBV_SEND_SIGNALED;
    entry.sges = 1;
    const auto size_B = static_cast<std::uint32_t>(pages.size_B());
    const auto from = reinterpret_cast<std::uint64_t>(pages.data()), to = reinterpret_cast<std::uint64_t>(sink.data());
    const bool reads = opcode == IBV_WR_RDMA_READ;
    entry.remote_va = reads ? from : to;
    entry.rkey = reads ? source.rkey : target.rkey;
    const verbs::Sge sge{reads ? to : from, size_B, reads ? target.lkey : source.lkey};
    program.post(qp.send, entry, {&sge, 1});
    auto done = program.take(cq);
    return done ? done->status : 999;
  };
  // The middle goes, and something else comes in its place.
  const auto middle = reinterpret_cast<std::uint64_t>(pages.data() + Pages::kPage_B);
  ASSERT_EQ(program.ask(Op::kUnmapping, verbs::Unmapping{middle, 2 * Pages::kPage_B}).error, 0);
  pages.unmap(1);
  pages.unmap(2);
  ASSERT_NE(mmap(pages.data() + Pages::kPage_B, Pages::kPage_B, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
            MAP_FAILED);
  EXPECT_EQ(move(IBV_WR_RDMA_WRITE), std::uint32_t{IBV_WC_SUCCESS});
  EXPECT_EQ(sink, before);
  std::fill(sink.begin(), sink.end(), std::uint8_t{0});
  EXPECT_EQ(move(IBV_WR_RDMA_READ), std::uint32_t{IBV_WC_SUCCESS});
  EXPECT_EQ(sink, before);
  pages.protect(3, PROT_NONE);
  EXPECT_EQ(move(IBV_WR_RDMA_WRITE), std::uint32_t{IBV_WC_SUCCESS}) << "rights that end later do not count";
}

// However many regions there are over the same pages, and whatever their bounds: one copy is kept.
TEST(Pinned, RegionsOverSamePagesShareTheirCopy) {
  LiveWorld world;
  LiveProgram program(world, "a");
  const Pages pages((16 << 20) / Pages::kPage_B);
  std::fill_n(pages.data(), pages.size_B(), std::uint8_t{1});
  const std::uint32_t pd = program.make(Op::kAllocPd, verbs::OnDevice{0});
  for (std::size_t i = 0; i < 12; ++i) {
    const auto address = reinterpret_cast<std::uint64_t>(pages.data()) + i * Pages::kPage_B;
    const std::size_t size_B = pages.size_B() - 2 * i * Pages::kPage_B;
    ASSERT_EQ(program.ask(Op::kRegMr, verbs::RegMr{pd, 0xf, address, size_B, address}).error, 0);
  }
  const auto first = reinterpret_cast<std::uint64_t>(pages.data());
  const std::int64_t before_B = support::resident_B();
  ASSERT_EQ(program.ask(Op::kUnmapping, verbs::Unmapping{first, pages.size_B() / 2}).error, 0);
  ASSERT_EQ(program.ask(Op::kUnmapping, verbs::Unmapping{first, pages.size_B()}).error, 0);
  EXPECT_LT(support::resident_B() - before_B, 2 * static_cast<std::int64_t>(pages.size_B()));
}

}  // namespace
}  // namespace weft
