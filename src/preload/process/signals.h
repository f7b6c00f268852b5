// SIGSEGV belongs to the counter's trap. The program may still have a handler of its own: it is kept here and gets the
// faults that are the program's.
#pragma once

#include <signal.h>

namespace weft::preload {

void take_over_fault_signal(void (*handler)(int, siginfo_t*, void*));
// A fault that is the program's own: its handler, or the end of the process as the kernel would have it.
void program_fault(int signal, siginfo_t* info, void* context);

}  // namespace weft::preload
