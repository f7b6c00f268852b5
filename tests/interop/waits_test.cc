// Waits that are ended by signals, timers and other threads (programs/waits_probe.cc), in both clocks: what Linux gives
// an ordinary program, and in virtual time to the millisecond.
#include <gtest/gtest.h>
#include <signal.h>

#include <sstream>
#include <thread>

#include "interop/live_world.h"
#include "support/slowdown.h"

namespace weft::interop {
namespace {

constexpr const char* kLab = "two-node-25g.yaml";

// What the probe says in one case. `sets` of times in wall-clock mode are taken out: they are the machine's.
std::string probe(const Live& live, const std::string& cases) {
  const int status = live.shell("exec vm00 -- " WEFT_WAITS_PROBE " " + cases);
  EXPECT_EQ(status, 0) << cases << "\n" << live.output();
  return live.output();
}

// Without the last word of each line that has four: how long it took.
std::string without_waits(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string a, b, c, d;
    words >> a >> b >> c >> d;
    out += (d.empty() ? line : a + " " + b + " " + c) + "\n";
  }
  return out;
}

constexpr const char* kAlways =
    "poll -1 EINTR 50\n"
    "ppoll -1 EINTR 50\n"
    "select_left_ms 9950\n"
    "select -1 EINTR 50\n"
    "epoll_wait -1 EINTR 50\n"
    "nanosleep_left_ms 9950\n"
    "nanosleep -1 EINTR 50\n"
    "clock_nanosleep -1 EINTR 50\n"
    "usleep -1 EINTR 50\n"
    "sleep 9 0 50\n";
constexpr const char* kBlocking =
    "accept -1 EINTR 50\n"
    "accept -1 EINTR 100\n"
    "get_cq_event -1 EINTR 50\n"
    "get_cq_event -1 EINTR 100\n"
    "get_async_event -1 EINTR 50\n"
    "get_async_event -1 EINTR 100\n"
    "get_cm_event -1 EINTR 50\n"
    "get_cm_event -1 EINTR 100\n";
constexpr const char* kMasks =
    "ppoll -1 EINTR 50\n"
    "before 0\n"
    "pending -1 EINTR 100\n"
    "sigsuspend -1 EINTR 50\n"
    "alarms 1\n";
constexpr const char* kCancelled =
    "sleep 1 0 50\n"
    "poll 1 0 50\n"
    "accept 1 0 50\n"
    "sem_timedwait 1 0 50\n"
    "condition 1 0 50\n"
    "asynchronous 1 0 50\n"
    "cleaned 6\n";

TEST(Waits, SignalsEndThemInVirtualTime) {
  Live live(kLab);
  EXPECT_EQ(probe(live, "always_plain"), kAlways);
  EXPECT_EQ(probe(live, "always_restart"), kAlways) << "SA_RESTART does not restart these";
  EXPECT_EQ(probe(live, "blocking"), kBlocking) << "restarted after 50 ms, ended after 100 ms";
  EXPECT_EQ(probe(live, "masks"), kMasks) << "a signal that only the mask of the wait lets in ends it";
  EXPECT_EQ(probe(live, "handler_calls"), "poll -1 EINTR 60\nhandled_ms 60\n");
  EXPECT_EQ(probe(live, "jumps"), "jumped 0 0 63\n") << "three alarms after 20 ms, and 1 ms after each";
  EXPECT_EQ(probe(live, "kills"), "other -1 EINTR 50\nchild -1 EINTR 50\n");
  EXPECT_EQ(probe(live, "cancels"), kCancelled) << "the others' sleeps of 1000 s do not pass";
  EXPECT_LT(Live::now_s(), 10);
}

TEST(Waits, PollEndsOnFlagOrChildExit) {
  Live live(kLab);
  EXPECT_EQ(probe(live, "polls_until_alarm"), "polled 0 0 50\n");
  EXPECT_EQ(probe(live, "polls_until_flag"), "polled 0 0 50\n") << "a forked process sets a flag in shared memory";
  EXPECT_EQ(probe(live, "polls_until_exit"), "polled 0 0 50\n") << "waitpid(WNOHANG)";
  EXPECT_EQ(probe(live, "many_queues"), "polled 0 0 50\nfound 1499\n");
}

TEST(Waits, EventOfArmedQueueTellsOfEntries) {
  for (const char* clock : {"virtual", "wall"}) {
    Live live(kLab, std::string("--clock ") + clock);
    EXPECT_EQ(probe(live, "completion_events"), "polled 2\nleft 0\npolled 1\nleft 1\n") << clock;
  }
}

// A program that is being loaded is not of the world yet, and one that makes no call never is: the clock waits for
// both. Fifteen programs begin at a whole multiple of 4 ms each.
TEST(Waits, ClockWaitsForChildrenThatAreLoaded) {
  const Live live(kLab);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(WEXITSTATUS(live.shell("exec vm00 -- timeout 5 /bin/true")), 0) << live.output();
    EXPECT_EQ(WEXITSTATUS(live.shell("exec vm00 -- timeout 3 sleep 2")), 0) << live.output();
    EXPECT_EQ(WEXITSTATUS(live.shell("exec vm00 -- timeout 2 sleep 3")), 124) << live.output();
  }
  ASSERT_EQ(live.shell("ps"), 0);
  EXPECT_NE(live.output().find(" at 20.0600"), std::string::npos) << live.output();
}

TEST(Waits, ThreadsComeInAsStarted) {
  std::string first;
  for (int i = 0; i < 2; ++i) {
    Live live(kLab);
    const std::string said = probe(live, "threads");
    EXPECT_EQ(said.substr(0, said.find('\n')), "out_of_order 0") << said;
    EXPECT_EQ(first.empty() ? said : first, said) << "the same times again";
    first = said;
    EXPECT_EQ(Live::ps().find("not deterministic"), std::string::npos) << Live::ps();
  }
}

TEST(Waits, PollTakesThousandsOfDescriptors) {
  Live live(kLab);
  const std::string said = probe(live, "many_descriptors");
  if (said == "not_allowed 1\n") GTEST_SKIP() << "the limit of descriptors cannot be raised here";
  EXPECT_EQ(said, "none 0\npolled 0 0 50\nsome 1\nlast 1\n");
}

// Ctrl-C: a handler ends the wait; virtual time has not moved, and the world was at rest meanwhile.
TEST(Waits, InterruptFromOutsideEndsThem) {
  Live live(kLab);
  for (const char* what : {"polls", "sleeps"}) {
    std::thread program([&] { live.shell("exec vm00 -- " WEFT_WAITS_PROBE " " + std::string(what), what); });
    int pid = 0;
    for (int i = 0; i < test::slowed(200) && (pid == 0 || live.output(what).find("ing") == std::string::npos); ++i) {
      pid = Live::pid_on("vm00");
      std::this_thread::sleep_for(20ms);
    }
    std::this_thread::sleep_for(50ms);
    if (pid > 0) kill(pid, SIGINT);
    program.join();
  }
  EXPECT_EQ(live.output("polls"), "polling\npolled 0 0 0\n");
  EXPECT_EQ(live.output("sleeps"), "sleeping\naccept -1 EINTR\n");
  EXPECT_LT(Live::now_s(), 0.1);
}

TEST(Waits, TimersTakeVirtualTime) {
  Live live(kLab);
  EXPECT_EQ(probe(live, "timer_descriptors"),
            "read_count 1\nread 50\nread_early 1\npoll_ready 1\npoll 50\npoll_again_ready 1\nread_count 1\n"
            "poll_read_ready 0\nselect_ready 1\nselect 50\nepoll_ready 1\nepoll 50\nepoll_ready 1\nepoll 100\n"
            "epoll_ready 1\nepoll 150\nleft_ms 50\nmissed 3\n"
            "absolute 50\npast 1\nabsolute 50\npast 1\nabsolute 50\npast 1\n");
  EXPECT_EQ(probe(live, "posix_timers"),
            "signal 50\nsignal 100\nsignal 150\nleft_ms 50\nvalue 1\nsignals 1\noverrun 3\ndeleted 1\nthread 150\n");
  EXPECT_EQ(probe(live, "signal_waits"),
            "none 1\nsigtimedwait 50\ntaken 14\nsigwaitinfo 50\nsigwait 50\nready 1\nsignalfd_poll 50\ngot 14\n"
            "got 14\nsignalfd_read 100\n");
  EXPECT_EQ(probe(live, "timed_waits"),
            "thrd_sleep 50\nclock_nanosleep 50\nmutex_timedlock 50\nmutex_timedlock_result ETIMEDOUT\n"
            "mutex_clocklock 50\nmutex_clocklock_result ETIMEDOUT\nrwlock_timedwrlock 50\n"
            "rwlock_timedwrlock_result ETIMEDOUT\nrwlock_free 0\ntimedjoin 50\ntimedjoin_result ETIMEDOUT\n"
            "cond_timedwait 50\ncond_timedwait_result ETIMEDOUT\ncnd_timedwait 50\ncnd_timedwait_result ETIMEDOUT\n"
            "sem_clockwait 50\nsem_clockwait_result ETIMEDOUT\n");
  EXPECT_EQ(probe(live, "cpp_waits"),
            "sleep_for 50\nwait_for 50\nwait_for_result ETIMEDOUT\ntry_lock_for 50\nready 1\nwoken_in_time 1\n");
  EXPECT_EQ(probe(live, "libuv"), "uv 50\nuv 100\nuv 150\n");
  EXPECT_EQ(probe(live, "libevent"), "event 50\nevent 100\nevent 150\nevent 50\nevent 100\nevent 150\n");
}

// A wait ends at the virtual time at which another thread or process ends it, not at its time-out or a part of it.
TEST(Waits, CallsAreOfDefaultVersions) {
  Live live(kLab);
  EXPECT_EQ(probe(live, "versions"), "ball 200\npath 1\n");
}

TEST(Waits, OthersEndThemAtTheirTime) {
  constexpr const char* kEnded =
      "sem_timedwait 0 50\nsem_wait 0 50\ncond_timedwait 0 50\nmutex_timedlock 0 50\nrwlock_timedrdlock 0 50\n";
  std::string first;
  for (int i = 0; i < 2; ++i) {
    Live live(kLab);
    EXPECT_EQ(probe(live, "between_processes"), kEnded);
    EXPECT_EQ(probe(live, "between_threads"), std::string(kEnded) + "timedjoin 0 50\n");
    EXPECT_EQ(probe(live, "turns"), "status 0\nturns_ms 0\n");
    EXPECT_EQ(probe(live, "inherited"),
              "timerfd 1 50\nsignalfd 1 100\nsignal 1 100\ntimerfd 1 150\ntimer_gettime 1 150\n");
    const std::string ps = Live::ps();
    EXPECT_EQ(ps.find("not deterministic"), std::string::npos) << ps;
    if (i > 0) EXPECT_EQ(first, ps) << "the same virtual time again";
    first = ps;
  }
}

constexpr const char* kBesideSocket =
    "poll 1 0 50\nsignal 1 0 50\nepoll 1 0 50\nsignal 1 0 50\npoll 1 0 50\nsignal 1 0 50\nepoll 1 0 50\n"
    "signal 1 0 50\n";

// A call by number is the call by name.
TEST(Waits, CallsByNumberTakeVirtualTime) {
  const Live live(kLab);
  EXPECT_EQ(probe(live, "clocks_by_number"),
            "nanosleep 0 0 50\nclock_nanosleep 0 0 100\nclock_nanosleep EINVAL 0 100\nsame_clock 1\n"
            "timerfd 8 0 150\n");
  EXPECT_EQ(probe(live, "futexes"),
            "other_value EAGAIN 0 0\nbad_timeout EINVAL 0 0\nbad_address EFAULT 0 0\ntimeout ETIMEDOUT 0 50\n"
            "absolute ETIMEDOUT 0 100\nwoken 0 0 50\nwoken_by_process 0 0 50\n");
  EXPECT_EQ(probe(live, "cpp20_waits"), "atomic 1 0 50\nlatch 0 0 100\nbarrier 0 0 150\nsemaphore 1 0 200\n");
  EXPECT_EQ(probe(live, "signal_beside_socket"), kBesideSocket);
  EXPECT_EQ(Live::ps().find("not deterministic"), std::string::npos) << Live::ps();
}

// From exec on a program counts as running, also where the machine takes its time to load it.
TEST(Waits, TimeStandsWhileProgramIsLoaded) {
  const Live live(kLab);
  EXPECT_EQ(probe(live, "loading"), "loaded_after_ms 0\n");
}

// The same calls, with the machine's clock.
TEST(Waits, SignalsEndThemInWallClockMode) {
  Live live(kLab, "--clock wall");
  EXPECT_EQ(without_waits(probe(live, "blocking")), without_waits(kBlocking));
  EXPECT_EQ(without_waits(probe(live, "jumps handler_calls polls_until_alarm")).substr(0, 25),
            "jumped 0 0\npoll -1 EINTR\n");
  EXPECT_EQ(without_waits(probe(live, "polls_until_flag polls_until_exit")), "polled 0 0\npolled 0 0\n");
  EXPECT_EQ(without_waits(probe(live, "cancels")), without_waits(kCancelled));
  EXPECT_EQ(probe(live, "versions"), "ball 200\npath 1\n");
  EXPECT_EQ(without_waits(probe(live, "signal_beside_socket")), without_waits(kBesideSocket));
}

}  // namespace
}  // namespace weft::interop
