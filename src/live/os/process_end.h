// How far a process is that has closed its connection: it may have ended, or execute another program.
#pragma once

#include <vector>

namespace weft::live {

// Its descriptors are closed already, or are just being closed. One that executes another program keeps some.
bool is_exiting(int pid);

// All of its threads wait in the kernel.
bool is_asleep(int pid);

// Those that its first thread has started.
std::vector<int> children_of(int pid);

// If it is exiting: returns when its parent can see that it has ended. Nothing but the kernel is between the two.
void await_exit(int pid);

}  // namespace weft::live
