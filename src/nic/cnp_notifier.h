// Notification point of DCQCN: CNPs that wait for their turn at the port, at most one per pacing interval and scope
// (port, destination address or queue pair; [lumina-paper]). Times in ps. Asked by the receive path
// (nic/cnp_notifier.cc), which decides whether a packet asks for one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "nic/queues/queue_pair.h"
#include "spec/nic_model.h"
#include "spec/port_qos.h"

namespace weft::nic {

class PortSchedule;
struct Port;

class CnpNotifier {
 public:
  CnpNotifier(const NicModel& model, PortSchedule& schedule) : model_(model), schedule_(schedule) {}

  // A CNP of the queue pair at `place` of its table, to the port `peer`. False: the pacing interval has had its CNP.
  bool ask(const QueuePair& qp, std::uint32_t place, std::uint32_t peer, Time_ps now_ps);
  // The queue pair of the next CNP, whose turn has come; 0: it was destroyed. The one behind it is scheduled.
  std::uint32_t take();
  // The queue pair is destroyed: its CNPs are not sent, and its place begins a new pacing interval.
  void forget(std::uint32_t qpn, std::uint32_t place);

  static engine::Packet packet_of(const QueuePair& qp, const PortQos& qos);

 private:
  struct Pending {
    std::uint32_t qpn;
    Time_ps ready_ps;
  };

  const NicModel& model_;
  PortSchedule& schedule_;
  std::vector<Pending> pending_;  // [head_, end) in the order of their times
  std::vector<Time_ps> last_ps_;  // by scope: port, address or place of the queue pair; -1: none yet
  std::size_t head_ = 0;
};

// Packets that ask for a CNP: one with a CE mark, and one behind a gap where the NIC has slow restart.
void note_ce(Port& port, const QueuePair& qp, const engine::Packet& packet, Time_ps now_ps);
void note_gap(Port& port, const QueuePair& qp, const engine::Packet& packet, Time_ps now_ps);
// The next CNP has its turn. False when nothing was sent: its queue pair was destroyed.
bool send_cnp(Port& port, Time_ps now_ps);

}  // namespace weft::nic
