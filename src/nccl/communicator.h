// A communicator: the ranks, how data gets from one to another, the rings and trees of its channels, and which
// algorithm and protocol each collective of a size takes. Everything is decided when it is made, from the machines and
// from NCCL's environment variables, as NCCL decides it; nothing here runs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nccl/cluster.h"

namespace weft::nccl {

enum class Collective : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAlltoAll,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kSendRecv,
  kHypercube
};
enum class Algorithm : std::uint8_t { kTree, kRing, kNvls, kNvlsTree, kPat };
enum class Protocol : std::uint8_t { kLl, kLl128, kSimple };
enum class Transport : std::uint8_t { kP2p, kShm, kIb, kSocket };

// How data goes from one rank to another on a channel.
struct Route {
  Transport transport = Transport::kP2p;
  // Of the network: NICs of the two machines, whether their ends are in GPU memory, and whose proxy sends (PXN: that of
  // a GPU beside the NIC, to which the data goes over NVLink first).
  std::uint32_t send_nic = 0, receive_nic = 0;
  bool send_gdr = false, receive_gdr = false;
  std::uint32_t proxy_rank = 0;
};

inline constexpr std::int32_t kNoRank = -1;

struct TreeNode {
  std::int32_t up = kNoRank;
  std::array<std::int32_t, 3> down{kNoRank, kNoRank, kNoRank};
};

struct Channel {
  std::vector<std::uint32_t> ring;  // ranks; data goes from each to the next, and from the last to the first
  std::vector<TreeNode> tree;       // by rank
  std::vector<std::uint32_t> nic;   // by machine: which of its NICs this channel uses
};

struct Choice {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  std::uint32_t channels = 1;
  std::uint32_t threads = 512;
  double predicted_us = 0;
};

class Communicator {
 public:
  Communicator(const Cluster& cluster, std::vector<RankPlace> ranks);

  const std::vector<RankPlace>& ranks() const { return ranks_; }
  const std::vector<Channel>& channels() const { return channels_; }
  std::uint32_t p2p_channels_per_peer() const { return p2p_channels_; }
  Route route(std::uint32_t channel, std::uint32_t from, std::uint32_t to) const;
  // Of a collective of so many bytes, as nccl-tests counts them.
  Choice choose(Collective collective, std::uint64_t size_B) const;

 private:
  std::vector<RankPlace> ranks_;
  std::vector<Channel> channels_;
  std::uint32_t p2p_channels_ = 2;
};

}  // namespace weft::nccl
