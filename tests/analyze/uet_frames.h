// Ultra Ethernet packets by hand, on UDP 4793 over IPv4: PDS requests, ACKs and NACKs with their CRC-32C. Weft has no
// such transport; the layouts are those of [wireshark] packet-uet.c.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/frame_editor.h"

namespace weft::planted {

inline constexpr std::uint8_t kUetRetransmitted = 0x10, kUetAckRequest = 0x08, kUetSyn = 0x04;
inline constexpr std::uint8_t kUetTrimmed = 0x01;

// One packet delivery context between 10.0.0.1 and 10.0.0.2; times in nanoseconds from the start.
class UetConversation {
 public:
  explicit UetConversation(EditableCapture& capture);

  // A RUD request with 1024 bytes.
  void request(std::int64_t at_ns, std::uint32_t psn, std::uint8_t flags = 0);
  // What a switch leaves of it: no more than 64 bytes behind the UDP header, in the class of trimmed packets. UE 1.0
  // has the switch write the length of the IP header anew, and leave that of the UDP header (SONiC packet trimming
  // design, [sonic-utilities]).
  void trimmed(std::int64_t at_ns, std::uint32_t psn, bool rewrites_ip_length);
  void ack(std::int64_t at_ns, std::uint32_t cumulative_psn);
  // Bit n of the bitmap: the packet cumulative_psn + offset + n is there.
  void sack(std::int64_t at_ns, std::uint32_t cumulative_psn, std::int16_t offset, std::uint64_t bitmap);
  void nack(std::int64_t at_ns, std::uint32_t psn, std::uint8_t code);

 private:
  void add(std::int64_t at_ns, bool to_target, const std::vector<std::uint8_t>& pds);

  EditableCapture& capture_;
};

}  // namespace weft::planted
