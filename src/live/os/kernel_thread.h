// State of a program's thread as the kernel shows it, and how fast this machine is.
#pragma once

#include <cstdint>

namespace weft::live {

// CPU time of all its threads.
std::int64_t cpu_ns(int pid);
// 'R', 'S', …; 0 when it is gone.
char kernel_state(int pid, int tid);
// 0: there is none, or it is gone.
int parent_of(int pid);
// How often another thread has had the CPU that the calling one wanted.
std::int64_t involuntary_switches();
// How much slower than an ordinary server this machine is, 1 or more: an emulated one is by ten times and more, and
// what a program does between two calls takes that much longer there. Measured once, by system calls.
std::int64_t machine_slowdown();

}  // namespace weft::live
