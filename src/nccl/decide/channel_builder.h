// Joins the rings and trees that were found in each machine to those of the communicator, and decides how many channels
// there are. After NCCL 2.30 graph/connect.cc.
#pragma once

#include <cstddef>
#include <vector>

#include "nccl/decide/communicator.h"

namespace weft::nccl {

class ChannelBuilder {
 public:
  ChannelBuilder(Communicator& communicator, std::size_t machines) : all_(communicator), machines_(machines) {}
  void build();

 private:
  std::vector<std::uint32_t> chain(const Node& node, const Graph& graph, std::uint32_t channel) const;
  Channel ring_of(std::uint32_t channel) const;
  void add_trees(std::uint32_t channel, Channel& first, Channel& second) const;
  void count_channels();

  Communicator& all_;
  std::size_t machines_;
};

// Which channel of its graph a node uses for a ring: rings that swap their ends in pairs are exchanged on odd nodes, so
// that they stay on one rail.
std::uint32_t ring_channel(const Communicator& communicator, std::uint32_t node, std::uint32_t channel,
                           std::uint32_t search_channels);

}  // namespace weft::nccl
