// One conversation of all that the capture points saw of a connection. A stream is known at each point by the same
// addresses and queue pair; points are put in order from the requester to the responder by the rule of nearest.h.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/findings/analysis.h"
#include "analyze/frames/addresses.h"
#include "analyze/paths/transits.h"
#include "analyze/rc/transport.h"
#include "analyze/streams/copies.h"

namespace weft::analyze {

// The requests of one side of a connection with their answers, at every point.
struct RcSide {
  std::vector<const RcFlow*> flows;    // from the requester to the responder; only points that saw all of it
  std::vector<const RcFlow*> partial;  // points that some of it did not pass
  std::uint64_t came_twice = 0;        // packets, at a point of second copies that is none for these hosts
  const RcFlow& at_requester() const { return *flows.front(); }
  const RcFlow& at_responder() const { return *flows.back(); }
  bool empty() const { return flows.empty(); }
};

struct RcConversation {
  RcSide forward, backward;  // forward: the side with more requests
  std::vector<StreamId> forward_streams, backward_streams;
  Conversation summary;
};

// Input of the findings beside the conversations.
struct RcContext {
  const RcTransport& transport;
  const Streams& streams;
  const CaptureSummary& capture;
  const Transits* transits = nullptr;
  const Copies* copies = nullptr;

  PointId point_of(const RcFlow& flow) const { return streams[flow.stream].point; }
  // "node00:p0", or the file's name where the interface has none.
  std::string point_name(const RcFlow& flow) const;
};

// Calls `use` for each conversation; most data first is for the caller to sort.
std::vector<RcConversation> rc_conversations(const RcContext& context, const Addresses& addresses);

}  // namespace weft::analyze
