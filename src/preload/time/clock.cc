// The program's clocks in virtual time: read from the thread's page, without a call. Clocks of CPU time are the real
// ones. clock() is the exception: programs use it to see time pass, so it shows the thread's; and getrusage() where
// TCP goes through the fabric, whose kernel has CPU time of its own.
#include "preload/time/clock.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "preload/process/process.h"
#include "preload/real.h"

namespace weft::preload {

bool shows_real_time(clockid_t id) {
  return id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE || id == CLOCK_REALTIME_ALARM || id == CLOCK_TAI;
}
bool shows_uptime(clockid_t id) {
  return id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_RAW || id == CLOCK_MONOTONIC_COARSE || id == CLOCK_BOOTTIME ||
         id == CLOCK_BOOTTIME_ALARM;
}
std::int64_t due_ps_of(clockid_t id, const timespec& shown) {
  const std::int64_t zero_ns = shows_real_time(id) ? welcome().epoch_ns : kUptime_ns;
  if (shown.tv_sec < zero_ns / kNsPerS) return 0;
  const std::int64_t due_ps = ps_of(timespec{shown.tv_sec - zero_ns / kNsPerS, shown.tv_nsec});
  return due_ps == kForever_ps ? due_ps : std::max<std::int64_t>(0, due_ps - zero_ns % kNsPerS * kPsPerNs);
}

namespace {

bool is_our_clock(clockid_t id) {
  return (shows_real_time(id) || shows_uptime(id)) && is_virtual();
}

// A thread that reads a clock in a loop moves its own and makes no call: others, which have their turns when it waits,
// would fall behind. It lets the world come up to its time now and then.
constexpr std::int64_t kLongestLead_ps = 100 * kPsPerUs;
void let_others_catch_up() {
  if (verbs::weft_now_ps() - thread.replied_ps < kLongestLead_ps || !verbs::weft_may_park()) return;
  std::size_t none_B = 0;
  call_in_pieces(verbs::Op::kNudge, nullptr, 0, nullptr, &none_B, nullptr);
}

// CPU time that the simulated kernel has spent for the process; false: it has nothing to do with its sockets.
bool ask_cpu_time(std::int64_t& used_ps) {
  static std::atomic<bool> lab_says_no{false};
  const verbs::StreamNetwork network = this_process().network;
  if (!is_virtual() || network == verbs::StreamNetwork::kManagement) return false;
  if (network == verbs::StreamNetwork::kOfLab && lab_says_no) return false;
  verbs::CpuTime time{};
  std::size_t size_B = sizeof time;
  if (call_in_pieces(verbs::Op::kCpuTime, nullptr, 0, &time, &size_B, nullptr) != 0) return false;
  lab_says_no = time.fabric == 0;
  used_ps = time.used_ps;
  return network == verbs::StreamNetwork::kFabric || time.fabric != 0;
}

std::int64_t real_time_ns() {
  return welcome().epoch_ns + read_clock_ps() / kPsPerNs;
}

}  // namespace

WEFT_EXPORT int clock_gettime(clockid_t id, struct timespec* out) noexcept {
  if (!is_our_clock(id)) return WEFT_REAL(clock_gettime)(id, out);
  let_others_catch_up();
  const std::int64_t now_ns = shows_real_time(id) ? real_time_ns() : read_uptime_ns();
  out->tv_sec = now_ns / kNsPerS;
  out->tv_nsec = now_ns % kNsPerS;
  return 0;
}

WEFT_EXPORT int clock_getres(clockid_t id, struct timespec* out) noexcept {
  if (!is_our_clock(id)) return WEFT_REAL(clock_getres)(id, out);
  if (out != nullptr) *out = {0, 1};
  return 0;
}

WEFT_EXPORT int gettimeofday(struct timeval* __restrict out, void* __restrict zone) noexcept {
  if (!is_virtual()) return WEFT_REAL(gettimeofday)(out, zone);
  let_others_catch_up();
  const std::int64_t now_ns = real_time_ns();
  out->tv_sec = now_ns / kNsPerS;
  out->tv_usec = now_ns % kNsPerS / 1'000;
  return 0;
}

WEFT_EXPORT int timespec_get(struct timespec* out, int base) noexcept {
  if (base != TIME_UTC || !is_virtual()) return WEFT_REAL(timespec_get)(out, base);
  clock_gettime(CLOCK_REALTIME, out);
  return base;
}

WEFT_EXPORT time_t time(time_t* out) noexcept {
  if (!is_virtual()) return WEFT_REAL(time)(out);
  const time_t now_s = real_time_ns() / kNsPerS;
  if (out != nullptr) *out = now_s;
  return now_s;
}

// Returns a clock; writes CPU time.
WEFT_EXPORT clock_t times(struct tms* out) noexcept {
  const clock_t real = WEFT_REAL(times)(out);
  if (real == static_cast<clock_t>(-1) || !is_virtual()) return real;
  return read_uptime_ns() / (kNsPerS / sysconf(_SC_CLK_TCK));
}

WEFT_EXPORT clock_t clock() noexcept {
  if (!is_virtual()) return WEFT_REAL(clock)();
  static_assert(CLOCKS_PER_SEC == 1'000'000);
  return read_clock_ps() / kPsPerUs;
}

WEFT_EXPORT int getrusage(__rusage_who_t who, struct rusage* out) noexcept {
  const int outcome = WEFT_REAL(getrusage)(who, out);
  std::int64_t used_ps = 0;
  if (outcome != 0 || who == RUSAGE_CHILDREN || !ask_cpu_time(used_ps)) return outcome;
  out->ru_utime = {0, 0};
  out->ru_stime = {static_cast<time_t>(used_ps / kPsPerS), static_cast<suseconds_t>(used_ps % kPsPerS / kPsPerUs)};
  return 0;
}

}  // namespace weft::preload
