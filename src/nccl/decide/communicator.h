// A communicator: the ranks, how data gets from one to another, the rings and trees of its channels, and which
// algorithm and protocol each collective of a size takes. Everything is decided when it is made, from the machines and
// from NCCL's environment variables, as NCCL decides it; nothing here runs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nccl/decide/environment.h"
#include "nccl/decide/graph.h"
#include "nccl/decide/rccl.h"
#include "nccl/decide/tuning.h"
#include "spec/cluster.h"
#include "spec/collective.h"

namespace weft::nccl {

enum class Algorithm : std::uint8_t { kTree, kRing, kNvls, kNvlsTree, kPat, kHalvingDoubling, kAllPairs };
std::string_view to_string(Algorithm algorithm);  // as the log has it: "RING"
enum class Protocol : std::uint8_t { kLl, kLl128, kSimple };
enum class Transport : std::uint8_t { kP2p, kShm, kIb, kSocket };

// How data goes from one rank to another on a channel.
struct Route {
  Transport transport = Transport::kP2p;
  PathType path = PathType::kLoc;  // between the GPUs; kNet through the network
  // Network part: NICs of the two machines (the first, where several are merged), whether their ends are in GPU
  // memory, and whose proxy sends (PXN: that of a GPU beside the NIC, to which the data goes over NVLink first).
  std::uint32_t send_nic = 0, receive_nic = 0;
  std::uint32_t send_device = 0, receive_device = 0;  // of net_devices()
  bool send_gdr = false, receive_gdr = false;
  bool flush = false;  // the receiver reads back from the GPU before the kernel may use what came
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

// NVLink SHARP: the GPUs on one NVSwitch, and those of them (heads) that each have the switch reduce a part for them
// and write it to all. Between nodes heads of equal number form double trees.
struct NvlsNode {
  std::vector<std::uint32_t> ranks;  // of the node
  std::vector<std::uint32_t> heads;  // ranks
};
struct Nvls {
  std::uint32_t channels = 0;  // 0: not available
  std::uint64_t chunk_B = 128 << 10, tree_chunk_B = 128 << 10;
  std::vector<NvlsNode> nodes;
  std::array<std::vector<TreeNode>, 2> trees;  // of even and odd channels, by rank
};

struct Choice {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  std::uint32_t channels = 1;  // that get work
  std::uint32_t threads = 512;
  double predicted_us = 0;
};

// How a collective is cut into parts for channels 0, 1, …: the first, those between and the last. In bytes of the
// buffer that nccl-tests gives one rank's count of (all-gather: what a rank sends; reduce-scatter: what it receives).
struct Parts {
  std::uint32_t channels = 1;
  std::uint64_t first_B = 0, middle_B = 0, last_B = 0;  // middle_B each of channels - 2; last_B 0 with one channel
  std::uint32_t first_channel = 0;                      // 0 but for the later ones of a group
};

// Node in NCCL's sense: GPUs of one machine that reach each other without the network.
struct Node {
  std::uint32_t machine = 0;
  std::vector<std::uint32_t> ranks;  // in the order of the topology's GPUs
  std::shared_ptr<const Topology> topology;
  std::shared_ptr<const Graphs> graphs;
};

// How an operation differs from a plain one: so many in one group; what is reduced is also multiplied (avg), for which
// NCCL has no PAT; NVSwitch can reduce this type that way.
struct Form {
  std::uint32_t group = 1;
  bool scales = false;
  bool in_switch = true;
};

class Communicator {
 public:
  Communicator(const Cluster& cluster, std::vector<RankPlace> ranks, const Environment& environment = {});

  // Empty, or why NCCL would not start: no device for the network, two ranks on one GPU, no algorithm left, a topology
  // or graph file with a mistake ("topo.xml:12:1: …").
  const std::string& error() const { return error_; }
  const Environment& environment() const { return *environment_; }
  bool is_rccl() const { return rccl_; }  // AMD's library, with rules of its own
  const std::vector<RankPlace>& ranks() const { return ranks_; }
  const std::vector<Channel>& channels() const { return channels_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  std::uint32_t node_of(std::uint32_t rank) const { return node_of_[rank]; }
  std::uint32_t local_rank(std::uint32_t rank) const { return local_of_[rank]; }
  const Graphs& graphs() const { return graphs_; }  // numbers that all nodes agree on; channels of the first
  const Tuning& tuning() const { return tuning_; }
  std::uint32_t nvls_channels() const { return nvls_.channels; }
  const Nvls& nvls() const { return nvls_; }
  std::uint32_t p2p_channels() const { return p2p_channels_; }
  std::uint32_t p2p_channels_per_peer() const { return p2p_channels_per_peer_; }
  std::uint32_t p2p_chunk_B() const { return p2p_chunk_B_; }
  std::uint64_t buffer_B(Protocol protocol) const;
  // Words of a line of LL128, one of which has flags.
  std::uint32_t ll128_words() const { return rccl_ ? kRcclLl128Words : 16; }
  const std::vector<NetDevice>& net_devices(std::uint32_t rank) const;

  // Route of rings and trees.
  Route route(std::uint32_t channel, std::uint32_t from, std::uint32_t to) const;
  // Route of send and receive, and of what is made from them: all-to-all, gather, scatter.
  Route p2p_route(std::uint32_t channel, std::uint32_t from, std::uint32_t to) const;
  // Between heads of NVLS.
  Route nvls_route(std::uint32_t channel, std::uint32_t from, std::uint32_t to) const;
  // Choice for a collective of so many bytes, as nccl-tests counts them.
  Choice choose(Collective collective, std::uint64_t size_B, const Form& form = {}) const;
  // Empty, or why NCCL would refuse this collective: NCCL_ALGO and NCCL_PROTO leave nothing.
  std::string unavailable(Collective collective, bool in_switch = true) const;
  Parts parts(Collective collective, std::uint64_t size_B, std::uint32_t element_B, const Form& form = {}) const;
  // Parts of each operation of a group; the operations are alike, and the next begins where the one before ended.
  std::vector<Parts> group_parts(Collective collective, std::uint64_t size_B, std::uint32_t element_B,
                                 const Form& form) const;
  // How many channels share one send or receive of so many bytes.
  std::uint32_t p2p_parts(std::uint64_t bytes) const;

 private:
  friend class ChannelBuilder;
  std::optional<Cluster> as_topology_file(const Cluster& cluster);
  void find_nodes(const Cluster& cluster);
  void agree_on_graphs();
  void count_p2p_channels();
  void set_nvls();
  Choice halving_choice(std::uint64_t size_B) const;
  void use_rccl_graphs();
  bool chooses_all_pairs(Function function, std::uint64_t size_B, Choice& choice) const;
  Route local_route(std::uint32_t from, std::uint32_t to) const;
  void finish_route(std::uint32_t from, std::uint32_t to, std::uint32_t send, std::uint32_t receive,
                    Route& route) const;
  std::uint32_t ring_net(std::uint32_t channel, std::uint32_t rank, bool send) const;

  std::shared_ptr<const Environment> environment_;
  std::string error_;
  std::vector<RankPlace> ranks_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> node_of_, local_of_;
  Graphs graphs_;
  Tuning tuning_;
  std::vector<Channel> channels_;
  std::uint32_t search_channels_ = 0;  // before they were doubled
  Nvls nvls_;
  bool rccl_ = false, rccl_model_ = false;  // and rings of its own
  AmdArch amd_arch_ = AmdArch::kOther;
  std::uint32_t p2p_channels_ = 2, p2p_channels_per_peer_ = 2, p2p_chunk_B_ = 131072;
};

}  // namespace weft::nccl
