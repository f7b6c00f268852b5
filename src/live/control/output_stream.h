// What a world writes to a reader who may be slow or gone: `weft trace`, `weft capture --live`, `weft counters
// --watch`. The world never waits for it. What was not read yet is bounded; a unit (a line, a frame) that finds no room
// is lost as a whole, and whoever writes it counts that.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "live/protocol/connection.h"

namespace weft::live {

class OutputStream {
 public:
  static constexpr std::size_t kMostPending_B = 16'000'000;

  // Closes the connection at its end.
  explicit OutputStream(int fd) : connection_(fd) {}

  // False: no room.
  bool write(std::string_view unit);
  // As much as the reader takes now. False when it is gone.
  bool flush();
  // What is left of it, and `notice` as the last message, as far as that is possible at once.
  void end(const std::string& notice);
  Connection& connection() { return connection_; }

 private:
  Connection connection_;
  std::string pending_;
  std::size_t sent_ = 0;  // of pending_
  bool gone_ = false;
};

}  // namespace weft::live
