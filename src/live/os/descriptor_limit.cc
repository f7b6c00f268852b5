#include "live/os/descriptor_limit.h"

#include <sys/resource.h>

namespace weft::live {

namespace {

rlimit before{};
bool raised = false;

}  // namespace

void raise_descriptor_limit() {
  if (raised || getrlimit(RLIMIT_NOFILE, &before) != 0) return;
  const rlimit most{before.rlim_max, before.rlim_max};
  raised = setrlimit(RLIMIT_NOFILE, &most) == 0;
}

void restore_descriptor_limit() {
  if (raised) setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace weft::live
