// The world's end of one thread's connection: a request in, a reply with descriptors out. Nothing blocks here.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "base/time.h"
#include "verbs/protocol.h"

namespace weft::live {

// Descriptors that a program has lent with a request; closed with the last copy of it.
struct Lent {
  std::vector<int> fds;
  Lent() = default;
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  ~Lent();
};

struct Request {
  verbs::Op op = verbs::Op::kHello;
  Time_ps local_ps = 0;
  std::vector<std::byte> body;
  std::shared_ptr<const Lent> lent;  // null: none

  // The body as the struct that it must be; false when its size is another.
  template <typename T>
  bool read(T& out) const {
    if (body.size() != sizeof(T)) return false;
    std::memcpy(&out, body.data(), sizeof(T));
    return true;
  }
  // The struct at its beginning, when more follows.
  template <typename T>
  bool read_head(T& out) const {
    if (body.size() < sizeof(T)) return false;
    std::memcpy(&out, body.data(), sizeof(T));
    return true;
  }
};

struct Reply {
  int error = 0;
  std::vector<std::byte> body;
  int fds[3] = {-1, -1, -1};  // lent; those from the first -1 on are none

  std::shared_ptr<const Lent> given;  // of `fds`, what is closed with the reply
  Time_ps at_ps = 0;                  // not before then: the call takes CPU time

  static Reply failed(int error) {
    Reply reply;
    reply.error = error;
    return reply;
  }
  template <typename T>
  static Reply of(const T& value) {
    Reply reply;
    reply.body.resize(sizeof(T));
    std::memcpy(reply.body.data(), &value, sizeof(T));
    return reply;
  }
};

// How often one can look at a slot in this time; 0: there is no other CPU on which it would be filled.
std::uint32_t looks_in(std::chrono::microseconds time);
// Through memory that the thread shares, while it looks there. False: it does not, or there is no room.
bool fill_slot(verbs::TurnSlot<verbs::ReplyHead>& slot, const Reply& reply, Time_ps now_ps);
// Looks for the thread's next request for some microseconds. False: none came, and the next one comes by the
// connection.
bool wait_for_slot(verbs::TurnSlot<verbs::RequestHead>& slot, Request& request);

class Connection {
 public:
  explicit Connection(int fd) : fd_(fd) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  enum class Got : std::uint8_t { kRequest, kNothing, kEnd };
  // Receives what is there now; kEnd for a closed connection and for a message that is not one of the protocol.
  Got receive(Request& request);
  // False when the program is gone.
  bool send(const Reply& reply, Time_ps now_ps);
  int fd() const { return fd_; }
  // Process at the other end, as the kernel knows it.
  int peer_pid() const;

 private:
  int fd_;
};

}  // namespace weft::live
