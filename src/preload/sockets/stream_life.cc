// How a stream comes by its descriptor: from the world, or from another process.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "preload/process/process.h"
#include "preload/real.h"
#include "preload/sockets/streams.h"

namespace weft::preload {

namespace {

// Never freed: another thread may still wait on a stream that this one closes, and they are few.
Stream* make_stream(int fd, std::uint32_t handle, int family, bool nonblocking) {
  void* memory = fd < kMaxDescriptors ? malloc(sizeof(Stream)) : nullptr;
  if (memory == nullptr) return nullptr;
  auto* stream = new (memory) Stream;
  stream->handle = handle;
  stream->family = family;
  stream->nonblocking = nonblocking;
  return stream;
}

bool read_number(const char* digits, std::uint64_t& number) {
  number = 0;
  for (int i = 0; i < 16; ++i) {
    const char digit = digits[i];
    const bool decimal = digit >= '0' && digit <= '9', letter = digit >= 'a' && digit <= 'f';
    if (!decimal && !letter) return false;
    number = number * 16 + static_cast<std::uint64_t>(decimal ? digit - '0' : digit - 'a' + 10);
  }
  return true;
}

// False: it is not one of a stream.
bool read_name(int fd, verbs::StreamName& name) {
  constexpr std::size_t kPrefix_B = sizeof verbs::kStreamName - 1;
  constexpr std::size_t kName_B = offsetof(sockaddr_un, sun_path) + 1 + kPrefix_B + 32;
  sockaddr_un address{};
  socklen_t size_B = sizeof address;
  if (WEFT_REAL(getsockname)(fd, reinterpret_cast<sockaddr*>(&address), &size_B) != 0) return false;
  if (address.sun_family != AF_UNIX || size_B != kName_B || address.sun_path[0] != '\0') return false;
  const char* text = address.sun_path + 1;
  return memcmp(text, verbs::kStreamName, kPrefix_B) == 0 && read_number(text + kPrefix_B, name.world) &&
         read_number(text + kPrefix_B + 16, name.stream);
}

Stream::State state_of(const verbs::StreamInfo& info) {
  if (info.listening != 0) return Stream::State::kListening;
  if (info.connecting != 0) return Stream::State::kConnecting;
  return info.connected != 0 ? Stream::State::kConnected : Stream::State::kFresh;
}

void replace_standard(int fd, const char* mode, FILE*& standard) {
  FILE* file = descriptors().stream(fd) == nullptr ? nullptr : open_stream_file(fd, mode);
  if (file == nullptr) return;
  if (fd == STDERR_FILENO) setvbuf(file, nullptr, _IONBF, 0);
  standard = file;
}

}  // namespace

int make_descriptor(std::uint32_t handle, int fd, int family, int flags, Stream** made) {
  Stream* stream = fd < 0 ? nullptr : make_stream(fd, handle, family, (flags & SOCK_NONBLOCK) != 0);
  if (stream == nullptr) {
    if (fd >= 0) WEFT_REAL(close)(fd);
    verbs::call(verbs::Op::kStreamClose, verbs::Handle{handle});
    errno = EMFILE;
    return -1;
  }
  if ((flags & SOCK_CLOEXEC) == 0) WEFT_REAL(fcntl)(fd, F_SETFD, 0);
  // A program that inherits it reads this here.
  if ((flags & SOCK_NONBLOCK) != 0) WEFT_REAL(fcntl)(fd, F_SETFL, O_NONBLOCK);
  descriptors().add_stream(fd, stream);
  *made = stream;
  return fd;
}

bool ask_status(const Stream& stream, verbs::StreamInfo& info) {
  return verbs::call(verbs::Op::kStreamStatus, verbs::Handle{stream.handle}, info) == 0;
}

void adopt_stream(int fd) {
  verbs::StreamName name;
  if (!this_process().attached || descriptors().find(fd) != nullptr || !read_name(fd, name)) return;
  verbs::StreamInfo info;
  if (verbs::call(verbs::Op::kStreamAdopt, name, info) != 0) return;
  // It may be a second number of one that is here already.
  for (int each = 0; each <= descriptors().highest(); ++each) {
    const Stream* known = descriptors().stream(each);
    if (known == nullptr || known->handle != info.stream) continue;
    descriptors().duplicate(each, fd);
    return;
  }
  const int flags = WEFT_REAL(fcntl)(fd, F_GETFL);
  Stream* stream = make_stream(fd, info.stream, static_cast<int>(info.family), flags >= 0 && (flags & O_NONBLOCK) != 0);
  if (stream == nullptr) return;
  stream->state = state_of(info);
  stream->datagram = info.datagram != 0;
  stream->local = {info.stream, 0, info.local, info.local_port};
  stream->peer = {info.stream, 0, info.peer, info.peer_port};
  descriptors().add_stream(fd, stream);
}

void adopt_inherited_streams() {
  const long folder = kernel_call(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  // Found before any is adopted: that opens descriptors of its own.
  int found[256];
  std::size_t count = 0;
  alignas(dirent64) char entries[2048];
  for (long size_B; (size_B = kernel_call(SYS_getdents64, folder, entries, sizeof entries)) > 0;) {
    for (long at = 0; at < size_B;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      at += entry->d_reclen;
      verbs::StreamName name;
      const int fd = entry->d_name[0] == '.' ? -1 : atoi(entry->d_name);
      if (fd >= 0 && count < std::size(found) && read_name(fd, name)) found[count++] = fd;
    }
  }
  kernel_call(SYS_close, folder);
  for (std::size_t i = 0; i < count; ++i) adopt_stream(found[i]);
  // A server's child that has its connection as standard input and output (inetd).
  replace_standard(STDIN_FILENO, "r", stdin);
  replace_standard(STDOUT_FILENO, "w", stdout);
  replace_standard(STDERR_FILENO, "w", stderr);
}

}  // namespace weft::preload
