#include "nccl/decide/channel_builder.h"

#include <algorithm>

#include "nccl/decide/trees.h"

namespace weft::nccl {

std::uint32_t ring_channel(const Communicator& communicator, std::uint32_t node, std::uint32_t channel,
                           std::uint32_t search_channels) {
  const std::uint32_t own = channel % search_channels;
  const bool swapped = communicator.nodes()[node].graphs->ring.cross_nic == 2 && search_channels % 2 == 0;
  return swapped && node % 2 == 1 ? own ^ 1 : own;
}

std::vector<std::uint32_t> ChannelBuilder::chain(const Node& node, const Graph& graph, std::uint32_t channel) const {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t gpu : graph.channels[channel].gpus) ranks.push_back(node.ranks[gpu]);
  return ranks;
}

Channel ChannelBuilder::ring_of(std::uint32_t channel) const {
  Channel made;
  made.tree.resize(all_.ranks_.size());
  made.nic.resize(machines_);
  for (std::uint32_t n = 0; n < all_.nodes_.size(); ++n) {
    const Node& node = all_.nodes_[n];
    const std::uint32_t own = ring_channel(all_, n, channel, all_.search_channels_);
    for (std::uint32_t rank : chain(node, node.graphs->ring, own)) made.ring.push_back(rank);
    const std::int32_t net = node.graphs->ring.channels[own].nets[0];
    if (net != kNoNet) made.nic[node.machine] = node.topology->nets[static_cast<std::size_t>(net)].nics.front();
  }
  // As rank 0 prints it.
  const auto zero = std::find(made.ring.begin(), made.ring.end(), 0U);
  if (zero != made.ring.end()) std::rotate(made.ring.begin(), zero, made.ring.end());
  return made;
}

// Inside a machine a tree is a chain. Which of its ranks talk to parent and children of other machines depends on the
// pattern: all the first one, or the second takes the children or one of them.
void ChannelBuilder::add_trees(std::uint32_t channel, Channel& first, Channel& second) const {
  struct Ends {
    std::uint32_t to_parent = 0;
    std::array<std::uint32_t, 2> to_child{};
  };
  std::vector<Ends> ends;
  for (const Node& node : all_.nodes_) {
    const Graph& graph = node.graphs->tree;
    const std::vector<std::uint32_t> ranks = chain(node, graph, channel);
    const std::size_t child0 = graph.pattern == Pattern::kTree || ranks.size() == 1 ? 0 : 1;
    const std::size_t child1 = graph.pattern == Pattern::kSplitTree && ranks.size() > 1 ? 1 : 0;
    ends.push_back({ranks[0], {ranks[child0], ranks[child1]}});
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      for (Channel* each : {&first, &second}) {
        if (i > 0) each->tree[ranks[i]].up = static_cast<std::int32_t>(ranks[i - 1]);
        if (i + 1 < ranks.size()) each->tree[ranks[i]].down[0] = static_cast<std::int32_t>(ranks[i + 1]);
      }
    }
  }
  const auto count = static_cast<std::uint32_t>(ends.size());
  const auto add_child = [](TreeNode& node, std::uint32_t rank) {
    *std::find(node.down.begin(), node.down.end(), kNoRank) = static_cast<std::int32_t>(rank);
  };
  for (std::uint32_t n = 0; n < count; ++n) {
    const std::array<TreeLinks, 2> links = double_tree(count, n);
    for (std::size_t t = 0; t < 2; ++t) {
      std::vector<TreeNode>& tree = t == 0 ? first.tree : second.tree;
      if (links[t].up >= 0) {
        const Ends& parent = ends[static_cast<std::size_t>(links[t].up)];
        tree[ends[n].to_parent].up = static_cast<std::int32_t>(parent.to_child[links[t].child]);
      }
      for (std::size_t d = 0; d < 2; ++d) {
        if (links[t].down[d] < 0) continue;
        add_child(tree[ends[n].to_child[d]], ends[static_cast<std::size_t>(links[t].down[d])].to_parent);
      }
    }
  }
}

void ChannelBuilder::build() {
  const std::uint32_t count = all_.search_channels_;
  std::vector<Channel>& channels = all_.channels_;
  for (std::uint32_t c = 0; c < count; ++c) channels.push_back(ring_of(c));
  // RCCL's rings between machines are as many as there may be: half of them has the first tree, half the second.
  if (count > kMaxChannelCount / 2) {
    Channel other;
    other.tree.resize(all_.ranks_.size());
    for (std::uint32_t c = 0; c < count; ++c) {
      Channel unused = other;
      add_trees(c, c < count / 2 ? channels[c] : unused, c < count / 2 ? unused : channels[c]);
    }
    count_channels();
    return;
  }
  for (std::uint32_t c = 0; c < count; ++c) channels.push_back(channels[c]);
  for (std::uint32_t c = 0; c < count; ++c) add_trees(c, channels[c], channels[count + c]);
  count_channels();
}

void ChannelBuilder::count_channels() {
  std::vector<Channel>& channels = all_.channels_;
  const Environment& environment = *all_.environment_;
  const auto copy_up_to = [&](std::size_t wanted) {
    const std::size_t base = channels.size();
    for (std::size_t c = base; c < wanted; ++c) channels.push_back(channels[c - base]);
  };
  channels.resize(std::min<std::size_t>(channels.size(), kMaxChannelCount));
  std::uint32_t capability = 999;
  for (const Node& node : all_.nodes_) capability = std::min(capability, node.topology->min_compute_capability());
  // Hopper and later need four blocks for each ring that was found, where there are few.
  if (capability >= 90 && all_.nodes_.size() > 1 && all_.graphs_.ring.intra_GBps > 45 && channels.size() < 16)
    copy_up_to(2 * channels.size());
  const auto limit = [](std::int64_t value, std::int64_t least) {
    return static_cast<std::size_t>(std::clamp<std::int64_t>(value, least, kMaxChannelCount));
  };
  std::size_t most = kMaxChannelCount;
  if (environment.max_nchannels != kUnset) most = limit(environment.max_nchannels, 1);
  if (environment.max_ctas != kUnset) most = std::min(most, limit(environment.max_ctas, 1));
  channels.resize(std::min(channels.size(), most));
  std::size_t least = 0;
  if (environment.min_nchannels != kUnset) least = limit(environment.min_nchannels, 0);
  if (environment.min_ctas != kUnset) least = std::max(least, limit(environment.min_ctas, 0));
  copy_up_to(least);
}

}  // namespace weft::nccl
