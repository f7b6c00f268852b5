// Which CPUs of the machine a node has, and what else wants them.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::host {

// Use of a node's CPUs by the lab. Numbers are the machine's.
struct CpuUse {
  std::vector<std::uint32_t> own;       // those of this node, a VM's vCPUs in order; empty: all
  std::vector<std::uint32_t> isolated;  // isolcpus: no stress thread runs there
  std::uint32_t stress = 0;             // threads that always want to run: stress-ng --cpu N
  std::vector<std::uint32_t> irq;       // where interrupts of the NIC's queues go; empty: CPUs that nobody else has

  bool given() const { return !own.empty() || !isolated.empty() || stress > 0 || !irq.empty(); }
};

}  // namespace weft::host
