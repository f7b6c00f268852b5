#include "nccl/schedule/pat.h"

#include <algorithm>
#include <bit>

namespace weft::nccl {

namespace {

constexpr std::uint32_t kPatSlots = 8;        // of a connection: so many trees wait for each other at most
constexpr std::uint32_t kPatWarpGroups = 16;  // of 512 threads

std::int8_t dimension(std::uint32_t distance) {
  return static_cast<std::int8_t>(distance == 0 ? kNoDimension : std::countr_zero(distance));
}
std::uint32_t lowest_bit(std::uint32_t distance) {
  return distance & (~distance + 1);
}

// Reduce-scatter begins with the farthest tree, in the order in which their sums are needed: 7 3 5 1 6 2 4 0 of eight.
std::uint32_t tree_in_turn(std::uint32_t turn, std::uint32_t trees) {
  std::uint32_t tree = 0;
  for (std::uint32_t bit = trees / 2; bit != 0; bit /= 2, turn /= 2) {
    if (turn % 2 == 0) tree |= bit;
  }
  return tree;
}

// Depth first, the largest subtree before its siblings: 4 6 7 5 2 3 1 of a tree of eight.
std::uint32_t next_in_tree(std::uint32_t node) {
  if (node % 2 == 0) return node + lowest_bit(node) / 2;
  return node - 1 - lowest_bit(node - 1) / 2;
}

}  // namespace

PatWalk::PatWalk(bool gathers, std::uint32_t ranks, std::uint64_t chunk_B, std::uint64_t channel_B)
    : gathers_(gathers), ranks_(ranks) {
  const std::uint64_t part_B = std::max<std::uint64_t>(channel_B, 1);
  while (trees_ < ranks / 2 && chunk_B / (part_B * trees_) >= 2) trees_ *= 2;
  per_message_ = trees_;
  parallel_ = std::min(per_message_, kPatWarpGroups);
  for (std::uint32_t slots = kPatSlots; slots > 1 && trees_ < ranks / 2; slots /= 2) trees_ *= 2;
  delta_ = std::bit_ceil(ranks) / trees_;
  begin();
}

void PatWalk::begin() {
  piece_ = dimension_begin_ = ahead_ = 0;
  in_round_ = false;
  if (gathers_) {
    spread_ = trees_ / 2;
    node_ = delta_ / 2;
    stage_ = spread_ > 0 ? Stage::kSpread : Stage::kForward;
  } else {
    spread_ = 1;
    node_ = delta_ - 1;
    stage_ = Stage::kLeafSend;
  }
}

std::uint32_t PatWalk::pieces() const {
  switch (stage_) {
    case Stage::kSpread:
    case Stage::kGatherSend:
    case Stage::kGatherReduce:
      return trees_ / (2 * spread_);
    case Stage::kOwn:
      return 1;
    default:
      return trees_;
  }
}

bool PatWalk::next(PatStep& step) {
  while (stage_ != Stage::kEnd) {
    if (piece_ % parallel_ == 0) in_round_ = false;
    step = {};
    const bool there = make(step);
    next_piece();
    if (!there) continue;
    step.is_beside = in_round_;
    in_round_ = true;
    return true;
  }
  begin();
  return false;
}

void PatWalk::next_piece() {
  if (++piece_ < pieces()) return;
  piece_ = dimension_begin_ = ahead_ = 0;
  switch (stage_) {
    case Stage::kSpread:
      spread_ /= 2;
      if (spread_ == 0) stage_ = Stage::kForward;
      return;
    case Stage::kForward:
      if (node_ % 2 == 1) {
        stage_ = Stage::kLeaf;
      } else {
        node_ = next_in_tree(node_);
      }
      return;
    case Stage::kLeaf:
      stage_ = node_ == 1 ? Stage::kEnd : Stage::kForward;
      if (node_ > 1) node_ = next_in_tree(node_);
      return;
    case Stage::kLeafSend:
      stage_ = node_ > 1 ? Stage::kReduce : trees_ > 1 ? Stage::kGatherSend : Stage::kOwn;
      return;
    case Stage::kReduce:
      --node_;
      stage_ = node_ % 2 == 1 ? Stage::kLeafSend : Stage::kReduce;
      return;
    case Stage::kGatherSend:
      stage_ = Stage::kGatherReduce;
      return;
    case Stage::kGatherReduce:
      spread_ *= 2;
      stage_ = spread_ < trees_ ? Stage::kGatherSend : Stage::kOwn;
      return;
    default:
      stage_ = Stage::kEnd;
  }
}

// False: there is no such rank.
bool PatWalk::make(PatStep& step) {
  const std::uint32_t place = piece_ % per_message_;
  switch (stage_) {
    case Stage::kSpread: {
      const std::uint32_t target = (2 * piece_ + 1) * spread_ * delta_;
      if (target >= ranks_) return false;
      make_spread(step, target);
      return true;
    }
    case Stage::kForward: {
      const std::uint32_t target = piece_ * delta_ + node_;
      // Arrived data is taken even where there is nobody to send it to.
      if (target > ranks_ || (target == ranks_ && node_ % 2 == 0)) return false;
      make_forward(step, target);
      return true;
    }
    case Stage::kLeaf:
      step.part = piece_ * delta_ + node_;
      if (step.part >= ranks_) return false;
      step.from = 0;
      step.from_place = place;
      step.frees = place + 1 == per_message_ || step.part + delta_ >= ranks_;
      step.is_first = true;
      return true;
    case Stage::kLeafSend:
      step.part = tree_in_turn(piece_, trees_) * delta_ + node_;
      if (step.part >= ranks_) return false;
      step.to = 0;
      step.to_place = place;
      step.posts = place + 1 == per_message_ || piece_ + 1 == trees_;
      return true;
    case Stage::kReduce:
      return make_reduce(step, tree_in_turn(piece_, trees_) * delta_ + node_);
    case Stage::kGatherSend: {
      step.part = (2 * tree_in_turn(piece_, pieces()) + 1) * spread_ * delta_;
      if (step.part >= ranks_) return false;
      if (step.part + 1 < ranks_) {
        const std::uint32_t index = piece_ + trees_ - trees_ / spread_;
        step.from = 0;
        step.from_place = index % per_message_;
        step.frees = step.from_place + 1 == per_message_;
      }
      step.to = dimension(step.part);
      step.to_place = place;
      step.posts = place + 1 == per_message_ || piece_ + 1 == pieces();
      return true;
    }
    case Stage::kGatherReduce:
      return make_reduce(step, (2 * tree_in_turn(piece_, pieces()) + 1) * spread_ * delta_);
    default:
      step.from = 0;
      step.from_place = (trees_ - 1) % per_message_;
      step.frees = true;
      return true;
  }
}

// Parts of a dimension come in the order of their distances.
void PatWalk::make_spread(PatStep& step, std::uint32_t target) const {
  const std::uint32_t bit = lowest_bit(target);
  step.part = target - bit;
  step.to = dimension(target);
  step.to_place = piece_ % per_message_;
  step.posts = step.to_place + 1 == per_message_ || target + 2 * spread_ * delta_ >= ranks_;
  step.from = dimension(step.part);
  if (step.from != kNoDimension) {
    const std::uint32_t index = step.part >> (step.from + 1);
    step.from_place = index % per_message_;
    step.from_ahead = index / per_message_;
  }
  const std::uint32_t farthest = step.part == 0 ? std::bit_ceil(ranks_) : lowest_bit(step.part);
  step.is_first = 2 * bit == farthest || step.part + 2 * bit >= ranks_;
}

void PatWalk::make_forward(PatStep& step, std::uint32_t target) const {
  make_spread(step, target);
  const bool last = target == step.part + 1;  // nobody else needs it
  const bool at_root = node_ == lowest_bit(node_);
  step.posts = step.to_place + 1 == per_message_ || target + delta_ >= ranks_;
  if (step.from != kNoDimension) {
    const std::uint32_t index = at_root ? step.part >> (step.from + 1) : piece_;
    const std::uint32_t after = at_root ? step.part + 2 * lowest_bit(step.part) : step.part + delta_;
    step.from_place = index % per_message_;
    step.from_ahead = last ? 0 : index / per_message_;
    step.frees = last && (step.from_place + 1 == per_message_ || after >= ranks_);
  }
  if (target >= ranks_) {
    step.to = kNoDimension;
    step.to_place = 0;
    step.posts = false;
  }
}

// Data from `source` is added to the part that goes to its parent.
bool PatWalk::make_reduce(PatStep& step, std::uint32_t source) {
  const bool at_root = stage_ == Stage::kGatherReduce || node_ == lowest_bit(node_);
  if (at_root && std::has_single_bit(pieces() - piece_)) {
    dimension_begin_ = piece_;
    ahead_ = 0;
  }
  const std::uint32_t bit = lowest_bit(source);
  step.part = source - bit;
  if (step.part >= ranks_) return false;
  const std::uint32_t place = piece_ % per_message_;
  const bool last = place + 1 == per_message_ || piece_ + 1 == pieces();
  if (source < ranks_) {
    step.from = dimension(source);
    step.from_place = place;
    step.frees = last;
  }
  const std::uint32_t index = piece_ - dimension_begin_;
  step.to = dimension(step.part);
  step.to_ahead = ahead_;
  if (step.to != kNoDimension) {
    step.to_place = index % per_message_;
    step.posts = bit == 1 && last;
  }
  if (bit > 1 && index % per_message_ + 1 == per_message_) ++ahead_;
  return true;
}

}  // namespace weft::nccl
