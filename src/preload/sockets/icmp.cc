#include "preload/sockets/icmp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

#include "preload/connection.h"
#include "preload/files/descriptors.h"
#include "preload/process/process.h"
#include "preload/real.h"
#include "preload/sockets/interfaces.h"
#include "preload/sockets/stream_address.h"
#include "preload/sockets/streams.h"
#include "verbs/address.h"
#include "verbs/node_protocol.h"

namespace weft::preload {

namespace {

constexpr std::uint32_t kIcmp = verbs::WaitItem::kIcmp;  // Descriptor::what

Stream* find(int fd, std::uint32_t what) {
  const Descriptor* found = descriptors().find(fd);
  const bool may_be =
      found != nullptr && (found->kind == Descriptor::Kind::kWatched || found->kind == Descriptor::Kind::kNetlink);
  return may_be && found->what == what ? found->stream : nullptr;
}

Stream* make_datagram_end(int family, std::uint32_t handle) {
  void* memory = malloc(sizeof(Stream));  // never freed, as those of TCP
  if (memory == nullptr) return nullptr;
  auto* stream = new (memory) Stream;
  stream->family = family;
  stream->handle = handle;
  return stream;
}

// ::1 stays what it is: the loopback of TCP is that of IPv4.
bool read_peer(const sockaddr* from, socklen_t size_B, verbs::Address& peer, std::uint32_t& port) {
  if (!read_address(from, size_B, peer, port)) return false;
  if (from->sa_family == AF_INET6) memcpy(peer.bytes, &reinterpret_cast<const sockaddr_in6*>(from)->sin6_addr, 16);
  return true;
}

// The peer of one message: its own, or that of the socket.
bool peer_of(const Stream& stream, const msghdr& message, verbs::Address& peer) {
  std::uint32_t port;
  if (message.msg_name != nullptr && message.msg_namelen > 0)
    return read_peer(static_cast<const sockaddr*>(message.msg_name), message.msg_namelen, peer, port);
  peer = stream.peer.address;
  return stream.state == Stream::State::kConnected;
}

void put_control(msghdr& message, std::size_t room_B, int level, int type, const void* bytes, std::size_t size_B) {
  if (message.msg_control == nullptr || room_B < CMSG_SPACE(size_B)) return;
  message.msg_controllen = CMSG_SPACE(size_B);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = level;
  header->cmsg_type = type;
  header->cmsg_len = CMSG_LEN(size_B);
  memcpy(CMSG_DATA(header), bytes, size_B);
}

void put_hop_limit(msghdr& message, std::size_t room_B, int hop_limit) {
  put_control(message, room_B, IPPROTO_IPV6, IPV6_HOPLIMIT, &hop_limit, sizeof hop_limit);
}

// "Host unreachable", or that the message is longer than the MTU, as the kernel's error queue has it.
void put_error(msghdr& message, std::size_t room_B, int family, const verbs::Address& reporter,
               std::uint32_t too_long_for_B) {
  const bool ipv6 = family == AF_INET6;
  struct {
    sock_extended_err error;
    sockaddr_in6 offender;
  } said{};
  if (too_long_for_B != 0) {
    said.error.ee_errno = EMSGSIZE;
    said.error.ee_origin = SO_EE_ORIGIN_LOCAL;
    said.error.ee_info = too_long_for_B;
  } else {
    said.error.ee_errno = EHOSTUNREACH;
    said.error.ee_origin = ipv6 ? SO_EE_ORIGIN_ICMP6 : SO_EE_ORIGIN_ICMP;
    said.error.ee_type = ipv6 ? 1 : 3;
    said.error.ee_code = ipv6 ? 3 : 1;
  }
  socklen_t offender_B = sizeof said.offender;
  write_address(family, reporter, 0, reinterpret_cast<sockaddr*>(&said.offender), &offender_B);
  put_control(message, room_B, ipv6 ? IPPROTO_IPV6 : IPPROTO_IP, ipv6 ? IPV6_RECVERR : IP_RECVERR, &said,
              sizeof said.error + offender_B);
}

// The error queue has the MTU of the way then. Frames that hold a datagram of ICMP have their own limit.
int refuse_long(Stream& stream, const verbs::Address& peer) {
  constexpr std::uint32_t kIpHeader_B = 20;
  verbs::Route route;
  stream.too_long_for_B = verbs::kMaxIcmp_B + kIpHeader_B;
  if (verbs::call(verbs::Op::kRouteTo, peer, route) == 0) {
    const Interfaces list = interfaces();
    for (std::size_t i = 0; i < list.count; ++i) {
      if (verbs::is_same(list.all[i].address, route.own))
        stream.too_long_for_B = std::min(stream.too_long_for_B, list.all[i].mtu_B);
    }
  }
  return fail(EMSGSIZE);
}

std::int64_t deadline_of(int fd, const Stream& stream, int flags) {
  const bool waits = (flags & MSG_DONTWAIT) == 0 && (WEFT_REAL(fcntl)(fd, F_GETFL) & O_NONBLOCK) == 0;
  if (!waits) {
    spend_look();
    return 0;
  }
  const std::int64_t timeout_ps = stream.receive_timeout_ps;
  return timeout_ps == 0 ? kForever_ps : verbs::weft_now_ps() + timeout_ps;
}

}  // namespace

bool is_icmp_of_node(int domain, int protocol) {
  return this_process().attached &&
         ((domain == AF_INET && protocol == IPPROTO_ICMP) || (domain == AF_INET6 && protocol == IPPROTO_ICMPV6));
}

bool is_icmp(int fd) {
  return find(fd, kIcmp) != nullptr;
}

// Datagram sockets of ICMP are refused as where net.ipv4.ping_group_range is empty: ping takes a raw one then.
int open_icmp(int domain, int type) {
  const int flags = type & (SOCK_CLOEXEC | SOCK_NONBLOCK);
  if ((type & ~flags) != SOCK_RAW) return fail(EACCES);
  const verbs::IcmpOpen question{domain == AF_INET6};
  const iovec piece{const_cast<verbs::IcmpOpen*>(&question), sizeof question};
  verbs::Handle handle;
  std::size_t handle_B = sizeof handle;
  verbs::Descriptors passed;
  const int error = call_in_pieces(verbs::Op::kIcmpOpen, &piece, 1, &handle, &handle_B, &passed);
  if (error != 0) return fail(error);
  Stream* stream = make_datagram_end(domain, handle.handle);
  if (stream == nullptr || passed.fd[0] < 0 || passed.fd[0] >= kMaxDescriptors) return fail(ENOBUFS);
  if ((flags & SOCK_CLOEXEC) == 0) WEFT_REAL(fcntl)(passed.fd[0], F_SETFD, 0);
  if ((flags & SOCK_NONBLOCK) != 0) WEFT_REAL(fcntl)(passed.fd[0], F_SETFL, O_NONBLOCK);
  stream->icmp = true;
  descriptors().add_stand_in(passed.fd[0], stream, kIcmp, handle.handle, !is_virtual());
  return passed.fd[0];
}

ssize_t send_icmp(int fd, const msghdr& message) {
  Stream& stream = *find(fd, kIcmp);
  verbs::IcmpMessage head{stream.handle, 0, {}, {}};
  if (!peer_of(stream, message, head.address)) return fail(EDESTADDRREQ);
  std::size_t size_B = 0;
  for (std::size_t i = 0; i < message.msg_iovlen; ++i) size_B += message.msg_iov[i].iov_len;
  if (size_B > verbs::kMaxIcmp_B) return refuse_long(stream, head.address);
  iovec pieces[8] = {{&head, sizeof head}};
  if (message.msg_iovlen > 7) return fail(EMSGSIZE);
  for (std::size_t i = 0; i < message.msg_iovlen; ++i) pieces[i + 1] = message.msg_iov[i];
  const int error = call_in_pieces(verbs::Op::kIcmpSend, pieces, message.msg_iovlen + 1, nullptr, nullptr, nullptr);
  if (error == EMSGSIZE) return refuse_long(stream, head.address);
  return error == 0 ? static_cast<ssize_t>(size_B) : fail(error);
}

ssize_t receive_icmp(int fd, msghdr& message, int flags) {
  Stream& stream = *find(fd, kIcmp);
  const bool errors = (flags & MSG_ERRQUEUE) != 0;
  if (errors && stream.too_long_for_B != 0) {
    const std::size_t room_B = message.msg_controllen;
    message.msg_controllen = 0;
    put_error(message, room_B, stream.family, {}, std::exchange(stream.too_long_for_B, 0));
    message.msg_flags = MSG_ERRQUEUE;
    return 0;
  }
  const std::int64_t deadline_ps = deadline_of(fd, stream, errors ? flags | MSG_DONTWAIT : flags);
  const verbs::IcmpReceive question{deadline_ps, stream.handle, (flags & MSG_PEEK) != 0, errors, 0};
  struct {
    verbs::IcmpMessage head;
    char bytes[verbs::kMaxIcmp_B + 128];
  } got;
  std::size_t got_B = sizeof got;
  const int error = verbs::weft_call(static_cast<std::uint32_t>(verbs::Op::kIcmpReceive), &question, sizeof question,
                                     &got, &got_B, nullptr);
  if (error != 0) return fail(error);
  const std::size_t size_B = got_B - sizeof got.head;
  std::size_t copied_B = 0;
  for (std::size_t i = 0; i < message.msg_iovlen && copied_B < size_B; ++i) {
    const std::size_t part_B = std::min(message.msg_iov[i].iov_len, size_B - copied_B);
    memcpy(message.msg_iov[i].iov_base, got.bytes + copied_B, part_B);
    copied_B += part_B;
  }
  write_address(stream.family, got.head.address, 0, static_cast<sockaddr*>(message.msg_name), &message.msg_namelen);
  const std::size_t control_B = message.msg_controllen;
  message.msg_controllen = 0;
  if (errors) put_error(message, control_B, stream.family, got.head.reporter, 0);
  if (!errors && stream.family == AF_INET6) put_hop_limit(message, control_B, static_cast<int>(got.head.ttl));
  message.msg_flags = (copied_B < size_B ? MSG_TRUNC : 0) | (errors ? MSG_ERRQUEUE : 0);
  return static_cast<ssize_t>((flags & MSG_TRUNC) != 0 ? size_B : copied_B);
}

int set_icmp_option(int fd, int level, int option, const void* value, socklen_t size_B) {
  if (level == SOL_SOCKET && option == SO_RCVTIMEO && size_B >= sizeof(timeval)) {
    timeval timeout;
    memcpy(&timeout, value, sizeof timeout);
    find(fd, kIcmp)->receive_timeout_ps = timeout.tv_sec * kPsPerS + timeout.tv_usec * kPsPerUs;
  }
  return 0;
}

int get_icmp_option(int fd, int level, int option, void* value, socklen_t* size_B) {
  int number = 0;
  if (level == SOL_SOCKET && option == SO_TYPE) number = SOCK_RAW;
  if (level == SOL_SOCKET && option == SO_DOMAIN) number = find(fd, kIcmp)->family;
  if (level == SOL_SOCKET && (option == SO_RCVBUF || option == SO_SNDBUF)) number = 212'992;
  *size_B = std::min<socklen_t>(*size_B, sizeof number);
  memcpy(value, &number, *size_B);
  return 0;
}

int connect_icmp(int fd, const sockaddr* address, socklen_t size_B) {
  Stream& stream = *find(fd, kIcmp);
  if (!read_peer(address, size_B, stream.peer.address, stream.peer.port)) return fail(EAFNOSUPPORT);
  if (verbs::Route route; verbs::call(verbs::Op::kRouteTo, stream.peer.address, route) == 0)
    stream.local.address = route.own;
  stream.state = Stream::State::kConnected;
  return 0;
}

bool name_icmp(int fd, bool own, sockaddr* address, socklen_t* size_B) {
  const Stream* stream = find(fd, kIcmp);
  if (stream == nullptr) return false;
  const verbs::StreamAddress& named = own ? stream->local : stream->peer;
  write_address(stream->family, named.address, named.port, address, size_B);
  return true;
}

}  // namespace weft::preload
