// The other direction of a connection. An answer goes to the requester's queue pair and carries the PSN of the request:
// of the streams between the same addresses the other way round, it belongs to the one that has sent this PSN and waits
// for an answer.
#include "analyze/streams/streams.h"

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
  // One attempt for each READ: those that were asked for before the capture began have many responses.
  if (wire::is_middle(frame.opcode) || wire::is_last(frame.opcode)) return;
  if (answers.attempts == kMostAttempts) return;
  ++answers.attempts;
  const auto newest = newest_.find(Pair{frame.point, frame.dst, frame.src});
  if (newest == newest_.end()) return;
  StreamId found = kNone;
  bool ambiguous = false;
  // An ACK is most often for the newest request: that decides where several have sent the PSN.
  const auto likelihood = [&frame](const Stream& stream) {
    return (stream.src_port == frame.src_port ? 2 : 0) + (stream.last_request_psn == frame.psn ? 1 : 0);
  };
  int looked_at = 0;
  for (StreamId at = newest->second; at != kNone && looked_at < kMostCandidates; at = older_[at], ++looked_at) {
    const Stream& candidate = streams_[at];
    if (candidate.reverse != kNone || candidate.requests == 0 || candidate.transport != answers.transport) continue;
    const std::uint32_t sent = distance(candidate.first_request_psn, candidate.last_request_psn);
    if (distance(candidate.first_request_psn, frame.psn) > sent) continue;
    // Queue pairs that began with the same PSN: the one whose packets have the same source port, which NICs derive
    // from both queue pairs, is likelier.
    const int better = found == kNone ? 1 : likelihood(candidate) - likelihood(streams_[found]);
    if (better > 0) found = at;
    if (better >= 0) ambiguous = better == 0;
  }
  if (found != kNone && !ambiguous) pair(id, found);
}

}  // namespace weft::analyze
