// Protocol between a program's libraries and the world about UDP between the nodes (verbs/op.h has the ops). A
// socket of it is a stream as far as its descriptor, its options and its port go (verbs/stream_protocol.h).
#pragma once

#include "verbs/stream_protocol.h"

namespace weft::verbs {

inline constexpr std::size_t kMaxDatagram_B = 65'507;  // what IPv4 leaves to UDP

struct DatagramSend {
  std::uint32_t stream;
  std::uint32_t port;     // of the address; host order
  Address address;        // also a broadcast's, or a group
  std::uint32_t to_peer;  // 1: to whom it is connected, whatever the address says
  std::uint32_t broadcast;
};
struct DatagramReceive {
  std::uint32_t stream;
  std::uint32_t wait;    // 0: EAGAIN when there is none
  std::uint32_t room_B;  // more is cut off
  std::uint32_t peek;
};
// Header before the bytes.
struct DatagramFrom {
  Address address;
  std::uint32_t port;
  std::uint32_t size_B;  // as it was sent
};
struct DatagramGroup {
  std::uint32_t stream;
  std::uint32_t join;  // 0: leave
  Address group;
};

}  // namespace weft::verbs
