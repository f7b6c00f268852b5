// Changes of a port while the world runs: its link, congestion control, flow control, faults of the NIC. Made between
// two windows: every node has run up to `now_ps` and none beyond it. Whoever makes one wakes the host.
#pragma once

#include "nic/device.h"

namespace weft::nic {

class DeviceControl {
 public:
  explicit DeviceControl(Device& device) : device_(device), port_(device.port()) {}

  void set_link(bool up, Time_ps now_ps);
  bool is_up() const { return port_.is_up; }
  // As it is now; `priority_of_dscp` holds for the DSCPs of RoCE and CNPs too.
  const PortQos& qos() const { return port_.config.qos; }
  // Parameters of the algorithm that the port has.
  void set_congestion(const CongestionParameters& parameters, std::uint8_t prio_mask, Time_ps min_time_between_cnps_ps);
  void set_pfc(std::uint8_t classes, Time_ps now_ps);
  // `classes` of PFC.
  void set_flow_control(fabric::FlowControl kind, std::uint8_t classes, Time_ps now_ps);
  // Trust of a class, and the priority of a DSCP: for every packet from now on, of queue pairs that are connected
  // too.
  void set_trust(bool dscp, Time_ps now_ps);
  void set_priority(std::uint8_t dscp, std::uint8_t priority, Time_ps now_ps);
  // Faults of the port, as DeviceConfig has them; 0 ends one.
  void set_storm(std::uint8_t classes, Time_ps from_ps, Time_ps until_ps);
  // How late a CPU sees a write, at most.
  void set_memory_jitter(Time_ps jitter_ps) { port_.config.host.memory_jitter_ps = jitter_ps; }
  void set_slow_receiver(Time_ps ps_per_byte, Time_ps from_ps, Time_ps until_ps);
  const PcieFunction& function_of(std::uint32_t qpn) const { return port_.functions[device_.qp(qpn).function]; }
  const PcieFunction& function(std::uint8_t number) const { return port_.functions[number]; }
  std::span<const PcieFunction> functions() const { return port_.card.functions; }
  void find_functions() { port_.functions = port_.card.functions.data(); }  // the card has got more of them
  // Since when it has nothing to send, or until when it is busy.
  Time_ps idle_since_ps() const { return port_.schedule.free_ps(); }
  // Messages of this port are followed; null: no more.
  void set_trace(MessageTrace* trace);
  bool is_traced() const { return port_.config.host.trace != nullptr; }

 private:
  void change_classes(Time_ps now_ps);
  void listen_to(std::uint8_t classes, Time_ps now_ps);

  Device& device_;
  Port& port_;
};

}  // namespace weft::nic
