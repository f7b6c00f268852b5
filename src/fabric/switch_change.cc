// Changes of a switch while the world runs: links, routes, and the parts of its QoS that can change on a live device.
#include <algorithm>

#include "base/check.h"
#include "fabric/switch.h"

namespace weft::fabric {

void Switch::set_link(std::uint32_t port, bool up, Time_ps now_ps) {
  if (ports_[port].down == !up) return;
  change_link(port, up, now_ps);
  domain_.wake(node_, now_ps);
}

void Switch::plan_routes(RouteEpoch epoch) {
  WEFT_CHECK(epoch.from_ps >= setup_.routes.back().from_ps, "routes are planned in order of time");
  // Tables that are out of force go; the one in force is the first then.
  setup_.routes.erase(setup_.routes.begin(), setup_.routes.begin() + static_cast<std::ptrdiff_t>(next_epoch_ - 1));
  next_epoch_ = 1;
  const Time_ps from_ps = epoch.from_ps;
  setup_.routes.push_back(std::move(epoch));
  table_ = &setup_.routes.front().table;
  if (setup_.routes.size() > 2) return;  // the timer of the one before it plans it
  add_timer(from_ps, TimerKind::kRoutes, 0);
  domain_.wake(node_, from_ps);
}

void Switch::set_ecn(std::uint32_t port, std::uint32_t queue, const EcnRamp& ramp) {
  if (own_ecn_.empty()) {
    std::array<EcnRamp, kClasses> all;
    for (std::size_t q = 0; q < kClasses; ++q) all[q] = setup_.qos.queues[q].ecn;
    own_ecn_.assign(ports_.size(), all);
  }
  own_ecn_[port][queue] = ramp;
  use_ecn(queue);
}

void Switch::set_alpha(std::uint32_t port, std::uint32_t number, std::int8_t of_queue, std::int8_t of_group) {
  buffer_.set_alpha(port, number, of_queue, of_group);
}

SwitchQos Switch::qos(std::uint32_t port) const {
  SwitchQos qos = setup_.qos;
  for (std::uint32_t c = 0; c < kClasses; ++c) {
    qos.queues[c].ecn = ecn(port, c);
    qos.queues[c].alpha_exponent = buffer_.queue_alpha(port, c);
    qos.groups[c].alpha_exponent = buffer_.group_alpha(port, c);
  }
  return qos;
}

// What is stopped is released: by a last XON where this port stops its peer, without a word where the peer stops it.
void Switch::set_pfc(std::uint32_t port, std::uint8_t classes, Time_ps now_ps) {
  pfc_[port] = classes;
  for (std::uint32_t g = 0; g < kClasses; ++g) {
    const auto bit = static_cast<std::uint8_t>(1u << g);
    if ((receive_control_[port].held() & bit) == 0 || (classes >> setup_.qos.pause_of_group[g] & 1) != 0) continue;
    const PauseRequest request = receive_control_[port].release(bit, now_ps);
    end_xoff(port, g, PauseEnd::kXon, now_ps);
    send_pause(port, request, now_ps);
  }
  const std::uint8_t before = transmit_control_[port].blocked();
  transmit_control_[port].listen_to(setup_.qos.pfc_receive_mask & classes, now_ps);
  pauses_changed(port, before, PauseEnd::kXon, now_ps);
  domain_.wake(node_, now_ps);
}

}  // namespace weft::fabric
