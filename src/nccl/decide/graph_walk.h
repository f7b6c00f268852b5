// One attempt of the search: all channels that fit at one speed with paths no farther than given. Of graph.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "nccl/decide/environment.h"
#include "nccl/decide/graph.h"

namespace weft::nccl {

class GraphWalk {
 public:
  GraphWalk(const Topology& topology, const Environment& environment, std::uint32_t max_channels);

  // Searches with the speeds, types and bounds of `wanted`; puts what is better than `best` there. Returns the steps
  // that were left: -1 when nothing better is possible, 0 when it gave up.
  std::int32_t run(const Graph& wanted, std::int32_t steps, Graph& best);

  // Devices to try, in order: those that the GPUs prefer, then others that are near enough. Without a GPU: of all.
  const std::vector<std::uint32_t>& nets_for(std::optional<std::uint32_t> gpu, PathType farthest);

 private:
  enum class Order : std::uint8_t { kFree, kPci, kReplay };
  static constexpr std::int32_t kNever = -1;
  struct Turns {  // at which GPU of the chain the way goes back to the network, or to the first GPU
    std::int32_t to_net = kNever, to_first = kNever;
  };

  void next_channel();
  void from_network(Turns turns);
  void from_net(std::uint32_t net, Turns turns);
  void from_gpus(Turns turns);
  void try_gpu(std::optional<std::uint32_t> from, std::uint32_t gpu, std::int32_t step, Turns turns, Order order);
  void visit(std::uint32_t gpu, std::int32_t step, Turns turns, Order order);
  void back_to_net(std::uint32_t gpu, std::int32_t step, Turns turns, Order order);
  void nvls_head(std::uint32_t gpu);
  void finish_channel();
  bool is_better() const;
  bool net_allowed(std::uint32_t net, std::int32_t step) const;
  std::vector<std::uint32_t> next_gpus(std::uint32_t gpu, std::int32_t by_net) const;
  std::vector<std::uint32_t> neighbours(std::uint32_t gpu) const;
  bool go(std::uint32_t from, std::uint32_t to, double share);
  bool take(const Path& way, std::uint32_t from, std::size_t links, std::int64_t MBps, std::size_t& done);
  GraphChannel& current() { return channels_[count_]; }
  const GraphChannel& current() const { return channels_[count_]; }

  const Topology& topology_;
  const Environment& environment_;
  std::vector<std::int64_t> left_;                        // MB/s on each link
  std::vector<double> net_left_;                          // GB/s of each device
  std::vector<std::vector<std::uint32_t>> nearest_gpus_;  // of each device
  std::vector<std::uint64_t> used_;
  std::vector<GraphChannel> channels_;
  std::uint32_t count_ = 0;  // complete ones; the next is being built
  Graph wanted_;
  std::int32_t steps_ = 0;
  Graph* best_ = nullptr;
  std::vector<std::vector<std::uint32_t>> net_lists_;  // by GPU (the last: of all) and type
};

}  // namespace weft::nccl
