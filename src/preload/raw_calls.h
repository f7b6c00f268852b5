// Calls of the kernel by number (raw_calls.cc) that have no function of the C library.
#pragma once

#include <time.h>

#include <cstdint>

namespace weft::preload {

// FUTEX_WAIT and FUTEX_WAIT_BITSET, as syscall(2) returns it.
long wait_for_futex(std::uint32_t* word, int operation, std::uint32_t value, const timespec* timeout,
                    std::uint32_t bits);

}  // namespace weft::preload
