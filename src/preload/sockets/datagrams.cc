#include "preload/sockets/datagrams.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>

#include "preload/process/process.h"
#include "preload/real.h"
#include "preload/sockets/stream_address.h"
#include "verbs/address.h"
#include "verbs/datagram_protocol.h"
#include "verbs/node_protocol.h"

namespace weft::preload {

namespace {

constexpr std::uint32_t kFirstOwnPort = 1024;  // below, a loopback address is the machine's: resolvers, loggers
constexpr int kBuffer_B = 212'992;             // Linux: net.core.rmem_default

int real_option(int fd, int level, int option) {
  int value = 0;
  socklen_t size_B = sizeof value;
  return WEFT_REAL(getsockopt)(fd, level, option, &value, &size_B) == 0 ? value : 0;
}

bool is_udp(int fd) {
  int type = 0, protocol = 0;
  socklen_t size_B = sizeof type;
  return WEFT_REAL(getsockopt)(fd, SOL_SOCKET, SO_TYPE, &type, &size_B) == 0 && type == SOCK_DGRAM &&
         WEFT_REAL(getsockopt)(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size_B) == 0 && protocol == IPPROTO_UDP;
}

std::int64_t real_time_ps(int fd, int option) {
  timeval time{};
  socklen_t size_B = sizeof time;
  WEFT_REAL(getsockopt)(fd, SOL_SOCKET, option, &time, &size_B);
  return time.tv_sec * kPsPerS + time.tv_usec * kPsPerUs;
}

void set_in_world(const Stream& stream, verbs::StreamOption option, int value) {
  verbs::call(verbs::Op::kStreamSet,
              verbs::StreamSet{stream.handle, option, static_cast<std::uint32_t>(std::max(value, 0))});
}

// Copies options that the program has set before.
void copy_options(int fd, Stream& stream) {
  if (real_option(fd, SOL_SOCKET, SO_REUSEADDR) != 0) set_in_world(stream, verbs::StreamOption::kReuseAddress, 1);
  if (real_option(fd, SOL_SOCKET, SO_REUSEPORT) != 0) set_in_world(stream, verbs::StreamOption::kReusePort, 1);
  if (stream.family == AF_INET6 && real_option(fd, IPPROTO_IPV6, IPV6_V6ONLY) != 0)
    set_in_world(stream, verbs::StreamOption::kV6Only, 1);
  // The kernel tells the double of what was set.
  if (const int size_B = real_option(fd, SOL_SOCKET, SO_SNDBUF); size_B != kBuffer_B)
    set_in_world(stream, verbs::StreamOption::kSendBuffer, size_B / 2);
  if (const int size_B = real_option(fd, SOL_SOCKET, SO_RCVBUF); size_B != kBuffer_B)
    set_in_world(stream, verbs::StreamOption::kReceiveBuffer, size_B / 2);
  stream.broadcast = real_option(fd, SOL_SOCKET, SO_BROADCAST) != 0;
  stream.receive_timeout_ps = real_time_ps(fd, SO_RCVTIMEO);
  stream.send_timeout_ps = real_time_ps(fd, SO_SNDTIMEO);
}

bool is_to_many(const verbs::Address& address) {
  if (!verbs::is_ipv4(address)) return address.bytes[0] == 0xff;
  return address.bytes[verbs::kIpv4At] >= 224;  // groups, and 255.255.255.255
}

// In one message, which has room for few pieces.
int send_once(const verbs::DatagramSend& head, const iovec* pieces, std::size_t count, std::size_t size_B) {
  iovec parts[kGather + 1] = {{const_cast<verbs::DatagramSend*>(&head), sizeof head}};
  verbs::Count taken{};
  std::size_t taken_B = sizeof taken;
  if (count <= kGather) {
    std::copy_n(pieces, count, parts + 1);
    return call_in_pieces(verbs::Op::kDatagramSend, parts, count + 1, &taken, &taken_B, nullptr);
  }
  auto* gathered = static_cast<char*>(malloc(size_B));
  if (gathered == nullptr) return ENOBUFS;
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    memcpy(gathered + at, pieces[i].iov_base, pieces[i].iov_len);
    at += pieces[i].iov_len;
  }
  parts[1] = {gathered, size_B};
  const int error = call_in_pieces(verbs::Op::kDatagramSend, parts, 2, &taken, &taken_B, nullptr);
  free(gathered);
  return error;
}

}  // namespace

Stream* take_datagrams(int fd) {
  if (!this_process().attached || !is_udp(fd)) return nullptr;
  const int family = real_option(fd, SOL_SOCKET, SO_DOMAIN);
  verbs::Handle handle;
  verbs::Descriptors passed;
  const verbs::StreamOpen ask{static_cast<std::uint32_t>(family), verbs::StreamNetwork::kManagement};
  if (verbs::call(verbs::Op::kDatagramOpen, ask, handle, &passed) != 0) return nullptr;
  const int status = WEFT_REAL(fcntl)(fd, F_GETFL), kept = WEFT_REAL(fcntl)(fd, F_GETFD);
  const int flags = SOCK_CLOEXEC | (status >= 0 && (status & O_NONBLOCK) != 0 ? SOCK_NONBLOCK : 0);
  Stream* stream;
  if (make_descriptor(handle.handle, passed.fd[0], family, flags, &stream) < 0) return nullptr;
  stream->datagram = true;
  copy_options(fd, *stream);
  // Under the number that the program knows.
  WEFT_REAL(dup3)(passed.fd[0], fd, kept >= 0 && (kept & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0);
  descriptors().duplicate(passed.fd[0], fd);
  descriptors().forget(passed.fd[0]);
  WEFT_REAL(close)(passed.fd[0]);
  return stream;
}

Stream* take_datagrams_towards(int fd, const sockaddr* to, socklen_t to_B, int* error) {
  verbs::Address address;
  std::uint32_t port;
  if (!this_process().attached || to == nullptr || !read_address(to, to_B, address, port) || !is_udp(fd))
    return nullptr;
  const bool own = verbs::is_any(address) || verbs::is_loopback(address);
  if (own || is_to_many(address)) return !own || port >= kFirstOwnPort ? take_datagrams(fd) : nullptr;
  verbs::Route route;
  const int way = verbs::call(verbs::Op::kRouteTo, address, route);
  if (way == 0) return take_datagrams(fd);
  if (error != nullptr && way != ENOENT) *error = way;
  return nullptr;
}

bool is_group_option(int level, int option) {
  if (level == IPPROTO_IP)
    return option == IP_ADD_MEMBERSHIP || option == IP_DROP_MEMBERSHIP || option == MCAST_JOIN_GROUP ||
           option == MCAST_LEAVE_GROUP;
  return level == IPPROTO_IPV6 && (option == IPV6_JOIN_GROUP || option == IPV6_LEAVE_GROUP ||
                                   option == MCAST_JOIN_GROUP || option == MCAST_LEAVE_GROUP);
}

int connect_datagrams(Stream& stream, const sockaddr* to, socklen_t to_B) {
  if (to == nullptr || to_B < sizeof(sa_family_t)) return fail(EINVAL);
  if (to->sa_family == AF_UNSPEC) {
    const int error = verbs::call(verbs::Op::kDatagramDisconnect, verbs::Handle{stream.handle});
    if (error == 0) stream.state = Stream::State::kFresh;
    return result(error);
  }
  verbs::StreamAddress wanted{stream.handle, 0, {}, 0}, own;
  if (!is_of_family(stream, to) || !read_address(to, to_B, wanted.address, wanted.port)) return fail(EAFNOSUPPORT);
  const int error = verbs::call(verbs::Op::kDatagramConnect, wanted, own);
  if (error != 0) return fail(error);
  stream.peer = wanted;
  stream.local = own;
  stream.state = Stream::State::kConnected;
  return 0;
}

ssize_t send_datagram(Stream& stream, const iovec* pieces, std::size_t count, int flags, const sockaddr* to,
                      socklen_t to_B) {
  verbs::DatagramSend head{stream.handle, 0, {}, to == nullptr || to_B == 0, stream.broadcast};
  if (head.to_peer == 0 && (!is_of_family(stream, to) || !read_address(to, to_B, head.address, head.port)))
    return fail(EAFNOSUPPORT);
  const std::size_t size_B = total_B(pieces, count);
  if (size_B > verbs::kMaxDatagram_B) return fail(EMSGSIZE);
  const bool may_wait = !stream.nonblocking && (flags & MSG_DONTWAIT) == 0;
  for (;;) {
    int error = send_once(head, pieces, count, size_B);
    if (error == 0) return static_cast<ssize_t>(size_B);
    if (error == EAGAIN && may_wait) {
      error = wait_for_room(stream);
      if (error == 0 || (error == EINTR && thread.restart)) continue;
    }
    if (error == EAGAIN) stream.full = true;
    return fail(error);
  }
}

ssize_t receive_datagram(Stream& stream, msghdr& message, int flags) {
  if ((flags & (MSG_OOB | MSG_ERRQUEUE)) != 0) return fail((flags & MSG_OOB) != 0 ? EOPNOTSUPP : EAGAIN);
  const bool may_wait = !stream.nonblocking && (flags & MSG_DONTWAIT) == 0;
  if (may_wait) {
    if (const int error = wait_for_input(stream)) return fail(error);
  } else {
    spend_look();
  }
  const std::size_t room_B = std::min(total_B(message.msg_iov, message.msg_iovlen), verbs::kMaxDatagram_B);
  const verbs::DatagramReceive wanted{stream.handle, may_wait, static_cast<std::uint32_t>(room_B),
                                      (flags & MSG_PEEK) != 0};
  struct {
    verbs::DatagramFrom from;
    char bytes[2048];
  } few;
  // Messages longer than most have memory of their own.
  const bool fits = room_B <= sizeof few.bytes;
  void* answer = fits ? &few : malloc(sizeof few.from + room_B);
  if (answer == nullptr) return fail(ENOBUFS);
  std::size_t answer_B = sizeof few.from + room_B;
  const int error = verbs::weft_call(static_cast<std::uint32_t>(verbs::Op::kDatagramReceive), &wanted, sizeof wanted,
                                     answer, &answer_B, nullptr);
  if (error == 0) {
    memcpy(&few.from, answer, sizeof few.from);
    const char* bytes = static_cast<const char*>(answer) + sizeof few.from;
    std::size_t left_B = answer_B - sizeof few.from;
    for (std::size_t i = 0; i < message.msg_iovlen && left_B > 0; ++i) {
      const std::size_t part_B = std::min(message.msg_iov[i].iov_len, left_B);
      memcpy(message.msg_iov[i].iov_base, bytes, part_B);
      bytes += part_B;
      left_B -= part_B;
    }
  }
  if (!fits) free(answer);
  if (error != 0) return fail(error);
  if (message.msg_name != nullptr) {
    write_address(stream.family, few.from.address, few.from.port, static_cast<sockaddr*>(message.msg_name),
                  &message.msg_namelen);
  }
  message.msg_controllen = 0;
  const std::size_t got_B = answer_B - sizeof few.from;
  message.msg_flags = few.from.size_B > got_B ? MSG_TRUNC : 0;
  return static_cast<ssize_t>((flags & MSG_TRUNC) != 0 ? few.from.size_B : got_B);
}

ssize_t receive_datagram(Stream& stream, const iovec* pieces, std::size_t count, int flags) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces);
  message.msg_iovlen = count;
  return receive_datagram(stream, message, flags);
}

namespace {

// ip_mreq, ip_mreqn, ipv6_mreq and group_req: false where it is too short for any.
bool read_group(int level, int option, const void* value, socklen_t size_B, verbs::Address& group) {
  if (option == MCAST_JOIN_GROUP || option == MCAST_LEAVE_GROUP) {
    group_req asked;
    std::uint32_t port;
    if (size_B < sizeof asked) return false;
    memcpy(&asked, value, sizeof asked);
    return read_address(reinterpret_cast<const sockaddr*>(&asked.gr_group), sizeof asked.gr_group, group, port);
  }
  if (level == IPPROTO_IP) {
    if (size_B < sizeof(ip_mreq)) return false;
    group = verbs::mapped(value);
    return true;
  }
  if (size_B < sizeof(in6_addr)) return false;
  memcpy(group.bytes, value, sizeof group.bytes);
  return true;
}

}  // namespace

bool set_datagram_option(Stream& stream, int level, int option, const void* value, socklen_t size_B, int& outcome) {
  outcome = 0;
  if (is_group_option(level, option)) {
    verbs::DatagramGroup question{stream.handle, 0, {}};
    question.join = option == IP_ADD_MEMBERSHIP || option == MCAST_JOIN_GROUP || option == IPV6_JOIN_GROUP;
    outcome = value != nullptr && read_group(level, option, value, size_B, question.group)
                  ? result(verbs::call(verbs::Op::kDatagramGroup, question))
                  : fail(EINVAL);
    return true;
  }
  // Options that would change datagrams or come with them: a program that needs one is told that it is not there.
  const bool missing = level == IPPROTO_UDP || (level == IPPROTO_IP && option == IP_PKTINFO) ||
                       (level == IPPROTO_IPV6 && option == IPV6_RECVPKTINFO);
  if (missing) {
    outcome = fail(ENOPROTOOPT);
    return true;
  }
  if (level != SOL_SOCKET || option != SO_BROADCAST) return false;
  int on = 0;
  if (size_B < sizeof on) {
    outcome = fail(EINVAL);
  } else {
    memcpy(&on, value, sizeof on);
    stream.broadcast = on != 0;
  }
  return true;
}

// Several at once. As on Linux the time-out is looked at after each datagram.
WEFT_EXPORT int recvmmsg(int fd, struct mmsghdr* messages, unsigned int count, int flags, struct timespec* timeout) {
  Stream* stream = descriptors().stream(fd);
  if (stream == nullptr) return WEFT_REAL(recvmmsg)(fd, messages, count, flags, timeout);
  const std::int64_t until_ps =
      timeout == nullptr ? kForever_ps : verbs::weft_now_ps() + timeout->tv_sec * kPsPerS + timeout->tv_nsec * 1000;
  unsigned int got = 0;
  while (got < count) {
    const ssize_t size_B = ::recvmsg(fd, &messages[got].msg_hdr, flags & ~MSG_WAITFORONE);
    if (size_B < 0) break;
    messages[got++].msg_len = static_cast<unsigned int>(size_B);
    if ((flags & MSG_WAITFORONE) != 0) flags |= MSG_DONTWAIT;
    if (verbs::weft_now_ps() >= until_ps) break;
  }
  return got > 0 ? static_cast<int>(got) : -1;
}

WEFT_EXPORT int sendmmsg(int fd, struct mmsghdr* messages, unsigned int count, int flags) {
  Stream* stream = descriptors().stream(fd);
  if (stream == nullptr && count > 0)
    stream = take_datagrams_towards(fd, static_cast<const sockaddr*>(messages[0].msg_hdr.msg_name),
                                    messages[0].msg_hdr.msg_namelen);
  if (stream == nullptr) return WEFT_REAL(sendmmsg)(fd, messages, count, flags);
  unsigned int sent = 0;
  while (sent < count) {
    const ssize_t size_B = ::sendmsg(fd, &messages[sent].msg_hdr, flags);
    if (size_B < 0) break;
    messages[sent++].msg_len = static_cast<unsigned int>(size_B);
  }
  return sent > 0 || count == 0 ? static_cast<int>(sent) : -1;
}

}  // namespace weft::preload
