// Multicast groups of a port: which UD queue pairs are attached to them, and packets that go to one (IBTA vol 1, 10.5).
// A group is known by its GID. Members on the sending port get a copy inside of the NIC, as on Linux.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"
#include "engine/packet.h"
#include "spec/work.h"

namespace weft::nic {

class Device;
struct Port;

// Members by group and number.
class MulticastMembers {
 public:
  struct Member {
    GroupGid group;
    std::uint32_t qpn;
    friend auto operator<=>(const Member&, const Member&) = default;
  };
  // False: it is attached already; it is not attached.
  bool add(const Member& member);
  bool remove(const Member& member);
  void remove(std::uint32_t qpn);
  std::span<const Member> of(const GroupGid& group) const;

 private:
  std::vector<Member> members_;
};

struct MulticastPort {
  // False: it is not a UD queue pair, or it is attached already.
  static bool attach(Device& device, std::uint32_t qpn, const GroupGid& group);
  static bool detach(Device& device, std::uint32_t qpn, const GroupGid& group);
  // Packets of the queue pair to a group that it is attached to do not come back to it
  // (IBV_QP_CREATE_BLOCK_SELF_MCAST_LB).
  static void block_own(Device& device, std::uint32_t qpn);

  static void send(Port& port, engine::Packet packet, std::uint32_t line_bytes, Time_ps now_ps);
  static void receive(Port& port, engine::Packet& packet, Time_ps now_ps);
};

}  // namespace weft::nic
