#include "world/changes.h"

#include <algorithm>
#include <utility>

namespace weft::lab {

void ScheduledChanges::at(Time_ps time_ps, Change change) {
  changes_.push_back({time_ps, next_order_++, std::move(change)});
  std::push_heap(changes_.begin(), changes_.end());
}

void ScheduledChanges::make_due(Time_ps now_ps) {
  while (next_ps() <= now_ps) {
    std::pop_heap(changes_.begin(), changes_.end());
    const Entry entry = std::move(changes_.back());
    changes_.pop_back();
    entry.change(entry.time_ps);
  }
}

}  // namespace weft::lab
