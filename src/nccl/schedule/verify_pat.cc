#include "nccl/schedule/verify_pat.h"

#include <deque>
#include <map>

namespace weft::nccl {

namespace {

struct PatChunk {
  std::uint64_t offset = 0, count = 0, sum = 0;
};
using PatMessage = std::map<std::uint32_t, PatChunk>;  // by place
struct PatWire {
  std::deque<PatMessage> messages;  // the first is the receiver's next
  std::size_t posted = 0;           // of them
};
struct PatRank {
  std::uint32_t rank = 0;
  Lane lane;
  Primitive now;
  bool has_now = false, ended = false;
  std::map<std::uint64_t, PatChunk> output;  // by offset
};

class PatChecker {
 public:
  PatChecker(const Communicator& communicator, const Plan& plan)
      : plan_(plan), count_(plan.operation.count), ranks_(static_cast<std::uint32_t>(communicator.ranks().size())) {
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      all_ += contribution(rank);
      for (const Lane& lane : lanes_of(communicator, plan, rank)) lanes_.push_back({rank, lane, {}, false, false, {}});
    }
  }

  std::uint64_t wrong() {
    for (bool moved = true; moved;) {
      moved = false;
      for (PatRank& each : lanes_) {
        while (step(each)) moved = true;
      }
    }
    std::uint64_t right = 0;
    for (const PatRank& each : lanes_) {
      for (const auto& [offset, chunk] : each.output) {
        const auto owner = static_cast<std::uint32_t>(offset / count_);
        const bool is_right = gathers() ? chunk.sum == contribution(owner) : owner == each.rank && chunk.sum == all_;
        right += is_right ? chunk.count : 0;
        wrong_ += is_right ? 0 : chunk.count;
      }
    }
    const std::uint64_t parts = gathers() ? (plan_.operation.in_place ? ranks_ - 1 : ranks_) : 1;
    const std::uint64_t wanted = ranks_ * parts * count_;
    return wrong_ + (wanted > right ? wanted - right : right - wanted);
  }

 private:
  bool gathers() const { return plan_.operation.collective == Collective::kAllGather; }
  PatWire& wire(std::uint32_t channel, std::uint32_t from, std::uint32_t to) { return wires_[{channel, from, to}]; }

  bool step(PatRank& each) {
    if (each.ended) return false;
    if (!each.has_now) {
      each.ended = !each.lane.next(each.now);
      each.has_now = !each.ended;
      if (each.ended) return false;
    }
    const Primitive& now = each.now;
    PatWire* in = nullptr;
    PatWire* out = nullptr;
    if (now.receives) {
      in = &wire(each.lane.channel, static_cast<std::uint32_t>(each.lane.from[static_cast<std::size_t>(now.from)]),
                 each.rank);
      if (in->posted <= now.from_ahead) return false;
    }
    if (now.sends) {
      out = &wire(each.lane.channel, each.rank,
                  static_cast<std::uint32_t>(each.lane.to[static_cast<std::size_t>(now.to)]));
      if (out->posted + now.to_ahead >= kBufferSteps) return false;
    }
    PatChunk chunk{now.offset, now.count, gathers() && now.receives ? 0 : contribution(each.rank)};
    std::uint64_t came = 0;
    if (in != nullptr) {
      const PatMessage& message = in->messages[now.from_ahead];
      const auto found = message.find(now.from_place);
      if (found == message.end() || found->second.offset != now.offset || found->second.count != now.count) {
        wrong_ += now.count;
      } else {
        came = found->second.sum;
      }
    }
    // Existing content is added to.
    if (out != nullptr) {
      const std::size_t index = out->posted + now.to_ahead;
      if (out->messages.size() <= index) out->messages.resize(index + 1);
      out->messages[index].try_emplace(now.to_place, chunk).first->second.sum += came;
    }
    if (now.copies) {
      const auto [place, is_new] = each.output.try_emplace(now.offset, chunk);
      if (gathers() && !is_new) wrong_ += now.count;
      place->second.sum += came;
    }
    if (in != nullptr && now.frees) {
      in->messages.pop_front();
      --in->posted;
    }
    if (out != nullptr && now.posts) ++out->posted;
    each.has_now = false;
    return true;
  }

  const Plan& plan_;
  std::uint64_t count_;
  std::uint32_t ranks_;
  std::uint64_t all_ = 0, wrong_ = 0;
  std::vector<PatRank> lanes_;
  std::map<std::array<std::uint32_t, 3>, PatWire> wires_;
};

}  // namespace

std::uint64_t wrong_pat_elements(const Communicator& communicator, const Plan& plan) {
  return PatChecker(communicator, plan).wrong();
}

}  // namespace weft::nccl
