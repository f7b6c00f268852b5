#include "nic/multicast.h"

#include <algorithm>

#include "nic/device.h"
#include "nic/roce_packet.h"
#include "nic/transport.h"

namespace weft::nic {

using engine::Packet;
using fabric::Fate;

bool MulticastMembers::add(const Member& member) {
  const auto place = std::lower_bound(members_.begin(), members_.end(), member);
  if (place != members_.end() && *place == member) return false;
  members_.insert(place, member);
  return true;
}

bool MulticastMembers::remove(const Member& member) {
  return std::erase(members_, member) > 0;
}

void MulticastMembers::remove(std::uint32_t qpn) {
  std::erase_if(members_, [&](const Member& each) { return each.qpn == qpn; });
}

std::span<const MulticastMembers::Member> MulticastMembers::of(const GroupGid& group) const {
  const auto first = std::lower_bound(members_.begin(), members_.end(), Member{group, 0});
  const auto last = std::upper_bound(first, members_.end(), Member{group, UINT32_MAX});
  return {first, last};
}

bool MulticastPort::attach(Device& device, std::uint32_t qpn, const GroupGid& group) {
  return device.has_qp(qpn) && device.qp(qpn).transport == &kUdTransport && device.shared_.members.add({group, qpn});
}

bool MulticastPort::detach(Device& device, std::uint32_t qpn, const GroupGid& group) {
  return device.shared_.members.remove(MulticastMembers::Member{group, qpn});
}

void MulticastPort::block_own(Device& device, std::uint32_t qpn) {
  device.owner_of(qpn).find_qp(qpn)->set_flag(QueuePair::kBlocksOwnMulticast, true);
}

// Onto the cable, and to members of this port when the last bit is on it.
void MulticastPort::send(Device& device, Packet packet, std::uint32_t line_bytes, Time_ps now_ps) {
  const bool is_member = !device.shared_.members.of(device.headers_of(packet).group()).empty();
  const Packet own = is_member ? device.out_->source().copy(packet) : Packet{};
  device.free_ps_ = now_ps + device.out_->send(packet, line_bytes, now_ps);
  device.release_ps_ = device.out_->next_release_ps();
  const std::uint32_t size_B = line_bytes - fabric::kLineOverhead_B;
  for (Counters::Traffic* traffic : {&device.counters.priorities[packet.priority].tx, &device.counters.tx_multicast}) {
    ++traffic->packets;
    traffic->bytes += size_B;
  }
  if (!is_member) return;
  device.looped_.packets.push_back(own);
  device.timers_.push(device.free_ps_, kLoopContext);
}

// To each member in the order of their numbers. The port counts the packet once; its fate is the best that it meets.
void MulticastPort::receive(Device& device, Packet& packet, Time_ps now_ps) {
  const RoceExtension& headers = device.headers_of(packet);
  const bool is_own = packet.src == device.address_id();
  Fate fate = Fate::kNoMember;
  for (const MulticastMembers::Member& member : device.shared_.members.of(headers.group())) {
    Device& owner = device.owner_of(member.qpn);
    QueuePair& qp = *owner.find_qp(member.qpn);
    const bool blocked = is_own && headers.src_qp == qp.qpn && (qp.flags & QueuePair::kBlocksOwnMulticast) != 0;
    if (blocked) continue;
    const bool has_buffer = device.has_buffer(qp, packet, now_ps);
    const Fate each = has_buffer ? owner.receive_datagram(qp, packet, now_ps) : Fate::kRxBufferFull;
    if (fate != Fate::kAccepted) fate = each;
  }
  if (fate != Fate::kNoMember) {
    const std::uint32_t size_B = fabric::line_B(packet) - fabric::kLineOverhead_B;
    auto& traffic = device.counters.priorities[device.class_received(packet)].rx;
    ++traffic.packets;
    traffic.bytes += size_B;
    if (!is_own) {  // what turns round inside of the NIC is not counted
      ++device.counters.rx_multicast.packets;
      device.counters.rx_multicast.bytes += size_B;
    }
  }
  device.end(packet, fate);
}

}  // namespace weft::nic
