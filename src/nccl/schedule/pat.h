// PAT (parallel aggregated trees), NCCL's algorithm for all-gather and reduce-scatter with one GPU in each node. The
// part of every rank has a binomial tree of its own, and a rank works on all of them: in dimension d it sends to the
// rank 2^d places from it and receives from the one 2^d places on the other side. Small parts of several trees share a
// message; of large ones up to eight trees are worked on in turn. Learnt from NCCL 2.28.9 (include/collectives.h); held
// against what real NCCL posts (tests/unit/nccl/recorded_test.cc).
//
// A part is named by its distance: that of the rank so many places on. All ranks take the same steps.
#pragma once

#include <cstdint>

namespace weft::nccl {

inline constexpr std::int8_t kNoDimension = -1;

// A part of one message received, copied or added to, and written into another.
struct PatStep {
  std::uint32_t part = 0;
  std::int8_t from = kNoDimension, to = kNoDimension;
  std::uint32_t from_place = 0, to_place = 0;  // among the parts of their messages
  std::uint32_t from_ahead = 0, to_ahead = 0;  // messages between the next one of that peer and this one
  bool frees = false, posts = false;           // the last use of the message received; the message to send is complete
  bool is_first = false;                       // of the part, at this rank: all-gather copies it to the output
  bool is_beside = false;                      // other warps do it at the same time as the step before
};

// The steps of a rank for one chunk of its channel, one after the other.
class PatWalk {
 public:
  PatWalk() = default;
  // All bytes are of one rank's part: of a chunk, and of all that the channel has.
  PatWalk(bool gathers, std::uint32_t ranks, std::uint64_t chunk_B, std::uint64_t channel_B);

  // False: the chunk is done, and the next call begins another.
  bool next(PatStep& step);
  std::uint32_t ranks() const { return ranks_; }
  bool gathers() const { return gathers_; }

 private:
  enum class Stage : std::uint8_t {
    kSpread,    // all-gather: own part and those of farther trees, from far to near
    kForward,   // to a node of each tree below those
    kLeaf,      // what is not sent on
    kLeafSend,  // reduce-scatter, the same backwards
    kReduce,
    kGatherSend,
    kGatherReduce,
    kOwn,
    kEnd
  };
  void begin();
  std::uint32_t pieces() const;
  bool make(PatStep& step);
  void make_spread(PatStep& step, std::uint32_t target) const;
  void make_forward(PatStep& step, std::uint32_t target) const;
  bool make_reduce(PatStep& step, std::uint32_t source);
  void next_piece();

  bool gathers_ = true;
  bool in_round_ = false;
  Stage stage_ = Stage::kEnd;
  std::uint32_t ranks_ = 1;
  std::uint32_t trees_ = 1;        // worked on in turn
  std::uint32_t delta_ = 1;        // ranks from one of them to the next
  std::uint32_t per_message_ = 1;  // parts
  std::uint32_t parallel_ = 1;     // that the warps of a block do at a time
  std::uint32_t spread_ = 0;       // of the stages at the roots
  std::uint32_t node_ = 0;         // of the trees below
  std::uint32_t piece_ = 0;        // of the stage
  std::uint32_t dimension_begin_ = 0, ahead_ = 0;
};

}  // namespace weft::nccl
