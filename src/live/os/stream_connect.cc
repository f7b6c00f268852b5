// Ports, listeners and connections of the management network.
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "live/os/streams.h"

namespace weft::live {

namespace {

constexpr std::uint32_t kSmallestBuffer_B = 2304;    // Linux: SOCK_MIN_RCVBUF
constexpr std::uint32_t kLargestBuffer_B = 212'992;  // Linux: net.core.wmem_max and rmem_max, before it doubles

constexpr std::uint32_t kSmallestSegment_B = 88, kLargestSegment_B = 32'767;  // Linux: TCP_MIN_MSS, MAX_TCP_WINDOW

// Both would get what comes to one address.
bool overlap(const Stream& a, const Stream& b) {
  const bool one_family = a.family == b.family;
  if (!one_family && ((a.family == AF_INET6 && a.v6_only) || (b.family == AF_INET6 && b.v6_only))) return false;
  return is_any(a.address) || is_any(b.address) || is_same(a.address, b.address);
}

// Another stream of the node has the port (bind(2) and socket(7): SO_REUSEADDR, SO_REUSEPORT).
bool is_taken(const Process& process, const Stream& stream, std::uint32_t port) {
  for (const auto& other : process.node->processes) {
    for (const auto& [handle, each] : other->streams) {
      const bool listens = each->state == Stream::State::kListening;
      if (each.get() == &stream || each->port != port || each->datagram != stream.datagram) continue;
      if (!overlap(*each, stream)) continue;
      if (!each->datagram && !listens && each->state != Stream::State::kFresh) continue;
      if (each->reuse_port && stream.reuse_port) continue;
      if (each->reuse_address && stream.reuse_address && !listens) continue;
      return true;
    }
  }
  return false;
}

}  // namespace

bool accepts(const Stream& stream, const verbs::Address& address) {
  if (!is_any(stream.address)) return is_same(stream.address, address);
  if (stream.family == AF_INET6) return !stream.v6_only || !is_ipv4(address);
  return is_ipv4(address) || is_any(address);
}

std::optional<std::uint32_t> ManagementNetwork::node_of(const Process& process, const verbs::Address& address) const {
  return is_any(address) || is_loopback(address) ? process.node->index() : node_of(address);
}

std::optional<std::uint32_t> ManagementNetwork::node_of(const verbs::Address& address) const {
  const AddressIndex::Owner* owner = addresses_.find(address.bytes);
  return owner == nullptr ? std::nullopt : std::optional(owner->host);
}

verbs::Address ManagementNetwork::address_of(std::uint32_t node) const {
  verbs::Address address{};
  std::memcpy(address.bytes, world_.lab().hosts[node].nics.front().ports.front().address.bytes, 16);
  return address;
}

Reply ManagementNetwork::bind(Process& process, const Request& request, Time_ps now_ps) {
  verbs::StreamAddress ask;
  Stream* stream = request.read(ask) ? find(process, ask.stream) : nullptr;
  if (stream == nullptr || stream->state != Stream::State::kFresh || ask.port > 65535) return Reply::failed(EINVAL);
  // A socket of UDP may have the address of a group or of a broadcast, of which it then gets all.
  const bool own = node_of(process, ask.address) == process.node->index();
  if (!own && !(stream->datagram && is_group(*process.node, ask.address))) return Reply::failed(EADDRNOTAVAIL);
  if (stream->datagram && stream->port != 0) return Reply::failed(EINVAL);
  std::uint32_t port = ask.port != 0 ? ask.port : new_port(process);
  if (port == 0) return Reply::failed(EADDRINUSE);
  const verbs::Address before = std::exchange(stream->address, ask.address);
  if (is_taken(process, *stream, port)) {
    stream->address = before;
    return Reply::failed(EADDRINUSE);
  }
  stream->port = ask.port = port;
  if (stream->datagram) {
    stream->bound_as = ++bound_;
    deliver_held(*stream, now_ps);
  }
  return Reply::of(ask);
}

Reply ManagementNetwork::listen(Process& process, const Request& request, Time_ps now_ps) {
  verbs::StreamListen ask;
  Stream* stream = request.read(ask) ? find(process, ask.stream) : nullptr;
  const bool listens = stream != nullptr && stream->state == Stream::State::kListening;
  if (stream == nullptr || (!listens && stream->state != Stream::State::kFresh)) return Reply::failed(EINVAL);
  if (stream->port == 0) stream->port = new_port(process);
  if (stream->port == 0) return Reply::failed(EADDRINUSE);
  // Two that share an address by SO_REUSEADDR cannot both listen.
  if (is_taken(process, *stream, stream->port)) return Reply::failed(EADDRINUSE);
  stream->state = Stream::State::kListening;
  stream->backlog = std::min<std::size_t>(ask.backlog, 4096);
  retry_waiting(process.node->index(), stream->port, now_ps);
  return {};
}

Reply ManagementNetwork::set(Process& process, const Request& request) {
  verbs::StreamSet ask;
  Stream* stream = request.read(ask) ? find(process, ask.stream) : nullptr;
  if (stream == nullptr) return Reply::failed(EBADF);
  const std::uint32_t buffer_B = 2 * std::clamp(ask.value, kSmallestBuffer_B / 2, kLargestBuffer_B);
  switch (ask.option) {
    case verbs::StreamOption::kSendBuffer:
      stream->send_buffer_B = buffer_B;
      if (stream->tcp) stream->tcp->set_send_buffer(buffer_B / 2);
      return {};
    case verbs::StreamOption::kReceiveBuffer:
      stream->receive_buffer_B = buffer_B;
      return {};
    case verbs::StreamOption::kReuseAddress:
      stream->reuse_address = ask.value != 0;
      return {};
    case verbs::StreamOption::kReusePort:
      stream->reuse_port = ask.value != 0;
      return {};
    case verbs::StreamOption::kV6Only:
      if (stream->family != AF_INET6) return Reply::failed(ENOPROTOOPT);
      if (stream->port != 0) return Reply::failed(EINVAL);
      stream->v6_only = ask.value != 0;
      return {};
    case verbs::StreamOption::kResetOnClose:
      stream->reset_on_close = ask.value != 0;
      return {};
    case verbs::StreamOption::kNoDelay:
      stream->no_delay = ask.value != 0;
      if (stream->tcp) stream->tcp->set_no_delay(stream->no_delay);
      return {};
    case verbs::StreamOption::kCongestion:
      if (ask.value > static_cast<std::uint32_t>(workload::TcpAlgorithm::kDctcp)) return Reply::failed(ENOENT);
      stream->algorithm = ask.value;
      if (stream->tcp) stream->tcp->set_algorithm(static_cast<workload::TcpAlgorithm>(ask.value));
      return {};
    case verbs::StreamOption::kMostSegment:
      if (ask.value != 0 && (ask.value < kSmallestSegment_B || ask.value > kLargestSegment_B))
        return Reply::failed(EINVAL);
      stream->most_segment_B = ask.value;
      return {};
    case verbs::StreamOption::kTypeOfService:
      stream->type_of_service = ask.value & 0xff;
      return {};
  }
  return Reply::failed(ENOPROTOOPT);
}

std::optional<Reply> ManagementNetwork::connect(Process& process, const Request& request, Time_ps now_ps, bool again) {
  verbs::StreamAddress ask;
  if (!request.read(ask) || !process.streams.contains(ask.stream)) return Reply::failed(EBADF);
  std::shared_ptr<Stream> stream = process.streams[ask.stream];
  verbs::StreamAddress own{ask.stream, 0, stream->address, stream->port};
  if (stream->state == Stream::State::kOpen) return again ? Reply::of(own) : Reply::failed(EISCONN);
  if (stream->state == Stream::State::kRefused) {
    stream->state = Stream::State::kFresh;
    const int error = std::exchange(stream->error, 0);
    return Reply::failed(error != 0 ? error : ECONNREFUSED);
  }
  if (stream->state == Stream::State::kConnecting) {
    // Asked once more, a connect that may wait waits for the one that was begun: a signal has ended it before.
    return again || ask.wait != 0 ? std::nullopt : std::optional(Reply::failed(EALREADY));
  }
  if (stream->state != Stream::State::kFresh) return Reply::failed(EINVAL);
  auto to = node_of(process, ask.address);
  if (!to || (stream->v6_only && is_ipv4(ask.address))) return Reply::failed(ENETUNREACH);
  if (stream->port == 0) stream->port = new_port(process);
  if (stream->port == 0) return Reply::failed(EADDRNOTAVAIL);
  const verbs::Address bound = stream->address;
  stream->address = is_loopback(ask.address) ? ask.address : address_of(process.node->index());
  stream->peer_address = is_any(ask.address) ? address_of(*to) : ask.address;
  stream->peer_port = ask.port;
  stream->state = Stream::State::kConnecting;
  // A program that tries ports of its own loopback looks for a service that may well not be there (hwloc: an X server).
  // And a server that listened while the client ran, and does not any more, is not about to start.
  const auto ended = listener_ended_.find({*to, ask.port});
  const bool is_peer = !is_loopback(ask.address) && !is_any(ask.address) &&
                       (ended == listener_ended_.end() || ended->second < process.came);
  const auto until = std::chrono::steady_clock::now() + (is_peer ? patience_ : decltype(patience_){});
  const Waiting waiting{stream, *to, until};
  if (stream->fabric && *to != process.node->index()) {
    if (!open_fabric(waiting, bound, now_ps)) {
      stream->address = bound;
      stream->state = Stream::State::kFresh;
      return Reply::failed(ENETUNREACH);
    }
    return ask.wait != 0 ? std::nullopt : std::optional(Reply::failed(EINPROGRESS));
  }
  nodes_[*to]->at(now_ps + kLatency_ps, 0, [this, waiting](Time_ps at_ps) { arrive(waiting, at_ps); });
  return ask.wait != 0 ? std::nullopt : std::optional(Reply::failed(EINPROGRESS));
}

// The one with the most specific address; of several with SO_REUSEPORT, one by a hash of the client, as on Linux.
std::shared_ptr<Stream> ManagementNetwork::listener_for(const Stream& stream, const Node& node) const {
  std::vector<std::shared_ptr<Stream>> found;
  for (const auto& process : node.processes) {
    for (const auto& [handle, each] : process->streams) {
      if (each->state != Stream::State::kListening || each->port != stream.peer_port ||
          !accepts(*each, stream.peer_address))
        continue;
      // Several processes hold it.
      if (std::find(found.begin(), found.end(), each) != found.end()) continue;
      if (!found.empty() && is_any(found.front()->address) && !is_any(each->address)) found.clear();
      if (found.empty() || is_any(found.front()->address) == is_any(each->address)) found.push_back(each);
    }
  }
  if (found.empty()) return nullptr;
  std::uint64_t hash = stream.port;
  for (std::uint8_t byte : stream.address.bytes) hash = (hash ^ byte) * 0x9e3779b97f4a7c15ULL;
  return found[(hash >> 32) % found.size()];
}

void ManagementNetwork::arrive(const Waiting& waiting, Time_ps now_ps) {
  const std::shared_ptr<Stream>& stream = waiting.stream;
  if (stream->shut) return;  // it was closed meanwhile
  Node* there = nodes_[waiting.node].get();
  std::shared_ptr<Stream> listener = listener_for(*stream, *there);
  if (!listener && std::chrono::steady_clock::now() < waiting.until) {
    waiting_.push_back(waiting);
    return;
  }
  if (stream->tcp) {
    take_syn(stream, listener, now_ps);
    return;
  }
  // As on Linux, whose queue holds one more than the backlog. There the SYN is lost and retransmitted, after 1 s and
  // more; here nothing is lost.
  if (listener && listener->pending.size() > listener->backlog) {
    listener->without_room.push_back(stream);
    return;
  }
  if (listener) {
    std::shared_ptr<Stream> accepted = make_accepted(*stream, *listener, there);
    accepted->peer = stream;
    stream->peer = accepted;
    listener->pending.push_back(accepted);
    look_again(*listener, now_ps);
  }
  stream->node->at(now_ps + kLatency_ps, 0, [stream, accepted = listener != nullptr](Time_ps back_ps) {
    if (stream->state != Stream::State::kConnecting) return;
    stream->state = accepted ? Stream::State::kOpen : Stream::State::kRefused;
    look_again(*stream, back_ps);
  });
}

void ManagementNetwork::retry_waiting(std::uint32_t node, std::uint32_t port, Time_ps now_ps) {
  if (waiting_.empty()) return;
  std::vector<Waiting> others;
  for (Waiting& each : std::exchange(waiting_, {})) {
    if (each.node != node || each.stream->peer_port != port) {
      others.push_back(std::move(each));
      continue;
    }
    nodes_[node]->at(now_ps, 0, [this, each](Time_ps at_ps) { arrive(each, at_ps); });
  }
  waiting_ = std::move(others);
}

bool ManagementNetwork::refuse_late(Time_ps now_ps) {
  const bool held = !held_.empty() && give_up_held(now_ps);
  if (waiting_.empty()) return held;
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(waiting_, [&](const Waiting& each) {
    if (now < each.until) return each.stream->shut;
    listener_ended_[{each.node, each.stream->peer_port}] = now;  // who tries again does not wait again
    nodes_[each.node]->at(now_ps, 0, [this, each](Time_ps at_ps) { arrive(each, at_ps); });
    return true;
  });
  return held || !waiting_.empty();
}

std::uint32_t ManagementNetwork::new_port(const Process& process) {
  auto is_used = [&](std::uint32_t port) {
    for (const auto& other : process.node->processes) {
      for (const auto& [handle, each] : other->streams) {
        if (each->port == port) return true;
      }
    }
    return false;
  };
  std::uint32_t& next = next_port_[process.node->index()];
  for (std::uint32_t tries = kFirstEphemeral; tries <= kLastEphemeral; ++tries) {
    const std::uint32_t port = next;
    next = next == kLastEphemeral ? kFirstEphemeral : next + 1;
    if (!is_used(port)) return port;
  }
  return 0;
}

std::optional<Reply> ManagementNetwork::accept(Process& process, const Request& request, Time_ps now_ps) {
  verbs::StreamWait ask;
  Stream* stream = request.read(ask) ? find(process, ask.stream) : nullptr;
  if (stream == nullptr || stream->state != Stream::State::kListening) return Reply::failed(EINVAL);
  if (stream->pending.empty()) return ask.wait != 0 ? std::nullopt : std::optional(Reply::failed(EAGAIN));
  std::shared_ptr<Stream> accepted = stream->pending.front();
  auto given = give(process, accepted);
  if (!given) return Reply::failed(ENFILE);
  stream->pending.pop_front();
  // As many as there is room for: one may have been closed meanwhile.
  while (!stream->without_room.empty() && stream->pending.size() <= stream->backlog) {
    const std::shared_ptr<Stream> next = std::move(stream->without_room.front());
    stream->without_room.pop_front();
    arrive({next, process.node->index(), {}}, now_ps);
  }
  Reply reply = Reply::of(verbs::StreamAccepted{given->handle, accepted->peer_address, accepted->peer_port});
  reply.fds[0] = given->descriptor->fds.front();
  reply.given = given->descriptor;
  return reply;
}

}  // namespace weft::live
