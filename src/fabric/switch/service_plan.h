// When which port of a switch sends next: planned services, sorted, and an end mark. What is no longer planned is
// skipped, what is over lies before the first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/check.h"
#include "base/time.h"
#include "fabric/switch/port.h"

namespace weft::fabric {

class ServicePlan {
 public:
  ServicePlan() : services_(8, Service{kNever_ps, nullptr}) {
    next_ = end_ = first();
    services_.front().time_ps = -1;  // the first place is kept for one that is over
  }
  ServicePlan(const ServicePlan&) = delete;
  ServicePlan& operator=(const ServicePlan&) = delete;

  Time_ps next_ps() const { return next_->time_ps; }
  // The port of the next service; it is served if the service is still planned.
  SwitchPort& take() {
    WEFT_DCHECK(next_ < end_, "a service that is taken was planned");
    return *next_++->port;
  }

  // Ports plan their next service mostly in order of time: it belongs at the end.
  void add(SwitchPort& port, Time_ps at_ps) {
    WEFT_DCHECK(at_ps >= port.free_ps, "a port sends one frame at a time");
    port.service_ps = at_ps;
    if (end_ == &services_.back()) [[unlikely]]
      grow();
    const Service entry{at_ps, &port};
    Service* place = end_++;
    end_->time_ps = kNever_ps;
    if (at_ps <= place[-1].time_ps) {
      for (; place > next_ && entry < place[-1]; --place) *place = place[-1];
    }
    *place = entry;
  }

  // After a visit.
  void tidy() {
    if (next_ == end_) {
      next_ = end_ = first();
      next_->time_ps = kNever_ps;
    } else if (next_ - first() > kMaxStale) {
      end_ = std::copy(next_, end_ + 1, first()) - 1;  // with the end mark
      next_ = first();
    }
  }
  // In order, up to the end mark: for checks.
  bool is_sorted() const { return std::is_sorted(next_, end_) && end_->time_ps == kNever_ps; }

 private:
  static constexpr std::ptrdiff_t kMaxStale = 64;
  struct Service {
    Time_ps time_ps;
    SwitchPort* port;
    friend bool operator<(const Service& a, const Service& b) {
      return a.time_ps != b.time_ps ? a.time_ps < b.time_ps : a.port < b.port;
    }
  };
  Service* first() { return services_.data() + 1; }
  void grow();

  Service* next_;
  Service* end_;
  std::vector<Service> services_;
};

}  // namespace weft::fabric
