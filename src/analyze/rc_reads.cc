// READ responses: as many as the request asked for, in order, whole path MTUs but the last (IBTA vol 1, 9.7.5.1.3).
#include <algorithm>

#include "analyze/rc_transport.h"

namespace weft::analyze {
namespace {

constexpr std::size_t kMostReads = 256;
constexpr std::uint32_t kMostPassedOver = 4096;

}  // namespace

// A READ, new or asked again: the rest of one whose responses were lost begins in its middle.
void RcTransport::ask_read(const Frame& frame, std::uint32_t span, RcFlow& flow) {
  if (!frame.has_reth) return;
  for (OutstandingRead& read : flow.reads) {
    const bool within =
        read.first == frame.psn || (psn_ahead(frame.psn, read.first) >= 0 && psn_ahead(frame.psn, read.end) < 0);
    if (!within) continue;
    read.next = frame.psn;
    read.left_B = frame.dma_len;
    read.at_start = true;
    read.broken = false;
    read.asked_again = true;
    return;
  }
  if (flow.reads.size() == kMostReads || flow.pass.open) return;
  flow.reads.push_back(
      {frame.psn, psn_plus(frame.psn, span), frame.psn, frame.dma_len, true, false, false, 0, frame.psn});
}

// An answer to a later request while responses are due: those were lost, and the requester asks again.
bool RcTransport::implies_nak(std::uint32_t psn, const Frame& frame, RcFlow& flow) {
  if (flow.reads.empty()) return false;
  OutstandingRead& read = flow.reads.front();
  if (psn_ahead(psn, read.next) < 0 || read.end == read.first) return false;
  if (!read.broken && !read.asked_again) {
    read.broken = flow.reads_lost = true;
    note(Trouble::kReadLost, frame, flow, psn_ahead(read.end, read.next));
  }
  flow.implied_open = true;
  flow.implied_psn = read.next;
  return true;
}

void RcTransport::see_response(const Frame& frame, RcFlow& flow) {
  if (!flow.read_started || psn_ahead(frame.psn, flow.read_frontier) >= 0) {
    flow.read_started = true;
    flow.read_frontier = psn_plus(frame.psn, 1);
    if (flow.reads.empty()) flow.read_B += frame.payload_B;  // its request was not captured
  }
  if (flow.reads_unknown) {  // how many responses are due is not known
    if (wire::is_last(frame.opcode) || wire::is_only(frame.opcode)) acknowledge(frame.psn, frame, flow);
    return;
  }
  std::size_t at = 0;
  while (at < flow.reads.size()) {
    OutstandingRead& read = flow.reads[at];
    if (read.end == read.first) {  // its length in packets is known with the first response
      if (flow.path_mtu_B == 0 && wire::is_first(frame.opcode)) flow.path_mtu_B = frame.payload_B;
      const std::uint32_t mtu_B = std::max<std::uint32_t>(flow.path_mtu_B, 1);
      const bool single = wire::is_only(frame.opcode) && frame.psn == read.first;
      read.end =
          psn_plus(read.first,
                   single || flow.path_mtu_B == 0 ? 1 : static_cast<std::uint32_t>((read.left_B + mtu_B - 1) / mtu_B));
      if (flow.path_mtu_B == 0 && !single) read.broken = true;
      for (Awaited& awaited : flow.awaited.all())
        if (awaited.verb == Verb::kRead && awaited.psn == read.first) awaited.psn = psn_plus(read.end, kPsnMask);
      if (!flow.next_known && psn_ahead(read.end, flow.next) > 0 && flow.reads.size() == at + 1) {
        flow.next = flow.cursor = read.end;
        flow.next_known = true;
      }
    }
    if (psn_ahead(frame.psn, read.end) < 0) break;
    ++at;
  }
  if (at == flow.reads.size() || psn_ahead(frame.psn, flow.reads[at].first) < 0) {
    const bool is_extension = std::ranges::any_of(flow.awaited.all(), [&](const Awaited& awaited) {
      return awaited.psn == frame.psn && (awaited.verb == Verb::kFlush || awaited.verb == Verb::kAtomicWrite);
    });
    if (is_extension) {
      if (!implies_nak(frame.psn, frame, flow)) acknowledge(frame.psn, frame, flow);
      return;
    }
    // No READ has this PSN. What was answered already may be answered again.
    const bool began_before = psn_ahead(frame.psn, flow.first_psn) < 0;
    if (!began_before && !flow.reads_lost && psn_ahead(frame.psn, flow.acked) > 0 && flow.clean &&
        psn_ahead(frame.psn, flow.next) < 0)
      note(Trouble::kReadBroken, frame, flow, 1);
    return;
  }
  if (at > 0) {
    implies_nak(frame.psn, frame, flow);
    // The requester does not ask again: it has them, the capture has not.
    if (++flow.reads[0].passed_over == kMostPassedOver) flow.reads.erase(flow.reads.begin());
    return;
  }
  check_response(frame, flow.reads[0], flow);
}

void RcTransport::check_response(const Frame& frame, OutstandingRead& read, RcFlow& flow) {
  const std::int32_t ahead = psn_ahead(frame.psn, read.next);
  if (read.broken || ahead < 0) return;  // until it is asked for again; or a response that came before
  if (ahead > 0) {
    if (!read.asked_again) {
      note(Trouble::kReadLost, frame, flow, ahead);
      read.broken = flow.reads_lost = true;
    }
    flow.implied_open = true;
    flow.implied_psn = read.next;
    return;
  }
  const bool begins = wire::is_first(frame.opcode) || wire::is_only(frame.opcode);
  if (read.asked_again && !begins) return;
  read.asked_again = flow.implied_open = false;
  if (psn_ahead(frame.psn, read.counted) >= 0) {
    read.counted = psn_plus(frame.psn, 1);
    flow.read_B += frame.payload_B;
  }
  const bool ends = wire::is_last(frame.opcode) || wire::is_only(frame.opcode);
  const bool last_psn = psn_plus(frame.psn, 1) == read.end;
  const bool wrong_size = ends ? frame.payload_B != read.left_B : frame.payload_B != flow.path_mtu_B;
  if (begins != read.at_start || ends != last_psn || (wrong_size && flow.path_mtu_B != 0)) {
    if (!flow.reads_lost)
      note(Trouble::kReadBroken, frame, flow, begins != read.at_start ? 2 : ends != last_psn ? 3 : 4);
  }
  read.at_start = false;
  read.next = psn_plus(frame.psn, 1);
  read.left_B -= std::min<std::uint64_t>(read.left_B, frame.payload_B);
  acknowledge(frame.psn, frame, flow);
  if (last_psn || ends) flow.reads.erase(flow.reads.begin());
}

}  // namespace weft::analyze
