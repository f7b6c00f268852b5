// Numbers that programs draw: with WEFT_SEED, the seed of the C library's generators is this one and not the process
// number or the time, so that a program of a lab file draws the same again.
#include <stdlib.h>

#include "preload/real.h"
#include "verbs/protocol.h"

namespace {

// The seed to use in place of the program's own.
long chosen(long own) {
  const char* text = getenv(weft::verbs::kSeedVariable);
  return text == nullptr || *text == '\0' ? own : static_cast<long>(strtoull(text, nullptr, 10));
}

}  // namespace

WEFT_EXPORT void srand48(long seed) noexcept {
  WEFT_REAL(srand48)(chosen(seed));
}

WEFT_EXPORT void srand(unsigned seed) noexcept {
  WEFT_REAL(srand)(static_cast<unsigned>(chosen(static_cast<long>(seed))));
}

WEFT_EXPORT void srandom(unsigned seed) noexcept {
  WEFT_REAL(srandom)(static_cast<unsigned>(chosen(static_cast<long>(seed))));
}
