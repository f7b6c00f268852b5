// Constants of a queue pair's life, beside its class: the P_Key, the UDP source port, and of its way the
// TTL and the MAC address that its packets come from. A change of the way is a note: routes may change. Part of the
// checks integrity (P_Key) and path-entropy.
#pragma once

#include <vector>

#include "analyze/findings/finding.h"
#include "analyze/streams/stream_marks.h"

namespace weft::analyze {

class StreamChanges {
 public:
  // Packets that a NIC takes. CNPs may have a source port of their own.
  void see(const Frame& frame, StreamId id) {
    if (id >= all_.size()) all_.resize(id + 1);
    if (frame.is_cnp()) return;
    Kept& kept = all_[id];
    if (kept.frames == 0) {
      begin(frame, kept);
    } else if (frame.p_key != kept.p_key || frame.ttl != kept.ttl || frame.src_port != kept.src_port ||
               frame.src_mac != kept.src_mac) [[unlikely]] {
      change(frame, kept, id);
    }
    ++kept.frames;
  }
  void finish(Findings& findings, const Reading& reading);

 private:
  enum What : std::uint8_t { kPKey, kTtl, kSourcePort, kMac, kWhats };
  struct Kept {
    std::uint64_t src_mac = 0;
    std::uint32_t frames = 0;
    std::uint16_t p_key = 0, src_port = 0;
    std::uint8_t ttl = 0;
    bool is_request = false;
  };
  struct Change {
    StreamId stream = kNone;
    What what{};
    std::uint32_t times = 0;
    std::uint64_t frame = 0;
    std::int64_t time_ns = 0;
    std::uint64_t from = 0, to = 0;  // the first time
  };
  static constexpr std::size_t kMostChanges = 4096, kMostOfKind = 8;

  static void begin(const Frame& frame, Kept& kept);
  void change(const Frame& frame, Kept& kept, StreamId id);
  void note(What what, std::uint64_t from, std::uint64_t to, const Frame& frame, StreamId id);
  bool is_lasting(const Change& change) const;
  std::uint32_t times_of(StreamId id, What what) const;
  void find_keys(Findings& findings, const Reading& reading) const;
  void find_ways(Findings& findings, const Reading& reading) const;
  void find_macs(Findings& findings, const Reading& reading) const;

  std::vector<Kept> all_;        // by StreamId
  std::vector<Change> changes_;  // one of each stream and kind
};

}  // namespace weft::analyze
