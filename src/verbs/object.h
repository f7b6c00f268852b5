// Substitutes for a C++ runtime in the libraries of programs: objects in memory of malloc, and a lock's guard.
#pragma once

#include <pthread.h>

#include <cstdlib>
#include <new>

namespace weft::verbs {

// Null: no memory. std::free() ends it.
template <typename Object>
Object* make() {
  void* memory = std::calloc(1, sizeof(Object));
  return memory == nullptr ? nullptr : new (memory) Object{};
}

class MutexGuard {
 public:
  explicit MutexGuard(pthread_mutex_t& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  ~MutexGuard() { pthread_mutex_unlock(&mutex_); }
  MutexGuard(const MutexGuard&) = delete;
  MutexGuard& operator=(const MutexGuard&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

}  // namespace weft::verbs
