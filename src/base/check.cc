#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace weft {

CheckContext& check_context() {
  thread_local CheckContext context;
  return context;
}

void check_failed(const char* file, int line, const char* condition, const char* message) {
  std::fprintf(stderr, "weft: internal error at %s:%d: %s (%s), simulated time %lld ps, seed %llu\n", file, line,
               message, condition, static_cast<long long>(check_context().time_ps),
               static_cast<unsigned long long>(check_context().seed));
  std::abort();
}

}  // namespace weft
