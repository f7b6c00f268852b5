// Which capture point is nearest to a sender: one rule for conversations, for the reaction to CNPs and for counters.
// A stream is known at several points by its addresses and queue pair; what its sender sends passes the nearest first.
// Criteria, in this order: a TTL that fewer routers took from; the time from a packet to its answer, which is the
// longer the nearer the requester is (a clock of each point's own is enough); fewer CE marks, which only queues on the
// way add; who saw the first packet first, or was ahead of the other where a capture began within the stream.
#pragma once

#include "analyze/streams/streams.h"

namespace weft::analyze {

// Two points of one stream: does what the sender sends pass `one` before `other`?
bool is_nearer(const Streams& streams, StreamId one, StreamId other);

// The point nearest to an address, of those that saw packets of it: where most of them are judged nearest; kNone where
// nothing that it sent was seen.
PointId nearest_point(const Streams& streams, AddressId address);

}  // namespace weft::analyze
