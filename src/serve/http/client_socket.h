// One connection of a client of the page's server: with limits on what a request may hold and how
// long it may take, and an end when the server stops.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>

namespace weft::serve {

class ClientSocket {
 public:
  // `stopping` outlives it. The socket stays the caller's.
  ClientSocket(int socket, const std::atomic<bool>& stopping) : socket_(socket), stopping_(stopping) {}

  // Waits for the next request; false when none comes.
  bool wait_for_request(std::chrono::milliseconds patience);
  // From here on the client has `time` for at most `most_B` of a request.
  void begin_request(std::size_t most_B, std::chrono::milliseconds time);
  // The header was read: at most this much of a body may follow.
  void allow_more(std::size_t more_B) { left_B_ += more_B; }
  // Ends a connection whose request was not read completely: the client gets the answer before it is closed.
  void linger();

  bool is_readable() const;
  bool is_writable() const;
  ssize_t read(char* to, std::size_t size);
  ssize_t write(const char* from, std::size_t size);
  int socket() const { return socket_; }

 private:
  using Clock = std::chrono::steady_clock;
  // False at the deadline, at the end of the connection and when the server stops.
  bool wait(short events, Clock::time_point deadline) const;

  int socket_;
  const std::atomic<bool>& stopping_;
  char buffer_[4096];
  std::size_t begin_ = 0, end_ = 0;  // received and not yet read
  std::size_t left_B_ = 0;
  Clock::time_point deadline_;
};

}  // namespace weft::serve
