#include "base/check.h"

#include <cstdio>
#include <cstdlib>

#include "base/check_throws.h"

namespace weft {

CheckContext& check_context() {
  thread_local CheckContext context;
  return context;
}

namespace {

thread_local int throwing = 0;

}  // namespace

CheckThrows::CheckThrows() {
  ++throwing;
}

CheckThrows::~CheckThrows() {
  --throwing;
}

void check_failed(const char* file, int line, const char* condition, const char* message) {
  char text[512];
  std::snprintf(text, sizeof(text), "internal error at %s:%d: %s (%s), simulated time %lld ps, seed %llu", file, line,
                message, condition, static_cast<long long>(check_context().time_ps),
                static_cast<unsigned long long>(check_context().seed));
  std::fprintf(stderr, "weft: %s\n", text);
  if (throwing > 0) throw CheckFailure(text);
  std::abort();
}

}  // namespace weft
