// Options of streams, and the calls on any descriptor that a stream answers: fcntl, ioctl.
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>

#include "preload/process/process.h"
#include "preload/real.h"
#include "preload/sockets/datagrams.h"
#include "preload/sockets/icmp.h"
#include "preload/sockets/interfaces.h"
#include "preload/sockets/netlink.h"
#include "preload/sockets/stream_tcp.h"
#include "preload/sockets/streams.h"
#include "preload/time/clock.h"

namespace weft::preload {

namespace {

// As Linux has them before a connection tunes them: net.ipv4.tcp_wmem and tcp_rmem.
constexpr int kSendBuffer_B = 16'384, kReceiveBuffer_B = 131'072;
constexpr int kDatagramBuffer_B = 212'992;  // net.core.rmem_default and wmem_default

bool world_option(int level, int option, verbs::StreamOption& which) {
  if (level == IPPROTO_IPV6 && option == IPV6_V6ONLY) {
    which = verbs::StreamOption::kV6Only;
    return true;
  }
  if (level != SOL_SOCKET) return false;
  switch (option) {
    case SO_SNDBUF:
    case SO_SNDBUFFORCE:
      which = verbs::StreamOption::kSendBuffer;
      return true;
    case SO_RCVBUF:
    case SO_RCVBUFFORCE:
      which = verbs::StreamOption::kReceiveBuffer;
      return true;
    case SO_REUSEADDR:
      which = verbs::StreamOption::kReuseAddress;
      return true;
    case SO_REUSEPORT:
      which = verbs::StreamOption::kReusePort;
      return true;
    default:
      return false;
  }
}

bool is_type_of_service(int level, int option) {
  return (level == IPPROTO_IP && option == IP_TOS) || (level == IPPROTO_IPV6 && option == IPV6_TCLASS);
}

int tell_world_option(const Stream& stream, verbs::StreamOption which) {
  verbs::StreamInfo info;
  if (!ask_status(stream, info)) return 0;
  const auto value = static_cast<int>(info.options[static_cast<std::size_t>(which)]);
  const bool buffer = which == verbs::StreamOption::kSendBuffer || which == verbs::StreamOption::kReceiveBuffer;
  if (buffer && value == 0 && stream.datagram) return kDatagramBuffer_B;
  if (which == verbs::StreamOption::kSendBuffer && value == 0) return kSendBuffer_B;
  if (which == verbs::StreamOption::kReceiveBuffer && value == 0) return kReceiveBuffer_B;
  return value;
}

// Options of getsockopt with a plain number. Of those that were set, only what changes something here is
// remembered, and what programs are known to check.
int number_option(Stream& stream, int level, int option) {
  if (verbs::StreamOption which; world_option(level, option, which)) return tell_world_option(stream, which);
  if (level == IPPROTO_TCP) return option == TCP_NODELAY ? int{stream.no_delay} : 0;
  if (is_type_of_service(level, option)) return stream.datagram ? 0 : type_of_service(stream);
  if (level != SOL_SOCKET) return 0;
  switch (option) {
    case SO_ERROR: {
      const int error = connect_outcome(stream);
      verbs::StreamInfo info;
      if (error == 0 && stream.state == Stream::State::kConnected && ask_status(stream, info))
        return static_cast<int>(info.error);
      return error == EINPROGRESS ? 0 : error;
    }
    case SO_TYPE:
      return stream.datagram ? SOCK_DGRAM : SOCK_STREAM;
    case SO_DOMAIN:
      return stream.family;
    case SO_PROTOCOL:
      return stream.datagram ? IPPROTO_UDP : IPPROTO_TCP;
    case SO_ACCEPTCONN:
      return stream.state == Stream::State::kListening;
    case SO_KEEPALIVE:
      return stream.keep_alive;
    case SO_BROADCAST:
      return stream.broadcast;
    default:
      return 0;
  }
}

// Copies as much as the caller has room for.
int give_option(const void* from, std::size_t from_B, void* value, socklen_t* size_B) {
  *size_B = std::min(*size_B, static_cast<socklen_t>(from_B));
  memcpy(value, from, *size_B);
  return 0;
}

int give_time(std::int64_t time_ps, void* value, socklen_t* size_B) {
  const timeval time{static_cast<time_t>(time_ps / kPsPerS), static_cast<suseconds_t>(time_ps % kPsPerS / kPsPerUs)};
  return give_option(&time, sizeof time, value, size_B);
}

int set_linger(Stream& stream, const linger& wanted) {
  stream.linger_s = wanted.l_onoff != 0 ? wanted.l_linger : -1;
  const bool reset = wanted.l_onoff != 0 && wanted.l_linger == 0;
  return result(
      verbs::call(verbs::Op::kStreamSet, verbs::StreamSet{stream.handle, verbs::StreamOption::kResetOnClose, reset}));
}

int set_number(Stream& stream, int level, int option, int number) {
  if (verbs::StreamOption which; world_option(level, option, which)) {
    const auto value = static_cast<std::uint32_t>(std::max(number, 0));
    return result(verbs::call(verbs::Op::kStreamSet, verbs::StreamSet{stream.handle, which, value}));
  }
  if (is_type_of_service(level, option) && !stream.datagram) set_type_of_service(stream, number);
  if (level == SOL_SOCKET && option == SO_KEEPALIVE) stream.keep_alive = number != 0;
  return 0;
}

int control_stream(Stream& stream, int fd, int command, void* argument) {
  switch (command) {
    case F_GETFL:
      return O_RDWR | (stream.nonblocking ? O_NONBLOCK : 0);
    case F_SETFL:
      stream.nonblocking = (reinterpret_cast<long>(argument) & O_NONBLOCK) != 0;
      return WEFT_REAL(fcntl)(fd, command, argument);  // a program that inherits it reads this here
    default:
      return WEFT_REAL(fcntl)(fd, command, argument);
  }
}

int control(int fd, int command, void* argument) {
  if (Stream* stream = descriptors().stream(fd)) {
    const int done = control_stream(*stream, fd, command, argument);
    if (done >= 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC)) descriptors().duplicate(fd, done);
    return done;
  }
  const int done = WEFT_REAL(fcntl)(fd, command, argument);
  if (done >= 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC)) descriptors().duplicate(fd, done);
  return done;
}

}  // namespace

// An interface of the node's. What the socket sends leaves by its route, which in a lab is the only one.
int bind_to_interface(const void* name, socklen_t size_B) {
  char text[IFNAMSIZ] = {};
  memcpy(text, name, std::min<std::size_t>(size_B, sizeof text - 1));
  return text[0] == '\0' || if_nametoindex(text) != 0 ? 0 : fail(ENODEV);
}

WEFT_EXPORT int setsockopt(int fd, int level, int option, const void* value, socklen_t size_B) noexcept {
  if (is_netlink(fd)) return set_netlink_option(fd, level, option, value, size_B);
  if (is_icmp(fd)) return set_icmp_option(fd, level, option, value, size_B);
  Stream* stream = descriptors().stream(fd);
  if (stream == nullptr && level == SOL_SOCKET && option == SO_BINDTODEVICE && this_process().attached)
    return bind_to_interface(value, size_B);
  if (stream == nullptr && is_group_option(level, option)) stream = take_datagrams(fd);
  if (stream == nullptr) return WEFT_REAL(setsockopt)(fd, level, option, value, size_B);
  if (int outcome; stream->datagram && set_datagram_option(*stream, level, option, value, size_B, outcome))
    return outcome;
  if (value == nullptr && size_B > 0) return fail(EFAULT);
  if (level == SOL_SOCKET && (option == SO_RCVTIMEO || option == SO_SNDTIMEO)) {
    if (size_B < sizeof(timeval)) return fail(EINVAL);
    timeval timeout;
    memcpy(&timeout, value, sizeof timeout);
    if (timeout.tv_usec < 0 || timeout.tv_usec >= 1'000'000) return fail(EDOM);
    (option == SO_RCVTIMEO ? stream->receive_timeout_ps : stream->send_timeout_ps) = ps_of(timeout);
    return 0;
  }
  if (level == SOL_SOCKET && option == SO_LINGER) {
    if (size_B < sizeof(linger)) return fail(EINVAL);
    linger wanted;
    memcpy(&wanted, value, sizeof wanted);
    return set_linger(*stream, wanted);
  }
  if (int error; level == IPPROTO_TCP && set_tcp_option(*stream, option, value, size_B, error)) return result(error);
  if (size_B < sizeof(int)) return level == SOL_SOCKET ? fail(EINVAL) : 0;
  int number;
  memcpy(&number, value, sizeof number);
  return set_number(*stream, level, option, number);
}

WEFT_EXPORT int getsockopt(int fd, int level, int option, void* __restrict value,
                           socklen_t* __restrict size_B) noexcept {
  if (is_netlink(fd)) return get_netlink_option(fd, level, option, value, size_B);
  if (is_icmp(fd)) return get_icmp_option(fd, level, option, value, size_B);
  Stream* stream = descriptors().stream(fd);
  if (stream == nullptr) return WEFT_REAL(getsockopt)(fd, level, option, value, size_B);
  if (level == SOL_SOCKET && option == SO_RCVTIMEO) return give_time(stream->receive_timeout_ps, value, size_B);
  if (level == SOL_SOCKET && option == SO_SNDTIMEO) return give_time(stream->send_timeout_ps, value, size_B);
  if (level == SOL_SOCKET && option == SO_LINGER) {
    const int seconds = stream->linger_s;
    const linger told{seconds >= 0, std::max(seconds, 0)};
    return give_option(&told, sizeof told, value, size_B);
  }
  if (level == IPPROTO_TCP && get_tcp_option(*stream, option, value, size_B)) return 0;
  const int number = number_option(*stream, level, option);
  return give_option(&number, sizeof number, value, size_B);
}

WEFT_EXPORT int fcntl(int fd, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  return control(fd, command, argument);
}

WEFT_EXPORT int fcntl64(int fd, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  return control(fd, command, argument);
}

WEFT_EXPORT int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list rest;
  va_start(rest, request);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  int answer;
  if (ask_interface(request, argument, &answer)) return result(answer);
  Stream* stream = descriptors().stream(fd);
  if (stream == nullptr) return WEFT_REAL(ioctl)(fd, request, argument);
  switch (request) {
    case FIONBIO:
      stream->nonblocking = *static_cast<int*>(argument) != 0;
      WEFT_REAL(fcntl)(fd, F_SETFL, stream->nonblocking ? O_NONBLOCK : 0);
      return 0;
    case FIONREAD:
    case TIOCOUTQ: {
      verbs::StreamInfo info;
      if (!ask_status(*stream, info)) return fail(EBADF);
      spend_look();
      *static_cast<int*>(argument) = static_cast<int>(request == FIONREAD ? info.readable_B : info.unsent_B);
      return 0;
    }
    default:
      return fail(ENOTTY);
  }
}

}  // namespace weft::preload
