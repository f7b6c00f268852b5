// Streams: what goes to one queue pair from one address, at one capture point. A packet names only the queue pair that
// it goes to, so the two streams of a connection are found by what they say: an answer carries the PSN of a request
// (pairing.cc), or CM told both numbers. What a check knows about a stream beyond what is here, it keeps in its own
// vector by StreamId. The first `most` streams are kept so, and the answers to them; further ones are only counted
// (stream_counts.h), so that a capture with a million flows does not need a million times what all checks keep.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "analyze/frames/frame.h"
#include "analyze/streams/stream_counts.h"

namespace weft::analyze {

using StreamId = std::uint32_t;

struct Endpoint {
  AddressId address = 0;
  std::uint32_t qp = 0;
};

// A time without a packet of a stream, and the packet that ended it.
struct Silence {
  std::int64_t from_ns = 0, to_ns = 0;
  std::uint64_t frame = 0;
};

struct Stream {
  PointId point = 0;
  AddressId src = 0, dst = 0;
  std::uint32_t dst_qp = 0;
  StreamId reverse = kNone;  // the other direction of the connection, at the same point
  std::int64_t first_ns = 0, last_ns = 0;
  std::uint64_t first_frame = 0;
  std::uint64_t frames = 0, payload_B = 0, wire_B = 0;
  std::uint32_t requests = 0, responses = 0, cnps = 0;  // each counts up to 2^32 - 1
  std::uint32_t first_request_psn = 0, last_request_psn = 0, newest_request_psn = 0, last_response_psn = 0;
  std::uint32_t ce_marked = 0;
  std::int64_t answer_ns = -1;       // shortest time from a request to its answer; set at the end, -1: not known
  std::uint32_t payload_B_most = 0;  // of one packet
  std::uint16_t src_port = 0;        // of the last packet
  std::uint8_t ttl = 0;              // of its path: of the first packet, or the newest since that path changed
  std::uint8_t transport = 0;        // top bits of the opcode
  std::uint8_t attempts = 0;         // to find its reverse
  MirrorSession mirror{};            // of the first packet
  std::uint8_t data_tos = 0;         // of the first packet with payload: DSCP and ECN
  bool has_unread_opcodes = false;   // packets that have a PSN and are not looked into (FLUSH, ATOMIC WRITE)
};

class Streams {
 public:
  static constexpr std::size_t kMostStreams = 1 << 14;
  static constexpr std::int64_t kSilence_ns = 20'000;
  static constexpr std::size_t kMostSilences = 16;  // of a stream, the longest

  explicit Streams(std::size_t most = kMostStreams) : most_(most) {}

  // The stream of a frame of kind kRoce, which is counted in it. kNone when there are too many (see counted()).
  StreamId see(const Frame& frame);

  Stream& operator[](StreamId id) { return streams_[id]; }
  const Stream& operator[](StreamId id) const { return streams_[id]; }
  std::size_t size() const { return streams_.size(); }
  // Streams beyond those.
  const StreamCounts& counted() const { return counted_; }
  // Their frames.
  std::uint64_t left_out() const { return counted_.frames(); }
  // A packet that is not looked into belongs to this stream.
  void see_unread(const Frame& frame) {
    if (const StreamId id = find(frame.point, frame.src, frame.dst, frame.dest_qp); id != kNone)
      streams_[id].has_unread_opcodes = true;
  }
  void pair(StreamId one, StreamId other);
  // CNPs alone go to the queue pair of a stream that is not answered (UC): the two are one connection.
  void pair_cnps();
  // The stream from one address to another at a point, where there is only one; otherwise kNone.
  StreamId only_between(PointId point, AddressId src, AddressId dst) const;
  // Is there a stream from one address to another at a point?
  bool has_any(PointId point, AddressId src, AddressId dst) const { return newest_.contains(Pair{point, src, dst}); }
  // CM said that these two queue pairs are connected.
  void know(Endpoint one, Endpoint other);
  // The longest of those above kSilence_ns, in no order.
  std::span<const Silence> silences(StreamId id) const {
    const auto found = silences_.find(id);
    return found == silences_.end() ? std::span<const Silence>() : std::span<const Silence>(found->second);
  }
  // kNone where there is no such stream.
  StreamId find(PointId point, AddressId src, AddressId dst, std::uint32_t dst_qp) const;

 private:
  void add_silence(StreamId id, const Silence& silence);
  void find_reverse(StreamId id, const Frame& frame);
  std::size_t slot_of(PointId point, AddressId src, AddressId dst, std::uint32_t dst_qp) const;
  void pair_known(StreamId id);
  void grow();
  bool has_room_for(const Frame& frame) const;

  std::size_t most_;
  std::vector<Stream> streams_;
  std::vector<std::uint32_t> slots_;  // open addressing: StreamId + 1, 0 where free
  // Streams from one address to another at one point, the newest first: a list through older_.
  struct Pair {
    PointId point;
    AddressId src, dst;
    friend bool operator==(const Pair&, const Pair&) = default;
  };
  struct PairHash {
    std::size_t operator()(const Pair& pair) const;
  };
  std::unordered_map<Pair, StreamId, PairHash> newest_;
  std::vector<StreamId> older_;
  std::unordered_map<std::uint64_t, std::uint32_t> known_peer_;  // queue pair of the peer, by address and queue pair
  std::unordered_map<StreamId, std::vector<Silence>> silences_;
  StreamCounts counted_;
};

}  // namespace weft::analyze
