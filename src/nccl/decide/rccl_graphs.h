// Rings and trees that RCCL has ready for eight GPUs with a link between each two (MI300X, MI355X): with them every
// link carries the same in each direction, and each NIC is the beginning of one ring and the end of another. After RCCL
// graph/rome_models.cc and connect.cc. Other machines of AMD GPUs go through NCCL's search; RCCL has models for some of
// them too (MI200, MI300A, four or sixteen NICs), which are not here.
#pragma once

#include <cstdint>
#include <optional>

#include "nccl/decide/graph.h"

namespace weft::nccl {

inline constexpr std::uint32_t kMeshGpus = 8;

// Is there a model: eight GPUs joined each to each, no network or a NIC beside each GPU?
bool has_rccl_model(const Topology& topology);
// Graphs of node `node` of `nodes`. Rings run backwards on every second node, so that they stay on one rail; where the
// number is odd the last two have rings of their own.
Graphs rccl_graphs(const Topology& topology, std::uint32_t nodes, std::uint32_t node);

}  // namespace weft::nccl
