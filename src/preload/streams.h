// What the calls on streams share.
#pragma once

#include <errno.h>

#include "preload/connection.h"
#include "preload/descriptors.h"

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

// Waits until the stream is ready for `events` (POLLIN, POLLOUT); EAGAIN when the time has come first, or EINTR.
int wait_for_stream(const Stream& stream, std::uint32_t events, std::int64_t until_ps);
// Before a call that may block on input: EAGAIN when SO_RCVTIMEO ran out, EINTR, or 0.
int wait_for_input(const Stream& stream);

// Asks how a connection that was begun without waiting stands: 0, EINPROGRESS or why it failed.
int connect_outcome(Stream& stream);

// The world closes a stream whose last descriptor is gone.
void close_stream(Stream* stream);

}  // namespace weft::preload
