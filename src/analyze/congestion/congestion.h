// The checks of congestion and its control, which share what they know of streams: traffic classes, pauses, CNPs, the
// senders' reaction, paths, what changes within a stream, MigReq, and rates over time.
#pragma once

#include "analyze/classes/traffic_class.h"
#include "analyze/congestion/cnps.h"
#include "analyze/congestion/rate_reaction.h"
#include "analyze/congestion/rates.h"
#include "analyze/paths/entropy.h"
#include "analyze/pauses/pauses.h"
#include "analyze/streams/stream_changes.h"

namespace weft::analyze {

class Congestion {
 public:
  explicit Congestion(const std::vector<CapturePoint>& points) : pauses_(points) {}

  // Packets that a NIC takes: with a good ICRC.
  void see_roce(const Frame& frame, StreamId id, const Streams& streams) {
    pauses_.see_data(frame);
    classes_.see(frame, id);
    changes_.see(frame, id);
    rates_.see(frame, id);
    cnps_.see(frame, streams);
    reaction_.see(frame, id, streams, pauses_.lanes());
  }
  // Packets that a NIC drops: only a CNP's format is looked at.
  void see_dropped(const Frame& frame) { cnps_.see_dropped(frame); }
  void see_pause(const Frame& frame) { pauses_.see_pause(frame); }
  void see_other(const Frame& frame) { pauses_.see_data(frame); }
  // Fills the findings, the pauses of each point, and the tables.
  void finish(Analysis& analysis, const Streams& streams, const Addresses& addresses);

 private:
  TrafficClass classes_;
  StreamChanges changes_;
  Pauses pauses_;
  Cnps cnps_;
  RateReaction reaction_;
  Rates rates_;
};

}  // namespace weft::analyze
