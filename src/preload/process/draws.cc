// Numbers that programs draw: with WEFT_SEED, the seed of the C library's generators is this one and not the process
// number or the time, so that a program of a lab file draws the same again. In virtual time UCX's UUID of a worker is
// not made of the thread's number, which is the machine's, and of an address: of two workers that connect to each other
// at once it decides who is first.
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "preload/connection.h"
#include "preload/process/process.h"
#include "preload/real.h"
#include "verbs/protocol.h"

namespace {

// The seed to use in place of the program's own.
long chosen(long own) {
  const char* text = getenv(weft::verbs::kSeedVariable);
  return text == nullptr || *text == '\0' ? own : static_cast<long>(strtoull(text, nullptr, 10));
}

// SplitMix64.
std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}

}  // namespace

// UCX itself may be loaded by a plugin, out of reach from here; all that counts is that no two are the same.
extern "C" std::uint64_t ucs_generate_uuid(std::uint64_t seed);
WEFT_EXPORT std::uint64_t ucs_generate_uuid(std::uint64_t seed) {
  using namespace weft::preload;
  static std::atomic<std::uint64_t> drawn = 0;
  if (is_virtual()) return mix(welcome().number << 32 | drawn++);
  // UCX's own is out of reach where a program loads it as a plugin (Open MPI): what it is made of will do.
  timespec now;
  WEFT_REAL(clock_gettime)(CLOCK_REALTIME, &now);
  const auto time_ns = static_cast<std::uint64_t>(now.tv_sec * kNsPerS + now.tv_nsec);
  return mix(mix(mix(seed) + time_ns) + (static_cast<std::uint64_t>(kernel_call(SYS_getpid)) << 32 | drawn++));
}

WEFT_EXPORT void srand48(long seed) noexcept {
  WEFT_REAL(srand48)(chosen(seed));
}

WEFT_EXPORT void srand(unsigned seed) noexcept {
  WEFT_REAL(srand)(static_cast<unsigned>(chosen(static_cast<long>(seed))));
}

WEFT_EXPORT void srandom(unsigned seed) noexcept {
  WEFT_REAL(srandom)(static_cast<unsigned>(chosen(static_cast<long>(seed))));
}
