// Events that a program has not fetched when the object that they are about ends.
#include <gtest/gtest.h>
#include <poll.h>

#include <array>

#include "support/live_program.h"
#include "verbs/extended_protocol.h"

namespace weft {
namespace {

using verbs::Op;

class Events : public testing::Test {
 protected:
  void SetUp() override {
    pd = program.make(Op::kAllocPd, verbs::OnDevice{0});
    Answer made = program.ask(Op::kCreateChannel, verbs::OnDevice{0});
    channel = made.as<verbs::Handle>().handle;
    event_fd = made.fds[0];
    Answer opened = program.ask(Op::kOpenEvents, verbs::OnDevice{0});
    async_fd = opened.fds[0];
    const auto address = reinterpret_cast<std::uint64_t>(buffer.data());
    keys = program.ask(Op::kRegMr, verbs::RegMr{pd, 0xf, address, buffer.size(), address}).as<verbs::MrKeys>();
  }
  void TearDown() override {
    close(event_fd);
    close(async_fd);
  }
  std::uint32_t make_cq(std::uint64_t cookie) {
    Answer answer = program.ask(Op::kCreateCq, verbs::CreateCq{0, 16, channel, cookie});
    LiveProgram::close_fds(answer);
    return answer.as<verbs::CqInfo>().ring.handle;
  }
  // A WRITE to itself, so that its completion queue has an entry; or, with a wrong key, two events of the port's.
  LiveProgram::Qp use(std::uint32_t cq, bool rightly) {
    LiveProgram::Qp qp = program.make_qp(pd, cq, 4);
    EXPECT_TRUE(program.connect(qp, qp.number, "\x0a\0\0\x01"));
    verbs::SendEntry entry{};
    entry.opcode = IBV_WR_RDMA_WRITE;
    entry.flags = IBV_SEND_SIGNALED;
    entry.sges = 1;
    entry.remote_va = reinterpret_cast<std::uint64_t>(buffer.data());
    entry.rkey = rightly ? keys.rkey : 0;
    const verbs::Sge sge{entry.remote_va, 8, keys.lkey};
    program.post(qp.send, entry, {&sge, 1});
    EXPECT_TRUE(program.sleep(ms(1)));
    return qp;
  }
  int destroy(verbs::Kind kind, std::uint32_t handle) {
    return program.ask(Op::kDestroy, verbs::Destroy{kind, handle}).error;
  }
  static bool is_readable(int fd) {
    pollfd look{fd, POLLIN, 0};
    return poll(&look, 1, 0) == 1;
  }

  LiveWorld world;
  LiveProgram program{world, "a"};
  std::array<std::uint8_t, 64> buffer{};
  std::uint32_t pd = 0, channel = 0;
  int event_fd = -1, async_fd = -1;
  verbs::MrKeys keys{};
};

TEST_F(Events, WaitForEntriesOrPeriod) {
  auto take = [&] { return program.ask(Op::kGetCqEvent, verbs::GetEvent{channel, 0}).error; };
  for (bool by_count : {true, false}) {
    const std::uint32_t cq = make_cq(1);
    const verbs::ModerateCq ask{cq, by_count ? 2u : 100u, by_count ? 60'000u : 1500u};
    EXPECT_EQ(program.ask(Op::kModerateCq, ask).error, 0);
    EXPECT_EQ(program.ask(Op::kArmCq, verbs::ArmCq{cq, 0}).error, 0);
    use(cq, true);
    EXPECT_EQ(take(), EAGAIN) << "one entry, and a millisecond";
    use(cq, true);
    EXPECT_EQ(take(), 0);
    EXPECT_EQ(take(), EAGAIN) << "one event for both";
  }
  EXPECT_EQ(program.ask(Op::kModerateCq, verbs::ModerateCq{make_cq(2), 0x10000, 0}).error, EINVAL);
  EXPECT_EQ(program.ask(Op::kModerateCq, verbs::ModerateCq{9999, 1, 1}).error, EINVAL);
}

TEST_F(Events, OfCompletionQueueEndWithIt) {
  std::uint32_t first = make_cq(111), second = make_cq(222);
  for (std::uint32_t cq : {first, second}) EXPECT_EQ(program.ask(Op::kArmCq, verbs::ArmCq{cq, 0}).error, 0);
  LiveProgram::Qp one = use(first, true);
  use(second, true);
  EXPECT_TRUE(is_readable(event_fd));
  EXPECT_EQ(destroy(verbs::Kind::kQp, one.handle), 0);
  EXPECT_EQ(destroy(verbs::Kind::kCq, first), 0);
  Answer event = program.ask(Op::kGetCqEvent, verbs::GetEvent{channel, 0});
  EXPECT_EQ(event.error, 0);
  EXPECT_EQ(event.as<verbs::CqEvent>().cookie, 222u);
  EXPECT_EQ(program.ask(Op::kGetCqEvent, verbs::GetEvent{channel, 0}).error, EAGAIN);
  EXPECT_FALSE(is_readable(event_fd));
}

// What the program has fetched it must acknowledge: the world says how many, since another thread may have fetched one
// and not counted it yet.
TEST_F(Events, FetchedEventsCountTowardDestroy) {
  std::uint32_t cq = make_cq(111);
  EXPECT_EQ(program.ask(Op::kArmCq, verbs::ArmCq{cq, 0}).error, 0);
  LiveProgram::Qp qp = use(cq, true);
  EXPECT_EQ(program.ask(Op::kGetCqEvent, verbs::GetEvent{channel, 0}).error, 0);
  EXPECT_EQ(destroy(verbs::Kind::kQp, qp.handle), 0);
  Answer ended = program.ask(Op::kDestroy, verbs::Destroy{verbs::Kind::kCq, cq});
  EXPECT_EQ(ended.error, 0);
  EXPECT_EQ(ended.as<verbs::Destroyed>().completion_events, 1u);
  EXPECT_EQ(ended.as<verbs::Destroyed>().async_events, 0u);
}

TEST_F(Events, OfQueuePairEndWithItAndAreCounted) {
  std::uint32_t cq = make_cq(0);
  LiveProgram::Qp silent = use(cq, false), heard = use(cq, false);
  EXPECT_TRUE(is_readable(async_fd));
  EXPECT_EQ(destroy(verbs::Kind::kQp, silent.handle), 0);
  EXPECT_EQ(program.ask(Op::kGetAsyncEvent, verbs::GetEvent{0, 0}).error, 0);
  EXPECT_EQ(program.ask(Op::kGetAsyncEvent, verbs::GetEvent{0, 0}).error, EAGAIN);
  EXPECT_FALSE(is_readable(async_fd));
  Answer ended = program.ask(Op::kDestroy, verbs::Destroy{verbs::Kind::kQp, heard.handle});
  EXPECT_EQ(ended.error, 0);
  EXPECT_EQ(ended.as<verbs::Destroyed>().async_events, 1u);
}

// An entry that came before the request counts, as on mlx5, if it is one of those that were asked for.
TEST_F(Events, RequestForSolicitedOnesSeesEntryThatIsThere) {
  for (const bool rightly : {true, false}) {
    const std::uint32_t cq = make_cq(1);
    use(cq, rightly);
    EXPECT_EQ(program.ask(Op::kArmCq, verbs::ArmCq{cq, 1}).error, 0);
    EXPECT_FALSE(is_readable(event_fd)) << "the program may be about to poll the queue";
    EXPECT_EQ(program.ask(Op::kGetCqEvent, verbs::GetEvent{channel, 0}).error, rightly ? EAGAIN : 0)
        << "an error ends any wait, a WRITE does not";
  }
}

// The limit that is asked for is the one that the device has: none beyond the queue's size, none after its event,
// however late that is fetched.
TEST_F(Events, SrqLimitIsThatOfDevice) {
  LiveProgram::Mapped srq = program.make_srq(pd, 16);
  const std::uint32_t handle = srq.info.handle;
  const auto arm = [&](std::uint32_t limit) {
    return program.ask(Op::kModifySrq, verbs::ModifySrq{handle, limit}).error;
  };
  const auto armed = [&] { return program.ask(Op::kQuerySrq, verbs::Handle{handle}).as<verbs::SrqLimit>().limit; };
  const verbs::Sge sge{reinterpret_cast<std::uint64_t>(buffer.data()), 8, keys.lkey};
  verbs::ReceiveEntry entry{};
  entry.sges = 1;
  for (int i = 0; i < 4; ++i) program.post(srq, entry, {&sge, 1});
  EXPECT_EQ(arm(17), EINVAL);
  EXPECT_EQ(armed(), 0u);
  EXPECT_FALSE(is_readable(async_fd));
  EXPECT_EQ(arm(4), 0);
  EXPECT_EQ(armed(), 4u);
  EXPECT_FALSE(is_readable(async_fd));
  EXPECT_EQ(arm(16), 0);
  EXPECT_EQ(armed(), 0u);
  EXPECT_TRUE(program.sleep(us(1)));
  EXPECT_TRUE(is_readable(async_fd));
  EXPECT_EQ(program.ask(Op::kQuerySrq, verbs::Handle{handle + 50}).error, EINVAL);
}

// A program that looks at the descriptor alone hears of it, too.
TEST_F(Events, EntryThatIsThereMakesDescriptorReadable) {
  const std::uint32_t cq = make_cq(1);
  use(cq, true);
  EXPECT_EQ(program.ask(Op::kArmCq, verbs::ArmCq{cq, 0}).error, 0);
  EXPECT_TRUE(program.sleep(ms(50)));
  EXPECT_FALSE(is_readable(event_fd));
  EXPECT_TRUE(program.sleep(ms(60)));
  EXPECT_TRUE(is_readable(event_fd));
}

}  // namespace
}  // namespace weft
