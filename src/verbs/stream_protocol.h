// What a program's libraries and the world say to each other about fork, and about sockets beyond protocol.h: who holds
// one, its options, datagrams. A socket of the world is a kernel's socket in the program, whose other end the world
// keeps: dup, fork, exec and SCM_RIGHTS pass it on as any descriptor, and when its last holder has closed it the world
// sees the hang-up. Its name is bound to it, so that a program that was handed one can ask what it is.
#pragma once

#include <cstdint>

#include "verbs/protocol.h"

namespace weft::verbs {

// The abstract address of a program's end: "\0weft-stream-", then a number of the world and one of the stream, 16
// hexadecimal digits each.
inline constexpr char kStreamName[] = "weft-stream-";
struct StreamName {
  std::uint64_t world, stream;
};

struct StreamOpen {
  std::uint32_t family;  // AF_INET, AF_INET6
};

enum class StreamOption : std::uint32_t {
  kSendBuffer,     // bytes, as getsockopt tells them; a set value is doubled, as Linux does
  kReceiveBuffer,  // likewise
  kReuseAddress,
  kReusePort,
  kV6Only,
  kResetOnClose,  // SO_LINGER with a time of 0
};
struct StreamSet {
  std::uint32_t stream;
  StreamOption option;
  std::uint32_t value;
};

// What a stream is, for a process that was handed it, and what waits in it.
struct StreamInfo {
  std::uint32_t stream;
  std::uint32_t family;
  std::uint32_t listening, connecting, connected;
  std::uint32_t readable_B;  // what a read would get
  std::uint32_t unsent_B;    // sent, and not read by the peer
  std::uint32_t error;       // of a connection that was reset, until a call tells it
  std::uint32_t options[6];  // by StreamOption
  Address local, peer;
  std::uint32_t local_port, peer_port;
  std::uint32_t datagram;  // 1: of UDP
  std::uint32_t unused;
};

}  // namespace weft::verbs
