#include "live/os/streams.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace weft::live {

namespace {

// Something has come to this end.
void look_again(const Stream& stream, Time_ps now_ps) {
  if (std::shared_ptr<Process> owner = stream.owner.lock()) stream.node->tell(*owner, now_ps);
}

bool is_any(const verbs::Address& address) {
  static constexpr verbs::Address kAny4 = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0}};
  static constexpr verbs::Address kAny6{};
  return std::memcmp(&address, &kAny4, 16) == 0 || std::memcmp(&address, &kAny6, 16) == 0;
}
bool is_loopback(const verbs::Address& address) {
  static constexpr std::uint8_t kMapped[13] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127};
  static constexpr verbs::Address kLoopback6 = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
  return std::memcmp(&address, kMapped, sizeof(kMapped)) == 0 || std::memcmp(&address, &kLoopback6, 16) == 0;
}

// Another program of the node listens there.
bool is_taken(const Process& process, const Stream& stream, std::uint32_t port) {
  for (const auto& other : process.node->processes) {
    for (const auto& [handle, each] : other->streams) {
      if (each.get() != &stream && each->state == Stream::State::kListening && each->port == port) return true;
    }
  }
  return false;
}

}  // namespace

std::uint32_t Stream::ready(std::uint32_t wanted) const {
  std::uint32_t events = 0;
  if (state == State::kListening) return pending.empty() ? 0 : wanted & POLLIN;
  if (!inbox.empty() || ended) events |= POLLIN;
  if (state == State::kOpen) events |= POLLOUT;
  events &= wanted;
  if (state == State::kRefused) events |= POLLERR | (wanted & POLLOUT);
  if (ended && shut) events |= POLLHUP;
  return events;
}

Stream* ManagementNetwork::find(Process& process, std::uint32_t handle) {
  auto found = process.streams.find(handle);
  return found == process.streams.end() ? nullptr : found->second.get();
}

std::optional<std::uint32_t> ManagementNetwork::node_of(const Process& process, const verbs::Address& address) const {
  if (is_any(address) || is_loopback(address)) return process.node->index();
  const auto& hosts = world_.lab().hosts;
  for (std::uint32_t host = 0; host < hosts.size(); ++host) {
    for (const lab::NicConfig& nic : hosts[host].nics) {
      for (const lab::PortConfig& port : nic.ports) {
        if (std::memcmp(port.address.bytes, address.bytes, 16) == 0) return host;
      }
    }
  }
  return std::nullopt;
}

verbs::Address ManagementNetwork::address_of(std::uint32_t node) const {
  verbs::Address address{};
  std::memcpy(address.bytes, world_.lab().hosts[node].nics.front().ports.front().address.bytes, 16);
  return address;
}

Reply ManagementNetwork::look_up(const Request& request) const {
  verbs::LookUp ask;
  if (!request.read(ask)) return Reply::failed(EINVAL);
  ask.name[sizeof(ask.name) - 1] = 0;
  const auto& hosts = world_.lab().hosts;
  for (std::uint32_t host = 0; host < hosts.size(); ++host) {
    if (hosts[host].name == ask.name) return Reply::of(address_of(host));
  }
  return Reply::failed(ENOENT);
}

Reply ManagementNetwork::open(Process& process) {
  std::uint32_t handle = process.next_handle++;
  auto stream = std::make_shared<Stream>();
  stream->owner = process.weak_from_this();
  stream->node = process.node;
  process.streams[handle] = stream;
  return Reply::of(verbs::Handle{handle});
}

Reply ManagementNetwork::bind(Process& process, const Request& request) {
  verbs::StreamAddress ask;
  Stream* stream = request.read(ask) ? find(process, ask.stream) : nullptr;
  if (stream == nullptr || stream->state != Stream::State::kFresh || ask.port > 65535) return Reply::failed(EINVAL);
  if (auto node = node_of(process, ask.address); !node || *node != process.node->index())
    return Reply::failed(EADDRNOTAVAIL);
  std::uint32_t port = ask.port != 0 ? ask.port : new_port(process);
  if (port == 0) return Reply::failed(EADDRINUSE);
  if (is_taken(process, *stream, port)) return Reply::failed(EADDRINUSE);
  stream->address = ask.address;
  stream->port = ask.port = port;
  return Reply::of(ask);
}

Reply ManagementNetwork::listen(Process& process, const Request& request, Time_ps now_ps) {
  verbs::StreamListen ask;
  Stream* stream = request.read(ask) ? find(process, ask.stream) : nullptr;
  if (stream == nullptr || stream->state != Stream::State::kFresh) return Reply::failed(EINVAL);
  if (stream->port == 0) stream->port = new_port(process);
  if (stream->port == 0) return Reply::failed(EADDRINUSE);
  if (is_taken(process, *stream, stream->port)) return Reply::failed(EADDRINUSE);
  stream->state = Stream::State::kListening;
  stream->backlog = std::clamp<std::size_t>(ask.backlog, 1, 4096);
  retry_waiting(process.node->index(), stream->port, now_ps);
  return {};
}

std::optional<Reply> ManagementNetwork::connect(Process& process, const Request& request, Time_ps now_ps, bool again) {
  verbs::StreamAddress ask;
  if (!request.read(ask) || !process.streams.contains(ask.stream)) return Reply::failed(EBADF);
  std::shared_ptr<Stream> stream = process.streams[ask.stream];
  verbs::StreamAddress own{ask.stream, 0, stream->address, stream->port};
  if (stream->state == Stream::State::kOpen) return again ? Reply::of(own) : Reply::failed(EISCONN);
  if (stream->state == Stream::State::kRefused) {
    stream->state = Stream::State::kFresh;
    return Reply::failed(ECONNREFUSED);
  }
  if (stream->state == Stream::State::kConnecting) {
    // Asked once more, a connect that may wait waits for the one that was begun: a signal has ended it before.
    return again || ask.wait != 0 ? std::nullopt : std::optional(Reply::failed(EALREADY));
  }
  if (stream->state != Stream::State::kFresh) return Reply::failed(EINVAL);
  auto to = node_of(process, ask.address);
  if (!to) return Reply::failed(ENETUNREACH);
  if (stream->port == 0) stream->port = new_port(process);
  if (stream->port == 0) return Reply::failed(EADDRNOTAVAIL);
  stream->address = is_loopback(ask.address) ? ask.address : address_of(process.node->index());
  stream->peer_address = is_any(ask.address) ? address_of(*to) : ask.address;
  stream->peer_port = ask.port;
  stream->state = Stream::State::kConnecting;
  // Who tries ports of its own loopback looks for a service that may well not be there (hwloc: an X server).
  // And a server that listened while the client ran, and does not any more, is not about to start.
  const auto ended = listener_ended_.find({*to, ask.port});
  const bool is_peer = !is_loopback(ask.address) && !is_any(ask.address) &&
                       (ended == listener_ended_.end() || ended->second < process.came);
  const Waiting waiting{stream, *to, std::chrono::steady_clock::now() + (is_peer ? patience_ : decltype(patience_){})};
  nodes_[*to]->at(now_ps + kLatency_ps, 0, [this, waiting](Time_ps at_ps) { arrive(waiting, at_ps); });
  return ask.wait != 0 ? std::nullopt : std::optional(Reply::failed(EINPROGRESS));
}

void ManagementNetwork::arrive(const Waiting& waiting, Time_ps now_ps) {
  const std::shared_ptr<Stream>& stream = waiting.stream;
  if (stream->shut) return;  // it was closed meanwhile
  Node* there = nodes_[waiting.node].get();
  std::shared_ptr<Stream> listener;
  for (const auto& process : there->processes) {
    for (const auto& [handle, each] : process->streams) {
      bool listens = each->state == Stream::State::kListening && each->port == stream->peer_port;
      if (listens && each->pending.size() < each->backlog) listener = each;
    }
  }
  if (!listener && std::chrono::steady_clock::now() < waiting.until) {
    waiting_.push_back(waiting);
    return;
  }
  if (listener) {
    auto accepted = std::make_shared<Stream>();
    accepted->owner = listener->owner;
    accepted->node = there;
    accepted->state = Stream::State::kOpen;
    accepted->address = stream->peer_address;
    accepted->port = stream->peer_port;
    accepted->peer_address = stream->address;
    accepted->peer_port = stream->port;
    accepted->peer = stream;
    stream->peer = accepted;
    listener->pending.push_back(accepted);
    look_again(*accepted, now_ps);
  }
  stream->node->at(now_ps + kLatency_ps, 0, [stream](Time_ps back_ps) {
    if (stream->state != Stream::State::kConnecting) return;
    stream->state = stream->peer.expired() ? Stream::State::kRefused : Stream::State::kOpen;
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
  if (waiting_.empty()) return false;
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(waiting_, [&](const Waiting& each) {
    if (now < each.until) return each.stream->shut;
    listener_ended_[{each.node, each.stream->peer_port}] = now;  // who tries again does not wait again
    nodes_[each.node]->at(now_ps, 0, [this, each](Time_ps at_ps) { arrive(each, at_ps); });
    return true;
  });
  return !waiting_.empty();
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
  stream->pending.pop_front();
  retry_waiting(process.node->index(), stream->port, now_ps);  // the backlog has room again
  std::uint32_t handle = process.next_handle++;
  process.streams[handle] = accepted;
  return Reply::of(verbs::StreamAccepted{handle, accepted->peer_address, accepted->peer_port});
}

std::optional<Reply> ManagementNetwork::send(Process& process, const Request& request, Time_ps now_ps) {
  verbs::StreamBytes ask;
  Stream* stream = request.read_head(ask) ? find(process, ask.stream) : nullptr;
  if (stream == nullptr || request.body.size() - sizeof(ask) != ask.size_B) return Reply::failed(EBADF);
  if (stream->state != Stream::State::kOpen) return Reply::failed(ENOTCONN);
  std::shared_ptr<Stream> peer = stream->peer.lock();
  if (stream->shut) return Reply::failed(EPIPE);
  // What is sent to an end that was closed is lost; TCP tells the sender later, if at all.
  if (!peer) return Reply::of(verbs::Count{ask.size_B});
  if (peer->underway_B >= kBuffer_B) return std::nullopt;
  peer->underway_B += ask.size_B;
  const auto* first = reinterpret_cast<const std::uint8_t*>(request.body.data() + sizeof(ask));
  std::vector<std::uint8_t> bytes(first, first + ask.size_B);
  Node* there = peer->node;
  there->at(now_ps + kLatency_ps, 0, [peer, bytes = std::move(bytes)](Time_ps at_ps) {
    peer->inbox.insert(peer->inbox.end(), bytes.begin(), bytes.end());
    look_again(*peer, at_ps);
  });
  return Reply::of(verbs::Count{ask.size_B});
}

std::optional<Reply> ManagementNetwork::receive(Process& process, const Request& request, Time_ps now_ps) {
  verbs::StreamReceive ask;
  Stream* stream = request.read(ask) ? find(process, ask.stream) : nullptr;
  if (stream == nullptr) return Reply::failed(EBADF);
  if (stream->inbox.empty() && !stream->ended) {
    if (stream->state != Stream::State::kOpen) return Reply::failed(ENOTCONN);
    return ask.wait != 0 ? std::nullopt : std::optional(Reply::failed(EAGAIN));
  }
  std::size_t size_B = std::min({std::size_t{ask.size_B}, stream->inbox.size(), verbs::kMaxStreamChunk_B});
  Reply reply;
  reply.body.resize(size_B);
  std::transform(stream->inbox.begin(), stream->inbox.begin() + static_cast<std::ptrdiff_t>(size_B), reply.body.begin(),
                 [](std::uint8_t byte) { return std::byte{byte}; });
  if (ask.peek != 0) return reply;
  stream->inbox.erase(stream->inbox.begin(), stream->inbox.begin() + static_cast<std::ptrdiff_t>(size_B));
  stream->underway_B -= size_B;
  if (std::shared_ptr<Stream> peer = stream->peer.lock()) {
    // Threads that wait for space are notified.
    Node* there = peer->node;
    there->at(now_ps + kLatency_ps, 0, [peer](Time_ps at_ps) { look_again(*peer, at_ps); });
  }
  return reply;
}

void ManagementNetwork::end(Stream& stream, Time_ps now_ps) {
  if (stream.shut) return;
  stream.shut = true;
  if (stream.state == Stream::State::kListening)
    listener_ended_[{stream.node->index(), stream.port}] = std::chrono::steady_clock::now();
  std::shared_ptr<Stream> peer = stream.peer.lock();
  if (!peer) return;
  Node* there = peer->node;
  there->at(now_ps + kLatency_ps, 0, [peer](Time_ps at_ps) {
    peer->ended = true;
    look_again(*peer, at_ps);
  });
}

Reply ManagementNetwork::shutdown(Process& process, const Request& request, Time_ps now_ps) {
  verbs::Shutdown ask;
  Stream* stream = request.read(ask) ? find(process, ask.stream) : nullptr;
  if (stream == nullptr) return Reply::failed(EBADF);
  if (ask.how != SHUT_RD) end(*stream, now_ps);
  if (ask.how != SHUT_WR) stream->ended = true;
  return {};
}

Reply ManagementNetwork::close(Process& process, const Request& request, Time_ps now_ps) {
  verbs::Handle ask;
  Stream* stream = request.read(ask) ? find(process, ask.handle) : nullptr;
  if (stream == nullptr) return Reply::failed(EBADF);
  end(*stream, now_ps);
  for (const auto& waiting : stream->pending) end(*waiting, now_ps);
  process.streams.erase(ask.handle);
  return {};
}

void ManagementNetwork::forget(Process& process, Time_ps now_ps) {
  for (auto& [handle, stream] : process.streams) {
    end(*stream, now_ps);
    for (const auto& waiting : stream->pending) end(*waiting, now_ps);
  }
  process.streams.clear();
}

}  // namespace weft::live
