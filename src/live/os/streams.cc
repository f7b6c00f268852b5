// Streams: their holders and their state.
#include "live/os/streams.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "live/os/process_end.h"

namespace weft::live {

namespace {

constexpr int kExitPatience_ms = 100;  // real time for a process that exits to close what it holds

// The two ends of a stream's descriptor, ours and the program's; false: no descriptors are left.
bool make_ends(const verbs::StreamName& id, OwnedDescriptor& own, OwnedDescriptor& given) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
  own.fd = ends[0];
  given.fd = ends[1];
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const int size = std::snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "%s%016llx%016llx", verbs::kStreamName,
                                 static_cast<unsigned long long>(id.world), static_cast<unsigned long long>(id.stream));
  const auto name_B = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(size));
  return bind(given.fd, reinterpret_cast<const sockaddr*>(&name), name_B) == 0;
}

bool is_hung_up(const Stream& stream, int patience_ms) {
  pollfd fd{stream.lifeline.fd, 0, 0};
  return stream.lifeline.fd < 0 || (poll(&fd, 1, patience_ms) == 1 && (fd.revents & POLLHUP) != 0);
}

}  // namespace

ManagementNetwork::ManagementNetwork(lab::World& world, const AddressIndex& addresses,
                                     std::vector<std::unique_ptr<Node>>& nodes)
    : world_(world),
      addresses_(addresses),
      nodes_(nodes),
      next_port_(world.lab().hosts.size(), kFirstEphemeral),
      lines_(world.lab().hosts.size()) {
  // Programs may outlive their world and hold its streams: names are never used again.
  [[maybe_unused]] const ssize_t size = getrandom(&world_id_, sizeof(world_id_), 0);
}

void look_again(const Stream& stream, Time_ps now_ps) {
  for (const auto& each : stream.holders) {
    if (std::shared_ptr<Process> holder = each.lock(); holder && !holder->gone) stream.node->tell(*holder, now_ps);
  }
}

Stream* ManagementNetwork::find(const Process& process, std::uint32_t handle) {
  auto found = process.streams.find(handle);
  return found == process.streams.end() ? nullptr : found->second.get();
}

std::uint32_t ManagementNetwork::hold(Process& process, const std::shared_ptr<Stream>& stream) {
  const std::uint32_t handle = process.new_handle();
  process.streams[handle] = stream;
  stream->holders.push_back(process.weak_from_this());
  return handle;
}

std::optional<ManagementNetwork::Given> ManagementNetwork::give(Process& process,
                                                                const std::shared_ptr<Stream>& stream) {
  if (process.streams.size() >= kMaxStreams) return std::nullopt;
  OwnedDescriptor given;
  const std::uint64_t id = next_id_++;
  if (!make_ends({world_id_, id}, stream->lifeline, given)) return std::nullopt;
  stream->id = id;
  by_id_[id] = stream;
  auto lent = std::make_shared<Lent>();
  lent->fds.push_back(std::exchange(given.fd, -1));
  return Given{hold(process, stream), std::move(lent)};
}

Reply ManagementNetwork::open(Process& process, const Request& request, bool datagram) {
  verbs::StreamOpen ask{AF_INET, verbs::StreamNetwork::kOfLab};
  request.read(ask);
  auto stream = std::make_shared<Stream>();
  stream->node = process.node;
  stream->family = ask.family;
  stream->datagram = datagram;
  stream->fabric = ask.network == verbs::StreamNetwork::kFabric ||
                   (ask.network == verbs::StreamNetwork::kOfLab && world_.lab().fabric_network);
  auto given = give(process, stream);
  if (!given) return Reply::failed(ENFILE);
  Reply reply = Reply::of(verbs::Handle{given->handle});
  reply.fds[0] = given->descriptor->fds.front();
  reply.given = given->descriptor;
  return reply;
}

verbs::StreamInfo ManagementNetwork::describe(const Stream& stream, std::uint32_t handle) const {
  verbs::StreamInfo info{};
  info.stream = handle;
  info.family = stream.family;
  info.listening = stream.state == Stream::State::kListening;
  info.connecting = stream.state == Stream::State::kConnecting;
  info.connected = stream.state == Stream::State::kOpen;
  info.datagram = stream.datagram;
  const std::size_t next_B = stream.datagrams.empty() ? 0 : stream.datagrams.front()->bytes.size();
  info.readable_B = static_cast<std::uint32_t>(stream.datagram ? next_B : stream.readable_B());
  const std::shared_ptr<Stream> peer = stream.peer.lock();
  info.unsent_B = peer ? static_cast<std::uint32_t>(peer->underway_B) : 0;
  if (stream.tcp) info.unsent_B = static_cast<std::uint32_t>(stream.tcp->unsent_B());
  info.error = static_cast<std::uint32_t>(stream.error);
  const std::uint32_t options[] = {stream.send_buffer_B, stream.receive_buffer_B, stream.reuse_address,
                                   stream.reuse_port,    stream.v6_only,          stream.reset_on_close};
  std::copy(std::begin(options), std::end(options), info.options);
  info.local = stream.address;
  info.peer = stream.peer_address;
  info.local_port = stream.port;
  info.peer_port = stream.peer_port;
  return info;
}

Reply ManagementNetwork::status(Process& process, const Request& request) const {
  verbs::Handle ask;
  const Stream* stream = request.read(ask) ? find(process, ask.handle) : nullptr;
  return stream == nullptr ? Reply::failed(EBADF) : Reply::of(describe(*stream, ask.handle));
}

Reply ManagementNetwork::adopt(Process& process, const Request& request) {
  verbs::StreamName ask;
  if (!request.read(ask) || ask.world != world_id_) return Reply::failed(EBADF);
  auto found = by_id_.find(ask.stream);
  std::shared_ptr<Stream> stream = found == by_id_.end() ? nullptr : found->second.lock();
  // A node's sockets are reached from that node alone.
  if (!stream || stream->closed || stream->node != process.node) return Reply::failed(EBADF);
  for (const auto& [handle, each] : process.streams) {
    if (each == stream) return Reply::of(describe(*stream, handle));
  }
  if (process.streams.size() >= kMaxStreams) return Reply::failed(ENFILE);
  std::erase(abandoned_, stream);
  return Reply::of(describe(*stream, hold(process, stream)));
}

void ManagementNetwork::fork(const Process& parent, const std::shared_ptr<Process>& child) {
  child->streams = parent.streams;
  for (const auto& [handle, stream] : child->streams) stream->holders.push_back(child);
}

Reply ManagementNetwork::close(Process& process, const Request& request, Time_ps now_ps) {
  verbs::Handle ask;
  if (!request.read(ask)) return Reply::failed(EBADF);
  auto found = process.streams.find(ask.handle);
  if (found == process.streams.end()) return Reply::failed(EBADF);
  std::shared_ptr<Stream> stream = found->second;
  process.streams.erase(found);
  drop(stream, process, false, now_ps);
  return {};
}

void ManagementNetwork::forget(Process& process, Time_ps now_ps) {
  const bool exits = !process.streams.empty() && is_exiting(process.pid);
  auto streams = std::exchange(process.streams, {});
  for (const auto& [handle, stream] : streams) drop(stream, process, exits, now_ps);
}

void ManagementNetwork::drop(const std::shared_ptr<Stream>& stream, const Process& process, bool exits,
                             Time_ps now_ps) {
  std::erase_if(stream->holders, [&](const std::weak_ptr<Process>& each) {
    const std::shared_ptr<Process> holder = each.lock();
    return !holder || holder.get() == &process;
  });
  if (!stream->holders.empty()) return;
  if (is_hung_up(*stream, exits ? kExitPatience_ms : 0)) {
    finish(stream, now_ps);
  } else {
    abandoned_.push_back(stream);
  }
}

void ManagementNetwork::finish(const std::shared_ptr<Stream>& stream, Time_ps now_ps) {
  stream->closed = true;
  by_id_.erase(stream->id);
  stream->lifeline.reset();
  if (stream->datagram) datagrams_ended_[{stream->node->index(), stream->port}] = std::chrono::steady_clock::now();
  // A process that closes with bytes unread has lost them; the peer must not think that they were read (RFC 2525 2.17).
  if (stream->tcp) {
    stream->shut = true;
    stream->tcp->close(stream->reset_on_close, now_ps);
  } else if (stream->reset_on_close || !stream->inbox.empty()) {
    send_reset(*stream, now_ps);
  } else {
    end(*stream, now_ps);
  }
  for (const auto& waiting : std::exchange(stream->pending, {})) send_reset(*waiting, now_ps);
  for (const auto& waiting : std::exchange(stream->without_room, {}))
    arrive({waiting, stream->node->index(), {}}, now_ps);
}

void ManagementNetwork::add_abandoned(std::vector<pollfd>& fds) const {
  for (const auto& stream : abandoned_) fds.push_back({stream->lifeline.fd, 0, 0});
}

void ManagementNetwork::end_abandoned(Time_ps now_ps) {
  if (abandoned_.empty()) return;
  for (const auto& stream : std::exchange(abandoned_, {})) {
    if (is_hung_up(*stream, 0)) {
      finish(stream, now_ps);
    } else {
      abandoned_.push_back(stream);
    }
  }
}

}  // namespace weft::live
