// UDP on the management network. A datagram takes its time on the sender's line and on the receiver's, and 30 us; it is
// lost where the receiver's line is 10 ms behind or its socket has no room. One for a port that nobody has is answered
// by ICMP, which a connected sender sees as ECONNREFUSED; if the world has patience, it waits for a socket first.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "live/os/streams.h"
#include "verbs/datagram_protocol.h"

namespace weft::live {

using verbs::Op;

namespace {

constexpr std::size_t kMaxHeld = 64;          // datagrams that wait for a socket
constexpr std::size_t kBuffer_B = 212'992;    // Linux: net.core.rmem_default and wmem_default
constexpr std::size_t kOverhead_B = 768;      // what a socket's buffer is charged for each besides its bytes
constexpr Time_ps kLongestQueue_ps = ms(10);  // at the receiver's line: 1.25 MB of a switch's memory
constexpr std::size_t kFragment_B = 1480;     // of IP payload; UDP's header is part of the first
constexpr std::size_t kUdp_B = 8, kIp_B = 20, kEthernet_B = 38, kSmallest_B = 84;
constexpr Time_ps kByte_ps = 8'000;

Time_ps line_ps(std::size_t size_B) {
  const std::size_t ip_payload_B = size_B + kUdp_B;
  const std::size_t fragments = (ip_payload_B + kFragment_B - 1) / kFragment_B;
  return static_cast<Time_ps>(std::max(ip_payload_B + fragments * (kIp_B + kEthernet_B), kSmallest_B)) * kByte_ps;
}

std::size_t buffer_B(std::uint32_t set_B) {
  return set_B != 0 ? set_B : kBuffer_B;
}

bool is_multicast(const verbs::Address& address) {
  return is_ipv4(address) ? address.bytes[verbs::kIpv4At] >> 4 == 14 : address.bytes[0] == 0xff;
}

bool has_joined(const Stream& stream, const verbs::Address& group) {
  return std::any_of(stream.groups.begin(), stream.groups.end(),
                     [&](const verbs::Address& each) { return is_same(each, group); });
}

// How well the socket fits what comes: -1 not at all; connected before bound to the address before any.
int fit(const Stream& stream, const ManagementNetwork::Datagram& datagram) {
  if (!stream.datagram || stream.closed || stream.port != datagram.to_port || !accepts(stream, datagram.to)) return -1;
  const bool connected = stream.state == Stream::State::kOpen;
  if (connected && (stream.peer_port != datagram.from_port || !is_same(stream.peer_address, datagram.from))) return -1;
  return (connected ? 2 : 0) + (is_any(stream.address) ? 0 : 1);
}

template <typename Visit>
void for_each_socket(const Node& node, const Visit& visit) {
  std::vector<const Stream*> seen;  // several processes may hold one
  for (const auto& process : node.processes) {
    for (const auto& [handle, each] : process->streams) {
      if (!each->datagram || std::find(seen.begin(), seen.end(), each.get()) != seen.end()) continue;
      seen.push_back(each.get());
      visit(each);
    }
  }
}

}  // namespace

std::uint32_t Stream::ready_datagrams(std::uint32_t wanted) const {
  std::uint32_t events = 0;
  if (!datagrams.empty() || ended || error != 0) events |= POLLIN;
  if (2 * unsent_B < buffer_B(send_buffer_B)) events |= POLLOUT;
  events &= wanted;
  if (error != 0) events |= POLLERR;
  if (ended && shut) events |= POLLHUP;
  return events;
}

bool ManagementNetwork::is_datagram_call(Op op) {
  return op >= Op::kDatagramOpen && op <= Op::kDatagramGroup;
}

std::optional<Reply> ManagementNetwork::answer_datagram(Process& process, const Request& request, Time_ps now_ps) {
  switch (request.op) {
    case Op::kDatagramOpen:
      return open(process, request, true);
    case Op::kDatagramConnect:
      return connect_datagrams(process, request);
    case Op::kDatagramDisconnect:
      return disconnect_datagrams(process, request);
    case Op::kDatagramSend:
      return send_datagram(process, request, now_ps);
    case Op::kDatagramReceive:
      return receive_datagram(process, request);
    default:
      return change_group(process, request);
  }
}

// Address of the port whose subnet it is in, or of the first.
verbs::Address ManagementNetwork::source_towards(const Stream& stream, const verbs::Address& to) const {
  if (!is_any(stream.address) && !is_group(*stream.node, stream.address)) return stream.address;
  if (is_loopback(to)) return to;
  if (is_any(to)) return address_of(stream.node->index());
  const lab::HostConfig& host = world_.lab().hosts[stream.node->index()];
  lab::IpAddress wanted;
  std::copy(std::begin(to.bytes), std::end(to.bytes), wanted.bytes);
  wanted.is_v4 = is_ipv4(to);
  const lab::PortConfig* own = &host.nics.front().ports.front();
  for (const auto& nic : host.nics) {
    for (const auto& port : nic.ports) {
      if (port.address.is_v4 == wanted.is_v4 && lab::same_subnet(port.address, wanted, port.prefix_bits)) own = &port;
    }
  }
  verbs::Address address{};
  std::copy(std::begin(own->address.bytes), std::end(own->address.bytes), address.bytes);
  const bool link_local_wanted = !wanted.is_v4 && (to.bytes[0] == 0xfe || to.bytes[0] == 0xff) && own->address.is_v4;
  if (link_local_wanted) {
    if (const AddressIndex::Owner* owner = addresses_.find(address.bytes)) {
      const auto local = link_local(world_.book()[owner->port].mac);
      std::copy(local.begin(), local.end(), address.bytes);
    }
  }
  return address;
}

// 255.255.255.255, or the last address of a subnet of the node.
bool ManagementNetwork::is_broadcast(const Node& node, const verbs::Address& to) const {
  if (!is_ipv4(to)) return false;
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < verbs::kIpv4_B; ++i) word = word << 8 | to.bytes[verbs::kIpv4At + i];
  if (word == 0xffffffff) return true;
  lab::IpAddress wanted;
  std::copy(std::begin(to.bytes), std::end(to.bytes), wanted.bytes);
  wanted.is_v4 = true;
  for (const auto& nic : world_.lab().hosts[node.index()].nics) {
    for (const auto& port : nic.ports) {
      const std::uint32_t rest = port.prefix_bits >= 31 ? 0 : 0xffffffffU >> port.prefix_bits;
      if (port.address.is_v4 && rest != 0 && (word & rest) == rest &&
          lab::same_subnet(port.address, wanted, port.prefix_bits))
        return true;
    }
  }
  return false;
}

bool ManagementNetwork::is_group(const Node& node, const verbs::Address& address) const {
  return is_multicast(address) || is_broadcast(node, address);
}

Reply ManagementNetwork::connect_datagrams(Process& process, const Request& request) {
  verbs::StreamAddress ask;
  Stream* stream = request.read(ask) ? find(process, ask.stream) : nullptr;
  if (stream == nullptr || !stream->datagram) return Reply::failed(EBADF);
  if (ask.port > 65535) return Reply::failed(EINVAL);
  if (stream->v6_only && is_ipv4(ask.address)) return Reply::failed(ENETUNREACH);
  if (stream->port == 0) stream->port = new_port(process);
  if (stream->port == 0) return Reply::failed(EAGAIN);
  if (std::exchange(stream->named_by_peer, false)) stream->address = {};
  if (is_any(stream->address)) {
    stream->address = source_towards(*stream, ask.address);
    stream->named_by_peer = true;
  }
  stream->peer_address = is_any(ask.address) ? stream->address : ask.address;
  stream->peer_port = ask.port;
  stream->state = Stream::State::kOpen;
  return Reply::of(verbs::StreamAddress{ask.stream, 0, stream->address, stream->port});
}

Reply ManagementNetwork::disconnect_datagrams(Process& process, const Request& request) {
  verbs::Handle ask;
  Stream* stream = request.read(ask) ? find(process, ask.handle) : nullptr;
  if (stream == nullptr || !stream->datagram) return Reply::failed(EBADF);
  if (std::exchange(stream->named_by_peer, false)) stream->address = {};
  stream->peer_address = {};
  stream->peer_port = 0;
  stream->state = Stream::State::kFresh;
  return {};
}

Reply ManagementNetwork::change_group(Process& process, const Request& request) {
  verbs::DatagramGroup ask;
  Stream* stream = request.read(ask) ? find(process, ask.stream) : nullptr;
  if (stream == nullptr || !stream->datagram) return Reply::failed(EBADF);
  if (!is_multicast(ask.group)) return Reply::failed(EINVAL);
  const bool joined = has_joined(*stream, ask.group);
  if (ask.join == 0) {
    std::erase_if(stream->groups, [&](const verbs::Address& each) { return is_same(each, ask.group); });
    return joined ? Reply{} : Reply::failed(EADDRNOTAVAIL);
  }
  if (joined) return Reply::failed(EADDRINUSE);
  if (stream->groups.size() >= kMaxGroups) return Reply::failed(ENOBUFS);
  stream->groups.push_back(ask.group);
  return {};
}

Reply ManagementNetwork::send_datagram(Process& process, const Request& request, Time_ps now_ps) {
  verbs::DatagramSend ask;
  if (!request.read_head(ask)) return Reply::failed(EBADF);
  auto found = process.streams.find(ask.stream);
  if (found == process.streams.end() || !found->second->datagram) return Reply::failed(EBADF);
  const std::shared_ptr<Stream> stream = found->second;
  if (stream->error != 0) return Reply::failed(std::exchange(stream->error, 0));
  if (stream->shut) return Reply::failed(EPIPE);
  const std::size_t size_B = request.body.size() - sizeof(ask);
  if (size_B > verbs::kMaxDatagram_B) return Reply::failed(EMSGSIZE);
  const bool to_peer = ask.to_peer != 0;
  if (to_peer && stream->state != Stream::State::kOpen) return Reply::failed(EDESTADDRREQ);
  Datagram datagram;
  datagram.to = to_peer ? stream->peer_address : ask.address;
  datagram.to_port = to_peer ? stream->peer_port : ask.port;
  if (datagram.to_port == 0 || datagram.to_port > 65535) return Reply::failed(EINVAL);
  if (stream->v6_only && is_ipv4(datagram.to)) return Reply::failed(ENETUNREACH);
  Node& node = *process.node;
  const bool broadcast = is_broadcast(node, datagram.to);
  if (broadcast && ask.broadcast == 0) return Reply::failed(EACCES);
  const bool to_many = broadcast || is_multicast(datagram.to);
  const auto receiver = to_many ? std::optional(node.index()) : node_of(process, datagram.to);
  datagram.from = source_towards(*stream, datagram.to);
  if (!receiver) {
    // An address of its subnet that nobody has gets no answer to ARP; to any other no way leads.
    lab::IpAddress own, wanted;
    std::copy(std::begin(datagram.from.bytes), std::end(datagram.from.bytes), own.bytes);
    std::copy(std::begin(datagram.to.bytes), std::end(datagram.to.bytes), wanted.bytes);
    own.is_v4 = wanted.is_v4 = is_ipv4(datagram.to);
    const lab::PortConfig& port = world_.lab().hosts[node.index()].nics.front().ports.front();
    return lab::same_subnet(own, wanted, port.prefix_bits) ? Reply::of(verbs::Count{static_cast<std::uint32_t>(size_B)})
                                                           : Reply::failed(ENETUNREACH);
  }
  const std::uint32_t to_node = *receiver;
  if (is_any(datagram.to)) datagram.to = datagram.from;
  const std::size_t charged_B = size_B + kOverhead_B;
  if (stream->unsent_B > 0 && stream->unsent_B + charged_B > buffer_B(stream->send_buffer_B))
    return Reply::failed(EAGAIN);
  if (stream->port == 0) stream->port = new_port(process);
  if (stream->port == 0) return Reply::failed(EAGAIN);
  datagram.from_port = stream->port;
  datagram.sender = stream;
  const auto* first = reinterpret_cast<const std::uint8_t*>(request.body.data() + sizeof(ask));
  datagram.bytes.assign(first, first + size_B);
  datagram.to_many = to_many;
  const bool is_peer = !to_many && !is_loopback(datagram.to) && to_node != node.index();
  const auto ended = is_peer ? datagrams_ended_.find({to_node, datagram.to_port}) : datagrams_ended_.end();
  const bool may_come = is_peer && (ended == datagrams_ended_.end() || ended->second < process.came);
  datagram.until = std::chrono::steady_clock::now() + (may_come ? patience_ : decltype(patience_){});

  const auto shared = std::make_shared<const Datagram>(std::move(datagram));
  Time_ps left_ps = now_ps;
  if (to_many || to_node != node.index()) {
    Line& line = lines_[node.index()];
    line.sends_until_ps = std::max(now_ps, line.sends_until_ps) + line_ps(size_B);
    left_ps = line.sends_until_ps;
    stream->unsent_B += charged_B;
    node.at(left_ps, 0, [stream, charged_B](Time_ps at_ps) {
      stream->unsent_B -= charged_B;
      look_again(*stream, at_ps);
    });
  }
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (!to_many && i != to_node) continue;
    const bool own = i == node.index();
    nodes_[i]->at(left_ps + kLatency_ps, 0, [this, i, own, shared, on_line_ps = line_ps(size_B)](Time_ps at_ps) {
      // Several may send to one at the same time.
      Time_ps& until_ps = lines_[i].receives_until_ps;
      if (own || until_ps + on_line_ps <= at_ps) {
        if (!own) until_ps = at_ps;
        deliver(shared, i, at_ps);
      } else if (until_ps - at_ps <= kLongestQueue_ps) {
        until_ps += on_line_ps;
        nodes_[i]->at(until_ps, 0, [this, i, shared](Time_ps then_ps) { deliver(shared, i, then_ps); });
      }
    });
  }
  return Reply::of(verbs::Count{static_cast<std::uint32_t>(size_B)});
}

// To the socket that fits best, of equals to the youngest, or with SO_REUSEPORT to one by a hash of the sender; a
// broadcast or a group's to every one.
void ManagementNetwork::deliver(const std::shared_ptr<const Datagram>& datagram, std::uint32_t at_node,
                                Time_ps now_ps) {
  const Node& node = *nodes_[at_node];
  std::vector<std::shared_ptr<Stream>> takers;
  bool joined = !is_multicast(datagram->to);
  int best = 0;
  for_each_socket(node, [&](const std::shared_ptr<Stream>& each) {
    joined = joined || has_joined(*each, datagram->to);
    const int fits = fit(*each, *datagram);
    if (fits < 0 || (!datagram->to_many && fits < best)) return;
    if (!datagram->to_many && fits > best) takers.clear();
    best = std::max(best, fits);
    takers.push_back(each);
  });
  if (!joined) return;
  if (takers.empty() && !datagram->to_many) return find_nobody(datagram, at_node, now_ps);
  if (!datagram->to_many && takers.size() > 1) {
    std::sort(takers.begin(), takers.end(), [](const auto& a, const auto& b) { return a->bound_as < b->bound_as; });
    std::uint64_t hash = datagram->from_port;
    for (std::uint8_t byte : datagram->from.bytes) hash = (hash ^ byte) * 0x9e3779b97f4a7c15ULL;
    const bool shared = takers.back()->reuse_port;
    takers = {shared ? takers[(hash >> 32) % takers.size()] : takers.back()};
  }
  for (const auto& taker : takers) {
    const std::size_t charged_B = datagram->bytes.size() + kOverhead_B;
    if (taker->datagrams_B + charged_B > buffer_B(taker->receive_buffer_B)) continue;
    taker->datagrams_B += charged_B;
    taker->datagrams.push_back(datagram);
    look_again(*taker, now_ps);
  }
}

void ManagementNetwork::find_nobody(const std::shared_ptr<const Datagram>& datagram, std::uint32_t at_node,
                                    Time_ps now_ps) {
  bool has_port = false;  // of a socket that is connected elsewhere, perhaps
  for_each_socket(*nodes_[at_node],
                  [&](const std::shared_ptr<Stream>& each) { has_port = has_port || each->port == datagram->to_port; });
  if (!has_port && std::chrono::steady_clock::now() < datagram->until) {
    if (held_.size() < kMaxHeld) held_.push_back({datagram, at_node});
    return;
  }
  const std::shared_ptr<Stream> sender = datagram->sender.lock();
  const bool connected = sender && sender->state == Stream::State::kOpen && sender->peer_port == datagram->to_port &&
                         is_same(sender->peer_address, datagram->to);
  if (!connected) return;
  sender->node->at(now_ps + kLatency_ps, 0, [sender](Time_ps at_ps) {
    sender->error = ECONNREFUSED;
    look_again(*sender, at_ps);
  });
}

void ManagementNetwork::deliver_held(const Stream& stream, Time_ps now_ps) {
  for (const Held& each : std::exchange(held_, {})) {
    if (each.node != stream.node->index() || each.datagram->to_port != stream.port) {
      held_.push_back(each);
      continue;
    }
    nodes_[each.node]->at(now_ps, 0, [this, each](Time_ps at_ps) { deliver(each.datagram, each.node, at_ps); });
  }
}

bool ManagementNetwork::give_up_held(Time_ps now_ps) {
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(held_, [&](const Held& each) {
    if (now < each.datagram->until) return false;
    datagrams_ended_[{each.node, each.datagram->to_port}] = now;  // who tries again does not wait again
    nodes_[each.node]->at(now_ps, 0, [this, each](Time_ps at_ps) { deliver(each.datagram, each.node, at_ps); });
    return true;
  });
  return !held_.empty();
}

std::optional<Reply> ManagementNetwork::receive_datagram(Process& process, const Request& request) {
  verbs::DatagramReceive ask;
  Stream* stream = request.read(ask) ? find(process, ask.stream) : nullptr;
  if (stream == nullptr || !stream->datagram) return Reply::failed(EBADF);
  if (stream->error != 0) return Reply::failed(std::exchange(stream->error, 0));
  if (stream->datagrams.empty() && stream->ended) return Reply::of(verbs::DatagramFrom{});
  if (stream->datagrams.empty()) return ask.wait != 0 ? std::nullopt : std::optional(Reply::failed(EAGAIN));
  const std::shared_ptr<const Datagram> datagram = stream->datagrams.front();
  const auto size_B = static_cast<std::uint32_t>(datagram->bytes.size());
  Reply reply = Reply::of(verbs::DatagramFrom{datagram->from, datagram->from_port, size_B});
  const auto* bytes = reinterpret_cast<const std::byte*>(datagram->bytes.data());
  reply.body.insert(reply.body.end(), bytes, bytes + std::min(size_B, ask.room_B));
  if (ask.peek == 0) {
    stream->datagrams.pop_front();
    stream->datagrams_B -= size_B + kOverhead_B;
  }
  return reply;
}

}  // namespace weft::live
