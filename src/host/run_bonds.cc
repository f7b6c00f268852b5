// The loop of a host with a bond: what comes in by one of its ports may be the other's to answer, and while one has no
// signal both send by one cable. So a port runs for an instant at a time, and of equals the one whose turn is longest
// ago.
#include <algorithm>

#include "host/host.h"

namespace weft::host {

Time_ps Host::run_bonds(Time_ps end_ps) {
  for (;;) {
    std::size_t first = 0;
    Time_ps first_ps = kNever_ps;
    for (std::size_t i = 1; i <= ports_.size(); ++i) {
      const std::size_t port = (last_port_ + i) % ports_.size();
      if (ports_[port]->next_ps() >= first_ps) continue;
      first = port;
      first_ps = ports_[port]->next_ps();
    }
    const Time_ps next_ps = std::min(first_ps, programs_ps_);
    if (next_ps >= end_ps) return next_ps;
    if (next_change_ < link_changes_.size() && link_changes_[next_change_].time_ps <= next_ps) {
      const LinkChange& change = link_changes_[next_change_++];
      nic::Bond::set_link(change.port->port(), change.up, change.time_ps);
    } else if (first_ps <= programs_ps_) {
      WEFT_CHECK(first_ps >= ports_[first]->last_event_ps(), "the events of a bond run back in time");
      last_port_ = first;
      ports_[first]->run_until(first_ps + 1, &programs_ps_);
      if (ports_[first]->sibling() != nullptr) nic::Bond::settle(ports_[first]->port(), first_ps);
    } else {
      run_programs(programs_ps_);
    }
  }
}

}  // namespace weft::host
