// Check 20: do the counters of a NIC say what the capture shows? Counters of one port as ethtool -S, rdma statistic or
// the files of hw_counters print them, the difference of two readings where the first is given. They are compared at
// the capture point that is nearest to the address (nearest.h). Where that is not the port itself (what the address
// sends leaves there, and nothing of it comes in) a difference is a note: what is marked or lost between the two is in
// one of them alone. Pause frames never leave their cable: pauses are compared only at the port's own cable.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/findings/analysis.h"
#include "analyze/findings/finding.h"
#include "analyze/frames/addresses.h"
#include "analyze/port_counters.h"
#include "analyze/streams/streams.h"

namespace weft::analyze {

class CountersCheck {
 public:
  void use(std::vector<PortCounters> ports) { ports_ = std::move(ports); }
  bool is_used() const { return !ports_.empty(); }
  void see(const Frame& frame, const Addresses& addresses);
  // Addresses that no frame is from or to go to `absent`.
  void finish(const CaptureSummary& capture, const Streams& streams, Findings& findings,
              std::vector<std::string>& absent) const;

 private:
  enum Counted : std::uint8_t {
    kCnpSent,
    kCnpReceived,
    kCeReceived,
    kNakSent,
    kNakReceived,
    kRnrNakReceived,
    kBadIcrc,
    kPauseSent,                       // eight classes
    kPauseReceived = kPauseSent + 8,  // eight classes
    kCounted = kPauseReceived + 8,
  };
  struct Seen {
    std::array<std::uint64_t, kCounted> counts{};
    std::uint64_t sent_out = 0, sent_in = 0;
    std::uint64_t mac = 0;
  };
  void see_pause(const Frame& frame);
  static std::string_view name_of(std::size_t counted);
  // Where the frames of a port were seen, against the port itself.
  enum class Place : std::uint8_t { kPort, kElsewhere, kUnknown };
  static Place place_of_point(const Seen& seen);
  // Adds the pauses of the port's cable to what it sent and received; false: this point is not on it.
  bool add_pauses(PointId point, const Seen& seen, std::array<std::uint64_t, kCounted>& counts) const;
  void compare(const PortCounters& port, PointId point, const Seen& seen, const CaptureSummary& capture,
               Findings& findings, std::uint64_t& compared) const;

  std::vector<PortCounters> ports_;
  std::vector<std::int32_t> port_by_address_;  // index into ports_, -1: none; as far as addresses were seen
  std::vector<AddressId> addresses_;           // of ports, kNone where not seen
  std::vector<std::map<PointId, Seen>> seen_;  // by port
  std::map<std::pair<PointId, std::uint64_t>, std::array<std::uint64_t, 8>> pauses_;  // by class; of each sender's MAC
};

}  // namespace weft::analyze
