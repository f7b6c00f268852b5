// How programs ask what their node looks like: interfaces, netlink, the ethtool ioctl, ICMP. Beside verbs/protocol.h.
#pragma once

#include "verbs/protocol.h"

namespace weft::verbs {

// kInterfaces: the interfaces of the node, lo first.
struct InterfaceInfo {
  char name[16];
  std::uint32_t index, mtu_B, flags, prefix_bits;
  std::uint8_t mac[8];
  Address address;     // IPv6, or IPv4-mapped
  Address link_local;  // all zero: none
};

// kNetlink: a message of the program, and after this head its bytes. The reply is datagrams for the program to receive,
// each behind its size (u32, padded to 4); more than fits is in a descriptor.
struct NetlinkRequest {
  std::uint32_t protocol;  // NETLINK_ROUTE, ...
  std::uint32_t port_id;   // of the program's socket
};
inline constexpr std::size_t kMaxNetlinkRequest_B = 64 << 10;
inline constexpr std::size_t kMaxInlineReply_B = 64 << 10;

// kEthtool: the structure that ifr_data points to, as it was and as it is to be.
struct EthtoolRequest {
  char interface[16];
  std::uint32_t size_B;  // of what follows
};
inline constexpr std::size_t kMaxEthtool_B = 64 << 10;

// kRefusal: what is refused and what to type instead; empty: nothing was.
struct Refusal {
  char text[1024];
};
// kChangeInterface: SIOCSIFMTU, SIOCSIFFLAGS, … and what it is to be.
struct InterfaceChange {
  char interface[16];
  std::uint32_t request, value;
};
// kNodeCommand: what a command of the vendor's prints (live/view/node_command.h), for standard output and for standard
// error.
struct NodeCommandReply {
  std::int32_t status;
  std::uint32_t out_B, error_B;
};
inline constexpr std::size_t kMaxNodeCommand_B = 32 << 10;

// kRouteTo: the way to an address.
struct Route {
  Address own;            // that it is reached from
  std::uint32_t is_node;  // a node of the lab has it
  std::uint32_t unused;
};

// Raw ICMP sockets.
struct IcmpOpen {
  std::uint32_t ipv6;
};
struct IcmpMessage {
  std::uint32_t socket;
  std::uint32_t ttl;  // of what was received
  Address address;    // of the peer
  Address reporter;   // of an error: who says so; the message is the one that was sent
};
inline constexpr std::size_t kMaxIcmp_B = 4096 + 12;
struct IcmpReceive {
  std::int64_t until_ps;
  std::uint32_t socket;
  std::uint32_t peek;
  std::uint32_t errors;  // not 0: what the error queue has (MSG_ERRQUEUE)
  std::uint32_t unused;
};

}  // namespace weft::verbs
