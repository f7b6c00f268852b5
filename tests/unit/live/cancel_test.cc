// Waits that a program, another thread or a timer ends.
#include <gtest/gtest.h>
#include <poll.h>

#include "support/live_program.h"
#include "verbs/wait_protocol.h"

namespace weft {
namespace {

using verbs::Op;

bool say_cancel(const LiveProgram& program) {
  return program.say(static_cast<std::uint32_t>(Op::kCancel), {}, 0, program.now_ps());
}
bool begin(const LiveProgram& program, Op op) {
  return program.say(static_cast<std::uint32_t>(op), {}, 0, program.now_ps());
}
template <typename Body>
bool begin(const LiveProgram& program, Op op, const Body& body) {
  return program.say(static_cast<std::uint32_t>(op), std::as_bytes(std::span(&body, 1)), sizeof(body),
                     program.now_ps());
}
constexpr verbs::Wait kForever{INT64_MAX, 0, 0};

TEST(Cancel, EndsWaitOnceWithoutPassingTime) {
  LiveWorld world;
  LiveProgram program(world, "a");
  const Time_ps before_ps = program.now_ps();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(begin(program, Op::kWait, kForever) && say_cancel(program));
    EXPECT_EQ(program.hear().error, EINTR);
    EXPECT_EQ(program.hear().error, verbs::kCancelDone);
    EXPECT_TRUE(program.sleep(us(1))) << "the next request is served";
  }
  EXPECT_LT(program.now_ps(), before_ps + ms(10));
}

TEST(Cancel, LeavesRequestsThatDoNotWait) {
  LiveWorld world;
  LiveProgram program(world, "a");
  ASSERT_TRUE(say_cancel(program));
  EXPECT_EQ(program.hear().error, verbs::kCancelDone) << "nothing is out";
  ASSERT_TRUE(begin(program, Op::kAllocPd, verbs::OnDevice{0}) && say_cancel(program));
  EXPECT_EQ(program.hear().error, 0);
  EXPECT_EQ(program.hear().error, verbs::kCancelDone);
  EXPECT_TRUE(program.sleep(us(1)));
}

TEST(Cancel, SurvivesMoreOfThemThanRequests) {
  LiveWorld world;
  LiveProgram program(world, "a", 200);
  ASSERT_TRUE(begin(program, Op::kWait, kForever));
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(say_cancel(program));
  EXPECT_EQ(program.hear().error, EINTR);
  while (program.hear().came) {
  }
  LiveProgram next(world, "a");
  EXPECT_TRUE(next.sleep(us(1)));
}

TEST(Cancel, InterruptEndsWaitOfAnotherThreadOrItsNextOne) {
  LiveWorld world;
  LiveProgram one(world, "a"), other(world, "a");  // of one process: the test
  ASSERT_TRUE(begin(one, Op::kWait, kForever));
  const auto tid = static_cast<std::int32_t>(syscall(SYS_gettid));
  // Both have this number; a thread does not interrupt itself.
  EXPECT_EQ(other.ask(Op::kInterrupt, verbs::Interrupt{tid}).error, 0);
  EXPECT_EQ(one.hear().error, EINTR);
  EXPECT_EQ(other.ask(Op::kInterrupt, verbs::Interrupt{tid}).error, 0);
  EXPECT_EQ(one.ask(Op::kWait, kForever).error, EINTR);
  EXPECT_EQ(other.ask(Op::kInterrupt, verbs::Interrupt{tid + 1'000'000}).error, 0);
}

// A wait that is over, and a timer that was turned off, are nothing that time goes on for.
TEST(Cancel, TimeDoesNotGoOnForEndedWaits) {
  LiveWorld world;
  LiveProgram program(world, "a");
  const Time_ps far_ps = 1000 * kSecond_ps;
  const verbs::CreateTimer by_signal{verbs::Expiry::kSignal, SIGURG, 0, 0};
  const std::uint32_t timer = program.make(Op::kCreateTimer, by_signal);
  ASSERT_EQ(program.ask(Op::kArmTimer, verbs::ArmTimer{timer, 0, far_ps, 0}).error, 0);
  ASSERT_EQ(program.ask(Op::kArmTimer, verbs::ArmTimer{timer, 0, 0, 0}).error, 0);
  {
    // Another one, so that time cannot leap to the end of the wait before it is cancelled.
    LiveProgram other(world, "a");
    verbs::CreateTimer read{verbs::Expiry::kRead, 0, 0, 0};
    const std::uint32_t near = other.make(Op::kCreateTimer, read);
    ASSERT_TRUE(begin(program, Op::kWait, verbs::Wait{far_ps, 0, 0}));
    const auto tid = static_cast<std::int32_t>(syscall(SYS_gettid));
    ASSERT_EQ(other.ask(Op::kInterrupt, verbs::Interrupt{tid}).error, 0);
    ASSERT_EQ(program.hear().error, EINTR);
    ASSERT_EQ(other.ask(Op::kDropTimer, verbs::Handle{near}).error, 0);
  }
  EXPECT_TRUE(program.sleep(ms(5)));
  ASSERT_TRUE(begin(program, Op::kWait, kForever));
  usleep(50'000);
  EXPECT_LT(world.reached_ps(), kSecond_ps);
}

TEST(Timers, AreReadWhenDueAndCountWhatWasMissed) {
  LiveWorld world;
  LiveProgram program(world, "a");
  const std::uint32_t timer = program.make(Op::kCreateTimer, verbs::CreateTimer{verbs::Expiry::kRead, 0, 0, 0});
  EXPECT_EQ(program.ask(Op::kReadTimer, verbs::ReadTimer{timer, 0}).error, EAGAIN);
  const Time_ps due_ps = program.now_ps() + ms(50);
  ASSERT_EQ(program.ask(Op::kArmTimer, verbs::ArmTimer{timer, 0, due_ps, ms(20)}).error, 0);
  EXPECT_EQ(program.ask(Op::kReadTimer, verbs::ReadTimer{timer, 1}).as<verbs::Expirations>().count, 1u);
  EXPECT_EQ(program.now_ps(), due_ps);
  EXPECT_TRUE(program.sleep(ms(70)));
  EXPECT_EQ(program.ask(Op::kReadTimer, verbs::ReadTimer{timer, 1}).as<verbs::Expirations>().count, 3u);
  const auto state = program.ask(Op::kQueryTimer, verbs::Handle{timer}).as<verbs::TimerState>();
  EXPECT_EQ(state.left_ps, ms(10));
  EXPECT_EQ(state.interval_ps, ms(20));
  struct {
    verbs::Wait wait;
    verbs::WaitItem item;
  } wait{kForever, {verbs::WaitItem::kTimer, timer, POLLIN, 0}};
  wait.wait.items = 1;
  EXPECT_EQ(program.ask(Op::kWait, wait).as<verbs::WaitItem>().ready, static_cast<std::uint32_t>(POLLIN));
  EXPECT_EQ(program.now_ps(), due_ps + ms(80));
}

TEST(Timers, RejectWhatIsNone) {
  LiveWorld world;
  LiveProgram program(world, "a");
  for (std::int32_t signal : {0, -1, 65, INT32_MAX}) {
    const verbs::CreateTimer wrong{verbs::Expiry::kSignal, signal, 0, 0};
    EXPECT_EQ(program.ask(Op::kCreateTimer, wrong).error, EINVAL);
  }
  EXPECT_EQ(program.ask(Op::kReadTimer, verbs::ReadTimer{77, 1}).error, EINVAL);
  EXPECT_EQ(program.ask(Op::kArmTimer, verbs::ArmTimer{77, 0, 1, 1}).error, EINVAL);
  const std::uint32_t timer = program.make(Op::kCreateTimer, verbs::CreateTimer{verbs::Expiry::kRead, 0, 0, 0});
  EXPECT_EQ(program.ask(Op::kArmTimer, verbs::ArmTimer{timer, 0, -1, 0}).error, EINVAL);
  EXPECT_EQ(program.ask(Op::kArmTimer, verbs::ArmTimer{timer, 0, INT64_MAX, INT64_MAX}).error, 0);
  EXPECT_EQ(program.ask(Op::kReadTimer, verbs::ReadTimer{timer, 0}).error, EAGAIN);
}

// What a thread's calls cost is at most about the real time that they take.
TEST(Turns, BoundClockOfRequests) {
  LiveWorld world;
  LiveProgram program(world, "a");
  const Time_ps before_ps = program.now_ps();
  const verbs::Handle none{0};
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(program.say(static_cast<std::uint32_t>(Op::kQueryQp), std::as_bytes(std::span(&none, 1)), sizeof(none),
                            std::int64_t{1} << 62));
    ASSERT_TRUE(program.hear().came);
  }
  EXPECT_LT(program.now_ps(), before_ps + 10 * kSecond_ps);
}

TEST(Turns, NewThreadComesInBeforeItsCreatorGoesOn) {
  LiveWorld world;
  LiveProgram program(world, "a");
  ASSERT_TRUE(begin(program, Op::kExpectThread));
  Answer given = program.hear();
  ASSERT_TRUE(given.came && given.error == 0 && given.fds[0] >= 0);
  ASSERT_TRUE(begin(program, Op::kYield));
  verbs::Hello hello{};
  hello.protocol = verbs::kProtocol;
  hello.pid = getpid();
  hello.tid = static_cast<std::int32_t>(syscall(SYS_gettid));
  verbs::RequestHead head{Op::kHello, sizeof(hello), 0};
  iovec parts[2] = {{&head, sizeof(head)}, {&hello, sizeof(hello)}};
  ASSERT_EQ(writev(given.fds[0], parts, 2), static_cast<ssize_t>(sizeof(head) + sizeof(hello)));
  struct {
    verbs::ReplyHead head;
    verbs::Welcome welcome;
  } welcome{};
  ASSERT_EQ(recv(given.fds[0], &welcome, sizeof(welcome), 0), static_cast<ssize_t>(sizeof(welcome)));
  EXPECT_EQ(welcome.head.error, 0);
  EXPECT_EQ(welcome.welcome.thread, 1u);
  close(given.fds[0]);  // it ends
  EXPECT_EQ(program.hear().error, 0);
  // One that could not be started.
  ASSERT_TRUE(begin(program, Op::kExpectThread));
  given = program.hear();
  close(given.fds[0]);
  ASSERT_TRUE(begin(program, Op::kYield));
  EXPECT_EQ(program.hear().error, 0);
  EXPECT_TRUE(program.sleep(us(1)));
}

std::uint32_t determinism(const LiveWorld& world) {
  const int fd = world.connect();
  const verbs::RequestHead head{Op::kStatus, 0, 0};
  EXPECT_EQ(send(fd, &head, sizeof(head), 0), static_cast<ssize_t>(sizeof(head)));
  char said[4096];
  EXPECT_GE(recv(fd, said, sizeof(said), 0),
            static_cast<ssize_t>(sizeof(verbs::ReplyHead) + sizeof(verbs::WorldStatus)));
  close(fd);
  verbs::WorldStatus status;
  std::memcpy(&status, said + sizeof(verbs::ReplyHead), sizeof(status));
  return status.deterministic;
}

TEST(Turns, ReportThreadsThatComeInByRealTime) {
  LiveWorld world;
  LiveProgram first(world, "a");
  first.begin_sleep(us(1));
  first.hear();
  ASSERT_TRUE(begin(first, Op::kWait, kForever));
  EXPECT_EQ(determinism(world), 1u);
  LiveProgram second(world, "a");  // of the same process, which did not announce it
  ASSERT_TRUE(begin(second, Op::kWait, kForever));
  EXPECT_EQ(determinism(world), 2u);
}

}  // namespace
}  // namespace weft
