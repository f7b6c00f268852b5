// Pause engine of a port (802.1Qbb 36, 802.3 31B): what the peer has stopped here, and what this port stops at the peer
// because its receive buffer fills or because of the pause storm of a fault. Classes are bits of a mask, times in ps.
// It sends its frames itself, between two turns of the port, and tells the schedule when it is due. Whoever calls what
// returns or says that classes may have been released lets the contexts of these classes go on (Port::unpark).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "fabric/link.h"
#include "fabric/link_flow_control.h"
#include "nic/device_config.h"
#include "nic/port_schedule.h"
#include "nic/receive_buffer.h"
#include "spec/nic_counters.h"
#include "spec/port_log.h"

namespace weft::nic {

class PauseEngine {
 public:
  PauseEngine(const DeviceConfig& config, fabric::LinkDirection& wire, PortSchedule& schedule, ReceiveBuffer& buffer,
              Counters& counters);

  // A pause frame has come; classes may have been released.
  void receive(fabric::PauseRequest request, Time_ps now_ps);
  // More waits in the receive buffer than XOFF allows: the class that brought it is stopped.
  void hold(std::uint32_t received_class, Time_ps now_ps);
  // At PortSchedule::pause_due_ps(). True: classes may have been released.
  bool on_due(Time_ps now_ps);
  // The signal is lost: both directions forget that they were stopped; classes may have been released.
  void lose_link(Time_ps now_ps);
  // After a change of what it follows.
  void plan();

  // Changes while the world runs (nic/device_control.h): the classes that the peer may stop, which may release some;
  // those that are held here and not any more; the kind of the pauses from now on; a storm, of which 0 ends it.
  void listen_to(std::uint8_t classes, Time_ps now_ps);
  void release_peer(std::uint8_t classes, Time_ps now_ps);
  void set_kind(fabric::FlowControl kind) { receive_control_.set_kind(kind); }
  void set_storm(std::uint8_t classes, Time_ps from_ps, Time_ps until_ps);

  const fabric::TransmitControl& received() const { return transmit_control_; }
  const fabric::PortPauseLog& log() const { return log_; }
  // How long this port has stopped its peer's class, the pause that still lasts at `now_ps` counted in.
  Time_ps sent_ps(std::size_t pause_class, Time_ps now_ps) const {
    return receive_control_.total_ps(pause_class, now_ps);
  }

 private:
  void send(fabric::PauseRequest request, Time_ps now_ps);
  void changed(std::uint8_t before, fabric::PauseEnd end, Time_ps now_ps);
  void hold_ended(std::uint8_t classes, fabric::PauseEnd end, Time_ps now_ps);
  void check_buffer(Time_ps now_ps);
  void run_storm(Time_ps now_ps);
  void add_to_log(std::uint8_t classes, bool sent, fabric::PauseEnd what, Time_ps now_ps);
  Time_ps next_link_down_ps() const {
    return next_link_down_ < link_down_ps_.size() ? link_down_ps_[next_link_down_] : kNever_ps;
  }
  void pass_link_downs(Time_ps now_ps) {
    while (next_link_down_ps() <= now_ps) ++next_link_down_;
  }

  const PortQos& qos_;
  std::uint32_t port_id_;
  fabric::LinkDirection& wire_;
  PortSchedule& schedule_;
  ReceiveBuffer& buffer_;
  Counters& counters_;
  fabric::TransmitControl transmit_control_;
  fabric::ReceiveControl receive_control_;
  fabric::PortPauseLog log_;
  Time_ps xon_check_ps_ = kNever_ps;  // the buffer may be down to XON
  std::uint8_t storm_ = 0;            // classes that the storm has stopped
  std::uint8_t storm_classes_;
  Time_ps storm_from_ps_, storm_until_ps_;
  Time_ps storm_over_ps_ = kNever_ps;  // its last XOFF runs out
  std::vector<Time_ps> link_down_ps_;
  std::size_t next_link_down_ = 0;
};

}  // namespace weft::nic
