#include "nccl/schedule/verify.h"

#include <algorithm>
#include <deque>
#include <map>

#include "nccl/schedule/verify_pat.h"

namespace weft::nccl {

namespace {

struct Chunk {
  std::uint64_t offset = 0, count = 0, sum = 0;
};
struct Wire {
  std::uint32_t channel, from, to;
  friend auto operator<=>(const Wire&, const Wire&) = default;
};
// Between a rank and a head of NVLS, by way of the switch.
struct SwitchWire {
  const NvlsNode* node;
  std::uint32_t channel, head, rank;
  bool down;  // from the head
  friend auto operator<=>(const SwitchWire&, const SwitchWire&) = default;
};
struct Verified {
  std::uint32_t rank;
  Lane lane;
  Primitive now;
  bool has_now = false, ended = false;
};

// Whose data is in a chunk of an operation that only moves data.
std::uint32_t owner(const Operation& operation, const Lane& lane, std::uint32_t rank, std::uint64_t offset) {
  if (operation.collective == Collective::kAllGather) return static_cast<std::uint32_t>(offset / lane.stride);
  if (operation.collective == Collective::kBroadcast) return operation.root;
  return rank;
}

class Checker {
 public:
  Checker(const Communicator& communicator, const OperationOf& operation_of, std::uint32_t number)
      : communicator_(communicator) {
    const auto ranks = static_cast<std::uint32_t>(communicator.ranks().size());
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      operations_.push_back(operation_of(rank));
      all_ += contribution(rank);
      const Plan plan = make_plan(communicator, operations_[rank]);
      for (const Lane& lane : lanes_of(communicator, plan, rank)) {
        if (lane.operation != number) continue;
        lanes_.push_back({rank, lane, {}, false, false});
        if (lane.kind == LaneKind::kPairsReduce) ++first_half_[{rank, lane.channel}];
      }
    }
    written_.resize(ranks);
  }

  std::uint64_t wrong() {
    for (bool moved = true; moved;) {
      moved = false;
      for (Verified& each : lanes_) {
        while (step(each)) moved = true;
      }
    }
    return missing() + wrong_;
  }

 private:
  bool step(Verified& each) {
    if (each.ended) return false;
    if (!each.has_now) {
      each.ended = !each.lane.next(each.now);
      each.has_now = !each.ended;
      if (each.ended && each.lane.kind == LaneKind::kPairsReduce) --first_half_[{each.rank, each.lane.channel}];
      if (each.ended) return false;
    }
    if (each.lane.kind == LaneKind::kNvlsScatter) return scatter(each);
    if (each.lane.kind == LaneKind::kNvlsGather) return gather(each);
    const Primitive& now = each.now;
    if (!may_start(each)) return false;
    std::vector<std::int32_t> from, to;
    for (std::int32_t peer : each.lane.from) {
      if (now.receives && peer != kNoRank) from.push_back(peer);
    }
    for (std::int32_t peer : each.lane.to) {
      if (now.sends && peer != kNoRank) to.push_back(peer);
    }
    for (std::int32_t peer : from) {
      if (wires_[{each.lane.channel, static_cast<std::uint32_t>(peer), each.rank}].empty()) return false;
    }
    if (each.lane.reads_switch && !has_come(each)) return false;
    const Operation& operation = operations_[each.rank];
    Chunk chunk{now.offset, now.count, 0};
    if (each.lane.reads_switch) {
      for (std::uint32_t rank : each.lane.nvls->ranks)
        chunk.sum += take({each.lane.nvls, each.lane.channel, each.lane.head, rank, false}, now.offset, now.count);
    } else if (now.reduces || !now.receives)
      chunk.sum +=
          contribution(now.reduces || sums(operation) ? each.rank : owner(operation, each.lane, each.rank, now.offset));
    for (std::int32_t peer : from) {
      std::deque<Chunk>& wire = wires_[{each.lane.channel, static_cast<std::uint32_t>(peer), each.rank}];
      const Chunk& came = wire.front();
      if (came.count != now.count || (came.offset != now.offset && !operation.is_point_to_point())) wrong_ += now.count;
      chunk.sum += came.sum;
      if (each.lane.kind == LaneKind::kPairsReduce) add_up(each, came.sum);
      wire.pop_front();
    }
    if (each.lane.kind == LaneKind::kPairsGather) chunk.sum += pairs_[{each.rank, each.lane.channel}];
    for (std::int32_t peer : to)
      wires_[{each.lane.channel, each.rank, static_cast<std::uint32_t>(peer)}].push_back(chunk);
    if (each.lane.writes_switch) {
      for (std::uint32_t rank : each.lane.nvls->ranks)
        switch_wires_[{each.lane.nvls, each.lane.channel, each.lane.head, rank, true}].push_back(chunk);
    }
    if (now.copies && now.count > 0) {
      Chunk copy = chunk;
      // Each peer's part has a place of its own.
      if (operation.is_point_to_point())
        copy.offset +=
            place_of(each.lane.kind == LaneKind::kCopy ? each.rank : static_cast<std::uint32_t>(each.lane.from[0]));
      const std::uint64_t expected =
          sums(operation) ? all_
          : operation.is_point_to_point()
              ? contribution(each.lane.kind == LaneKind::kCopy ? each.rank
                                                               : static_cast<std::uint32_t>(each.lane.from[0]))
              : contribution(owner(operation, each.lane, each.rank, now.offset));
      if (chunk.sum != expected) wrong_ += now.count;
      written_[each.rank].push_back(copy);
    }
    each.has_now = false;
    return true;
  }

  // The direct all-reduce: a block's second half begins when all peers' share of its own part has come.
  bool may_start(const Verified& each) {
    if (each.lane.kind != LaneKind::kPairsGather && each.lane.kind != LaneKind::kPairsTake) return true;
    return first_half_[{each.rank, each.lane.channel}] == 0;
  }
  void add_up(const Verified& each, std::uint64_t sum) {
    // All chunks of a share are alike.
    if (each.now.offset == each.lane.offset) pairs_[{each.rank, each.lane.channel}] += sum;
  }

  bool has_come(const Verified& each) {
    return std::ranges::all_of(each.lane.nvls->ranks, [&](std::uint32_t rank) {
      return !switch_wires_[{each.lane.nvls, each.lane.channel, each.lane.head, rank, false}].empty();
    });
  }
  std::uint64_t take(const SwitchWire& name, std::uint64_t offset, std::uint64_t count) {
    std::deque<Chunk>& wire = switch_wires_[name];
    const Chunk came = wire.front();
    wire.pop_front();
    if (came.offset != offset || came.count != count) wrong_ += count;
    return came.sum;
  }

  bool scatter(Verified& each) {
    for (std::uint32_t head = 0; head < each.lane.nvls->heads.size(); ++head) {
      const auto piece = each.lane.nvls_piece(each.now, head);
      switch_wires_[{each.lane.nvls, each.lane.channel, head, each.rank, false}].push_back(
          {piece.first, piece.second, contribution(each.rank)});
    }
    each.has_now = false;
    return true;
  }

  bool gather(Verified& each) {
    const auto heads = static_cast<std::uint32_t>(each.lane.nvls->heads.size());
    for (std::uint32_t head = 0; head < heads; ++head) {
      if (switch_wires_[{each.lane.nvls, each.lane.channel, head, each.rank, true}].empty()) return false;
    }
    const Operation& operation = operations_[each.rank];
    for (std::uint32_t head = 0; head < heads; ++head) {
      const auto piece = each.lane.nvls_piece(each.now, head);
      const std::uint64_t sum =
          take({each.lane.nvls, each.lane.channel, head, each.rank, true}, piece.first, piece.second);
      const bool own = each.lane.nvls->heads[head] == each.rank;
      if (piece.second == 0 || (!sums(operation) && own && operation.in_place)) continue;
      if (sum != (sums(operation) ? all_ : contribution(each.lane.nvls->heads[head]))) wrong_ += piece.second;
      written_[each.rank].push_back({piece.first, piece.second, sum});
    }
    each.has_now = false;
    return true;
  }

  static bool sums(const Operation& operation) {
    return operation.collective == Collective::kAllReduce || operation.collective == Collective::kReduceScatter ||
           operation.collective == Collective::kReduce;
  }
  std::uint64_t place_of(std::uint32_t peer) const { return std::uint64_t{peer} << 40; }

  // Chunks that each rank must have at the end, and from where.
  std::vector<Chunk> wanted(std::uint32_t rank) const {
    const Operation& operation = operations_[rank];
    const auto ranks = static_cast<std::uint32_t>(communicator_.ranks().size());
    const std::uint64_t count = operation.count;
    switch (operation.collective) {
      case Collective::kAllReduce:
        return {{0, count, 0}};
      case Collective::kBroadcast:
        return rank == operation.root && operation.in_place ? std::vector<Chunk>() : std::vector<Chunk>{{0, count, 0}};
      case Collective::kReduce:
        return rank == operation.root ? std::vector<Chunk>{{0, count, 0}} : std::vector<Chunk>();
      case Collective::kReduceScatter:
        return {{rank * count, count, 0}};
      case Collective::kAllGather: {
        std::vector<Chunk> all;
        for (std::uint32_t i = 0; i < ranks; ++i) {
          if (i != rank || !operation.in_place) all.push_back({i * count, count, 0});
        }
        return all;
      }
      default: {
        std::vector<Chunk> all;
        for (const PeerPart& part : peer_parts(operation, rank, ranks)) {
          const auto peer = static_cast<std::uint32_t>(part.receive_from);
          if (part.receive_from != kNoRank && !(peer == rank && operation.in_place))
            all.push_back({place_of(peer), part.receive_count, 0});
        }
        return all;
      }
    }
  }

  // Every element of what is wanted is written once.
  std::uint64_t missing() {
    std::uint64_t sum = 0;
    for (std::uint32_t rank = 0; rank < written_.size(); ++rank) {
      const auto before = [](const Chunk& a, const Chunk& b) { return a.offset < b.offset; };
      std::vector<Chunk> have = std::move(written_[rank]), want = wanted(rank);
      std::sort(have.begin(), have.end(), before);
      std::sort(want.begin(), want.end(), before);
      if (communicator_.ranks().size() == 1 && operations_[rank].in_place) want.clear();
      std::size_t i = 0;
      for (const Chunk& part : want) {
        std::uint64_t at = part.offset;
        const std::uint64_t end = part.offset + part.count;
        for (; i < have.size() && have[i].offset < end; ++i) {
          if (have[i].offset != at) sum += have[i].offset > at ? have[i].offset - at : at - have[i].offset;
          at = std::max(at, have[i].offset + have[i].count);
        }
        if (at != end) sum += at > end ? at - end : end - at;
      }
      for (; i < have.size(); ++i) sum += have[i].count;
    }
    return sum;
  }

  const Communicator& communicator_;
  std::vector<Operation> operations_;
  std::vector<Verified> lanes_;
  std::map<Wire, std::deque<Chunk>> wires_;
  // Direct all-reduce, by rank and channel: what came, and lanes of the first half that have not ended.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> pairs_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> first_half_;
  std::map<SwitchWire, std::deque<Chunk>> switch_wires_;
  std::vector<std::vector<Chunk>> written_;
  std::uint64_t all_ = 0, wrong_ = 0;
};

}  // namespace

// Contribution of a rank; for chunks that only move, it says whose they are.
std::uint64_t contribution(std::uint32_t rank) {
  std::uint64_t x = rank + 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  return x ^ x >> 31;
}

std::uint64_t wrong_elements(const Communicator& communicator, const OperationOf& operation_of) {
  const Plan first = make_plan(communicator, operation_of(0));
  if (first.choice.algorithm == Algorithm::kPat && communicator.ranks().size() > 1)
    return wrong_pat_elements(communicator, first);
  if (first.choice.algorithm == Algorithm::kHalvingDoubling) return wrong_halving_elements(communicator, first);
  std::uint64_t wrong = 0;
  for (std::uint32_t i = 0; i < operation_of(0).group; ++i) wrong += Checker(communicator, operation_of, i).wrong();
  return wrong;
}

}  // namespace weft::nccl
