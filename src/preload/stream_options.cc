// Options of streams, and the calls on any descriptor that a stream answers: fcntl, ioctl.
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>

#include "preload/icmp.h"
#include "preload/interfaces.h"
#include "preload/netlink.h"
#include "preload/real.h"
#include "preload/streams.h"

namespace weft::preload {

namespace {

// What getsockopt says of an option with a plain number. Options that were set are not remembered: what they change
// (buffers, keep-alive, delay) does not exist here.
int number_option(Stream& stream, int level, int option) {
  if (level == IPPROTO_TCP) return option == TCP_NODELAY ? 1 : option == TCP_MAXSEG ? 1460 : 0;
  if (level != SOL_SOCKET) return 0;
  switch (option) {
    case SO_ERROR: {
      const int error = connect_outcome(stream);
      return error == EINPROGRESS ? 0 : error;
    }
    case SO_TYPE:
      return SOCK_STREAM;
    case SO_DOMAIN:
      return stream.family;
    case SO_PROTOCOL:
      return IPPROTO_TCP;
    case SO_ACCEPTCONN:
      return stream.state == Stream::State::kListening;
    case SO_SNDBUF:
    case SO_RCVBUF:
      return 4 << 20;
    case SO_REUSEADDR:
      return 1;
    default:
      return 0;
  }
}

int bytes_waiting(const Stream& stream) {
  char scratch[4096];
  const verbs::StreamReceive look{stream.handle, 0, sizeof scratch, 1};
  std::size_t got_B = sizeof scratch;
  spend_look();
  const int error = verbs::weft_call(static_cast<std::uint32_t>(verbs::Op::kStreamReceive), &look, sizeof look, scratch,
                                     &got_B, nullptr);
  return error == 0 ? static_cast<int>(got_B) : 0;
}

int control_stream(Stream& stream, int fd, int command, void* argument) {
  switch (command) {
    case F_GETFL:
      return O_RDWR | (stream.nonblocking ? O_NONBLOCK : 0);
    case F_SETFL:
      stream.nonblocking = (reinterpret_cast<long>(argument) & O_NONBLOCK) != 0;
      return 0;
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

WEFT_EXPORT int setsockopt(int fd, int level, int option, const void* value, socklen_t size_B) noexcept {
  if (is_netlink(fd)) return set_netlink_option(fd, level, option, value, size_B);
  if (is_icmp(fd)) return set_icmp_option(fd, level, option, value, size_B);
  Stream* stream = descriptors().stream(fd);
  if (stream == nullptr) return WEFT_REAL(setsockopt)(fd, level, option, value, size_B);
  if (level == SOL_SOCKET && option == SO_RCVTIMEO && size_B >= sizeof(timeval)) {
    timeval timeout;
    memcpy(&timeout, value, sizeof timeout);
    stream->receive_timeout_ps = timeout.tv_sec * kPsPerS + timeout.tv_usec * kPsPerUs;
  }
  return 0;
}

WEFT_EXPORT int getsockopt(int fd, int level, int option, void* __restrict value,
                           socklen_t* __restrict size_B) noexcept {
  if (is_netlink(fd)) return get_netlink_option(fd, level, option, value, size_B);
  if (is_icmp(fd)) return get_icmp_option(fd, level, option, value, size_B);
  Stream* stream = descriptors().stream(fd);
  if (stream == nullptr) return WEFT_REAL(getsockopt)(fd, level, option, value, size_B);
  if (level == SOL_SOCKET && (option == SO_RCVTIMEO || option == SO_SNDTIMEO || option == SO_LINGER)) {
    const std::int64_t timeout_ps = option == SO_RCVTIMEO ? stream->receive_timeout_ps.load() : 0;
    const timeval timeout{static_cast<time_t>(timeout_ps / kPsPerS),
                          static_cast<suseconds_t>(timeout_ps % kPsPerS / kPsPerUs)};
    *size_B = std::min<socklen_t>(*size_B, option == SO_LINGER ? sizeof(linger) : sizeof timeout);
    memcpy(value, &timeout, *size_B);
    return 0;
  }
  if (level == IPPROTO_TCP && option == TCP_INFO) return fail(ENOPROTOOPT);
  const int number = number_option(*stream, level, option);
  *size_B = std::min<socklen_t>(*size_B, sizeof number);
  memcpy(value, &number, *size_B);
  return 0;
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
      return 0;
    case FIONREAD:
      *static_cast<int*>(argument) = bytes_waiting(*stream);
      return 0;
    default:
      return fail(ENOTTY);
  }
}

}  // namespace weft::preload
