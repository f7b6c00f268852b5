#include "nccl/decide/trees.h"

namespace weft::nccl {

TreeLinks binary_tree(std::uint32_t count, std::uint32_t node) {
  TreeLinks links;
  std::uint32_t bit = 1;
  while (bit < count && (node & bit) == 0) bit <<= 1;
  if (node == 0) {
    if (count > 1) links.down[1] = static_cast<std::int32_t>(bit >> 1);
    return links;
  }
  std::uint32_t up = (node ^ bit) | (bit << 1);
  if (up >= count) up = node ^ bit;
  links.up = static_cast<std::int32_t>(up);
  links.child = node < up ? 0 : 1;
  std::uint32_t low = bit >> 1;
  if (low == 0) return links;
  links.down[0] = static_cast<std::int32_t>(node - low);
  // The second child may lie beyond the end: then one further down takes its place.
  while (low != 0 && node + low >= count) low >>= 1;
  links.down[1] = low == 0 ? -1 : static_cast<std::int32_t>(node + low);
  return links;
}

std::array<TreeLinks, 2> double_tree(std::uint32_t count, std::uint32_t node) {
  const auto total = static_cast<std::int32_t>(count);
  const bool even = count % 2 == 0;
  const std::uint32_t image = even ? count - 1 - node : (node + count - 1) % count;
  TreeLinks second = binary_tree(count, image);
  const auto back = [&](std::int32_t& other) {
    if (other >= 0) other = even ? total - 1 - other : (other + 1) % total;
  };
  back(second.up);
  back(second.down[0]);
  back(second.down[1]);
  return {binary_tree(count, node), second};
}

}  // namespace weft::nccl
