#include "nic/device_control.h"

#include "base/check.h"
#include "nic/record/message_trace.h"

namespace weft::nic {

void DeviceControl::set_link(bool up, Time_ps now_ps) {
  if (port_.is_up == up) return;
  port_.is_up = up;
  if (!up) {
    ++port_.counters.link_down_events_phy;
    port_.pauses.lose_link(now_ps);
    port_.unpark(now_ps);
  }
  port_.pauses.plan();
  if (port_.bond.sibling != nullptr) {
    Bond::set_link(port_, up, now_ps);
    if (port_.bond.sibling->is_up) return;
  }
  port_.completions.tell(up ? AsyncKind::kPortActive : AsyncKind::kPortError, 1, now_ps);
}

void DeviceControl::set_congestion(const CongestionParameters& parameters, std::uint8_t prio_mask,
                                   Time_ps min_time_between_cnps_ps) {
  WEFT_CHECK(parameters.kind == port_.config.qos.congestion.kind, "the algorithm of a port stays what it is");
  port_.config.qos.congestion = parameters;
  port_.config.qos.cc_prio_mask = prio_mask;
  port_.config.model.min_time_between_cnps_ps = min_time_between_cnps_ps;
}

void DeviceControl::set_pfc(std::uint8_t classes, Time_ps now_ps) {
  port_.config.qos.pfc_mask = classes;
  port_.pauses.release_peer(static_cast<std::uint8_t>(~classes), now_ps);
  listen_to(classes, now_ps);
}

void DeviceControl::set_flow_control(fabric::FlowControl kind, std::uint8_t classes, Time_ps now_ps) {
  port_.pauses.release_peer(fabric::kAllClasses, now_ps);
  listen_to(0, now_ps);  // what pauses of the other kind stopped goes on
  PortQos& qos = port_.config.qos;
  qos.flow_control = kind;
  qos.pfc_mask = kind == fabric::FlowControl::kPfc ? classes : std::uint8_t{0};
  port_.pauses.set_kind(kind);
  listen_to(kind == fabric::FlowControl::kPause ? fabric::kAllClasses : qos.pfc_mask, now_ps);
}

void DeviceControl::listen_to(std::uint8_t classes, Time_ps now_ps) {
  port_.pauses.listen_to(classes, now_ps);
  port_.unpark(now_ps);
}

void DeviceControl::set_trust(bool dscp, Time_ps now_ps) {
  port_.classes.trust_dscp(dscp);
  port_.config.qos.trust_dscp = dscp;
  change_classes(now_ps);
}

void DeviceControl::set_priority(std::uint8_t dscp, std::uint8_t priority, Time_ps now_ps) {
  PortQos& qos = port_.config.qos;
  port_.classes.set(dscp, priority);
  qos.priority_of_dscp[dscp & 63] = priority & 7;
  if (dscp == qos.cnp_dscp) qos.cnp_priority = priority & 7;
  change_classes(now_ps);
}

// A packet that waits takes the class of now; what its former class stopped goes on.
void DeviceControl::change_classes(Time_ps now_ps) {
  for (QueuePair& qp : port_.qps.all()) {
    if (qp.transport == nullptr) continue;
    qp.packet.priority = port_.classes.to_send(qp.attributes.tos, qp.attributes.priority) & 7;
  }
  port_.unpark(now_ps);
}

void DeviceControl::set_storm(std::uint8_t classes, Time_ps from_ps, Time_ps until_ps) {
  port_.pauses.set_storm(classes, from_ps, until_ps);
}

void DeviceControl::set_slow_receiver(Time_ps ps_per_byte, Time_ps from_ps, Time_ps until_ps) {
  port_.buffer.set_fault(ps_per_byte, from_ps, until_ps);
  port_.pauses.plan();
}

void DeviceControl::set_trace(MessageTrace* trace) {
  port_.config.host.trace = trace;
  for (const PcieFunction& function : port_.card.functions) {
    if (function.path() != nullptr) function.path()->record(trace == nullptr ? nullptr : trace->delays());
  }
}

}  // namespace weft::nic
