// Connections of programs over the simulated fabric. Both ends of one are made when a program connects, so that its SYN
// has a queue to come to; whether anybody listens is found out when it does.
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "live/os/streams.h"
#include "model/port_pairs.h"
#include "nic/transports/ip_datagram.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"

namespace weft::live {

namespace {

constexpr std::uint32_t kTimestamps_B = 12;
constexpr std::uint32_t kDescriptors = 1024;
constexpr std::uint8_t kEcnBits = 3;
constexpr Time_ps kLinger_ps = ms(100);
constexpr std::size_t kMostLingering = 1024;

const lab::PortConfig& config_of(const lab::Lab& lab, const lab::PortRef& ref) {
  return lab.hosts[ref.host].nics[ref.nic].ports[ref.port];
}

// In the lossy class, DSCP 0, unless the program sets another: ECN is TCP's own.
workload::Endpoint end_at(lab::World& world, const lab::PortRef& ref, const Stream& stream) {
  workload::Endpoint end = world.endpoint(ref, 0, {});
  end.tos = static_cast<std::uint8_t>(stream.type_of_service & ~std::uint32_t{kEcnBits});
  end.priority = 0;
  return end;
}

workload::TcpSettings settings_of(const Stream& stream) {
  workload::TcpSettings settings;
  settings.sends = settings.gives_up = settings.shares_interrupt = true;
  settings.descriptors = kDescriptors;
  settings.algorithm = static_cast<workload::TcpAlgorithm>(stream.algorithm);
  settings.window_B = stream.receive_buffer_B / 2;
  settings.send_buffer_B = stream.send_buffer_B / 2;
  return settings;
}

void use_options(FabricSocket& socket, const Stream& stream) {
  if (stream.no_delay) socket.set_no_delay(true);
}

}  // namespace

std::optional<lab::PortRef> ManagementNetwork::port_of(std::uint32_t node, const verbs::Address& address) const {
  const AddressIndex::Owner* owner = addresses_.find(address.bytes);
  const lab::HostConfig& host = world_.lab().hosts[node];
  for (std::uint32_t nic = 0; owner != nullptr && nic < host.nics.size(); ++nic) {
    for (std::uint32_t port = 0; port < host.nics[nic].ports.size(); ++port) {
      const lab::PortRef ref{node, nic, port};
      if (world_.port_id(ref) == owner->port) return ref;
    }
  }
  return std::nullopt;
}

bool ManagementNetwork::open_fabric(const Waiting& waiting, const verbs::Address& bound, Time_ps now_ps) {
  static const Stream kNobody;
  const std::shared_ptr<Stream>& stream = waiting.stream;
  const lab::Lab& lab = world_.lab();
  const std::uint32_t from = stream->node->index();
  const auto there = port_of(waiting.node, stream->peer_address);
  if (!there) return false;
  // The port that was bound to, or one of the peer's subnet, or the first.
  auto here = port_of(from, bound);
  const lab::HostConfig& host = lab.hosts[from];
  for (std::uint32_t nic = 0; verbs::is_any(bound) && nic < host.nics.size(); ++nic) {
    for (std::uint32_t port = 0; port < host.nics[nic].ports.size(); ++port) {
      if (here && lab::one_subnet(lab, {*here, *there})) break;
      const lab::PortRef ref{from, nic, port};
      if (!here || lab::one_subnet(lab, {ref, *there})) here = ref;
    }
  }
  if (!here || lab::pair_problem(lab, {*here, *there})) return false;
  const lab::PortConfig& own = config_of(lab, *here);
  std::copy(std::begin(own.address.bytes), std::end(own.address.bytes), std::begin(stream->address.bytes));
  const std::shared_ptr<Stream> listener = listener_for(*stream, *nodes_[waiting.node]);
  const Stream& server_options = listener ? *listener : kNobody;
  const workload::Endpoint client_end = end_at(world_, *here, *stream),
                           server_end = end_at(world_, *there, server_options);
  if (!client_end.is_here() || !server_end.is_here()) return false;

  const lab::PortSettings& ports = world_.port_settings();
  const auto headers_B =
      static_cast<std::uint32_t>((own.address.is_v4 ? wire::kIpv4Size_B : wire::kIpv6Size_B) + wire::kTcpSize_B);
  std::uint32_t mss_B = static_cast<std::uint32_t>(std::min(ports.mtu_B(*here), ports.mtu_B(*there))) - headers_B;
  for (const Stream* each : {static_cast<const Stream*>(stream.get()), &server_options}) {
    if (each->most_segment_B != 0) mss_B = std::min(mss_B, each->most_segment_B);
  }
  workload::TcpSettings settings = settings_of(*stream);
  settings.client = true;
  settings.mss_B = (mss_B - kTimestamps_B) & ~3u;
  settings.routed = !lab::one_subnet(lab, {*here, *there});
  settings.port = static_cast<std::uint16_t>(stream->port);
  settings.peer_port = static_cast<std::uint16_t>(stream->peer_port);
  forget_old_pairs(now_ps);
  FabricPair pair{std::make_shared<FabricSocket>(*this, *stream->node, settings, client_end), nullptr, waiting.until};
  use_options(*pair.client, *stream);
  // The side that connects says with its SYN whether ECN is used, and DCTCP needs it at both ends.
  workload::TcpSettings theirs = settings_of(server_options);
  if (settings.algorithm == workload::TcpAlgorithm::kDctcp) theirs.algorithm = settings.algorithm;
  theirs.mss_B = settings.mss_B;
  theirs.routed = settings.routed;
  theirs.port = settings.peer_port;
  theirs.peer_port = settings.port;
  pair.server = std::make_shared<FabricSocket>(*this, *nodes_[waiting.node], theirs, server_end);
  pair.client->join(*pair.server);
  pair.client->connect_to(server_end, pair.server->qpn());
  pair.server->connect_to(client_end, pair.client->qpn());
  pair.client->stream = stream;
  stream->tcp = pair.client;
  if (pairs_.empty()) world_.engine().set_bytes({this, &ManagementNetwork::fill_payload});
  pairs_.push_back(pair);
  pair.client->open(now_ps);
  return true;
}

std::shared_ptr<Stream> ManagementNetwork::make_accepted(const Stream& stream, const Stream& listener, Node* there) {
  auto accepted = std::make_shared<Stream>();
  accepted->node = there;
  accepted->family = listener.family;
  accepted->state = Stream::State::kOpen;
  accepted->address = stream.peer_address;
  accepted->port = stream.peer_port;
  accepted->peer_address = stream.address;
  accepted->peer_port = stream.port;
  accepted->send_buffer_B = listener.send_buffer_B;
  accepted->receive_buffer_B = listener.receive_buffer_B;
  accepted->reset_on_close = listener.reset_on_close;
  accepted->fabric = listener.fabric;
  accepted->no_delay = listener.no_delay;
  accepted->algorithm = listener.algorithm;
  accepted->most_segment_B = listener.most_segment_B;
  accepted->type_of_service = listener.type_of_service;
  return accepted;
}

// A SYN is at its node: somebody listens, somebody may in a while, or nobody does.
FabricSocketOwner::Syn ManagementNetwork::syn_arrived(FabricSocket& socket, Time_ps now_ps) {
  for (const FabricPair& pair : pairs_) {
    const std::shared_ptr<Stream> stream = pair.server.get() == &socket ? pair.client->stream.lock() : nullptr;
    if (!stream) continue;
    arrive({stream, socket.node()->index(), pair.until}, now_ps);
    return Syn::kIgnore;  // arrive() has answered
  }
  return Syn::kRefuse;
}

void ManagementNetwork::take_syn(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Stream>& listener,
                                 Time_ps now_ps) {
  const std::shared_ptr<FabricSocket> server = stream->tcp->peer.lock();
  if (!server || !server->awaits_syn()) return;
  if (!listener) {
    server->refuse_syn(now_ps);
    return;
  }
  // As on Linux, whose queue holds one more than the backlog: the SYN is lost and retransmitted, after 1 s and more.
  if (listener->pending.size() > listener->backlog) return;
  std::shared_ptr<Stream> accepted = make_accepted(*stream, *listener, server->node());
  accepted->tcp = server;
  if (listener->receive_buffer_B != 0) server->set_receive_buffer(listener->receive_buffer_B / 2);
  server->set_send_buffer(listener->send_buffer_B / 2);
  use_options(*server, *accepted);
  server->embryo = accepted;
  server->listener = listener;
  server->stream = accepted;
  server->accept_syn(now_ps);
}

void ManagementNetwork::established(FabricSocket& socket, Time_ps now_ps) {
  if (const std::shared_ptr<Stream> embryo = std::exchange(socket.embryo, nullptr)) {
    const std::shared_ptr<Stream> listener = socket.listener.lock();
    if (!listener || listener->closed || listener->state != Stream::State::kListening) {
      socket.close(true, now_ps);
      return;
    }
    listener->pending.push_back(embryo);
    socket.node()->at(now_ps + socket.wakeup_ps(), 0, [listener](Time_ps at_ps) { look_again(*listener, at_ps); });
    return;
  }
  const std::shared_ptr<Stream> stream = socket.stream.lock();
  if (!stream || stream->state != Stream::State::kConnecting) return;
  stream->state = Stream::State::kOpen;
  socket.node()->at(now_ps + socket.wakeup_ps(), 0, [stream](Time_ps at_ps) { look_again(*stream, at_ps); });
}

void ManagementNetwork::changed(FabricSocket& socket, Time_ps now_ps) {
  const std::shared_ptr<Stream> stream = socket.stream.lock();
  if (!stream) return;
  stream->ended = stream->ended || socket.has_ended();
  look_again(*stream, now_ps);
}

void ManagementNetwork::died(FabricSocket& socket, int error, Time_ps now_ps) {
  socket.embryo = nullptr;
  const std::shared_ptr<Stream> stream = socket.stream.lock();
  if (!stream || stream->closed) return;
  if (stream->state == Stream::State::kConnecting) {
    stream->state = Stream::State::kRefused;
    stream->error = error;
    stream->tcp = nullptr;  // it may connect again
  } else {
    stream->reset = true;
    stream->error = stream->ended && error == ECONNRESET ? EPIPE : error;
  }
  socket.node()->at(now_ps, 0, [stream](Time_ps at_ps) { look_again(*stream, at_ps); });
}

void ManagementNetwork::over(FabricSocket& socket, Time_ps now_ps) {
  for (FabricPair& pair : pairs_) {
    if ((pair.client.get() == &socket || pair.server.get() == &socket) && pair.client->is_done() &&
        pair.server->is_done())
      pair.over_ps = std::min(pair.over_ps, now_ps);
  }
}

// Segments still on their way to a connection that is over find it for a while, and are answered with a reset.
void ManagementNetwork::forget_old_pairs(Time_ps now_ps) {
  std::erase_if(pairs_, [&](const FabricPair& pair) {
    return pair.over_ps != kNever_ps && (now_ps > pair.over_ps + kLinger_ps || pairs_.size() > kMostLingering);
  });
}

// The latest connection between these ports.
std::size_t ManagementNetwork::fill_payload(void* self, const engine::Packet& packet, const engine::Cold& cold,
                                            std::span<std::uint8_t> out) {
  if (packet.transport != nic::kIpNumber || (packet.word & nic::kTcpWord) == 0) return 0;
  const auto& pairs = static_cast<const ManagementNetwork*>(self)->pairs_;
  const nic::TcpWords& words = engine::own_words<nic::TcpWords>(cold);
  for (auto pair = pairs.rbegin(); pair != pairs.rend(); ++pair) {
    for (const auto& end : {pair->client, pair->server}) {
      if (end->sent(packet.src, words)) return end->bytes_of(words, std::as_writable_bytes(out));
    }
  }
  return 0;
}

Reply ManagementNetwork::tcp_info(Process& process, const Request& request) const {
  verbs::Handle ask;
  const Stream* stream = request.read(ask) ? find(process, ask.handle) : nullptr;
  if (stream == nullptr) return Reply::failed(EBADF);
  verbs::StreamTcp info{};
  if (stream->tcp) {
    stream->tcp->describe(info);
    const auto here = port_of(stream->node->index(), stream->address);
    if (here) info.pmtu_B = static_cast<std::uint32_t>(world_.port_settings().mtu_B(*here));
  } else {
    info.fabric = stream->fabric ? 1 : 0;
    info.state = stream->state == Stream::State::kListening ? 10 : 7;
    info.algorithm = stream->algorithm;
    info.snd_mss_B = stream->most_segment_B != 0 ? stream->most_segment_B : 536;
  }
  info.no_delay = stream->no_delay;
  info.type_of_service = stream->type_of_service;
  return Reply::of(info);
}

}  // namespace weft::live
