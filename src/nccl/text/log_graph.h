// Parts of the log that describe a machine: NCCL_DEBUG_SUBSYS=GRAPH and TUNING. Of log.h.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "nccl/decide/communicator.h"

namespace weft::nccl {

using LineSink = std::function<void(std::string_view line)>;

void write_topology(const Topology& topology, const std::vector<std::uint32_t>& ranks, const LineSink& sink);
void write_graphs(const Node& node, const LineSink& sink);
void write_tuning(const Tuning& tuning, const LineSink& sink);

}  // namespace weft::nccl
