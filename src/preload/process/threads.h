// The threads of the process that are connected to the world (threads.cc).
#pragma once

#include <pthread.h>

namespace weft::preload {

// 0: not connected.
int tid_of(pthread_t which);

}  // namespace weft::preload
