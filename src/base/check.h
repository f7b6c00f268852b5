// Assertions. A broken invariant prints what was broken and aborts: a wrong result is worse than none. WEFT_CHECK stays
// on in release. WEFT_DCHECK is for what costs time where packets move: it is on in builds with WEFT_DCHECKS, which
// ASan, TSan and the fuzzers have; elsewhere its condition is compiled but not evaluated.
#pragma once

#include <cstdint>

namespace weft {

// Simulated time and seed of the run, kept here only so that a failed check can print them.
struct CheckContext {
  std::int64_t time_ps = 0;
  std::uint64_t seed = 0;
};
CheckContext& check_context();

[[noreturn]] void check_failed(const char* file, int line, const char* condition, const char* message);

}  // namespace weft

#define WEFT_CHECK(condition, message)                               \
  do {                                                               \
    if (!(condition)) [[unlikely]] {                                 \
      ::weft::check_failed(__FILE__, __LINE__, #condition, message); \
    }                                                                \
  } while (false)

#if defined(WEFT_DCHECKS)
#define WEFT_DCHECK(condition, message) WEFT_CHECK(condition, message)
#else
#define WEFT_DCHECK(condition, message)      \
  do {                                       \
    if (false) static_cast<void>(condition); \
  } while (false)
#endif
