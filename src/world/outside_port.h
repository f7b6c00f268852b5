// A port of the world to the outside: frames that others send come out of its cable as packets, and packets that arrive
// over the cable leave as frames (docs/live.md). One address is behind it, the lab's; for the hosts of the lab it
// answers ARP and neighbour solicitations. What comes from outside is hostile: a frame is checked to its last byte or
// dropped and counted. Not modelled: traffic that is neither RoCEv2 nor a question for an address; it does not stop for
// a pause frame. A node of the engine; world/world.cc makes it, live/ brings the frames.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "engine/domain.h"
#include "fabric/link.h"
#include "spec/address_book.h"
#include "wire/roce_frame.h"

namespace weft::lab {

struct OutsideCounters {
  std::uint64_t in = 0;           // RoCE frames that entered the world
  std::uint64_t out = 0;          // frames sent outside
  std::uint64_t answered = 0;     // ARP, neighbour solicitations
  std::uint64_t bad_icrc = 0;     // dropped
  std::uint64_t malformed = 0;    // dropped: RoCEv2 that breaks a rule of the wire, or larger than MTU 4096
  std::uint64_t not_for_lab = 0;  // dropped: from or to an address that is not behind this port or not in the lab
  std::uint64_t other = 0;        // dropped: another protocol
  std::uint64_t overrun = 0;      // dropped: faster than the cable for too long
};

// Carries frames to the outside.
struct FrameSink {
  void* self = nullptr;
  void (*send)(void* self, std::span<const std::uint8_t> frame) = nullptr;
};

class OutsidePort {
 public:
  // `port` is its id; `host_ports` ids from 0 belong to hosts, whose subnets are numbered in `subnets`. All outlive it.
  OutsidePort(engine::Domain& domain, const fabric::AddressBook& book, const std::vector<std::uint32_t>& subnets,
              std::uint32_t port, std::uint32_t host_ports);
  OutsidePort(const OutsidePort&) = delete;
  OutsidePort& operator=(const OutsidePort&) = delete;

  std::uint32_t node() const { return node_; }
  // The ends of its cable, whose other port is `peer`.
  void attach(fabric::LinkDirection& out, fabric::LinkDirection& in, std::uint32_t peer);
  void set_sink(FrameSink sink) { sink_ = sink; }
  // A frame from outside, without FCS.
  void receive(wire::Bytes frame, Time_ps now_ps);

  const OutsideCounters& counters() const { return counters_; }

 private:
  static Time_ps run_hook(void* self, Time_ps end_ps) { return static_cast<OutsidePort*>(self)->run(end_ps); }
  Time_ps run(Time_ps end_ps);
  void leave(const engine::Packet& packet);
  void answer(wire::Bytes frame);
  void enter(const wire::RoceFrame& frame, Time_ps now_ps);
  bool is_for_lab(const wire::RoceHeaders& headers, std::uint32_t& to) const;
  void send(wire::Bytes frame);

  engine::Domain& domain_;
  const fabric::AddressBook& book_;
  const std::vector<std::uint32_t>& subnets_;
  std::uint32_t port_, peer_ = 0;
  std::uint32_t node_;
  std::map<wire::IpAddress, std::uint32_t> ports_;  // of the lab's hosts, by address
  fabric::LinkDirection* out_ = nullptr;
  fabric::LinkDirection* in_ = nullptr;
  FrameSink sink_;
  Time_ps busy_until_ps_ = 0;  // the cable
  wire::MacAddress mac_;       // the lab's, until the peer has shown its own
  OutsideCounters counters_;
};

}  // namespace weft::lab
