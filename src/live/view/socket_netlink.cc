#include "live/view/socket_netlink.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <sys/socket.h>

#include <cerrno>

#include "live/os/streams.h"

namespace weft::live {

namespace {

// Of the kernel's include/net/tcp_states.h.
constexpr std::uint8_t kEstablished = 1, kSynSent = 2, kCloseWait = 8, kFinWait2 = 5, kListen = 10;
constexpr std::uint8_t kTcp = 6;

std::uint8_t tcp_state(const Stream& stream) {
  switch (stream.state) {
    case Stream::State::kListening:
      return kListen;
    case Stream::State::kConnecting:
      return kSynSent;
    case Stream::State::kOpen:
      return stream.ended ? kCloseWait : stream.shut ? kFinWait2 : kEstablished;
    default:
      return 0;  // bound at most: not in the kernel's table
  }
}

bool is_v4_stream_address(const verbs::Address& address) {
  for (std::size_t i = 0; i < 10; ++i) {
    if (address.bytes[i] != 0) return false;
  }
  // All zero is any address, of either family.
  return address.bytes[10] == address.bytes[11] && (address.bytes[10] == 0xff || address.bytes[15] != 1);
}

void put_socket(NetlinkReply& reply, const Stream& stream, std::uint8_t state, std::uint32_t number) {
  inet_diag_msg message{};
  message.idiag_family = AF_INET;
  message.idiag_state = state;
  message.id.idiag_sport = htons(static_cast<std::uint16_t>(stream.port));
  message.id.idiag_dport = htons(static_cast<std::uint16_t>(stream.peer_port));
  std::memcpy(message.id.idiag_src, stream.address.bytes + 12, 4);
  std::memcpy(message.id.idiag_dst, stream.peer_address.bytes + 12, 4);
  if (!is_v4_stream_address(stream.address)) {
    message.idiag_family = AF_INET6;
    std::memcpy(message.id.idiag_src, stream.address.bytes, 16);
    std::memcpy(message.id.idiag_dst, stream.peer_address.bytes, 16);
  }
  message.id.idiag_cookie[0] = number;
  message.idiag_rqueue = static_cast<std::uint32_t>(state == kListen ? stream.pending.size() : stream.inbox.size());
  if (state == kListen) message.idiag_wqueue = static_cast<std::uint32_t>(stream.backlog);
  message.idiag_inode = number;
  reply.begin(SOCK_DIAG_BY_FAMILY);
  reply.fixed(message);
}

}  // namespace

void answer_sockets(const Node& node, const NetlinkQuestion& question, NetlinkReply& reply) {
  if (!question.is_dump()) return reply.error(ENOENT);
  const auto asked = question.fixed<inet_diag_req_v2>();
  const bool tcp = question.head.nlmsg_type == SOCK_DIAG_BY_FAMILY && asked.sdiag_protocol == kTcp &&
                   (asked.sdiag_family == AF_INET || asked.sdiag_family == AF_INET6);
  std::uint32_t number = 1;
  for (const auto& process : node.processes) {
    for (const auto& [handle, stream] : process->streams) {
      const std::uint8_t state = tcp_state(*stream);
      const std::uint32_t own = number++;
      const bool family = (asked.sdiag_family == AF_INET) == is_v4_stream_address(stream->address);
      if (tcp && family && state != 0 && (asked.idiag_states & 1u << state) != 0)
        put_socket(reply, *stream, state, own);
    }
  }
  reply.end_dump();
}

}  // namespace weft::live
