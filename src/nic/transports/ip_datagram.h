// IP datagrams of the host's kernel, which share the port with RDMA: ICMP echo so far. A transport of its own (number
// 6), so that links, switches, faults and captures treat them as any packet; what the kernel does with them is not
// here. A datagram is one packet: its first 12 bytes are on the packet's cold side, in the place of UDP header and
// ICRC, and the rest is its payload.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "nic/transports/transport.h"

namespace weft::nic {

inline constexpr std::uint8_t kIpNumber = 6;
inline constexpr std::size_t kIpHead_B = 12;
inline constexpr std::uint8_t kIcmpProtocol = 1, kIcmpV6Protocol = 58;

struct IpWords {
  std::array<std::uint8_t, kIpHead_B> head;
  std::uint8_t head_B;
  std::uint8_t protocol;
};

class Device;

// Receiver of what arrives: own_state() of such a queue pair.
struct IpReceiver {
  void* self;
  void (*receive)(void* self, Device& device, const engine::Packet& packet, const IpWords& words,
                  std::span<const std::uint8_t> payload, Time_ps now_ps);
};

extern const Transport kIpTransport;
// Once the queue pair is in RTS.
void set_ip_receiver(const QueuePair& qp, const IpReceiver& receiver);

// A work request for one: `rest` bytes of it are at `va` of the key's region. `routed`: to another subnet.
SendRequest ip_send_request(const IpWords& words, std::uint32_t rest_B, std::uint64_t va, std::uint32_t key,
                            bool routed);

}  // namespace weft::nic
