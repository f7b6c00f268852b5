#include "nic/multicast.h"

#include <algorithm>

#include "base/check.h"
#include "nic/device.h"
#include "nic/receive.h"
#include "nic/transports/responder.h"
#include "nic/transports/roce_packet.h"
#include "nic/transports/transport.h"

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
  return device.has_qp(qpn) && device.qp(qpn).transport == &kUdTransport &&
         device.port().shared.members.add({group, qpn});
}

bool MulticastPort::detach(Device& device, std::uint32_t qpn, const GroupGid& group) {
  return device.port().shared.members.remove(MulticastMembers::Member{group, qpn});
}

void MulticastPort::block_own(Device& device, std::uint32_t qpn) {
  QueuePair* qp = device.port().owner_of(qpn).qps.find(qpn);
  WEFT_CHECK(qp != nullptr, "multicast of a queue pair that does not exist");
  qp->set_flag(QueuePair::kBlocksOwnMulticast, true);
}

// Onto the cable, and to members of this port when the last bit is on it.
void MulticastPort::send(Port& port, Packet packet, std::uint32_t line_bytes, Time_ps now_ps) {
  const bool is_member = !port.shared.members.of(headers_of(port, packet).group()).empty();
  const Packet own = is_member ? port.schedule.wire().source().copy(packet) : Packet{};
  port.schedule.occupy(now_ps + port.schedule.wire().send(packet, line_bytes, now_ps));
  port.schedule.set_release(port.schedule.wire().next_release_ps());
  const std::uint32_t size_B = line_bytes - fabric::kLineOverhead_B;
  for (Counters::Traffic* traffic : {&port.counters.priorities[packet.priority].tx, &port.counters.tx_multicast}) {
    ++traffic->packets;
    traffic->bytes += size_B;
  }
  if (!is_member) return;
  port.looped.packets.push_back(own);
  port.schedule.add_timer(kLoopContext, port.schedule.free_ps());
}

// To each member in the order of their numbers. The port counts the packet once; its fate is the best that it meets.
void MulticastPort::receive(Port& port, Packet& packet, Time_ps now_ps) {
  const RoceExtension& headers = headers_of(port, packet);
  const bool is_own = packet.src == port.address_id();
  Fate fate = Fate::kNoMember;
  for (const MulticastMembers::Member& member : port.shared.members.of(headers.group())) {
    Port& owner = port.owner_of(member.qpn);
    WEFT_CHECK(owner.qps.has(member.qpn), "a member of a group is no queue pair");
    QueuePair& qp = *owner.qps.find(member.qpn);
    const bool blocked = is_own && headers.src_qp == qp.qpn && (qp.flags & QueuePair::kBlocksOwnMulticast) != 0;
    if (blocked) continue;
    const bool fits = has_buffer(port, qp, packet, now_ps);
    const Fate each = fits ? receive_datagram(owner, qp, packet, now_ps) : Fate::kRxBufferFull;
    if (fate != Fate::kAccepted) fate = each;
  }
  if (fate != Fate::kNoMember) {
    const std::uint32_t size_B = fabric::line_B(packet) - fabric::kLineOverhead_B;
    auto& traffic = port.counters.priorities[port.classes.received(packet)].rx;
    ++traffic.packets;
    traffic.bytes += size_B;
    if (!is_own) {  // what turns round inside of the NIC is not counted
      ++port.counters.rx_multicast.packets;
      port.counters.rx_multicast.bytes += size_B;
    }
  }
  end_packet(port, packet, fate);
}

}  // namespace weft::nic
