// Shared by the calls on streams.
#pragma once

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "preload/connection.h"
#include "preload/files/descriptors.h"
#include "verbs/stream_protocol.h"

namespace weft::preload {

inline int fail(int error) {
  errno = error;
  return -1;
}
inline int result(int error) {
  return error == 0 ? 0 : fail(error);
}

// A look that does not wait costs a little time: a loop of such looks comes to its end.
inline void spend_look() {
  verbs::weft_spend_ps(verbs::weft_costs()->clock_read_ps);
}

inline bool is_of_family(const Stream& stream, const sockaddr* address) {
  return address != nullptr && address->sa_family == stream.family;
}

inline constexpr std::size_t kGather = 7;  // pieces of one message, besides its head
inline std::size_t total_B(const iovec* pieces, std::size_t count) {
  std::size_t size_B = 0;
  for (std::size_t i = 0; i < count; ++i) size_B += pieces[i].iov_len;
  return size_B;
}

// Waits until the stream is ready for `events` (POLLIN, POLLOUT); EAGAIN when the time has come first, or EINTR.
int wait_for_stream(const Stream& stream, std::uint32_t events, std::int64_t until_ps);
// Before a call that may block on input: EAGAIN when SO_RCVTIMEO ran out, EINTR, or 0.
int wait_for_input(const Stream& stream);

// When there is no room: the same with SO_SNDTIMEO.
int wait_for_room(const Stream& stream);

// State of it in the world; false: none.
bool ask_status(const Stream& stream, verbs::StreamInfo& info);

// A descriptor for a stream that the world has made and passed; -1 with errno when the process has none left. `flags`:
// SOCK_CLOEXEC, SOCK_NONBLOCK.
int make_descriptor(std::uint32_t handle, int fd, int family, int flags, Stream** made);

// The descriptor came from another process (SCM_RIGHTS, exec): if it is one of a stream, it is one from now on.
void adopt_stream(int fd);
// Adopts the streams of a program that has just been executed: everything that was not closed by exec.
void adopt_inherited_streams();

// Asks how a connection that was begun without waiting stands: 0, EINPROGRESS or why it failed.
int connect_outcome(Stream& stream);

// A FILE that reads and writes the stream.
FILE* open_stream_file(int fd, const char* mode);

// The world closes a stream whose last descriptor is gone.
void close_stream(Stream* stream);

}  // namespace weft::preload
