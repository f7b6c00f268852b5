// Links and faults of a world that is up: what holds a cable down at a moment, and what goes wrong on it. Several may
// hold the same cable down (a cut of the lab, one that was added, `weft link`); it has a signal again when none does.
// All times are the world's; every node has run up to `now_ps` and none beyond it (world/changes.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "world/changes.h"
#include "world/world.h"

namespace weft::lab {

class LinkControl {
 public:
  // Follows the cuts and flaps of the lab.
  LinkControl(World& world, ScheduledChanges& changes);

  // Returns its number. The fault begins now at the earliest.
  std::uint32_t add_fault(FaultConfig fault, Time_ps now_ps);
  // False when there is none of this number.
  bool remove_fault(std::uint32_t number, Time_ps now_ps);

  // By order of the user, of a link of Lab::links. A flap that goes on ends.
  void set_link(std::size_t link, bool up, Time_ps now_ps);
  void flap(std::size_t link, Time_ps down_ps, Time_ps up_ps, Time_ps now_ps);
  bool is_flapping(std::size_t link) const { return orders_.contains(link) && orders_.at(link).flap_up_ps > 0; }
  bool is_down_by_order(std::size_t link) const { return orders_.contains(link) && orders_.at(link).holds; }
  // Names of the faults that hold it down now.
  std::vector<std::string> cuts_of(std::size_t link) const;

 private:
  // What holds a link down at times: a fault or an order.
  struct Holder {
    std::size_t link = 0;
    std::uint64_t id = 0;                      // of this one: what was scheduled for another is void
    Time_ps flap_down_ps = 0, flap_up_ps = 0;  // 0: a cut
    Time_ps end_ps = kNever_ps;
    bool holds = false;
  };
  using Holders = std::map<std::size_t, Holder>;  // by fault number, or by link

  void order(std::size_t link, Time_ps down_ps, Time_ps up_ps, Time_ps now_ps);
  void follow(const WorldFault& fault, Time_ps now_ps);
  void begin(Holders& holders, std::size_t key, Holder holder, Time_ps at_ps, Time_ps now_ps);
  void end(Holders& holders, std::size_t key, Time_ps now_ps);
  void toggle(Holders& holders, std::size_t key, std::uint64_t id, Time_ps now_ps);
  void hold(Holder& holder, bool holds, Time_ps now_ps);

  World& world_;
  ScheduledChanges& changes_;
  Holders faults_, orders_;
  std::uint64_t next_id_ = 0;
};

}  // namespace weft::lab
