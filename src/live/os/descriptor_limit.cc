#include "live/os/descriptor_limit.h"

#include <sys/resource.h>

namespace weft::live {

namespace {

rlimit inherited{};
bool raised = false;

}  // namespace

void raise_descriptor_limit() {
  if (raised || getrlimit(RLIMIT_NOFILE, &inherited) != 0) return;
  const rlimit most{inherited.rlim_max, inherited.rlim_max};
  raised = setrlimit(RLIMIT_NOFILE, &most) == 0;
}

void restore_descriptor_limit() {
  if (raised) setrlimit(RLIMIT_NOFILE, &inherited);
}

}  // namespace weft::live
