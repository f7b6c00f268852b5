#include "preload/real.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <span>

namespace weft::preload {

namespace {

// A line that is built without stdio, whose locks a signal handler must not touch.
struct Line {
  char text[512];
  std::size_t size = 0;

  void add(char c) {
    if (size < sizeof text) text[size++] = c;
  }
  void add(const char* s) {
    for (; *s != '\0'; ++s) add(*s);
  }
  void add(int number) {
    char digits[12];
    std::size_t count = 0;
    auto rest = static_cast<unsigned>(number < 0 ? -number : number);
    do {
      digits[count++] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    if (number < 0) add('-');
    while (count > 0) add(digits[--count]);
  }
};

// RTLD_NEXT finds the oldest of several versions. Those of x86-64 that behaved differently: conditions and timers of
// LinuxThreads, a realpath that needs room.
struct Version {
  const char* prefix;  // of functions
  const char* version;
};
#if defined(__x86_64__)
constexpr Version kVersions[] = {
    {"pthread_cond_", "GLIBC_2.3.2"}, {"timer_", "GLIBC_2.34"},      {"timer_", "GLIBC_2.3.3"},
    {"realpath", "GLIBC_2.3"},        {"posix_spawn", "GLIBC_2.15"}, {"pthread_kill", "GLIBC_2.34"},
    {"nftw", "GLIBC_2.3.3"},          {"glob", "GLIBC_2.27"},
};
#else
constexpr std::span<const Version> kVersions;
#endif

void* find_next(const char* name) {
  for (const Version& each : kVersions) {
    if (strncmp(name, each.prefix, strlen(each.prefix)) != 0) continue;
    if (void* const symbol = dlvsym(RTLD_NEXT, name, each.version)) return symbol;
  }
  return dlsym(RTLD_NEXT, name);
}

}  // namespace

void* real_symbol(std::atomic<void*>& found, const char* name) {
  void* symbol = found.load(std::memory_order_relaxed);
  if (symbol == nullptr) {
    symbol = find_next(name);
    if (symbol == nullptr) die("this C library has no %s", name);
    found.store(symbol, std::memory_order_relaxed);
  }
  return symbol;
}

void lock(pthread_mutex_t& mutex) {
  WEFT_REAL(pthread_mutex_lock)(&mutex);
}

void say(const char* format, const char* text, int number) {
  Line line;
  line.add("weft: ");
  for (const char* c = format; *c != '\0'; ++c) {
    if (c[0] == '%' && c[1] == 's') {
      line.add(text);
      ++c;
    } else if (c[0] == '%' && c[1] == 'd') {
      line.add(number);
      ++c;
    } else {
      line.add(*c);
    }
  }
  line.add('\n');
  [[maybe_unused]] long written = kernel_call(SYS_write, STDERR_FILENO, line.text, line.size);
}

void die(const char* format, const char* text, int number) {
  say(format, text, number);
  // Not exit(): its handlers may call the world again.
  kernel_call(SYS_exit_group, 1);
  __builtin_unreachable();
}

}  // namespace weft::preload
