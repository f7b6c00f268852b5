// The layout of a host as text, in the catalog and in a lab's `layout`: one line each for a NUMA node ("cpus 0-7,32-39
// memory 64 GB lanes 32"), a link between nodes ("0-1 170 Gbps 60 ns load 5 % burst 5 KiB") and a slot ("slot6
// node1 3.0 x16": its name, what it hangs on, generation and lanes; "node1/1" is the second host bridge of node 1). A
// slot that others hang on holds a PCIe switch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spec/layout.h"
#include "text/units.h"

namespace weft::lab {

enum class LayoutList : std::uint8_t { kNuma, kLinks, kSlots };
struct LayoutText {
  std::vector<std::string> numa, links, slots;
};
struct LayoutProblem {
  LayoutList list;
  std::size_t index = 0;
  TextError error;
};

// All that is wrong, in order; nothing: `layout` is complete.
std::vector<LayoutProblem> parse_layout(const LayoutText& text, host::Layout& layout);

}  // namespace weft::lab
