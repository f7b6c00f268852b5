// Protocol between a program's libraries and the world about fork, and about sockets beyond protocol.h: who holds
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

// Which network carries the connections that a socket opens. One that listens takes those of both.
enum class StreamNetwork : std::uint32_t { kOfLab, kManagement, kFabric };

struct StreamOpen {
  std::uint32_t family;  // AF_INET, AF_INET6
  StreamNetwork network;
};

enum class StreamOption : std::uint32_t {
  kSendBuffer,     // bytes, as getsockopt tells them; a set value is doubled, as Linux does
  kReceiveBuffer,  // likewise
  kReuseAddress,
  kReusePort,
  kV6Only,
  kResetOnClose,  // SO_LINGER with a time of 0
  // Only of a connection over the fabric, or before one.
  kNoDelay,
  kCongestion,   // 0 cubic, 1 reno, 2 dctcp
  kMostSegment,  // TCP_MAXSEG
  kTypeOfService,
};
struct StreamSet {
  std::uint32_t stream;
  StreamOption option;
  std::uint32_t value;
};

// State of a stream, for a process that was handed it, and what waits in it.
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

// CPU time of the process in the simulated kernel.
struct CpuTime {
  std::uint32_t fabric;  // 1: the lab's network is the fabric
  std::uint32_t unused;
  std::int64_t used_ps;
};

// TCP of a stream, for TCP_INFO and its like: numbers as Linux has them.
struct StreamTcp {
  std::uint32_t fabric;  // 0: of the management network, and the rest is nothing
  std::uint32_t state, ca_state, backoff;
  std::uint32_t algorithm;  // as kCongestion
  std::uint32_t ecn, no_delay;
  std::uint32_t snd_mss_B, rcv_mss_B, advmss_B, pmtu_B;
  std::uint32_t rto_us, rtt_us, rttvar_us, min_rtt_us;
  std::uint32_t snd_cwnd, snd_ssthresh;  // in segments
  std::uint32_t rcv_space_B, snd_wnd_B;
  std::uint32_t unacked, sacked, lost, retrans, total_retrans;
  std::uint32_t notsent_B, type_of_service;
  std::uint64_t bytes_acked, bytes_sent, bytes_received;
  std::uint64_t segments_in, segments_out;
};

}  // namespace weft::verbs
