#include "nccl/schedule/halving.h"

#include <algorithm>
#include <bit>

namespace weft::nccl {

namespace {

constexpr std::uint64_t kChunksAhead = 4;  // sent before the first is taken from the peer

}  // namespace

HalvingWalk::HalvingWalk(std::uint32_t ranks, std::uint32_t rank, std::uint64_t count, std::uint64_t chunk,
                         std::uint64_t align)
    : rank_(rank),
      steps_(static_cast<std::uint32_t>(std::bit_width(ranks)) - 1),
      folded_(ranks - std::bit_floor(ranks)),
      count_(count),
      chunk_(std::max<std::uint64_t>(chunk, 1)),
      align_(std::max<std::uint64_t>(align, 1)),
      stage_(Stage::kFold) {
  place_ = is_folded() ? rank / 2 : rank - folded_;
}

std::vector<std::uint32_t> HalvingWalk::peers() const {
  if (gives()) return {rank_ + 1};
  std::vector<std::uint32_t> peers;
  for (std::uint32_t step = 0; step < steps_; ++step) peers.push_back(real_rank(place_ ^ (1U << step)));
  if (is_folded()) peers.push_back(rank_ - 1);
  return peers;
}

// Range that a rank is responsible for after so many steps.
HalvingWalk::Range HalvingWalk::range_at(std::uint32_t level) const {
  Range range{0, count_};
  for (std::uint32_t i = 0; i < level; ++i) {
    const std::uint64_t half = (range.size() + 2 * align_ - 1) / (2 * align_) * align_;
    const std::uint64_t middle = range.begin + std::min(half, range.size());
    (place_ >> i & 1 ? range.begin : range.end) = middle;
  }
  return range;
}

// The other half of the level above: what the peer of that step is responsible for.
HalvingWalk::Range HalvingWalk::beside(std::uint32_t level) const {
  const Range all = range_at(level), own = range_at(level + 1);
  return place_ >> level & 1 ? Range{all.begin, own.begin} : Range{own.end, all.end};
}

HalvingWalk::Exchange HalvingWalk::exchange() const {
  const Range all{0, count_};
  Exchange exchange;
  switch (stage_) {
    case Stage::kFold:
    case Stage::kUnfold:
      exchange.peer = gives() ? 0 : steps_;
      if (is_folded()) (gives() == (stage_ == Stage::kFold) ? exchange.sends : exchange.receives) = all;
      exchange.reduces = stage_ == Stage::kFold;
      break;
    case Stage::kHalve:
      exchange = {level_, beside(level_), range_at(level_ + 1), true};
      break;
    case Stage::kDouble:
      exchange = {level_, range_at(level_ + 1), beside(level_), false};
      break;
    case Stage::kEnd:
      break;
  }
  return exchange;
}

void HalvingWalk::next_exchange() {
  sent_ = received_ = 0;
  switch (stage_) {
    case Stage::kFold:
      stage_ = gives() || steps_ == 0 ? Stage::kUnfold : Stage::kHalve;
      return;
    case Stage::kHalve:
      if (++level_ < steps_) return;
      --level_;
      stage_ = Stage::kDouble;
      return;
    case Stage::kDouble:
      if (level_ == 0) {
        stage_ = Stage::kUnfold;
      } else {
        --level_;
      }
      return;
    default:
      stage_ = Stage::kEnd;
  }
}

bool HalvingWalk::next(HalvingStep& step) {
  for (; stage_ != Stage::kEnd; next_exchange()) {
    const Exchange now = exchange();
    const bool ahead = sent_ >= received_ + kChunksAhead * chunk_ && received_ < now.receives.size();
    if (sent_ < now.sends.size() && !ahead) {
      step = {now.peer, false, false, now.sends.begin + sent_, std::min(chunk_, now.sends.size() - sent_)};
      sent_ += step.count;
      return true;
    }
    if (received_ < now.receives.size()) {
      step = {now.peer, true, now.reduces, now.receives.begin + received_,
              std::min(chunk_, now.receives.size() - received_)};
      received_ += step.count;
      return true;
    }
  }
  return false;
}

}  // namespace weft::nccl
