// The real end of a port to the outside: a UDP socket with an Ethernet frame per datagram, as QEMU's `-netdev dgram`
// has it, or a TAP interface. Opened before the world comes up, so that `weft up` reports errors.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "live/os/process.h"
#include "model/lab.h"
#include "world/outside_port.h"

namespace weft::live {

class OutsideLine {
 public:
  OutsideLine(std::uint32_t host, int fd) : host_(host) { fd_.fd = fd; }

  std::uint32_t host() const { return host_; }  // its number in the lab
  int fd() const { return fd_.fd; }
  // Frames that are there now go into the world; a bounded number, the rest at the next look.
  bool bring(lab::OutsidePort& port, Time_ps now_ps);
  // For OutsidePort::set_sink; `self` is the line.
  static void send(void* self, std::span<const std::uint8_t> frame);

 private:
  std::uint32_t host_;
  OwnedDescriptor fd_;
};

// A line for each such host of the lab. The error names what could not be opened, and why.
tl::expected<std::vector<OutsideLine>, std::string> open_outside(const lab::Lab& lab);

}  // namespace weft::live
