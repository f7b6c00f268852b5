// Bytes of the management network, and how a stream ends.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "live/os/streams.h"

namespace weft::live {

namespace {

// Payload that fits into a socket's buffers. Linux counts overhead against them, about as much as payload: half of what
// SO_SNDBUF and SO_RCVBUF say, or of the most to which it grows them: net.ipv4.tcp_wmem and tcp_rmem, 4 and 6 MiB.
constexpr std::size_t kTunedSend_B = 2 << 20, kTunedReceive_B = 3 << 20;
std::size_t send_room_B(const Stream& stream) {
  return stream.send_buffer_B != 0 ? stream.send_buffer_B / 2 : kTunedSend_B;
}
std::size_t receive_room_B(const Stream& stream) {
  return stream.receive_buffer_B != 0 ? stream.receive_buffer_B / 2 : kTunedReceive_B;
}

// 1 GbE with frames of 1538 B on the line: 1448 of payload; preamble, Ethernet, IPv4, TCP with timestamps, FCS and gap.
constexpr std::size_t kSegment_B = 1448, kFraming_B = 90;
constexpr Time_ps kByte_ps = 8'000;
Time_ps line_ps(std::size_t size_B) {
  const std::size_t segments = (size_B + kSegment_B - 1) / kSegment_B;
  return static_cast<Time_ps>(size_B + segments * kFraming_B) * kByte_ps;
}

int take_error(Stream& stream) {
  return std::exchange(stream.error, 0);
}

}  // namespace

std::size_t Stream::room_B() const {
  if (tcp) return tcp->room_B();
  const std::shared_ptr<Stream> other = peer.lock();
  const std::size_t most_B = send_room_B(*this) + (other ? receive_room_B(*other) : 0);
  const std::size_t used_B = other ? other->underway_B : 0;
  return most_B > used_B ? most_B - used_B : 0;
}

std::uint32_t Stream::ready(std::uint32_t wanted) const {
  if (datagram) return ready_datagrams(wanted);
  if (state == State::kListening) return pending.empty() ? 0 : wanted & POLLIN;
  if (state == State::kFresh) return (wanted & POLLOUT) | POLLHUP;
  std::uint32_t events = 0;
  if (readable_B() > 0 || ended || reset) events |= POLLIN;
  if (ended || reset) events |= POLLRDHUP;
  // Linux wakes who waits for room when a third of the send buffer is free (sk_stream_is_writeable).
  const bool room = tcp ? tcp->is_writable() : room_B() >= send_room_B(*this) / 3;
  if (state == State::kOpen && (shut || reset || room)) events |= POLLOUT;
  if (state == State::kRefused) events |= POLLIN | POLLOUT;
  events &= wanted;
  if (state == State::kRefused || (reset && error != 0)) events |= POLLERR;
  if (state == State::kRefused || reset || (ended && shut)) events |= POLLHUP;
  return events;
}

Time_ps ManagementNetwork::carry(const Stream& from, Stream& to, std::size_t size_B, Time_ps now_ps,
                                 std::function<void(Time_ps)> what) {
  Node* there = to.node;
  const std::uint32_t node = there->index();
  if (from.node == there) {  // the loopback interface
    const Time_ps at_ps = std::max(now_ps + kLatency_ps, from.sent_until_ps);
    there->at(at_ps, 0, std::move(what));
    return at_ps;
  }
  const Time_ps on_line_ps = line_ps(size_B);
  Line& line = lines_[from.node->index()];
  if (on_line_ps > 0) line.sends_until_ps = std::max(now_ps, line.sends_until_ps) + on_line_ps;
  const Time_ps at_ps = std::max((on_line_ps > 0 ? line.sends_until_ps : now_ps) + kLatency_ps, from.sent_until_ps);
  there->at(at_ps, 0, [this, there, node, on_line_ps, what = std::move(what)](Time_ps then_ps) {
    // Several may send to one at the same time.
    Time_ps& until_ps = lines_[node].receives_until_ps;
    until_ps = std::max(then_ps, until_ps + on_line_ps);
    if (until_ps > then_ps) {
      there->at(until_ps, 0, what);
    } else {
      what(then_ps);
    }
  });
  return at_ps;
}

Reply ManagementNetwork::send(const std::shared_ptr<Thread>& thread, const Request& request, Time_ps now_ps) {
  Process& process = *thread->process;
  verbs::StreamBytes ask;
  Stream* stream = request.read_head(ask) ? find(process, ask.stream) : nullptr;
  if (stream == nullptr || request.body.size() - sizeof(ask) != ask.size_B) return Reply::failed(EBADF);
  if (stream->error != 0) return Reply::failed(take_error(*stream));
  if (stream->shut || stream->reset) return Reply::failed(EPIPE);
  if (stream->state != Stream::State::kOpen) return Reply::failed(ENOTCONN);
  if (ask.size_B == 0) return Reply::of(verbs::Count{0});
  if (stream->tcp) {
    const std::size_t some_B = std::min<std::size_t>(ask.size_B, stream->room_B());
    if (some_B == 0) return Reply::failed(EAGAIN);
    Reply reply = Reply::of(verbs::Count{static_cast<std::uint32_t>(some_B)});
    reply.at_ps = stream->tcp->write(std::span(request.body).subspan(sizeof(ask), some_B), thread, now_ps);
    return reply;
  }
  std::shared_ptr<Stream> peer = stream->peer.lock();
  std::shared_ptr<Stream> own = process.streams.at(ask.stream);
  if (!peer) {
    // Bytes sent to an end that was closed are answered with a reset.
    process.node->at(now_ps + 2 * kLatency_ps, 0, [own](Time_ps at_ps) {
      if (std::exchange(own->reset, true)) return;
      own->error = own->ended ? EPIPE : ECONNRESET;
      look_again(*own, at_ps);
    });
    return Reply::of(verbs::Count{ask.size_B});
  }
  const std::size_t size_B = std::min<std::size_t>(ask.size_B, stream->room_B());
  if (size_B == 0) return Reply::failed(EAGAIN);
  peer->underway_B += size_B;
  const auto* first = reinterpret_cast<const std::uint8_t*>(request.body.data() + sizeof(ask));
  std::vector<std::uint8_t> bytes(first, first + size_B);
  stream->sent_until_ps =
      carry(*stream, *peer, size_B, now_ps, [this, own, peer, bytes = std::move(bytes)](Time_ps at_ps) {
        if (peer->closed) {
          send_reset(*peer, at_ps);
          return;
        }
        peer->inbox.insert(peer->inbox.end(), bytes.begin(), bytes.end());
        look_again(*peer, at_ps);
      });
  return Reply::of(verbs::Count{static_cast<std::uint32_t>(size_B)});
}

std::optional<Reply> ManagementNetwork::receive(const std::shared_ptr<Thread>& thread, const Request& request,
                                                Time_ps now_ps) {
  Process& process = *thread->process;
  verbs::StreamReceive ask;
  Stream* stream = request.read(ask) ? find(process, ask.stream) : nullptr;
  if (stream == nullptr) return Reply::failed(EBADF);
  if (stream->readable_B() == 0 && ask.size_B > 0) {
    if (stream->error != 0) return Reply::failed(take_error(*stream));
    if (!stream->ended && !stream->reset) {
      if (stream->state != Stream::State::kOpen) return Reply::failed(ENOTCONN);
      return ask.wait != 0 ? std::nullopt : std::optional(Reply::failed(EAGAIN));
    }
  }
  std::size_t size_B = std::min({std::size_t{ask.size_B}, stream->readable_B(), verbs::kMaxStreamChunk_B});
  Reply reply;
  reply.body.resize(size_B);
  if (stream->tcp) {
    if (ask.peek != 0) {
      stream->tcp->peek(reply.body);
    } else if (size_B > 0) {
      reply.at_ps = stream->tcp->read(reply.body, thread, now_ps);
    }
    return reply;
  }
  std::transform(stream->inbox.begin(), stream->inbox.begin() + static_cast<std::ptrdiff_t>(size_B), reply.body.begin(),
                 [](std::uint8_t byte) { return std::byte{byte}; });
  if (ask.peek != 0 || size_B == 0) return reply;
  stream->inbox.erase(stream->inbox.begin(), stream->inbox.begin() + static_cast<std::ptrdiff_t>(size_B));
  std::shared_ptr<Stream> peer = stream->peer.lock();
  if (!peer) {
    stream->underway_B -= size_B;
    return reply;
  }
  // The sender has room again when it hears of it.
  std::shared_ptr<Stream> own = process.streams.at(ask.stream);
  peer->node->at(now_ps + kLatency_ps, 0, [own, peer, size_B](Time_ps at_ps) {
    own->underway_B -= size_B;
    look_again(*peer, at_ps);
  });
  return reply;
}

void ManagementNetwork::end(Stream& stream, Time_ps now_ps) {
  if (stream.shut) return;
  stream.shut = true;
  if (stream.state == Stream::State::kListening)
    listener_ended_[{stream.node->index(), stream.port}] = std::chrono::steady_clock::now();
  if (stream.tcp) stream.tcp->finish(now_ps);
  std::shared_ptr<Stream> peer = stream.peer.lock();
  if (!peer) return;
  stream.sent_until_ps = carry(stream, *peer, 0, now_ps, [peer](Time_ps at_ps) {
    peer->ended = true;
    look_again(*peer, at_ps);
  });
}

void ManagementNetwork::send_reset(Stream& stream, Time_ps now_ps) {
  stream.shut = true;
  if (stream.tcp) stream.tcp->close(true, now_ps);
  std::shared_ptr<Stream> peer = stream.peer.lock();
  if (!peer || peer->closed) return;
  carry(stream, *peer, 0, now_ps, [peer](Time_ps at_ps) {
    if (std::exchange(peer->reset, true)) return;
    peer->error = peer->ended ? EPIPE : ECONNRESET;
    look_again(*peer, at_ps);
  });
}

Reply ManagementNetwork::shutdown(Process& process, const Request& request, Time_ps now_ps) {
  verbs::Shutdown ask;
  Stream* stream = request.read(ask) ? find(process, ask.stream) : nullptr;
  if (stream == nullptr) return Reply::failed(EBADF);
  if (stream->state == Stream::State::kListening && ask.how != SHUT_WR) {
    // Threads that wait in accept() get EINVAL.
    stream->state = Stream::State::kFresh;
    for (const auto& waiting : std::exchange(stream->pending, {})) send_reset(*waiting, now_ps);
    look_again(*stream, now_ps);
    return {};
  }
  if (stream->state != Stream::State::kOpen) return Reply::failed(ENOTCONN);
  if (ask.how != SHUT_RD) end(*stream, now_ps);
  if (ask.how != SHUT_WR) stream->ended = true;
  look_again(*stream, now_ps);
  return {};
}

}  // namespace weft::live
