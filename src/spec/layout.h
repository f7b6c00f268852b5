// How a host is built: NUMA nodes with their CPUs and memory, the links between them, and the PCIe tree of root ports,
// switches and slots. Read from catalog/hosts.yaml or a lab's `layout` (catalog/host_layout.h, which checks it); the
// paths of DMA are made from it (host/memory_path.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace weft::host {

struct NumaNode {
  // As Linux numbers them: the threads of a core stand at the same place of each range ("0-7,32-39": 0 and 32).
  std::vector<std::vector<std::uint32_t>> cpus;
  std::int64_t memory_B = 0;
  std::uint32_t lanes = 0;  // of its root ports together; 0: not known

  bool has_cpu(std::uint32_t cpu) const;
  // The other threads of this CPU's core.
  std::vector<std::uint32_t> siblings(std::uint32_t cpu) const;
};

struct NumaLink {
  std::uint32_t a = 0, b = 0;  // nodes
  std::int64_t rate_bps = 0;   // each way, for DMA that crosses it
  Time_ps latency_ps = 0;      // one way
  // Other traffic on it: this share of the time, in bursts of this mean size.
  std::uint32_t load_permille = 0;
  std::int64_t burst_B = 0;
};

// A root port or a port of a PCIe switch, with what is plugged in there: a card, or a switch that others name.
struct PcieSlot {
  std::string name;
  std::int32_t parent = -1;  // another slot: the switch in it; -1: a root port
  std::uint32_t node = 0;
  std::uint32_t bridge = 0;  // host bridge of that node
  std::uint32_t generation = 0;
  std::uint32_t lanes = 0;
};

struct Layout {
  std::vector<NumaNode> nodes;
  std::vector<NumaLink> links;
  std::vector<PcieSlot> slots;

  std::optional<std::uint32_t> slot(std::string_view name) const;
  std::optional<std::uint32_t> node_of_cpu(std::uint32_t cpu) const;
  bool is_switch(std::uint32_t slot) const;
  // The links from node to node, fewest first; empty when it is one node, or when nothing joins them.
  struct Step {
    std::uint32_t link = 0;
    bool backwards = false;  // from b to a
  };
  std::vector<Step> way(std::uint32_t from, std::uint32_t to) const;
  bool joined(std::uint32_t from, std::uint32_t to) const { return from == to || !way(from, to).empty(); }
};

// Inline, for the catalog's compiler, which links with no module that runs.
inline std::optional<std::uint32_t> Layout::slot(std::string_view name) const {
  for (std::uint32_t i = 0; i < slots.size(); ++i) {
    if (slots[i].name == name) return i;
  }
  return std::nullopt;
}

inline std::vector<Layout::Step> Layout::way(std::uint32_t from, std::uint32_t to) const {
  std::vector<std::vector<Step>> ways(nodes.size());
  std::vector<std::uint32_t> queue{from};
  for (std::size_t i = 0; i < queue.size() && queue[i] != to; ++i) {
    for (std::uint32_t link = 0; link < links.size(); ++link) {
      for (bool backwards : {false, true}) {
        const std::uint32_t here = backwards ? links[link].b : links[link].a;
        const std::uint32_t there = backwards ? links[link].a : links[link].b;
        if (here != queue[i] || there == from || !ways[there].empty()) continue;
        ways[there] = ways[queue[i]];
        ways[there].push_back({link, backwards});
        queue.push_back(there);
      }
    }
  }
  return from == to ? std::vector<Step>() : ways[to];
}

// How near two slots are, as nvidia-smi topo -m says it: below one PCIe switch, several, one host bridge, one NUMA
// node, or across nodes.
enum class PathClass : std::uint8_t { kPix, kPxb, kPhb, kNode, kSys };
std::string_view to_string(PathClass path_class);  // "PIX"
PathClass path_class(const Layout& layout, std::uint32_t slot, std::uint32_t other);

}  // namespace weft::host
