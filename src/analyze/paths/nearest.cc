#include "analyze/paths/nearest.h"

#include <map>
#include <utility>

namespace weft::analyze {
namespace {

constexpr std::int32_t psns_ahead(std::uint32_t psn, std::uint32_t from) {
  return static_cast<std::int32_t>((psn - from) << 8) >> 8;
}

// A capture may begin anywhere: the first packet of a late point can be one that passed the early point before, and
// then the early point is ahead at both ends.
bool passes_first(const Stream& one, const Stream& other) {
  if (one.requests == 0 || other.requests == 0) return one.first_ns < other.first_ns;
  const std::int32_t first = psns_ahead(one.first_request_psn, other.first_request_psn);
  const std::int32_t last = psns_ahead(one.newest_request_psn, other.newest_request_psn);
  if (first == 0) return one.first_ns < other.first_ns;
  if (last == 0) return one.last_ns < other.last_ns;
  if ((first > 0) == (last > 0)) return first > 0;
  return one.first_ns < other.first_ns;
}

// Grows towards the sender: the time to the answers to it, or less of the time that its own answers take. 0: unknown.
std::int64_t time_of_answers(const Streams& streams, const Stream& stream) {
  if (stream.answer_ns >= 0) return stream.answer_ns + 1;
  if (stream.reverse == kNone || streams[stream.reverse].answer_ns < 0) return 0;
  return -streams[stream.reverse].answer_ns - 1;
}

}  // namespace

bool is_nearer(const Streams& streams, StreamId one_id, StreamId other_id) {
  const Stream &one = streams[one_id], &other = streams[other_id];
  if (one.ttl != other.ttl && one.ttl != 0 && other.ttl != 0) return one.ttl > other.ttl;
  const std::int64_t one_ns = time_of_answers(streams, one), other_ns = time_of_answers(streams, other);
  if (one_ns != 0 && other_ns != 0 && (one_ns > 0) == (other_ns > 0) && one_ns != other_ns) return one_ns > other_ns;
  if (one.ce_marked != other.ce_marked) return one.ce_marked < other.ce_marked;
  return passes_first(one, other);
}

PointId nearest_point(const Streams& streams, AddressId address) {
  std::map<std::pair<AddressId, std::uint32_t>, StreamId> nearest;  // by who it sends to
  for (StreamId id = 0; id < streams.size(); ++id) {
    if (streams[id].src != address) continue;
    const auto [at, is_new] = nearest.try_emplace({streams[id].dst, streams[id].dst_qp}, id);
    if (!is_new && is_nearer(streams, id, at->second)) at->second = id;
  }
  std::map<PointId, std::uint64_t> frames;
  PointId best = kNone;
  for (const auto& [to, id] : nearest) {
    const PointId point = streams[id].point;
    frames[point] += streams[id].frames;
    if (best == kNone || frames[point] > frames[best]) best = point;
  }
  return best;
}

}  // namespace weft::analyze
