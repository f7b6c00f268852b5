// PFC and 802.3x at a switch (802.1Qbb 36, 802.3 31B): pauses that its groups send, and those that its peers send.
// Whether a group asks for XOFF or may send XON is what Admission finds out. Times by fabric/link_flow_control.h.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "fabric/link_flow_control.h"
#include "fabric/switch/port.h"
#include "fabric/switch/records.h"
#include "fabric/switch/service_plan.h"
#include "fabric/switch/timers.h"
#include "fabric/switch_setup.h"

namespace weft::fabric {

class PauseEngine {
 public:
  PauseEngine(const SwitchSetup& setup, std::vector<SwitchPort>& ports, ServicePlan& plan, SwitchTimers& timers,
              SwitchRecords& records);
  PauseEngine(const PauseEngine&) = delete;
  PauseEngine& operator=(const PauseEngine&) = delete;
  void attach(std::uint32_t port, const LinkTiming& timing);

  const TransmitControl& transmit(std::uint32_t port) const { return transmit_[port]; }  // what the peer lets it send
  const ReceiveControl& receive(std::uint32_t port) const { return receive_[port]; }     // what it lets its peer send

  // A packet of the group went to headroom of this slice, or may send XON again.
  void send_xoff(std::uint32_t p, std::uint32_t slice, std::uint32_t g, Time_ps now_ps);
  void send_xon(std::uint32_t p, std::uint32_t slice, std::uint32_t g, Time_ps now_ps);
  // Does this group stop its peer? Most often no port does.
  bool is_stopping(const SwitchPort& port, std::uint32_t g) const { return xoff_ports_ != 0 && (port.xoff >> g & 1); }
  void refresh(std::uint32_t p, Time_ps now_ps);

  void handle(std::uint32_t p, PauseRequest request, Time_ps now_ps);  // of the peer
  void expire(std::uint32_t p, Time_ps now_ps);
  void link_goes_down(std::uint32_t p, Time_ps now_ps);
  // The watchdog lets queues of this port be paused again, or no longer.
  void watchdog_changed(std::uint32_t p, Time_ps now_ps) {
    changed(p, transmit_[p].blocked(), PauseEnd::kWatchdog, now_ps);
  }
  // How long what stops a queue has lasted.
  Time_ps queue_paused_ps(std::uint32_t p, std::uint32_t q, Time_ps now_ps) const;

  std::uint8_t classes(std::uint32_t port) const { return classes_[port]; }
  void set_classes(std::uint32_t port, std::uint8_t classes, Time_ps now_ps);

  // Ports that stop their peers are counted right, and what they stop is in both masks: for checks.
  bool is_consistent() const;

 private:
  void send(std::uint32_t p, PauseRequest request, Time_ps now_ps);
  void set_xoff(SwitchPort& port, std::uint8_t groups) {
    xoff_ports_ += static_cast<std::uint32_t>(groups != 0) - static_cast<std::uint32_t>(port.xoff != 0);
    WEFT_CHECK(xoff_ports_ <= ports_.size(), "no more ports stop their peers than there are");
    port.xoff = groups;
  }
  void end_xoff(std::uint32_t p, std::uint32_t g, PauseEnd end, Time_ps now_ps);
  void changed(std::uint32_t p, std::uint8_t before, PauseEnd end, Time_ps now_ps);
  void plan_expiry(std::uint32_t p);

  std::uint32_t xoff_ports_ = 0;  // ports with groups that have stopped the peer
  const SwitchSetup& setup_;
  std::vector<SwitchPort>& ports_;
  ServicePlan& plan_;
  SwitchTimers& timers_;
  SwitchRecords& records_;
  std::vector<std::uint8_t> classes_;                            // by port: classes, switched off ones left out
  std::vector<TransmitControl> transmit_;                        // by port
  std::vector<ReceiveControl> receive_;                          // by port
  std::vector<std::array<std::uint8_t, kClasses>> xoff_slices_;  // by port, group: slices in XOFF
};

}  // namespace weft::fabric
