// Double binary trees over machines: half of the data goes through each, and who is a leaf in one forwards in the
// other.
#pragma once

#include <array>
#include <cstdint>

namespace weft::nccl {

struct TreeLinks {
  std::int32_t up = -1;
  std::array<std::int32_t, 2> down{-1, -1};
  std::uint32_t child = 0;  // which child of its parent it is
};

// First tree: its root is 0, and odd numbers are leaves.
TreeLinks binary_tree(std::uint32_t count, std::uint32_t node);
// The first tree; and the second, which is its mirror image (an even number of nodes) or shifted by one (odd).
std::array<TreeLinks, 2> double_tree(std::uint32_t count, std::uint32_t node);

}  // namespace weft::nccl
