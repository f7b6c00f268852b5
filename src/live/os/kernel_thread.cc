#include "live/os/kernel_thread.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

namespace weft::live {

namespace {

// Text after the name, which is in brackets and may hold anything: "S 4711 …". Empty: there is no such thread.
std::array<char, 64> stat_of(int pid, int tid) {
  std::array<char, 64> rest{};
  char path[64], text[512];
  std::snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
  FILE* file = std::fopen(path, "re");
  if (file == nullptr) return rest;
  text[std::fread(text, 1, sizeof(text) - 1, file)] = 0;
  std::fclose(file);
  const char* bracket = std::strrchr(text, ')');
  if (bracket != nullptr && bracket[1] == ' ') std::strncpy(rest.data(), bracket + 2, rest.size() - 1);
  return rest;
}

}  // namespace

std::int64_t cpu_ns(int pid) {
  clockid_t clock;
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

char kernel_state(int pid, int tid) {
  return stat_of(pid, tid)[0];
}

int parent_of(int pid) {
  int parent = 0;
  return std::sscanf(stat_of(pid, pid).data(), "%*c %d", &parent) == 1 ? parent : 0;
}

std::int64_t involuntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

std::int64_t machine_slowdown() {
  static const std::int64_t slowdown = [] {
    constexpr int kRounds = 5, kCalls = 500;
    constexpr std::int64_t kOrdinary_ns = 150;  // for one call; servers take 60 to 250
    std::int64_t best_ns = INT64_MAX;
    for (int round = 0; round < kRounds; ++round) {
      timespec start{}, end{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
      for (int call = 0; call < kCalls; ++call) syscall(SYS_getppid);
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
      best_ns =
          std::min<std::int64_t>(best_ns, (end.tv_sec - start.tv_sec) * 1'000'000'000LL + end.tv_nsec - start.tv_nsec);
    }
    return std::max<std::int64_t>(1, best_ns / (kCalls * kOrdinary_ns));
  }();
  return slowdown;
}

}  // namespace weft::live
