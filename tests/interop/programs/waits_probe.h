// Parts of waits_probe.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <time.h>

struct Case {
  const char* name;
  int (*run)();
};
// Each up to one without a name.
extern const Case kTimerCases[], kBetweenCases[], kRawCases[], kOddCases[], kBusyCases[], kLockCases[], kChildCases[];

inline void print(const char* name, int64_t value) {
  printf("%s %lld\n", name, static_cast<long long>(value));
  fflush(stdout);
}
inline int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}
