#include "live/control/output_stream.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "verbs/control_protocol.h"

namespace weft::live {

namespace {

constexpr std::size_t kMessage_B = 60'000;

Reply message(std::string_view bytes, int error) {
  Reply reply;
  reply.error = error;
  const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
  reply.body.assign(first, first + bytes.size());
  return reply;
}

}  // namespace

bool OutputStream::write(std::string_view unit) {
  if (gone_ || pending_.size() - sent_ + unit.size() > kMostPending_B) return false;
  if (sent_ > kMostPending_B / 2) {
    pending_.erase(0, sent_);
    sent_ = 0;
  }
  pending_ += unit;
  return true;
}

bool OutputStream::flush() {
  // A reader says nothing: what can be read is its end.
  char byte = 0;
  const ssize_t got = recv(connection_->fd(), &byte, 1, MSG_DONTWAIT | MSG_PEEK);
  ended_ = ended_ || got >= 0;
  gone_ = gone_ || (got < 0 && errno != EAGAIN && errno != EINTR);
  while (!gone_ && sent_ < pending_.size()) {
    const std::size_t size_B = std::min(kMessage_B, pending_.size() - sent_);
    // The socket does not block.
    if (!connection_->send(message(std::string_view(pending_).substr(sent_, size_B), 0), 0)) {
      gone_ = errno != EAGAIN && errno != EINTR && errno != ENOBUFS;
      break;
    }
    sent_ += size_B;
  }
  if (sent_ == pending_.size()) {
    pending_.clear();
    sent_ = 0;
  }
  return !gone_ && !ended_;
}

bool OutputStream::end(const std::string& notice) {
  if (gone_ || connection_->send(message(notice, verbs::kStreamEnd), 0)) return true;
  gone_ = errno != EAGAIN && errno != EINTR && errno != ENOBUFS;
  return gone_;
}

}  // namespace weft::live
