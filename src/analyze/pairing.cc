// The other direction of a connection. An answer goes to the requester's queue pair and carries the PSN of the request:
// of the streams between the same addresses the other way round, it belongs to the one that has sent this PSN and waits
// for an answer.
#include "analyze/streams.h"

namespace weft::analyze {
namespace {

constexpr std::uint8_t kMostAttempts = 32;
constexpr int kMostCandidates = 4096;

// How far `psn` is behind `from`, in the circle of 24 bits.
std::uint32_t distance(std::uint32_t from, std::uint32_t psn) {
  return (psn - from) & 0xffffff;
}

}  // namespace

void Streams::find_reverse(StreamId id, const Frame& frame) {
  Stream& answers = streams_[id];
  if (answers.attempts == kMostAttempts) return;
  ++answers.attempts;
  const auto newest = newest_.find(Pair{frame.point, frame.dst, frame.src});
  if (newest == newest_.end()) return;
  StreamId found = kNone;
  bool ambiguous = false;
  int looked_at = 0;
  for (StreamId at = newest->second; at != kNone && looked_at < kMostCandidates; at = older_[at], ++looked_at) {
    const Stream& candidate = streams_[at];
    if (candidate.reverse != kNone || candidate.requests == 0 || candidate.transport != answers.transport) continue;
    const std::uint32_t sent = distance(candidate.first_request_psn, candidate.last_request_psn);
    if (distance(candidate.first_request_psn, frame.psn) > sent) continue;
    // Queue pairs that began with the same PSN: the one whose packets have the same source port, which NICs derive
    // from both queue pairs, is likelier.
    if (found == kNone) {
      found = at;
    } else if (candidate.src_port == frame.src_port && streams_[found].src_port != frame.src_port) {
      found = at;
      ambiguous = false;
    } else if ((candidate.src_port == frame.src_port) == (streams_[found].src_port == frame.src_port)) {
      ambiguous = true;
    }
  }
  if (found != kNone && !ambiguous) pair(id, found);
}

}  // namespace weft::analyze
