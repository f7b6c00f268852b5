#include "live/view/icmp.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "live/view/route_netlink.h"
#include "verbs/address.h"
#include "verbs/node_protocol.h"
#include "wire/ipv4.h"

namespace weft::live {

namespace {

// Times of a kernel for a packet, on an idle host: estimates. From the call to the driver's doorbell; from the packet
// in memory through interrupt and stack; until the program that waits runs.
constexpr Time_ps kSend_ps = us(3), kReceive_ps = us(8), kWakeUp_ps = us(4);
// An address of the own subnet that does not answer: three requests of ARP or neighbour discovery, a second apart.
constexpr Time_ps kNoNeighbour_ps = 3 * kSecond_ps;

constexpr std::uint32_t kSendSlots = 64;
constexpr std::size_t kSlot_B = engine::kPayloadSlot_B;
constexpr std::size_t kMaxSockets = 1024, kMaxWaiting = 256;
constexpr std::uint8_t kEcho = 8, kEchoReply = 0, kEchoV6 = 128, kEchoReplyV6 = 129;
constexpr std::size_t kHeader_B = 8;

void write_icmp_checksum(std::vector<std::uint8_t>& message) {
  message[2] = message[3] = 0;
  wire::put_be16(message, 2, wire::internet_checksum(message));
}

bool is_request(const std::vector<std::uint8_t>& message, bool ipv6) {
  return message.size() >= kHeader_B && message[0] == (ipv6 ? kEchoV6 : kEcho);
}

void make_reply(std::vector<std::uint8_t>& message, bool ipv6) {
  message[0] = ipv6 ? kEchoReplyV6 : kEchoReply;
  if (!ipv6) write_icmp_checksum(message);
}

wire::Ipv4Header ipv4_header(const verbs::Address& from, const verbs::Address& to, std::uint8_t ttl,
                             std::size_t payload_B) {
  wire::Ipv4Header header;
  header.total_length_B = static_cast<std::uint16_t>(wire::kIpv4Size_B + payload_B);
  header.ttl = ttl;
  header.protocol = nic::kIcmpProtocol;
  std::copy_n(from.bytes + 12, 4, header.src.begin());
  std::copy_n(to.bytes + 12, 4, header.dst.begin());
  return header;
}

verbs::Address address_of_port(const fabric::PortAddress& port) {
  verbs::Address address;
  std::copy(port.ip.begin(), port.ip.end(), address.bytes);
  return address;
}

}  // namespace

Time_ps Icmp::deadline_ps(const Request& request) {
  verbs::IcmpReceive ask;
  return request.op == verbs::Op::kIcmpReceive && request.read(ask) ? ask.until_ps : kNever_ps;
}

std::optional<Reply> Icmp::answer(Process& process, const Request& request, Time_ps now_ps) {
  switch (request.op) {
    case verbs::Op::kRouteTo:
      return route_to(process, request);
    case verbs::Op::kIcmpOpen:
      return open(process, request);
    case verbs::Op::kIcmpSend:
      return send(process, request, now_ps);
    case verbs::Op::kIcmpReceive:
      return receive(process, request, now_ps);
    default: {
      verbs::Handle ask;
      if (!request.read(ask) || find(process, ask.handle) == nullptr) return Reply::failed(EINVAL);
      sockets_.erase(ask.handle);
      return Reply{};
    }
  }
}

Icmp::Socket* Icmp::find(const Process& process, std::uint32_t number) {
  auto found = sockets_.find(number);
  return found != sockets_.end() && found->second->process == &process ? found->second.get() : nullptr;
}

bool Icmp::has_message(const Process& process, std::uint32_t socket) const {
  auto found = sockets_.find(socket);
  if (found == sockets_.end() || found->second->process != &process) return false;
  return !found->second->received.empty() || found->second->unreported > 0;
}

void Icmp::forget(const Process& process) {
  std::erase_if(sockets_, [&](const auto& each) { return each.second->process == &process; });
}

Reply Icmp::route_to(Process& process, const Request& request) {
  verbs::Address to;
  if (!request.read(to)) return Reply::failed(EINVAL);
  const std::uint32_t host = process.node->index();
  const NetlinkNode node = views_[host]->netlink_node(0);
  if (verbs::is_loopback(to)) return Reply::failed(ENOENT);
  const NodePort* port = port_towards(node, to.bytes);
  if (port == nullptr) return Reply::failed(ENETUNREACH);
  const std::uint32_t is_node = addresses_.find(to.bytes) != nullptr ? 1 : 0;
  return Reply::of(verbs::Route{address_of_port(world_.book()[port->port]), is_node, 0});
}

Reply Icmp::open(Process& process, const Request& request) {
  verbs::IcmpOpen ask;
  if (!request.read(ask)) return Reply::failed(EINVAL);
  if (sockets_.size() >= kMaxSockets) return Reply::failed(ENOBUFS);
  auto socket = std::make_unique<Socket>();
  socket->owner = process.weak_from_this();
  socket->process = &process;
  socket->ipv6 = ask.ipv6 != 0;
  socket->eventfd.fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
  if (socket->eventfd.fd < 0) return Reply::failed(EMFILE);
  Reply reply = Reply::of(verbs::Handle{next_socket_});
  reply.fds[0] = socket->eventfd.fd;
  sockets_[next_socket_++] = std::move(socket);
  return reply;
}

Reply Icmp::send(Process& process, const Request& request, Time_ps now_ps) {
  verbs::IcmpMessage ask;
  if (!request.read_head(ask)) return Reply::failed(EINVAL);
  if (request.body.size() > sizeof(ask) + verbs::kMaxIcmp_B) return Reply::failed(EMSGSIZE);
  const Socket* socket = find(process, ask.socket);
  const auto* first = reinterpret_cast<const std::uint8_t*>(request.body.data()) + sizeof(ask);
  Bytes message(first, first + (request.body.size() - sizeof(ask)));
  if (socket == nullptr || message.size() < kHeader_B || socket->ipv6 == verbs::is_ipv4(ask.address))
    return Reply::failed(EINVAL);
  const bool ipv6 = socket->ipv6;
  const std::uint32_t host = process.node->index();
  const NetlinkNode node = views_[host]->netlink_node(now_ps);
  const NodePort* from = verbs::is_loopback(ask.address) ? nullptr : port_towards(node, ask.address.bytes);
  const bool own = verbs::is_loopback(ask.address) ||
                   (from != nullptr && std::memcmp(from->config->address.bytes, ask.address.bytes, 16) == 0);
  if (own) {
    if (!is_request(message, ipv6)) return {};
    make_reply(message, ipv6);
    process.node->at(now_ps + kSend_ps + kReceive_ps + kWakeUp_ps, 0,
                     [this, host, ipv6, to = ask.address, message](Time_ps at_ps) {
                       deliver(host, ipv6, to, to, engine::kTtl, message, at_ps);
                     });
    return {};
  }
  if (from == nullptr) return Reply::failed(ENETUNREACH);
  const auto room_B = static_cast<std::size_t>(from->mtu_B(world_)) - (ipv6 ? 40 : 20);
  if (message.size() > room_B) return Reply::failed(EMSGSIZE);
  const AddressIndex::Owner* to = addresses_.find(ask.address.bytes);
  if (to == nullptr) {
    // The router of another subnet loses it.
    lab::IpAddress wanted;
    std::memcpy(wanted.bytes, ask.address.bytes, sizeof(wanted.bytes));
    wanted.is_v4 = !ipv6;
    if (!same_subnet(from->config->address, wanted, from->config->prefix_bits)) return {};
    const verbs::Address own_address = address_of_port(world_.book()[from->port]);
    process.node->at(now_ps + kNoNeighbour_ps, 0,
                     [this, host, ipv6, own_address, there = ask.address, message](Time_ps at_ps) {
                       report_unreachable(host, ipv6, {own_address, there, message}, at_ps);
                     });
    return {};
  }
  process.node->at(now_ps + kSend_ps, 0,
                   [this, from_port = from->port, to_port = to->port, ipv6, message](Time_ps at_ps) {
                     transmit(from_port, to_port, ipv6, message, at_ps);
                   });
  return {};
}

std::optional<Reply> Icmp::receive(Process& process, const Request& request, Time_ps now_ps) {
  verbs::IcmpReceive ask;
  if (!request.read(ask)) return Reply::failed(EINVAL);
  Socket* socket = find(process, ask.socket);
  if (socket == nullptr) return Reply::failed(EBADF);
  // As the kernel does: a call fails with the error, then the error queue has what it is about.
  if (ask.errors == 0 && socket->unreported > 0) {
    --socket->unreported;
    return Reply::failed(EHOSTUNREACH);
  }
  const auto with = [](Reply reply, const Bytes& bytes) {
    const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
    reply.body.insert(reply.body.end(), first, first + bytes.size());
    return reply;
  };
  if (ask.errors != 0) {
    if (socket->failed.empty()) return Reply::failed(EAGAIN);
    const Failed first = std::move(socket->failed.front());
    socket->failed.pop_front();
    lower_event(socket->eventfd.fd);
    return with(Reply::of(verbs::IcmpMessage{ask.socket, 0, first.to, first.reporter}), first.message);
  }
  if (socket->received.empty()) return ask.until_ps <= now_ps ? std::optional(Reply::failed(EAGAIN)) : std::nullopt;
  const Received& first = socket->received.front();
  Reply reply = with(Reply::of(verbs::IcmpMessage{ask.socket, first.ttl, first.from, {}}), first.bytes);
  if (ask.peek == 0) {
    socket->received.pop_front();
    lower_event(socket->eventfd.fd);
  }
  return reply;
}

// Made for the first message of a port or to it. Its number is the port's next: whoever is sent to has one by then.
Icmp::Port& Icmp::port(std::uint32_t id) {
  std::unique_ptr<Port>& made = ports_[id];
  if (made) return *made;
  made = std::make_unique<Port>();
  made->icmp = this;
  for (std::uint32_t host = 0; host < nodes_.size(); ++host) {
    for (std::uint32_t i = 0; world_.has_host(host) && i < world_.host(host).device_count(); ++i) {
      if (world_.host(host).device(i).port_id() != id) continue;
      made->host = host;
      made->device = i;
    }
  }
  nic::Device& device = *world_.device(id);
  made->sends.resize(kSendSlots * kSlot_B);
  const std::uint32_t cq = device.create_cq(kSendSlots);
  made->qpn = device.create_qp(nic::kIpTransport, cq, cq, kSendSlots, 1);
  made->key = device.memory().add(0, made->sends.size(), {}, std::span(made->sends));
  nic::QpAttributes attributes;
  attributes.path_mtu_B = static_cast<std::uint32_t>(kSlot_B);
  attributes.tos = 0;
  for (nic::QpState state : {nic::QpState::kInit, nic::QpState::kRtr, nic::QpState::kRts})
    WEFT_CHECK(device.modify(made->qpn, state, attributes), "a queue pair for IP");
  nic::set_ip_receiver(device.qp(made->qpn), {this, on_receive});
  return *made;
}

// A packet that does not fit into the send queue is lost, as in a full driver ring.
void Icmp::transmit(std::uint32_t from_port, std::uint32_t to_port, bool ipv6, const Bytes& message, Time_ps now_ps) {
  if (world_.device(to_port) == nullptr) return;  // a port to the outside takes RoCE alone
  Port& from = port(from_port);
  nic::IpWords words{};
  words.protocol = ipv6 ? nic::kIcmpV6Protocol : nic::kIcmpProtocol;
  words.head_B = static_cast<std::uint8_t>(std::min(message.size(), nic::kIpHead_B));
  std::copy_n(message.begin(), words.head_B, words.head.begin());
  const std::size_t at = from.sent % kSendSlots * kSlot_B;
  std::copy(message.begin() + words.head_B, message.end(), from.sends.begin() + static_cast<std::ptrdiff_t>(at));
  const auto rest_B = static_cast<std::uint32_t>(message.size() - words.head_B);
  nic::SendRequest request = nic::ip_send_request(words, rest_B, at, from.key, is_routed(from_port, to_port));
  request.dest_port = to_port;
  request.dest_qp = port(to_port).qpn;
  if (world_.device(from_port)->post_send(from.qpn, request, now_ps)) ++from.sent;
}

bool Icmp::is_routed(std::uint32_t from_port, std::uint32_t to_port) {
  const Port& from = port(from_port);
  lab::IpAddress to;
  std::copy(world_.book()[to_port].ip.begin(), world_.book()[to_port].ip.end(), to.bytes);
  to.is_v4 = world_.book()[to_port].v4;
  const lab::PortConfig& own = *views_[from.host]->ports()[from.device].config;
  return !same_subnet(own.address, to, own.prefix_bits);
}

void Icmp::on_receive(void* self, nic::Device& device, const engine::Packet& packet, const nic::IpWords& words,
                      std::span<const std::uint8_t> payload, Time_ps now_ps) {
  auto& icmp = *static_cast<Icmp*>(self);
  Bytes message(words.head.begin(), words.head.begin() + words.head_B);
  message.insert(message.end(), payload.begin(), payload.end());
  const auto ttl = static_cast<std::uint8_t>(engine::kTtl - packet.hops);
  const bool ipv6 = words.protocol == nic::kIcmpV6Protocol;
  const std::uint32_t at_port = device.port_id(), from_port = static_cast<std::uint32_t>(packet.src);
  icmp.nodes_[icmp.port(at_port).host]->at(
      now_ps + kReceive_ps, 0, [&icmp, at_port, from_port, ipv6, ttl, message = std::move(message)](Time_ps at_ps) {
        icmp.take(at_port, from_port, ipv6, ttl, message, at_ps);
      });
}

void Icmp::take(std::uint32_t at_port, std::uint32_t from_port, bool ipv6, std::uint8_t ttl, Bytes message,
                Time_ps now_ps) {
  const std::uint32_t host = port(at_port).host;
  const bool request = is_request(message, ipv6);
  if (request) make_reply(message, ipv6);
  nodes_[host]->at(now_ps + (request ? kSend_ps : kWakeUp_ps), 0,
                   [this, at_port, from_port, host, ipv6, ttl, request, message = std::move(message)](Time_ps at_ps) {
                     if (request) return transmit(at_port, from_port, ipv6, message, at_ps);
                     deliver(host, ipv6, address_of_port(world_.book()[from_port]),
                             address_of_port(world_.book()[at_port]), ttl, message, at_ps);
                   });
}

// A raw socket of IPv4 gets the IP header too.
void Icmp::deliver(std::uint32_t host, bool ipv6, const verbs::Address& from, const verbs::Address& to,
                   std::uint8_t ttl, const Bytes& message, Time_ps now_ps) {
  Bytes bytes(ipv6 ? 0 : wire::kIpv4Size_B);
  if (!ipv6) wire::write_ipv4(ipv4_header(from, to, ttl, message.size()), bytes);
  bytes.insert(bytes.end(), message.begin(), message.end());
  for (const auto& [number, socket] : sockets_) {
    const std::shared_ptr<Process> owner = socket->owner.lock();
    if (!owner || owner->gone || owner->node->index() != host || socket->ipv6 != ipv6 ||
        socket->received.size() >= kMaxWaiting)
      continue;
    socket->received.push_back({from, ttl, bytes});
    raise_event(socket->eventfd.fd);
    nodes_[host]->tell(*owner, now_ps);
  }
}

// To the sockets that ask for errors, which are all of them here.
void Icmp::report_unreachable(std::uint32_t host, bool ipv6, const Failed& failed, Time_ps now_ps) {
  for (const auto& [number, socket] : sockets_) {
    const std::shared_ptr<Process> owner = socket->owner.lock();
    if (!owner || owner->gone || owner->node->index() != host || socket->ipv6 != ipv6 ||
        socket->failed.size() >= kMaxWaiting)
      continue;
    socket->failed.push_back(failed);
    ++socket->unreported;
    raise_event(socket->eventfd.fd);
    nodes_[host]->tell(*owner, now_ps);
  }
}

}  // namespace weft::live
