#include "live/view/socket_netlink.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "live/os/streams.h"

namespace weft::live {

namespace {

// States of the kernel's include/net/tcp_states.h.
constexpr std::uint8_t kEstablished = 1, kSynSent = 2, kFinWait2 = 5, kClose = 7, kCloseWait = 8, kListen = 10;
constexpr std::uint8_t kTcp = 6, kUdp = 17;

// 0: bound at most, and not in the kernel's table.
std::uint8_t state_of(const Stream& stream) {
  if (stream.datagram) return stream.port == 0 ? 0 : stream.state == Stream::State::kOpen ? kEstablished : kClose;
  switch (stream.state) {
    case Stream::State::kListening:
      return kListen;
    case Stream::State::kConnecting:
      return kSynSent;
    case Stream::State::kOpen:
      return stream.ended ? kCloseWait : stream.shut ? kFinWait2 : kEstablished;
    default:
      return 0;
  }
}

// Sockets in the kernel's tables, each with a number of its own.
template <typename Visit>
void for_each_socket(const Node& node, bool datagrams, const Visit& visit) {
  std::uint32_t number = 1;
  std::set<const Stream*> seen;  // several processes may hold one
  for (const auto& process : node.processes) {
    for (const auto& [handle, stream] : process->streams) {
      const std::uint8_t state = state_of(*stream);
      if (state != 0 && stream->datagram == datagrams && seen.insert(stream.get()).second)
        visit(*stream, state, number++);
    }
  }
}

std::uint32_t receive_queue(const Stream& stream) {
  if (stream.datagram) return static_cast<std::uint32_t>(stream.datagrams_B);
  return static_cast<std::uint32_t>(stream.state == Stream::State::kListening ? stream.pending.size()
                                                                              : stream.readable_B());
}

// As the kernel writes an address: words as they are in memory.
std::string end_text(const verbs::Address& address, std::uint32_t port, bool ipv6) {
  std::string text;
  for (std::size_t at = ipv6 ? 0 : verbs::kIpv4At; at < verbs::kIpv6_B; at += 4) {
    std::uint32_t word;
    std::memcpy(&word, address.bytes + at, sizeof(word));
    text += fmt::format("{:08X}", word);
  }
  return fmt::format("{}:{:04X}", text, port);
}

void put_socket(NetlinkReply& reply, const Stream& stream, std::uint8_t state, std::uint32_t number) {
  inet_diag_msg message{};
  message.idiag_family = AF_INET;
  message.idiag_state = state;
  message.id.idiag_sport = htons(static_cast<std::uint16_t>(stream.port));
  message.id.idiag_dport = htons(static_cast<std::uint16_t>(stream.peer_port));
  std::memcpy(message.id.idiag_src, stream.address.bytes + 12, 4);
  std::memcpy(message.id.idiag_dst, stream.peer_address.bytes + 12, 4);
  if (stream.family == AF_INET6) {
    message.idiag_family = AF_INET6;
    std::memcpy(message.id.idiag_src, stream.address.bytes, 16);
    std::memcpy(message.id.idiag_dst, stream.peer_address.bytes, 16);
  }
  message.id.idiag_cookie[0] = number;
  message.idiag_rqueue = receive_queue(stream);
  if (state == kListen) message.idiag_wqueue = static_cast<std::uint32_t>(stream.backlog);
  message.idiag_inode = number;
  reply.begin(SOCK_DIAG_BY_FAMILY);
  reply.fixed(message);
}

}  // namespace

std::string tcp_table(const Node& node, bool ipv6) {
  std::string text =
      ipv6 ? "  sl  local_address                         remote_address                        st tx_queue "
             "rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
           : "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
             "inode\n";
  std::uint32_t line = 0;
  for_each_socket(node, false, [&](const Stream& stream, std::uint8_t state, std::uint32_t number) {
    if ((stream.family == AF_INET6) != ipv6) return;
    text += fmt::format("{:4}: {} {} {:02X} 00000000:{:08X} 00:00000000 00000000     0        0 {} 1 0 100 0 0 10 0\n",
                        line++, end_text(stream.address, stream.port, ipv6),
                        end_text(stream.peer_address, stream.peer_port, ipv6), state, receive_queue(stream), number);
  });
  return text;
}

std::string udp_table(const Node& node, bool ipv6) {
  std::string text;
  for_each_socket(node, true, [&](const Stream& stream, std::uint8_t state, std::uint32_t number) {
    if ((stream.family == AF_INET6) != ipv6) return;
    text +=
        fmt::format("{:5}: {} {} {:02X} 00000000:{:08X} 00:00000000 00000000     0        0 {} 2 0000000000000000 0\n",
                    number, end_text(stream.address, stream.port, ipv6),
                    end_text(stream.peer_address, stream.peer_port, ipv6), state, receive_queue(stream), number);
  });
  return text;
}

SocketCounts count_sockets(const Node& node) {
  SocketCounts counts;
  for_each_socket(node, false, [&](const Stream& stream, std::uint8_t state, std::uint32_t) {
    ++(stream.family == AF_INET6 ? counts.tcp6 : counts.tcp);
    if (state == kEstablished || state == kCloseWait) ++counts.established;
  });
  for_each_socket(node, true, [&](const Stream& stream, std::uint8_t, std::uint32_t) {
    ++(stream.family == AF_INET6 ? counts.udp6 : counts.udp);
  });
  return counts;
}

void answer_sockets(const Node& node, const NetlinkQuestion& question, NetlinkReply& reply) {
  if (!question.is_dump()) return reply.error(ENOENT);
  const auto asked = question.fixed<inet_diag_req_v2>();
  const bool known = question.head.nlmsg_type == SOCK_DIAG_BY_FAMILY &&
                     (asked.sdiag_protocol == kTcp || asked.sdiag_protocol == kUdp) &&
                     (asked.sdiag_family == AF_INET || asked.sdiag_family == AF_INET6);
  const bool datagrams = asked.sdiag_protocol == kUdp;
  for_each_socket(node, datagrams, [&](const Stream& stream, std::uint8_t state, std::uint32_t number) {
    if (known && (asked.sdiag_family == AF_INET6) == (stream.family == AF_INET6) &&
        (asked.idiag_states & 1u << state) != 0)
      put_socket(reply, stream, state, number);
  });
  reply.end_dump();
}

}  // namespace weft::live
