#include "spec/layout.h"

#include <algorithm>

namespace weft::host {

namespace {

// From the slot up to its root port.
std::vector<std::uint32_t> ancestors(const Layout& layout, std::uint32_t slot) {
  std::vector<std::uint32_t> chain;
  for (std::int32_t at = layout.slots[slot].parent; at >= 0; at = layout.slots[static_cast<std::size_t>(at)].parent)
    chain.push_back(static_cast<std::uint32_t>(at));
  return chain;
}

}  // namespace

bool NumaNode::has_cpu(std::uint32_t cpu) const {
  return std::any_of(cpus.begin(), cpus.end(), [&](const std::vector<std::uint32_t>& range) {
    return std::find(range.begin(), range.end(), cpu) != range.end();
  });
}

std::vector<std::uint32_t> NumaNode::siblings(std::uint32_t cpu) const {
  std::vector<std::uint32_t> others;
  for (const std::vector<std::uint32_t>& range : cpus) {
    const auto found = std::find(range.begin(), range.end(), cpu);
    if (found == range.end()) continue;
    const auto core = static_cast<std::size_t>(found - range.begin());
    for (const std::vector<std::uint32_t>& other : cpus) {
      if (&other != &range && core < other.size()) others.push_back(other[core]);
    }
  }
  return others;
}

std::optional<std::uint32_t> Layout::node_of_cpu(std::uint32_t cpu) const {
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].has_cpu(cpu)) return i;
  }
  return std::nullopt;
}

bool Layout::is_switch(std::uint32_t slot) const {
  return std::any_of(slots.begin(), slots.end(),
                     [&](const PcieSlot& each) { return each.parent == static_cast<std::int32_t>(slot); });
}

std::string_view to_string(PathClass path_class) {
  constexpr std::string_view kNames[] = {"PIX", "PXB", "PHB", "NODE", "SYS"};
  return kNames[static_cast<std::size_t>(path_class)];
}

PathClass path_class(const Layout& layout, std::uint32_t slot, std::uint32_t other) {
  const PcieSlot& a = layout.slots[slot];
  const PcieSlot& b = layout.slots[other];
  if (a.node != b.node) return PathClass::kSys;
  const std::vector<std::uint32_t> above_a = ancestors(layout, slot), above_b = ancestors(layout, other);
  for (std::size_t i = 0; i < above_a.size(); ++i) {
    const auto found = std::find(above_b.begin(), above_b.end(), above_a[i]);
    if (found == above_b.end()) continue;
    return i == 0 && found == above_b.begin() ? PathClass::kPix : PathClass::kPxb;
  }
  return a.bridge == b.bridge ? PathClass::kPhb : PathClass::kNode;
}

}  // namespace weft::host
