// How a program's libraries call the world. Lives in libweft.so, which is preloaded; libibverbs.so.1 and librdmacm.so.1
// link to it, so that a thread has one connection and one clock.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "verbs/protocol.h"

namespace weft::verbs {

// Descriptors that came with a reply; the caller closes them.
struct Descriptors {
  int fd[3] = {-1, -1, -1};
};

// Sends one request of the calling thread and waits for its reply. Returns 0 or an errno; `*reply_B` goes in as the
// room and comes out as the size of the reply. A wait that a signal handler has run in goes on if the handler has
// SA_RESTART, as on Linux, and ends with EINTR otherwise; sleeps and waits for descriptors always end. A
// process without a world gets ENOTCONN; a world that is gone ends the process with a message and status 1.
extern "C" int weft_call(std::uint32_t op, const void* request, std::size_t request_B, void* reply,
                         std::size_t* reply_B, Descriptors* descriptors);

// Connects the calling thread unless it is. Whoever takes a lock that other threads may spin for, and calls the world
// or reads the clock while it holds it, connects before: the world answers a new thread only when the others wait.
extern "C" void weft_connect();

// The calling thread's clock, and time that the thread spends.
extern "C" bool weft_is_virtual();
extern "C" bool weft_is_attached();  // false: no WEFT_SOCKET in the environment; every call passes through
// False: another thread needs this one to go on, so that a poll that finds nothing returns at once.
extern "C" bool weft_may_park();
// 1: polls of this thread that find nothing return at once; -1: as before.
extern "C" void weft_forbid_park(int change);
extern "C" std::int64_t weft_now_ps();
extern "C" void weft_spend_ps(std::int64_t cost_ps);
extern "C" const Costs* weft_costs();
// The process has one registered region more, or less: while it has some, the world is notified of unmapped memory.
extern "C" void weft_count_region(int change);
// A queue was posted to.
extern "C" void weft_ring(std::uint32_t doorbell);
// False: the kernel cannot trap the CPU's counter, and a program that reads it directly sees real time.
extern "C" bool weft_counter_is_trapped();
// `fd` is a real descriptor whose readiness is the world's to tell (WaitItem::What): poll, select and epoll ask it.
// close(fd) ends that.
extern "C" void weft_watch_descriptor(int fd, std::uint32_t what, std::uint32_t handle);

// A request with a body and a reply of one struct each. An error is returned and, as by rdma-core, left in errno.
template <typename Request, typename Reply>
int call(Op op, const Request& request, Reply& reply, Descriptors* descriptors = nullptr) {
  std::size_t reply_B = sizeof(Reply);
  int error = weft_call(static_cast<std::uint32_t>(op), &request, sizeof(Request), &reply, &reply_B, descriptors);
  if (error == 0 && reply_B != sizeof(Reply)) error = EPROTO;
  if (error != 0) errno = error;
  return error;
}
template <typename Request>
int call(Op op, const Request& request) {
  std::size_t reply_B = 0;
  const int error = weft_call(static_cast<std::uint32_t>(op), &request, sizeof(Request), nullptr, &reply_B, nullptr);
  if (error != 0) errno = error;
  return error;
}

}  // namespace weft::verbs
