// One request or reply on a connection, by plain system calls. What a signal does to a wait is in interrupt.h.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

#include "verbs/protocol.h"
#include "verbs/world_call.h"

namespace weft::preload {

// Ends the process when the world is gone.
void send_request(int fd, verbs::Op op, std::int64_t local_ps, const iovec* pieces, std::size_t count,
                  const int* lent = nullptr, std::size_t lent_count = 0);
// `*reply_B`: room in, size out. Unexpected descriptors are closed. False: the world is gone.
bool receive_reply(int fd, verbs::ReplyHead& head, void* reply, std::size_t* reply_B, verbs::Descriptors* passed);

[[noreturn]] void world_is_gone();

class AllSignalsBlocked {
 public:
  AllSignalsBlocked();
  ~AllSignalsBlocked();
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  std::uint64_t before_ = 0;  // the kernel's sigset_t
};

}  // namespace weft::preload
