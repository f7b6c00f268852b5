// How collectives went from machine to machine, as far as it tells why they were slow: by RDMA from GPU memory, staged
// in host memory, or by kernel TCP. Sums of a whole run, read while the world is at rest.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace weft::workload {

struct CollectiveUse {
  std::uint64_t connections = 0;  // between machines, one way each
  std::uint64_t staged = 0;       // of these, with an end in host memory
  std::uint64_t sockets = 0;      // of these, kernel TCP
  Time_ps blocks_ps = 0;          // what blocks worked on slices
  Time_ps host_memory_ps = 0;     // of that, on slices that cross PCIe to or from such an end
  Time_ps working_ps = 0;         // in which a machine had something to do, the longest
  Time_ps proxy_ps = 0;           // of sockets: what the busiest proxy's CPU copied
};

}  // namespace weft::workload
