// Recursive halving and doubling: the all-reduce of MPI libraries (Thakur, Rabenseifner and Gropp 2005). In step k a
// rank exchanges with the one 2^k away: half of what it is still responsible for leaves, the other half comes and is
// added; after log2(n) steps each has 1/n of the result, and the same way back collects it. 2(n-1)/n of the buffer
// leaves each rank, as in a ring, in 2 log2(n) steps instead of 2(n-1). Where n is no power of two, the first ranks are
// folded: of 2r of them, r = n - 2^k, each even one gives its data to its neighbour before, and gets the result after.
// NCCL has no such algorithm; a lab asks for it with algorithm: halving-doubling.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::nccl {

// One chunk sent to a peer, or received from it.
struct HalvingStep {
  std::uint32_t peer = 0;  // of peers()
  bool receives = false;
  bool reduces = false;                // what comes is added
  std::uint64_t begin = 0, count = 0;  // of the walk's elements
};

// The steps of a rank for so many elements, one after the other.
class HalvingWalk {
 public:
  HalvingWalk() = default;
  // Parts begin at whole numbers of `align`.
  HalvingWalk(std::uint32_t ranks, std::uint32_t rank, std::uint64_t count, std::uint64_t chunk, std::uint64_t align);

  bool next(HalvingStep& step);
  // Ordered by distance; then the one with which it is folded.
  std::vector<std::uint32_t> peers() const;

 private:
  enum class Stage : std::uint8_t { kFold, kHalve, kDouble, kUnfold, kEnd };
  struct Range {
    std::uint64_t begin = 0, end = 0;
    std::uint64_t size() const { return end - begin; }
  };
  struct Exchange {
    std::uint32_t peer = 0;
    Range sends, receives;
    bool reduces = false;
  };
  Range range_at(std::uint32_t level) const;
  Range beside(std::uint32_t level) const;
  Exchange exchange() const;
  void next_exchange();
  bool is_folded() const { return rank_ < 2 * folded_; }
  bool gives() const { return is_folded() && rank_ % 2 == 0; }
  std::uint32_t real_rank(std::uint32_t place) const { return place < folded_ ? 2 * place + 1 : place + folded_; }

  std::uint32_t rank_ = 0, steps_ = 0;
  std::uint32_t folded_ = 0;  // pairs
  std::uint32_t place_ = 0;   // among those that take part
  std::uint64_t count_ = 0, chunk_ = 1, align_ = 1;
  Stage stage_ = Stage::kEnd;
  std::uint32_t level_ = 0;
  std::uint64_t sent_ = 0, received_ = 0;  // of the exchange
};

}  // namespace weft::nccl
