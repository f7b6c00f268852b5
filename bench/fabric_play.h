// One run of flows through a whole fabric as a user would write it: a template, a switch and a NIC of the catalog, PFC,
// ECN and DCQCN on, counters kept, nothing captured.
#pragma once

#include <cstdint>
#include <string>

#include "base/hash.h"
#include "workload/flow/run.h"

namespace weft::lab {
class World;
}

namespace weft::bench {

struct Work {
  std::uint32_t k = 8;  // of the fat tree: k^3 / 4 hosts; 0: 64 hosts, 8 leaves, 8 spines
  std::string matrix;   // file name, where there is one
  bool incast = false;  // all to host 0; else a permutation
  std::uint64_t size_B = 2'000'000;
};

struct Played {
  std::uint64_t hops = 0, events = 0, windows = 0, digest = kFnvOffset;
  double setup_s = 0, run_s = 0, whole_s = 0;  // run_s: from the first window to the last; whole_s: read-out as well
  double cpu_s = 0;                            // of the run, all threads
  workload::FlowSummary summary;
};

void run_world(lab::World& world, std::uint32_t threads);
void run_ended();
// Throws when flows are left over or a switch does not balance.
Played play(const Work& work, std::uint32_t threads);

}  // namespace weft::bench
