// Changes of a world that are due at a moment of its time. Whoever runs the engine stops it there: every node has run
// up to that moment and none beyond it, so that a change is the first thing of its instant on all nodes, whatever the
// windows, domains and threads are (docs/mechanisms/event-order.md). A change does not keep the world awake: it waits
// until an event at or after its moment is about to run.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/time.h"

namespace weft::lab {

class ScheduledChanges {
 public:
  using Change = std::function<void(Time_ps now_ps)>;

  void at(Time_ps time_ps, Change change);
  Time_ps next_ps() const { return changes_.empty() ? kNever_ps : changes_.front().time_ps; }
  // Makes those that are due at or before `now_ps`, in order of their times, then of their scheduling; those that they
  // schedule too.
  void make_due(Time_ps now_ps);

 private:
  struct Entry {
    Time_ps time_ps;
    std::uint64_t order;
    Change change;
    // A heap: the earliest first.
    friend bool operator<(const Entry& a, const Entry& b) {
      return a.time_ps != b.time_ps ? a.time_ps > b.time_ps : a.order > b.order;
    }
  };
  std::vector<Entry> changes_;
  std::uint64_t next_order_ = 0;
};

}  // namespace weft::lab
