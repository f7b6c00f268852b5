// Kernel of a rank in one collective: its blocks' primitives (send, recvReduceSend, recvCopySend …) with
// the chunk arithmetic of NCCL's kernels, one after the other, from a generator. Pure: no time, no connection. A
// channel's block has one lane, or two where a tree goes up and down at the same time, or several sends and receives.
// Units: elements of the operation's type, and bytes where a name says so.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "nccl/decide/communicator.h"
#include "nccl/schedule/halving.h"
#include "nccl/schedule/operation.h"
#include "nccl/schedule/pat.h"

namespace weft::nccl {

inline constexpr std::uint32_t kBufferSteps = 8;  // NCCL_STEPS: slots of a connection's buffer

inline constexpr std::uint32_t kMostPeers = 16;  // of a lane: PAT has one for each power of two below the ranks
inline constexpr std::int8_t kAllPeers = -1;

// One call of a primitive: a chunk that is received, reduced with the rank's own, copied to the output, sent on.
struct Primitive {
  std::uint64_t offset = 0;  // of the chunk, in the buffer of all ranks' parts
  std::uint64_t count = 0;   // may be 0: its slots go round all the same
  bool receives = false, sends = false;
  bool reduces = false;     // what comes in is added to the rank's own input
  bool copies = false;      // the result is written to the output
  std::uint64_t piece = 0;  // of NVLS: what each head has of a loop, the last less

  // PAT, where a message has chunks of several ranks and stays in its slot until its last use.
  std::int8_t from = kAllPeers, to = kAllPeers;  // which of the lane's peers
  std::uint32_t from_ahead = 0, to_ahead = 0;    // messages between the next one of that peer and this one
  std::uint32_t from_place = 0, to_place = 0;    // of the chunk in its message
  bool frees = true, posts = true;               // the message that came is done with; the one to send is complete
  bool is_beside = false;                        // other warps do it at the same time as the one before
  bool takes_from(std::uint32_t peer) const {
    return receives && (from == kAllPeers || from == static_cast<int>(peer));
  }
  bool gives_to(std::uint32_t peer) const { return sends && (to == kAllPeers || to == static_cast<int>(peer)); }
};

enum class LaneKind : std::uint8_t {
  kRingAllReduce,
  kRingAllGather,
  kRingReduceScatter,
  kRingBroadcast,
  kRingReduce,
  kTreeUp,
  kTreeDown,
  kTreeRoot,
  kPat,
  kHalvingDoubling,
  kSend,
  kReceive,
  kPairsScatter,   // MSCCL's direct all-reduce: a peer's part of the rank's input goes to that peer
  kPairsReduce,    // a peer's input of the rank's own part comes in and is added
  kPairsGather,    // the sum of the rank's own part goes to a peer
  kPairsTake,      // a peer's sum comes in
  kNvlsScatter,    // the rank's own data to where the switch reads it, for all heads
  kNvlsReduce,     // by a head: what the switch has added up, and what comes from its tree
  kNvlsBroadcast,  // by a head: to all GPUs of the switch
  kNvlsGather,     // from where the switch has written it
  kCopy            // within the GPU
};

constexpr std::array<std::int32_t, kMostPeers> no_peers() {
  std::array<std::int32_t, kMostPeers> peers{};
  for (std::int32_t& peer : peers) peer = kNoRank;
  return peers;
}

struct Lane {
  LaneKind kind = LaneKind::kCopy;
  Protocol protocol = Protocol::kSimple;
  bool point_to_point = false;  // of which connections
  std::uint32_t channel = 0;
  std::uint32_t batch = 0;      // of its channel: starts when all lanes of the one before have ended
  std::uint32_t operation = 0;  // of a group
  std::array<std::int32_t, kMostPeers> from = no_peers(), to = no_peers();
  std::uint32_t ll128_words = 16;   // of a line
  std::uint32_t share_percent = 0;  // of a block's rate, by its threads; 0: what the lanes beside it leave

  std::uint64_t offset = 0, count = 0;  // of its channel
  std::uint64_t chunk = 0;
  std::uint32_t slices = 1, slice_steps = 1;  // of a chunk; and slots of a slice
  std::uint64_t least_slice = 1;              // elements
  std::uint64_t slice_unit = 16;              // elements: slices are whole numbers of these
  std::uint64_t align = 1;                    // elements in 16 bytes
  std::uint64_t stride = 0;                   // from one rank's part to the next, of all-gather and reduce-scatter
  std::span<const std::uint32_t> ring;        // of its channel
  std::uint32_t position = 0;                 // of the rank in it
  std::uint32_t root_position = 0;
  bool in_place = false;
  PatWalk pat;
  HalvingWalk halving;
  bool writes_own = false;  // of kPairsGather: one of them puts the sum into the rank's own output
  // NVLS: GPUs on the switch, which of its heads this rank is, what the lane does at the switch, warps that it has.
  const NvlsNode* nvls = nullptr;
  std::uint32_t head = 0;
  bool reads_switch = false, writes_switch = false;
  bool ranks_parts = false;  // all-gather, reduce-scatter: a head has its own rank's part
  std::uint32_t warps = 0;

  // False: the lane has ended.
  bool next(Primitive& primitive);
  // Bytes of so much payload on their way.
  std::uint64_t line_B(std::uint64_t payload_B) const;
  // Elements of slice `index` of a primitive.
  std::uint64_t slice_count(const Primitive& primitive, std::uint32_t index) const;
  // Part of a head in a scatter or gather of NVLS: offset and count.
  std::pair<std::uint64_t, std::uint64_t> nvls_piece(const Primitive& primitive, std::uint32_t head) const;

 private:
  std::uint32_t ring_size() const { return static_cast<std::uint32_t>(ring.size()); }
  // The rank so many places before this one in the ring.
  std::uint32_t before(std::uint32_t places) const {
    return ring[(position + ring_size() - places % ring_size()) % ring_size()];
  }
  bool next_all_reduce(Primitive& primitive);
  bool next_parts(Primitive& primitive);
  bool next_chain(Primitive& primitive);
  bool next_simple(Primitive& primitive);
  bool next_pat(Primitive& primitive);
  bool next_halving(Primitive& primitive);
  bool next_nvls(Primitive& primitive);
  void end_step(std::uint32_t steps, std::uint64_t loop);

  std::uint64_t done_ = 0;  // elements of the channel
  std::uint32_t step_ = 0;  // of the loop
};

// How one operation is cut, the same at all ranks.
struct Plan {
  Operation operation;
  Choice choice;
  Parts parts;               // of one operation
  std::vector<Parts> group;  // of several in a group
  std::uint32_t slices = 1, slice_steps = 1;
  std::uint64_t least_slice = 1;
};
Plan make_plan(const Communicator& communicator, const Operation& operation);
// Lanes of this rank in a plan. With kSendRecv the operation is the rank's own.
std::vector<Lane> lanes_of(const Communicator& communicator, const Plan& plan, std::uint32_t rank);

// Elements of the message that ends with slice `index` of a primitive that posts.
std::uint64_t message_count(const Lane& lane, const Primitive& primitive, std::uint32_t index);

// Size of a chunk of PAT, before it is rounded: less where a channel has little.
std::uint64_t pat_chunk_B(bool gathers, std::size_t ranks, std::uint64_t part_B, std::uint64_t chunk_B);
void add_pat(std::size_t ranks, std::uint32_t rank, const Plan& plan, Lane lane, std::vector<Lane>& lanes);
// NVLS or NVLSTree: `lane` has a channel's part.
void add_nvls_lanes(const Communicator& communicator, const Plan& plan, std::uint32_t rank, const Lane& lane,
                    std::vector<Lane>& lanes);

// Bytes of `payload_B` on their way: LL and LL128 carry flags.
std::uint64_t line_B(Protocol protocol, std::uint64_t payload_B, std::uint32_t ll128_words = 16);

// A send or receive with one peer, of those that an operation is made of.
struct PeerPart {
  std::int32_t send_to = kNoRank, receive_from = kNoRank;
  std::uint64_t send_count = 0, receive_count = 0;
};
std::vector<PeerPart> peer_parts(const Operation& operation, std::uint32_t rank, std::uint32_t ranks);
std::vector<Lane> halving_lanes(const Communicator& communicator, const Plan& plan, std::uint32_t rank);
std::vector<Lane> point_to_point_lanes(const Communicator& communicator, const Plan& plan, std::uint32_t rank);
std::vector<Lane> all_pairs_lanes(const Communicator& communicator, const Plan& plan, std::uint32_t rank);

}  // namespace weft::nccl
