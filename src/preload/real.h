// The functions of the C library behind our own of the same name, and the few words that every file here needs.
// Nothing in this folder calls an interposed function by its plain name: it would meet itself.
#pragma once

#include <pthread.h>
#include <unistd.h>

#include <atomic>

#define WEFT_EXPORT extern "C" __attribute__((visibility("default")))

// The next definition of NAME after this library, looked up once for each place that asks.
#define WEFT_REAL(NAME)                                                                         \
  ([] {                                                                                         \
    static std::atomic<void*> weft_slot{nullptr};                                               \
    return reinterpret_cast<decltype(&::NAME)>(::weft::preload::real_symbol(weft_slot, #NAME)); \
  }())

namespace weft::preload {

void* real_symbol(std::atomic<void*>& found, const char* name);

// A call of the kernel by number; the program's own are in raw_calls.cc.
template <typename... Arguments>
long kernel_call(long number, Arguments... arguments) {
  return WEFT_REAL(syscall)(number, arguments...);
}

// Locks of this library's own mutexes, which are held for moments.
void lock(pthread_mutex_t& mutex);

// Writes "weft: FORMAT" to standard error in one piece. Safe in a signal handler: only %s and %d are understood.
void say(const char* format, const char* text, int number = 0);
[[noreturn]] void die(const char* format, const char* text, int number = 0);

}  // namespace weft::preload
