// TCP segments of the host's kernel. They share the number of IP datagrams (nic/transports/ip_datagram.h), so that
// links, switches, faults and captures treat them as any packet. A queue pair stands for the transmit and receive queue
// of one socket; a work request is what the kernel hands to the NIC at once, up to 64 KB, which the NIC cuts into
// segments (TSO). What TCP does is the workload's (workload/tcp/socket.h).
#pragma once

#include <cstdint>

#include "engine/packet.h"
#include "engine/packet_format.h"
#include "nic/transports/transport.h"
#include "wire/tcp.h"

namespace weft::nic {

// The cold side of a segment. A SYN has its MSS and window scale where others have SACK blocks.
struct TcpWords {
  std::uint32_t sequence = 0, acknowledgment = 0;
  std::uint32_t ts_value = 0, ts_echo = 0;
  std::uint16_t src_port = 0, dst_port = 0;
  std::uint16_t window = 0;
  std::uint8_t flags = 0;
  std::uint8_t sack_count = 0;
  std::array<wire::TcpSackBlock, wire::kTcpMostSack> sack{};
};
static_assert(sizeof(TcpWords) == 48);

// Bit of Packet::word that tells TCP from ICMP. Below it the flags, then the low bits of the sequence number.
inline constexpr std::uint32_t kTcpWord = 1u << 31;
inline constexpr std::uint32_t kTcpFlagsShift = 23;
inline constexpr std::uint32_t kTcpSequenceMask = (1u << kTcpFlagsShift) - 1;

// Owner of the queue pair: own_state() of it.
struct TcpPort {
  void* self = nullptr;
  // The header of the work request's first byte.
  const TcpWords& (*header)(void* self, std::uint64_t wr_id) = nullptr;
  void (*sent)(void* self, std::uint64_t wr_id, Time_ps now_ps) = nullptr;  // its last segment has left
  // False: no receive descriptor is free, and the NIC drops it.
  bool (*receive)(void* self, const engine::Packet& packet, const TcpWords& words, std::uint32_t payload_B,
                  Time_ps now_ps) = nullptr;
};

extern const Transport kTcpTransport;
// Once the queue pair is in RTS.
void set_tcp_port(const QueuePair& qp, const TcpPort& port);

// `length_B` of payload from the header `wr_id` on; `routed`: to another subnet.
SendRequest tcp_send_request(std::uint64_t wr_id, std::uint32_t length_B, bool routed, std::uint8_t ecn);

engine::PacketDescription describe_tcp(const engine::Packet& packet);
// `payload` is that of the stream where the cold side says that there is one, and may go on beyond the segment.
std::size_t tcp_frame(const engine::Packet& packet, const engine::Cold& cold, std::span<const std::uint8_t> payload,
                      const engine::FrameAddresses& addresses, std::span<std::uint8_t> out);

}  // namespace weft::nic
