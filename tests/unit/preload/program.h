// Parts of the program that tests run with libweft.so preloaded.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <time.h>

struct Case {
  const char* name;
  int (*run)();
};
extern const Case kStreamCases[];
extern const int kStreamCaseCount;
extern const Case kStartCases[];
extern const int kStartCaseCount;

inline uint64_t counter() {
#if defined(__aarch64__)
  uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  return __builtin_ia32_rdtsc();
#endif
}

inline void print(const char* name, int64_t value) {
  printf("%s %lld\n", name, static_cast<long long>(value));
  fflush(stdout);
}

inline int64_t clock_ns(clockid_t id) {
  timespec t;
  clock_gettime(id, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}
inline int64_t monotonic_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}
