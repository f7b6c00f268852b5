// Output of a world to a reader that may be slow or gone: `weft trace`, `weft capture --live`, `weft counters
// --watch`. The world never waits for it. What was not read yet is bounded; a unit (a line, a frame) that finds no room
// is lost as a whole, and whoever writes it counts that.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "live/protocol/connection.h"

namespace weft::live {

class OutputStream {
 public:
  static constexpr std::size_t kMostPending_B = 16'000'000;

  // Earlier output waits for it. Closes it at its end.
  void open(int fd) { connection_ = std::make_unique<Connection>(fd); }

  // False: no room.
  bool write(std::string_view unit);
  // As much as the reader takes now. False when it is gone, or wants no more.
  bool flush();
  std::size_t pending_B() const { return pending_.size() - sent_; }
  bool is_empty() const { return sent_ == pending_.size(); }
  bool is_gone() const { return gone_; }
  // The last message. False: no room yet.
  bool end(const std::string& notice);
  int fd() const { return connection_->fd(); }

 private:
  std::unique_ptr<Connection> connection_;
  std::string pending_;
  std::size_t sent_ = 0;  // of pending_
  bool gone_ = false;     // nothing reaches it any more
  bool ended_ = false;    // it has closed its side: wants no more
};

}  // namespace weft::live
