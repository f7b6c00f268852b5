#include "world/outside_port.h"

#include <algorithm>
#include <array>

#include "nic/transports/roce_packet.h"
#include "observe/frame_of.h"
#include "wire/neighbour.h"

namespace weft::lab {

using engine::Packet;
using fabric::Fate;

namespace {

constexpr Time_ps kMaxBacklog_ps = ms(10);      // of frames that wait for the cable
constexpr std::uint16_t kDefaultPkey = 0x7fff;  // without the membership bit (IBTA vol 1, 10.9.3)

}  // namespace

OutsidePort::OutsidePort(engine::Domain& domain, const fabric::AddressBook& book,
                         const std::vector<std::uint32_t>& subnets, std::uint32_t port, std::uint32_t host_ports)
    : domain_(domain),
      book_(book),
      subnets_(subnets),
      port_(port),
      node_(domain.add_node({this, &OutsidePort::run_hook})),
      mac_(book[port].mac) {
  for (std::uint32_t id = 0; id < host_ports; ++id) ports_.emplace(book[id].ip, id);
}

void OutsidePort::attach(fabric::LinkDirection& out, fabric::LinkDirection& in, std::uint32_t peer) {
  out_ = &out;
  in_ = &in;
  peer_ = peer;
}

Time_ps OutsidePort::run(Time_ps end_ps) {
  if (out_ == nullptr) return kNever_ps;
  for (;;) {
    Time_ps release_ps = out_->next_release_ps(), arrival_ps = in_->next_arrival_ps();
    Time_ps now_ps = std::min(release_ps, arrival_ps);
    if (now_ps >= end_ps) return now_ps;
    if (release_ps <= arrival_ps) {
      out_->release(now_ps);
    } else {
      leave(in_->take());
    }
  }
}

void OutsidePort::leave(const Packet& packet) {
  bool lost = (packet.flags & Packet::kBadFcs) != 0;
  bool pause = packet.transport == engine::kLinkControl;
  if (!lost) {
    std::array<std::uint8_t, observe::kMaxFrame_B> frame;
    std::size_t size_B = observe::frame_of(packet, domain_, book_, peer_, port_, frame);
    const bool to_group = (packet.flags & Packet::kHasCold) != 0 && domain_.cold[packet.aux].group != 0;
    if (!pause && !to_group) std::copy(mac_.begin(), mac_.end(), frame.begin());
    send(std::span(frame).first(size_B));
  }
  in_->received.count(lost ? Fate::kFcsError : pause ? Fate::kPause : Fate::kAccepted);
  if (!pause) domain_.release(packet);
}

void OutsidePort::send(wire::Bytes frame) {
  ++counters_.out;
  if (sink_.send != nullptr) sink_.send(sink_.self, frame);
}

void OutsidePort::receive(wire::Bytes bytes, Time_ps now_ps) {
  if (out_ == nullptr) return;
  if (!wire::is_rocev2(bytes)) {
    answer(bytes);
    return;
  }
  auto frame = wire::parse_roce_frame(bytes);
  if (!frame || !frame->ipv4_checksum_ok || frame->payload.size() > engine::kPayloadSlot_B ||
      (frame->headers.p_key & kDefaultPkey) != kDefaultPkey) {
    ++counters_.malformed;
  } else if (!frame->icrc_ok) {
    ++counters_.bad_icrc;
  } else {
    enter(*frame, now_ps);
  }
}

void OutsidePort::answer(wire::Bytes bytes) {
  auto request = wire::parse_neighbour_request(bytes);
  auto target = request ? ports_.find(request->target) : ports_.end();
  if (target == ports_.end() || target->second == port_ || book_[target->second].v4 != request->v4) {
    ++(request ? counters_.not_for_lab : counters_.other);
    return;
  }
  if (request->sender == book_[port_].ip) mac_ = request->sender_mac;
  std::array<std::uint8_t, wire::kMaxNeighbourFrame_B> frame;
  std::size_t size_B = wire::build_neighbour_answer(*request, book_[target->second].mac, frame);
  ++counters_.answered;
  send(std::span(frame).first(size_B));
}

// From the address that is behind this port, to a host of the lab, and by the MAC address of who would take it there.
bool OutsidePort::is_for_lab(const wire::RoceHeaders& headers, std::uint32_t& to) const {
  const fabric::PortAddress& own = book_[port_];
  if (headers.src_ip != own.ip) return false;
  const bool to_group = wire::is_multicast(headers.dst_ip);
  auto found = ports_.find(headers.dst_ip);
  if (!to_group && (found == ports_.end() || found->second == port_)) return false;
  to = to_group ? port_ : found->second;  // the record of a packet to a group names its sender
  bool routed = subnets_[port_] != subnets_[to];
  const wire::MacAddress mac = to_group ? wire::multicast_mac(headers.dst_ip) : book_[routed ? peer_ : to].mac;
  bool tagged = headers.vlan_tci && wire::vlan_id(*headers.vlan_tci) != 0;
  return headers.v4 == own.v4 && headers.dst_mac == mac && tagged == own.vlan.has_value() &&
         (!tagged || wire::vlan_id(*headers.vlan_tci) == *own.vlan);
}

void OutsidePort::enter(const wire::RoceFrame& frame, Time_ps now_ps) {
  const wire::RoceHeaders& h = frame.headers;
  std::uint32_t to = 0;
  if (!is_for_lab(h, to)) {
    ++counters_.not_for_lab;
    return;
  }
  mac_ = h.src_mac;
  Time_ps start_ps = std::max(now_ps, busy_until_ps_);
  if (start_ps - now_ps > kMaxBacklog_ps) {
    ++counters_.overrun;
    return;
  }
  Packet packet;
  packet.src = port_ & engine::kPortMask;
  packet.dst = to & engine::kPortMask;
  packet.priority = (h.vlan_tci ? wire::vlan_priority(*h.vlan_tci) : 0) & 7;
  packet.payload_B = frame.payload.size() & engine::kPayloadMask;
  packet.header_words = fabric::extra_words(h.v4, book_[port_].vlan.has_value());
  packet.flags = subnets_[port_] != subnets_[to] ? Packet::kRouted : 0;
  engine::Cold cold;
  if (nic::read_roce_headers(h, packet, cold)) {
    if (!frame.payload.empty()) {
      cold.payload = domain_.payload.take();
      std::copy(frame.payload.begin(), frame.payload.end(), domain_.payload[cold.payload].begin());
    }
    packet.aux = domain_.cold.take();
    domain_.cold[packet.aux] = cold;
    packet.flags |= Packet::kHasCold;
  }
  ++counters_.in;
  busy_until_ps_ = start_ps + out_->send(packet, fabric::line_B(packet), start_ps);
  domain_.wake(node_, out_->next_release_ps());
}

}  // namespace weft::lab
