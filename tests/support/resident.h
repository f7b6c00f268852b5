// How much memory of this process is in use.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace weft::support {

inline std::int64_t resident_B() {
  std::ifstream file("/proc/self/statm");
  std::int64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

}  // namespace weft::support
