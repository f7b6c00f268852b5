// One RDMA device: a NIC port with its queue pairs, completion queues and memory (mlx5 has one device per
// port, or one per bond: nic/bond.h). The host's loop calls run_until when next_ps says so; programs call the verbs. It
// meets the fabric only at two link directions and a packet. Its parts are those of its port (nic/port.h); what is
// changed while a world runs is in nic/device_control.h, shared receive queues are in nic/queues/shared_receives.h. Not
// modelled: automatic path migration.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "nic/port.h"

namespace weft::nic {

class alignas(64) Device {
  Port port_;

 public:
  Device(DeviceConfig config, Card& card, fabric::LinkDirection& out, fabric::LinkDirection& in)
      : port_(*this, std::move(config), card, out, in) {}

  std::uint32_t create_cq(std::uint32_t entries) { return port_.shared.cqs.create(entries); }
  bool destroy_cq(std::uint32_t cq);  // false while a queue pair uses it
  CompletionQueue& cq(std::uint32_t index) { return port_.shared.cqs[index]; }
  std::uint32_t cq_count() const { return port_.shared.cqs.count(); }
  // Whoever takes entries further has no room for the next one: the queue is overrun.
  void overrun_cq(std::uint32_t cq, Time_ps now_ps);

  std::uint32_t create_qp(QpType type, std::uint32_t send_cq, std::uint32_t receive_cq, std::uint32_t send_depth,
                          std::uint32_t receive_depth, std::uint8_t function = 0, std::uint32_t srq = kNoSrq,
                          std::uint32_t pd = 0);
  std::uint32_t create_qp(const Transport& transport, std::uint32_t send_cq, std::uint32_t receive_cq,
                          std::uint32_t send_depth, std::uint32_t receive_depth, std::uint8_t function = 0,
                          std::uint32_t srq = kNoSrq, std::uint32_t pd = 0);
  // False when there is none. Its completions stay; packets that still come find nobody; its number rests for long.
  bool destroy_qp(std::uint32_t qpn);
  bool has_qp(std::uint32_t qpn) const { return owner_of(qpn).port_.qps.has(qpn); }
  const QueuePair& qp(std::uint32_t qpn) const;
  std::uint32_t qp_count() const { return port_.qps.live_count(); }
  // Memory for so many more queue pairs at once, for those who make thousands.
  void reserve_qps(std::uint32_t more) { port_.qps.reserve(more); }
  // Makes this UD queue pair the port's general services interface: number 1 on the wire (IBTA vol 1, 13.5.1).
  void set_general_services(std::uint32_t qpn) { port_.shared.general_services_qpn = qpn; }
  // IBTA vol 1, 10.3.1, with all attributes that the step takes: in RTS -> RTS access, qkey and min_rnr_timer. False:
  // refused, and transition_error says why; empty when it would not be.
  std::string_view transition_error(std::uint32_t qpn, QpState to, const QpAttributes& attributes) const;
  bool modify(std::uint32_t qpn, QpState to, const QpAttributes& attributes = {}, Time_ps now_ps = 0);
  std::uint32_t random_psn() { return port_.qps.random_psn(); }

  // Verbs: data path. A post returns false when the queue is full or the state forbids it. The doorbell
  // leaves the CPU at `doorbell_ps`, which may lie after now.
  bool post_send(std::uint32_t qpn, const SendRequest& request, Time_ps doorbell_ps);
  bool post_local(std::uint32_t qpn, const SendRequest& request, Time_ps doorbell_ps);  // is_local()
  bool post_receive(std::uint32_t qpn, const ReceiveRequest& request);
  MemoryTable& memory() { return port_.memory; }
  PayloadPool& payload_pool() { return port_.schedule.wire().source().payload; }

  // The port of the bond that has this queue pair, and the bond's other port; null: in no bond.
  Device& owner_of(std::uint32_t qpn) const { return const_cast<Port&>(port_).owner_of(qpn).device; }
  Device* sibling() const { return port_.bond.sibling == nullptr ? nullptr : &port_.bond.sibling->device; }

  // The host's loop: when the port next has something to do, and doing it, as long as it is due before `end_ps` and
  // not after `*programs_ps`, which an event may bring forward. At one instant: release of a delayed frame, service,
  // arrival, timer. Returns when it next has something to do.
  Time_ps next_ps() const { return port_.schedule.next_ps(); }
  Time_ps run_until(Time_ps end_ps, const Time_ps* programs_ps) { return port_.run_until(end_ps, programs_ps); }
  void prefetch(Time_ps end_ps) const { port_.prefetch(end_ps); }  // the cache lines that run_until() will need
  Time_ps last_event_ps() const { return port_.schedule.last_event_ps(); }
  std::uint64_t events() const { return port_.schedule.events(); }

  const NicModel& model() const { return port_.config.model; }
  const std::string& name() const { return port_.config.name; }
  std::uint32_t port_id() const { return port_.config.port_id; }
  fabric::LinkDirection& out() { return port_.wire; }
  fabric::LinkDirection& in() { return port_.in; }
  const Counters& counters() const { return port_.counters; }
  // Telemetry of its packets on their way here: by hop, the longest queue and, in left_ps, stay. Null: none carried it.
  const engine::Telemetry* worst_telemetry(std::uint32_t qpn) const;
  const PauseEngine& pauses() const { return port_.pauses; }
  PortRecord* record() const { return port_.recorder.get(); }  // null: nobody asked
  Port& port() { return port_; }
};

}  // namespace weft::nic
