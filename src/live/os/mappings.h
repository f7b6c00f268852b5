// Mappings of a program, as the kernel lists them (proc(5), /proc/PID/maps): decide whether a range could be pinned.
#pragma once

#include <cstdint>

namespace weft::live {

// True: every page of the range is mapped, may be read or, with `writes`, written, and has memory behind it. What
// ib_umem_get in the kernel refuses with EFAULT, this refuses.
bool can_pin(int pid, std::uint64_t address, std::uint64_t length_B, bool writes);

}  // namespace weft::live
