// The calls that move bytes, for streams and datagrams.
#include <cstdarg>

#include "verbs/rdmacm/rs.h"

namespace weft::verbs::cm::rs {
namespace {

// A connection that is still being made is brought forward, or waited for. 0, or -1 and errno.
int need_connection(Socket& socket) {
  if (socket.state == State::kConnecting && advance(socket) != 0) {
    return errno == EINPROGRESS ? result(EAGAIN) : -1;
  }
  if (socket.state < State::kConnecting) return result(ENOTCONN);
  if (socket.state == State::kFailed && socket.error != 0) return result(socket.error);
  return 0;
}

ssize_t send_to(int fd, const iovec* pieces, int count, int flags, const sockaddr* to, socklen_t size_B) {
  Socket* socket = find(fd);
  if (socket == nullptr) return -1;
  const MutexGuard guard(socket->mutex);
  if (socket->datagrams != nullptr) return send_datagram(*socket, pieces, count, flags, size_B != 0 ? to : nullptr);
  if (to != nullptr && size_B != 0) return result(EISCONN);
  if (need_connection(*socket) != 0) return -1;
  return send_bytes(*socket, pieces, count, flags);
}

ssize_t receive_from(int fd, const iovec* pieces, int count, int flags, sockaddr* from, socklen_t* size_B) {
  Socket* socket = find(fd);
  if (socket == nullptr) return -1;
  {
    const MutexGuard guard(socket->mutex);
    if (socket->datagrams != nullptr) return receive_datagram(*socket, pieces, count, flags, from, size_B);
    if (!has_data(*socket) && need_connection(*socket) != 0) return -1;
    const ssize_t taken_B = receive_bytes(*socket, pieces, count, flags);
    if (taken_B <= 0 || from == nullptr || size_B == nullptr) return taken_B;
    return rgetpeername(fd, from, size_B) == 0 ? taken_B : -1;
  }
}

// Control messages have nowhere to go.
bool has_control_data(const msghdr& message) {
  return message.msg_control != nullptr && message.msg_controllen != 0;
}

}  // namespace
}  // namespace weft::verbs::cm::rs

using namespace weft::verbs::cm;
using namespace weft::verbs::cm::rs;

ssize_t rrecvfrom(int fd, void* buffer, size_t size_B, int flags, sockaddr* from, socklen_t* from_B) {
  const iovec piece{buffer, size_B};
  return receive_from(fd, &piece, 1, flags, from, from_B);
}
ssize_t rrecv(int fd, void* buffer, size_t size_B, int flags) {
  return rrecvfrom(fd, buffer, size_B, flags, nullptr, nullptr);
}
ssize_t rrecvmsg(int fd, msghdr* message, int flags) {
  if (has_control_data(*message)) return result(ENOTSUP);
  message->msg_flags = 0;
  return receive_from(fd, message->msg_iov, static_cast<int>(message->msg_iovlen), flags,
                      static_cast<sockaddr*>(message->msg_name), &message->msg_namelen);
}
ssize_t rread(int fd, void* buffer, size_t size_B) {
  return rrecv(fd, buffer, size_B, 0);
}
ssize_t rreadv(int fd, const iovec* pieces, int count) {
  return receive_from(fd, pieces, count, 0, nullptr, nullptr);
}
ssize_t rsendto(int fd, const void* buffer, size_t size_B, int flags, const sockaddr* to, socklen_t to_B) {
  const iovec piece{const_cast<void*>(buffer), size_B};
  return send_to(fd, &piece, 1, flags, to, to_B);
}
ssize_t rsend(int fd, const void* buffer, size_t size_B, int flags) {
  return rsendto(fd, buffer, size_B, flags, nullptr, 0);
}
ssize_t rsendmsg(int fd, const msghdr* message, int flags) {
  if (has_control_data(*message)) return result(ENOTSUP);
  return send_to(fd, message->msg_iov, static_cast<int>(message->msg_iovlen), flags,
                 static_cast<const sockaddr*>(message->msg_name), message->msg_namelen);
}
ssize_t rwrite(int fd, const void* buffer, size_t size_B) {
  return rsend(fd, buffer, size_B, 0);
}
ssize_t rwritev(int fd, const iovec* pieces, int count) {
  return send_to(fd, pieces, count, 0, nullptr, 0);
}

int rfcntl(int fd, int command, ...) {
  Socket* socket = find(fd);
  if (socket == nullptr) return -1;
  va_list arguments;
  va_start(arguments, command);
  const int value = va_arg(arguments, int);
  va_end(arguments);
  switch (command) {
    case F_GETFL:
      return socket->flags;
    case F_SETFL:
      socket->flags = value;
      return 0;
    default:
      return result(ENOTSUP);
  }
}
