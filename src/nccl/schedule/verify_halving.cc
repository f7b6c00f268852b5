#include <deque>
#include <map>

#include "nccl/schedule/verify_pat.h"

namespace weft::nccl {

namespace {

// Sums of stretches of elements, by where they begin; the last is the end.
class SumMap {
 public:
  SumMap(std::uint64_t count, std::uint64_t sum) : sums_{{0, sum}, {count, 0}} {}

  // Those of [begin, end), relative to it.
  std::map<std::uint64_t, std::uint64_t> read(std::uint64_t begin, std::uint64_t end) {
    cut(begin);
    cut(end);
    std::map<std::uint64_t, std::uint64_t> found;
    for (auto at = sums_.find(begin); at->first < end; ++at) found[at->first - begin] = at->second;
    return found;
  }
  void write(std::uint64_t begin, std::uint64_t end, const std::map<std::uint64_t, std::uint64_t>& from, bool adds) {
    for (const auto& [offset, sum] : from) cut(begin + offset);
    cut(end);
    for (auto at = sums_.find(begin); at->first < end; ++at) {
      const std::uint64_t came = std::prev(from.upper_bound(at->first - begin))->second;
      at->second = adds ? at->second + came : came;
    }
  }
  std::uint64_t wrong(std::uint64_t wanted) const {
    std::uint64_t wrong = 0;
    for (auto at = sums_.begin(), after = std::next(at); after != sums_.end(); at = after++)
      wrong += at->second == wanted ? 0 : after->first - at->first;
    return wrong;
  }

 private:
  void cut(std::uint64_t at) {
    const auto after = sums_.upper_bound(at);
    if (after != sums_.end()) sums_.try_emplace(at, std::prev(after)->second);
  }
  std::map<std::uint64_t, std::uint64_t> sums_;
};

struct HalvingMessage {
  std::uint64_t offset, count;
  std::map<std::uint64_t, std::uint64_t> sums;
};
struct HalvingLane {
  std::uint32_t rank;
  Lane lane;
  Primitive now;
  bool has_now = false, ended = false;
};

}  // namespace

std::uint64_t wrong_halving_elements(const Communicator& communicator, const Plan& plan) {
  const auto ranks = static_cast<std::uint32_t>(communicator.ranks().size());
  std::vector<HalvingLane> lanes;
  std::vector<SumMap> buffers;
  std::map<std::array<std::uint32_t, 3>, std::deque<HalvingMessage>> wires;
  std::uint64_t all = 0, wrong = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    all += contribution(rank);
    buffers.emplace_back(plan.operation.count, contribution(rank));
    for (const Lane& lane : lanes_of(communicator, plan, rank)) lanes.push_back({rank, lane, {}, false, false});
  }
  const auto step = [&](HalvingLane& each) {
    if (!each.has_now && !each.ended) {
      each.ended = !each.lane.next(each.now);
      each.has_now = !each.ended;
    }
    if (each.ended) return false;
    const Primitive& now = each.now;
    const auto peer = static_cast<std::uint32_t>(each.lane.to[static_cast<std::size_t>(now.to)]);
    const std::uint64_t end = now.offset + now.count;
    if (now.sends) {
      auto& wire = wires[{each.lane.channel, each.rank, peer}];
      if (wire.size() >= kBufferSteps) return false;
      wire.push_back({now.offset, now.count, buffers[each.rank].read(now.offset, end)});
    } else {
      auto& wire = wires[{each.lane.channel, peer, each.rank}];
      if (wire.empty()) return false;
      if (wire.front().offset != now.offset || wire.front().count != now.count) {
        wrong += now.count;
      } else {
        buffers[each.rank].write(now.offset, end, wire.front().sums, now.reduces);
      }
      wire.pop_front();
    }
    each.has_now = false;
    return true;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (HalvingLane& each : lanes) {
      while (step(each)) moved = true;
    }
  }
  for (const SumMap& buffer : buffers) wrong += buffer.wrong(all);
  return wrong;
}

}  // namespace weft::nccl
