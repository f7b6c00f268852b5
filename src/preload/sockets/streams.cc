// TCP sockets of the program as streams of the world: how they are made, named and connected.
#include "preload/sockets/streams.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "preload/process/names.h"
#include "preload/process/process.h"
#include "preload/real.h"
#include "preload/sockets/datagrams.h"
#include "preload/sockets/icmp.h"
#include "preload/sockets/netlink.h"
#include "preload/sockets/stream_address.h"
#include "verbs/address.h"

namespace weft::preload {

namespace {

using State = Stream::State;

bool is_stream(int domain, int type, int protocol) {
  return (domain == AF_INET || domain == AF_INET6) && (type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) == SOCK_STREAM &&
         (protocol == 0 || protocol == IPPROTO_TCP);
}

int bind_stream(Stream& stream, const verbs::Address& address, std::uint32_t port) {
  verbs::StreamAddress got;
  const int error = verbs::call(verbs::Op::kStreamBind, verbs::StreamAddress{stream.handle, 0, address, port}, got);
  if (error == 0) stream.local = got;
  return error;
}

// A program that was started from outside may have to reach its parent (mpirun, a debugger): where nobody of
// the node listens on the loopback address, the machine's own is meant.
int connect_to_machine(int fd, const Stream& stream, const sockaddr* address, socklen_t size_B) {
  const int flags = (stream.nonblocking ? SOCK_NONBLOCK : 0) | SOCK_CLOEXEC;
  const int real = WEFT_REAL(socket)(stream.family, SOCK_STREAM | flags, 0);
  if (real < 0) return real;
  const int kept = WEFT_REAL(fcntl)(fd, F_GETFD);
  dup2(real, fd);  // ours: the stream ends
  WEFT_REAL(close)(real);
  if (kept >= 0) WEFT_REAL(fcntl)(fd, F_SETFD, kept);
  return WEFT_REAL(connect)(fd, address, size_B);
}

// A connected socket has an address of its node, whatever it was bound to.
void name_own_end(Stream& stream) {
  if (verbs::is_any(stream.local.address)) own_address(stream.local.address);
}

}  // namespace

int wait_for_stream(const Stream& stream, std::uint32_t events, std::int64_t until_ps) {
  struct {
    verbs::Wait wait;
    verbs::WaitItem item;
  } request{{until_ps, 1, 0}, {verbs::WaitItem::kStream, stream.handle, events, 0}};
  verbs::WaitItem answer{};
  const int error = verbs::call(verbs::Op::kWait, request, answer);
  return error == 0 && answer.ready == 0 ? EAGAIN : error;
}

int wait_for_room(const Stream& stream) {
  const std::int64_t timeout_ps = stream.send_timeout_ps.load(std::memory_order_relaxed);
  const std::int64_t until_ps = timeout_ps == 0 ? kForever_ps : verbs::weft_now_ps() + timeout_ps;
  return wait_for_stream(stream, POLLOUT, until_ps);
}

int wait_for_input(const Stream& stream) {
  const std::int64_t timeout_ps = stream.receive_timeout_ps.load(std::memory_order_relaxed);
  if (timeout_ps == 0) return 0;
  return wait_for_stream(stream, POLLIN, verbs::weft_now_ps() + timeout_ps);
}

int connect_outcome(Stream& stream) {
  if (stream.state != State::kConnecting) return 0;
  verbs::StreamAddress question = stream.peer, own;
  question.wait = 0;
  const int error = verbs::call(verbs::Op::kStreamConnect, question, own);
  if (error == EINPROGRESS || error == EALREADY) return EINPROGRESS;
  const bool connected = error == 0 || error == EISCONN;
  stream.state = connected ? State::kConnected : State::kFresh;
  if (connected) name_own_end(stream);
  return connected ? 0 : error;
}

void close_stream(Stream* stream) {
  if (stream == nullptr || stream->handle == verbs::kNoHandle) return;
  verbs::call(stream->icmp ? verbs::Op::kIcmpClose : verbs::Op::kStreamClose, verbs::Handle{stream->handle});
}

WEFT_EXPORT int socket(int domain, int type, int protocol) noexcept {
  if (is_netlink_of_node(domain, protocol)) return open_netlink(type, protocol);
  if (is_icmp_of_node(domain, protocol)) return open_icmp(domain, type);
  if (!this_process().attached || !is_stream(domain, type, protocol)) return WEFT_REAL(socket)(domain, type, protocol);
  verbs::Handle handle;
  verbs::Descriptors passed;
  const int error =
      verbs::call(verbs::Op::kStreamOpen, verbs::StreamOpen{static_cast<std::uint32_t>(domain), this_process().network},
                  handle, &passed);
  if (error != 0) return fail(error);
  Stream* stream;
  return make_descriptor(handle.handle, passed.fd[0], domain, type, &stream);
}

WEFT_EXPORT int bind(int fd, const struct sockaddr* address, socklen_t size_B) noexcept {
  if (is_netlink(fd) || is_icmp(fd)) return 0;
  Stream* stream = descriptors().stream(fd);
  const bool ip = address != nullptr && (address->sa_family == AF_INET || address->sa_family == AF_INET6);
  if (stream == nullptr && ip) stream = take_datagrams(fd);
  if (stream == nullptr) return WEFT_REAL(bind)(fd, address, size_B);
  verbs::StreamAddress wanted{};
  if (!is_of_family(*stream, address) || !read_address(address, size_B, wanted.address, wanted.port))
    return fail(EAFNOSUPPORT);
  return result(bind_stream(*stream, wanted.address, wanted.port));
}

WEFT_EXPORT int listen(int fd, int backlog) noexcept {
  Stream* stream = descriptors().stream(fd);
  if (stream == nullptr) return WEFT_REAL(listen)(fd, backlog);
  if (stream->datagram) return fail(EOPNOTSUPP);
  int error = stream->local.port == 0 ? bind_stream(*stream, {}, 0) : 0;
  const auto room = static_cast<std::uint32_t>(backlog < 1 ? 1 : backlog);
  if (error == 0) error = verbs::call(verbs::Op::kStreamListen, verbs::StreamListen{stream->handle, room});
  if (error == 0) stream->state = State::kListening;
  return result(error);
}

WEFT_EXPORT int connect(int fd, const struct sockaddr* address, socklen_t size_B) {
  if (is_netlink(fd)) return 0;
  if (is_icmp(fd)) return connect_icmp(fd, address, size_B);
  Stream* stream = descriptors().stream(fd);
  int error = 0;
  if (stream == nullptr) stream = take_datagrams_towards(fd, address, size_B, &error);
  if (error != 0) return fail(error);
  if (stream == nullptr) return WEFT_REAL(connect)(fd, address, size_B);
  if (stream->datagram) return connect_datagrams(*stream, address, size_B);
  verbs::StreamAddress wanted{stream->handle, !stream->nonblocking, {}, 0};
  if (!is_of_family(*stream, address) || !read_address(address, size_B, wanted.address, wanted.port))
    return fail(EAFNOSUPPORT);
  if (stream->state == State::kConnecting) {
    error = connect_outcome(*stream);
    return result(error == EINPROGRESS ? EALREADY : error);
  }
  const bool loopback = verbs::is_loopback(wanted.address);
  if (loopback) wanted.wait = 1;
  // The world tells the own end's port only with a finished connection.
  if (stream->nonblocking && stream->local.port == 0) bind_stream(*stream, {}, 0);
  verbs::StreamAddress own;
  error = verbs::call(verbs::Op::kStreamConnect, wanted, own);
  if (loopback && error == ECONNREFUSED) return connect_to_machine(fd, *stream, address, size_B);
  if (error == 0 || error == EINPROGRESS) {
    stream->peer = wanted;
    stream->state = error == 0 ? State::kConnected : State::kConnecting;
  }
  if (error == 0) stream->local = own;
  return result(error);
}

WEFT_EXPORT int accept4(int fd, struct sockaddr* __restrict address, socklen_t* __restrict size_B, int flags) {
  Stream* listener = descriptors().stream(fd);
  if (listener == nullptr) return WEFT_REAL(accept4)(fd, address, size_B, flags);
  if (listener->datagram) return fail(EOPNOTSUPP);
  if (listener->nonblocking) spend_look();
  int error = listener->nonblocking ? 0 : wait_for_input(*listener);
  if (error != 0) return fail(error);
  verbs::StreamAccepted accepted;
  verbs::Descriptors passed;
  error = verbs::call(verbs::Op::kStreamAccept, verbs::StreamWait{listener->handle, !listener->nonblocking}, accepted,
                      &passed);
  if (error != 0) return fail(error);
  Stream* stream;
  const int made = make_descriptor(accepted.stream, passed.fd[0], listener->family, flags, &stream);
  if (made < 0) return made;
  stream->state = State::kConnected;
  stream->local = listener->local;
  name_own_end(*stream);
  stream->peer = {accepted.stream, 0, accepted.address, accepted.port};
  write_address(stream->family, accepted.address, accepted.port, address, size_B);
  return made;
}

WEFT_EXPORT int accept(int fd, struct sockaddr* __restrict address, socklen_t* __restrict size_B) {
  if (descriptors().stream(fd) == nullptr) return WEFT_REAL(accept)(fd, address, size_B);
  return accept4(fd, address, size_B, 0);
}

WEFT_EXPORT int shutdown(int fd, int how) noexcept {
  const Stream* stream = descriptors().stream(fd);
  if (stream == nullptr) return WEFT_REAL(shutdown)(fd, how);
  if (how < SHUT_RD || how > SHUT_RDWR) return fail(EINVAL);
  return result(
      verbs::call(verbs::Op::kStreamShutdown, verbs::Shutdown{stream->handle, static_cast<std::uint32_t>(how)}));
}

WEFT_EXPORT int getsockname(int fd, struct sockaddr* __restrict address, socklen_t* __restrict size_B) noexcept {
  if (is_netlink(fd)) return name_netlink(fd, address, size_B);
  Stream* stream = descriptors().stream(fd);
  if (stream == nullptr && name_icmp(fd, true, address, size_B)) return 0;
  if (stream == nullptr) return WEFT_REAL(getsockname)(fd, address, size_B);
  // A socket of UDP gets its port when it sends.
  if (verbs::StreamInfo info; stream->datagram && ask_status(*stream, info))
    stream->local = {stream->handle, 0, info.local, info.local_port};
  write_address(stream->family, stream->local.address, stream->local.port, address, size_B);
  return 0;
}

WEFT_EXPORT int getpeername(int fd, struct sockaddr* __restrict address, socklen_t* __restrict size_B) noexcept {
  Stream* stream = descriptors().stream(fd);
  if (stream == nullptr && name_icmp(fd, false, address, size_B)) return 0;
  if (stream == nullptr) return WEFT_REAL(getpeername)(fd, address, size_B);
  if (connect_outcome(*stream) != 0 || stream->state != State::kConnected) return fail(ENOTCONN);
  write_address(stream->family, stream->peer.address, stream->peer.port, address, size_B);
  return 0;
}

}  // namespace weft::preload
