#include "nic/device_control.h"

#include "base/check.h"
#include "nic/message_trace.h"

namespace weft::nic {

void DeviceControl::set_link(bool up, Time_ps now_ps) {
  if (device_.up_ == up) return;
  device_.up_ = up;
  if (!up) {
    ++device_.counters.link_down_events_phy;
    device_.lose_link(now_ps);
  }
  device_.plan_pauses();
  if (device_.bond_.sibling != nullptr) {
    Bond::set_link(device_, up, now_ps);
    if (device_.bond_.sibling->up_) return;
  }
  device_.tell(up ? AsyncKind::kPortActive : AsyncKind::kPortError, 1, now_ps);
}

void DeviceControl::set_congestion(const CongestionParameters& parameters, std::uint8_t prio_mask,
                                   Time_ps min_time_between_cnps_ps) {
  WEFT_CHECK(parameters.kind == device_.config_.qos.congestion.kind, "the algorithm of a port stays what it is");
  device_.config_.qos.congestion = parameters;
  device_.config_.qos.cc_prio_mask = prio_mask;
  device_.config_.model.min_time_between_cnps_ps = min_time_between_cnps_ps;
}

void DeviceControl::set_pfc(std::uint8_t classes, Time_ps now_ps) {
  device_.config_.qos.pfc_mask = classes;
  release_peer(static_cast<std::uint8_t>(~classes), now_ps);
  listen_to(classes, now_ps);
}

void DeviceControl::set_flow_control(fabric::FlowControl kind, std::uint8_t classes, Time_ps now_ps) {
  release_peer(fabric::kAllClasses, now_ps);
  listen_to(0, now_ps);  // what pauses of the other kind stopped goes on
  PortQos& qos = device_.config_.qos;
  qos.flow_control = kind;
  qos.pfc_mask = kind == fabric::FlowControl::kPfc ? classes : std::uint8_t{0};
  device_.receive_control_.set_kind(kind);
  listen_to(kind == fabric::FlowControl::kPause ? fabric::kAllClasses : qos.pfc_mask, now_ps);
}

void DeviceControl::release_peer(std::uint8_t classes, Time_ps now_ps) {
  const auto held = static_cast<std::uint8_t>(device_.receive_control_.held() & classes);
  if (held == 0) return;
  const fabric::PauseRequest request = device_.receive_control_.release(held, now_ps);
  device_.hold_ended(held, fabric::PauseEnd::kXon, now_ps);
  device_.send_pause(request, now_ps);
}

void DeviceControl::listen_to(std::uint8_t classes, Time_ps now_ps) {
  const std::uint8_t before = device_.transmit_control_.blocked();
  device_.transmit_control_.listen_to(classes, now_ps);
  device_.pauses_changed(before, fabric::PauseEnd::kXon, now_ps);
  device_.plan_pauses();
}

void DeviceControl::set_trust(bool dscp, Time_ps now_ps) {
  device_.trust_dscp_ = device_.config_.qos.trust_dscp = dscp;
  change_classes(now_ps);
}

void DeviceControl::set_priority(std::uint8_t dscp, std::uint8_t priority, Time_ps now_ps) {
  PortQos& qos = device_.config_.qos;
  device_.class_of_dscp_[dscp & 63] = qos.priority_of_dscp[dscp & 63] = priority & 7;
  if (dscp == qos.cnp_dscp) qos.cnp_priority = priority & 7;
  change_classes(now_ps);
}

// A packet that waits takes the class of now; what its former class stopped goes on.
void DeviceControl::change_classes(Time_ps now_ps) {
  for (QueuePair& qp : device_.qps_) {
    if (qp.transport == nullptr) continue;
    qp.packet.priority = device_.class_to_send(qp.attributes.tos, qp.attributes.priority) & 7;
  }
  device_.unpark(now_ps);
}

void DeviceControl::set_storm(std::uint8_t classes, Time_ps from_ps, Time_ps until_ps) {
  // One that goes on sends no more; its last pause runs out.
  if (classes == 0 && device_.storm_ != 0)
    device_.storm_over_ps_ = from_ps + 2 * device_.receive_control_.refresh_interval_ps();
  if (classes != 0) device_.config_.storm_classes = classes;
  device_.config_.storm_from_ps = classes == 0 ? kNever_ps : from_ps;
  device_.config_.storm_until_ps = until_ps;
  device_.plan_pauses();
}

void DeviceControl::set_slow_receiver(Time_ps ps_per_byte, Time_ps from_ps, Time_ps until_ps) {
  device_.slow_receiver_ = true;
  if (ps_per_byte != 0) device_.config_.slow_ps_per_byte = ps_per_byte;
  device_.config_.slow_from_ps = from_ps;
  device_.config_.slow_until_ps = until_ps;
  device_.plan_pauses();
}

void DeviceControl::set_trace(MessageTrace* trace) {
  device_.config_.host.trace = trace;
  for (const PcieFunction& function : device_.card_.functions) {
    if (function.path() != nullptr) function.path()->record(trace == nullptr ? nullptr : trace->delays());
  }
}

}  // namespace weft::nic
