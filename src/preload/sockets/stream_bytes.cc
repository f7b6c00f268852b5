// Bytes of streams. Every call of the socket interface comes down to send_pieces or receive_pieces.
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

#include "preload/real.h"
#include "preload/sockets/datagrams.h"
#include "preload/sockets/icmp.h"
#include "preload/sockets/netlink.h"
#include "preload/sockets/streams.h"
#include "preload/time/watched.h"

namespace weft::preload {

namespace {

// One message with as much of the pieces, from byte `done` on, as fits. Returns an errno and the bytes it took.
int send_some(const Stream& stream, const iovec* pieces, std::size_t count, std::size_t done, std::size_t& sent_B) {
  verbs::StreamBytes head{stream.handle, 0};
  iovec parts[kGather + 1] = {{&head, sizeof head}};
  std::size_t used = 1;
  for (std::size_t i = 0; i < count && used <= kGather && head.size_B < verbs::kMaxStreamChunk_B; ++i) {
    if (done >= pieces[i].iov_len) {
      done -= pieces[i].iov_len;
      continue;
    }
    const std::size_t size_B = std::min(pieces[i].iov_len - done, verbs::kMaxStreamChunk_B - head.size_B);
    parts[used++] = {static_cast<char*>(pieces[i].iov_base) + done, size_B};
    head.size_B += static_cast<std::uint32_t>(size_B);
    done = 0;
  }
  verbs::Count taken{};
  std::size_t taken_B = sizeof taken;
  const int error = call_in_pieces(verbs::Op::kStreamSend, parts, used, &taken, &taken_B, nullptr);
  sent_B = error == 0 ? taken.count : 0;
  return error;
}

ssize_t send_pieces(Stream& stream, const iovec* pieces, std::size_t count, int flags) {
  if (stream.datagram) return send_datagram(stream, pieces, count, flags, nullptr, 0);
  const std::size_t wanted_B = total_B(pieces, count);
  const bool may_wait = !stream.nonblocking && (flags & MSG_DONTWAIT) == 0;
  std::size_t done_B = 0;
  while (done_B < wanted_B) {
    std::size_t sent_B;
    int error = send_some(stream, pieces, count, done_B, sent_B);
    done_B += sent_B;
    if (error == 0) continue;
    if (error == EAGAIN && may_wait) {
      error = wait_for_room(stream);
      if (error == 0 || (error == EINTR && thread.restart)) continue;
    }
    if (error == EAGAIN) stream.full = true;
    if (done_B > 0) break;
    if (error == EPIPE && (flags & MSG_NOSIGNAL) == 0) WEFT_REAL(raise)(SIGPIPE);
    return fail(error);
  }
  return static_cast<ssize_t>(done_B);
}

int receive_some(const Stream& stream, bool wait, bool peek, const iovec& room, std::size_t& got_B) {
  const auto size_B = static_cast<std::uint32_t>(std::min(room.iov_len, verbs::kMaxStreamChunk_B));
  const verbs::StreamReceive wanted{stream.handle, wait, size_B, peek};
  got_B = size_B;
  if (!wait) spend_look();
  return verbs::weft_call(static_cast<std::uint32_t>(verbs::Op::kStreamReceive), &wanted, sizeof wanted, room.iov_base,
                          &got_B, nullptr);
}

// Descriptors that a message of another process of the node brought.
void adopt_passed(msghdr* message) {
  for (cmsghdr* control = CMSG_FIRSTHDR(message); control != nullptr; control = CMSG_NXTHDR(message, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd;
      memcpy(&fd, CMSG_DATA(control) + i * sizeof fd, sizeof fd);
      adopt_stream(fd);
    }
  }
}

ssize_t receive_pieces(Stream& stream, const iovec* pieces, std::size_t count, int flags) {
  if (stream.datagram) return receive_datagram(stream, pieces, count, flags);
  if ((flags & (MSG_OOB | MSG_ERRQUEUE)) != 0) return fail((flags & MSG_OOB) != 0 ? EINVAL : EAGAIN);
  bool may_wait = !stream.nonblocking && (flags & MSG_DONTWAIT) == 0;
  const bool peek = (flags & MSG_PEEK) != 0;
  std::size_t done_B = 0;
  if (may_wait && total_B(pieces, count) > 0) {
    if (const int error = wait_for_input(stream)) return fail(error);
  }
  for (std::size_t i = 0; i < count; ++i) {
    iovec room = pieces[i];
    while (room.iov_len > 0) {
      std::size_t got_B;
      const int error = receive_some(stream, may_wait, peek, room, got_B);
      if (error != 0) return done_B > 0 ? static_cast<ssize_t>(done_B) : fail(error);
      done_B += got_B;
      if (got_B == 0 || peek) return static_cast<ssize_t>(done_B);
      room = {static_cast<char*>(room.iov_base) + got_B, room.iov_len - got_B};
      // The first bytes are worth waiting for; after them only what is there.
      may_wait = may_wait && (flags & MSG_WAITALL) != 0;
      if (!may_wait && room.iov_len > 0 && got_B < verbs::kMaxStreamChunk_B) return static_cast<ssize_t>(done_B);
    }
  }
  return static_cast<ssize_t>(done_B);
}

// Netlink and ICMP: their calls, and those of them that have no msghdr.
bool is_stand_in(int fd) {
  return is_netlink(fd) || is_icmp(fd);
}
ssize_t send_message(int fd, const msghdr& message, int flags) {
  return is_icmp(fd) ? send_icmp(fd, message) : send_netlink(fd, message, flags);
}
ssize_t receive_message(int fd, msghdr& message, int flags) {
  return is_icmp(fd) ? receive_icmp(fd, message, flags) : receive_netlink(fd, message, flags);
}

msghdr message_of(iovec& piece, void* name = nullptr, socklen_t name_B = 0) {
  msghdr message{};
  message.msg_name = name;
  message.msg_namelen = name_B;
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  return message;
}

ssize_t send_stand_in(int fd, const void* bytes, std::size_t size_B, int flags, const sockaddr* to = nullptr,
                      socklen_t to_B = 0) {
  iovec piece{const_cast<void*>(bytes), size_B};
  return send_message(fd, message_of(piece, const_cast<sockaddr*>(to), to_B), flags);
}

ssize_t receive_stand_in(int fd, void* bytes, std::size_t size_B, int flags, sockaddr* from = nullptr,
                         socklen_t* from_B = nullptr) {
  iovec piece{bytes, size_B};
  msghdr message = message_of(piece, from, from_B == nullptr ? 0 : *from_B);
  const ssize_t got = receive_message(fd, message, flags);
  if (from_B != nullptr) *from_B = message.msg_namelen;
  return got;
}

int number_in(void* cookie) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(cookie));
}

}  // namespace

WEFT_EXPORT ssize_t write(int fd, const void* bytes, size_t size_B) {
  Stream* stream = descriptors().stream(fd);
  if (stream == nullptr && is_stand_in(fd)) return send_stand_in(fd, bytes, size_B, 0);
  if (stream == nullptr) return WEFT_REAL(write)(fd, bytes, size_B);
  const iovec piece{const_cast<void*>(bytes), size_B};
  return send_pieces(*stream, &piece, 1, 0);
}

WEFT_EXPORT ssize_t writev(int fd, const struct iovec* pieces, int count) {
  Stream* stream = descriptors().stream(fd);
  if (stream == nullptr) return WEFT_REAL(writev)(fd, pieces, count);
  if (count < 0 || count > IOV_MAX) return fail(EINVAL);
  return send_pieces(*stream, pieces, static_cast<std::size_t>(count), 0);
}

WEFT_EXPORT ssize_t send(int fd, const void* bytes, size_t size_B, int flags) {
  Stream* stream = descriptors().stream(fd);
  if (stream == nullptr && is_stand_in(fd)) return send_stand_in(fd, bytes, size_B, flags);
  if (stream == nullptr) return WEFT_REAL(send)(fd, bytes, size_B, flags);
  const iovec piece{const_cast<void*>(bytes), size_B};
  return send_pieces(*stream, &piece, 1, flags);
}

WEFT_EXPORT ssize_t sendto(int fd, const void* bytes, size_t size_B, int flags, const struct sockaddr* to,
                           socklen_t to_B) {
  if (is_stand_in(fd)) return send_stand_in(fd, bytes, size_B, flags, to, to_B);
  Stream* stream = descriptors().stream(fd);
  if (stream == nullptr) stream = take_datagrams_towards(fd, to, to_B);
  if (stream == nullptr) return WEFT_REAL(sendto)(fd, bytes, size_B, flags, to, to_B);
  const iovec piece{const_cast<void*>(bytes), size_B};
  return stream->datagram ? send_datagram(*stream, &piece, 1, flags, to, to_B) : send_pieces(*stream, &piece, 1, flags);
}

WEFT_EXPORT ssize_t sendmsg(int fd, const struct msghdr* message, int flags) {
  Stream* stream = descriptors().stream(fd);
  if (stream == nullptr && is_stand_in(fd)) return send_message(fd, *message, flags);
  const auto* to = static_cast<const sockaddr*>(message->msg_name);
  if (stream == nullptr) stream = take_datagrams_towards(fd, to, message->msg_namelen);
  if (stream == nullptr) return WEFT_REAL(sendmsg)(fd, message, flags);
  if (stream->datagram)
    return send_datagram(*stream, message->msg_iov, message->msg_iovlen, flags, to, message->msg_namelen);
  return send_pieces(*stream, message->msg_iov, message->msg_iovlen, flags);
}

WEFT_EXPORT ssize_t read(int fd, void* bytes, size_t size_B) {
  Stream* stream = descriptors().stream(fd);
  if (stream == nullptr && is_stand_in(fd)) return receive_stand_in(fd, bytes, size_B, 0);
  if (stream == nullptr) return read_real_or_watched(fd, bytes, size_B);
  const iovec piece{bytes, size_B};
  return receive_pieces(*stream, &piece, 1, 0);
}

WEFT_EXPORT ssize_t readv(int fd, const struct iovec* pieces, int count) {
  Stream* stream = descriptors().stream(fd);
  if (stream == nullptr) return WEFT_REAL(readv)(fd, pieces, count);
  if (count < 0 || count > IOV_MAX) return fail(EINVAL);
  return receive_pieces(*stream, pieces, static_cast<std::size_t>(count), 0);
}

WEFT_EXPORT ssize_t recv(int fd, void* bytes, size_t size_B, int flags) {
  Stream* stream = descriptors().stream(fd);
  if (stream == nullptr && is_stand_in(fd)) return receive_stand_in(fd, bytes, size_B, flags);
  if (stream == nullptr) return WEFT_REAL(recv)(fd, bytes, size_B, flags);
  const iovec piece{bytes, size_B};
  return receive_pieces(*stream, &piece, 1, flags);
}

WEFT_EXPORT ssize_t recvfrom(int fd, void* __restrict bytes, size_t size_B, int flags, struct sockaddr* __restrict from,
                             socklen_t* __restrict from_B) {
  if (is_stand_in(fd)) return receive_stand_in(fd, bytes, size_B, flags, from, from_B);
  Stream* stream = descriptors().stream(fd);
  if (stream == nullptr) return WEFT_REAL(recvfrom)(fd, bytes, size_B, flags, from, from_B);
  if (stream->datagram) {
    iovec piece{bytes, size_B};
    msghdr message = message_of(piece, from, from_B == nullptr ? 0 : *from_B);
    const ssize_t got = receive_datagram(*stream, message, flags);
    if (got >= 0 && from != nullptr && from_B != nullptr) *from_B = message.msg_namelen;
    return got;
  }
  if (from_B != nullptr) *from_B = 0;
  return recv(fd, bytes, size_B, flags);
}

WEFT_EXPORT ssize_t recvmsg(int fd, struct msghdr* message, int flags) {
  Stream* stream = descriptors().stream(fd);
  if (stream == nullptr && is_stand_in(fd)) return receive_message(fd, *message, flags);
  if (stream == nullptr) {
    const ssize_t size_B = WEFT_REAL(recvmsg)(fd, message, flags);
    if (size_B >= 0 && message->msg_controllen > 0) adopt_passed(message);
    return size_B;
  }
  if (stream->datagram) return receive_datagram(*stream, *message, flags);
  message->msg_namelen = 0;
  message->msg_controllen = 0;
  message->msg_flags = 0;
  return receive_pieces(*stream, message->msg_iov, message->msg_iovlen, flags);
}

WEFT_EXPORT ssize_t sendfile(int to, int from, off_t* offset, size_t size_B) noexcept {
  Stream* stream = descriptors().stream(to);
  if (stream == nullptr) return WEFT_REAL(sendfile)(to, from, offset, size_B);
  char bytes[16 << 10];
  std::size_t done_B = 0;
  while (done_B < size_B) {
    const std::size_t some_B = std::min(size_B - done_B, sizeof bytes);
    const off_t at = offset != nullptr ? *offset : WEFT_REAL(lseek)(from, 0, SEEK_CUR);
    const ssize_t got_B = WEFT_REAL(pread)(from, bytes, some_B, at);
    if (got_B < 0 && done_B == 0) return -1;
    if (got_B <= 0) break;
    const iovec piece{bytes, static_cast<std::size_t>(got_B)};
    const ssize_t sent_B = send_pieces(*stream, &piece, 1, 0);
    if (sent_B < 0 && done_B == 0) return -1;
    if (sent_B <= 0) break;
    if (offset != nullptr) {
      *offset += sent_B;
    } else {
      WEFT_REAL(lseek)(from, sent_B, SEEK_CUR);
    }
    done_B += static_cast<std::size_t>(sent_B);
    if (sent_B < got_B) break;
  }
  return static_cast<ssize_t>(done_B);
}

WEFT_EXPORT ssize_t sendfile64(int to, int from, off64_t* offset, size_t size_B) noexcept {
  return sendfile(to, from, offset, size_B);
}

// The C library reads and writes a FILE's descriptor by itself; a FILE of a stream comes to the calls above.
FILE* open_stream_file(int fd, const char* mode) {
  cookie_io_functions_t calls{};
  calls.read = [](void* cookie, char* bytes, size_t size_B) { return ::read(number_in(cookie), bytes, size_B); };
  calls.write = [](void* cookie, const char* bytes, size_t size_B) {
    return ::write(number_in(cookie), bytes, size_B);
  };
  calls.close = [](void* cookie) { return ::close(number_in(cookie)); };
  return fopencookie(reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)), mode, calls);
}

WEFT_EXPORT FILE* fdopen(int fd, const char* mode) noexcept {
  return descriptors().stream(fd) == nullptr ? WEFT_REAL(fdopen)(fd, mode) : open_stream_file(fd, mode);
}

// Compilers make this of read, recv and recvfrom when they check sizes (_FORTIFY_SOURCE).
WEFT_EXPORT ssize_t __read_chk(int fd, void* bytes, size_t size_B, size_t room_B) {
  if (size_B > room_B) die("%s: more bytes requested than fit", "read");
  return read(fd, bytes, size_B);
}

WEFT_EXPORT ssize_t __recv_chk(int fd, void* bytes, size_t size_B, size_t room_B, int flags) {
  if (size_B > room_B) die("%s: more bytes requested than fit", "recv");
  return recv(fd, bytes, size_B, flags);
}

WEFT_EXPORT ssize_t __recvfrom_chk(int fd, void* bytes, size_t size_B, size_t room_B, int flags, struct sockaddr* from,
                                   socklen_t* from_B) {
  if (size_B > room_B) die("%s: more bytes requested than fit", "recvfrom");
  return recvfrom(fd, bytes, size_B, flags, from, from_B);
}

}  // namespace weft::preload
