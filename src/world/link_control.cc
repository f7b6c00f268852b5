#include "world/link_control.h"

#include <algorithm>

namespace weft::lab {

LinkControl::LinkControl(World& world, ScheduledChanges& changes) : world_(world), changes_(changes) {
  for (const WorldFault& fault : world_.faults()) follow(fault, 0);
}

std::uint32_t LinkControl::add_fault(FaultConfig fault, Time_ps now_ps) {
  fault.rule.start_ps = std::max(fault.rule.start_ps, now_ps);
  const std::uint32_t number = world_.add_fault(std::move(fault), now_ps);
  follow(world_.faults().back(), now_ps);
  return number;
}

bool LinkControl::remove_fault(std::uint32_t number, Time_ps now_ps) {
  end(faults_, number, now_ps);
  return world_.remove_fault(number, now_ps);
}

// A cut of one direction only is silent: the ports keep their signal.
void LinkControl::follow(const WorldFault& fault, Time_ps now_ps) {
  const fabric::FaultRule& rule = fault.config.rule;
  const bool cut = rule.action == fabric::FaultAction::kCut, flap = rule.action == fabric::FaultAction::kFlap;
  const auto link = world_.link_at(fault.config.from);
  if (!fault.config.both_directions || (!cut && !flap) || !link || rule.end_ps <= now_ps) return;
  Holder holder{*link, 0, flap ? rule.flap_down_ps : 0, flap ? rule.flap_up_ps : 0, rule.end_ps, false};
  begin(faults_, fault.number, holder, rule.start_ps, now_ps);
}

void LinkControl::set_link(std::size_t link, bool up, Time_ps now_ps) {
  if (up) {
    end(orders_, link, now_ps);
  } else {
    order(link, 0, 0, now_ps);
  }
}

void LinkControl::flap(std::size_t link, Time_ps down_ps, Time_ps up_ps, Time_ps now_ps) {
  order(link, down_ps, up_ps, now_ps);
}

// A link that is down by another order stays down: its ports notice nothing.
void LinkControl::order(std::size_t link, Time_ps down_ps, Time_ps up_ps, Time_ps now_ps) {
  const bool holds = is_down_by_order(link);
  if (holds) world_.hold_link(link, true, now_ps);
  end(orders_, link, now_ps);
  begin(orders_, link, {link, 0, down_ps, up_ps, kNever_ps, false}, now_ps, now_ps);
  if (holds) world_.hold_link(link, false, now_ps);
}

std::vector<std::string> LinkControl::cuts_of(std::size_t link) const {
  std::vector<std::string> names;
  for (const WorldFault& fault : world_.faults()) {
    const auto holder = faults_.find(fault.number);
    if (holder != faults_.end() && holder->second.link == link && holder->second.holds)
      names.push_back(fault.config.rule.name);
  }
  return names;
}

void LinkControl::begin(Holders& holders, std::size_t key, Holder holder, Time_ps at_ps, Time_ps now_ps) {
  holder.id = ++next_id_;
  holders[key] = holder;
  const auto first = [this, &holders, key, id = holder.id](Time_ps then_ps) { toggle(holders, key, id, then_ps); };
  if (at_ps <= now_ps) {
    first(now_ps);
  } else {
    changes_.at(at_ps, first);
  }
  if (holder.end_ps == kNever_ps) return;
  changes_.at(holder.end_ps, [this, &holders, key, id = holder.id](Time_ps then_ps) {
    const auto found = holders.find(key);
    if (found != holders.end() && found->second.id == id) end(holders, key, then_ps);
  });
}

void LinkControl::end(Holders& holders, std::size_t key, Time_ps now_ps) {
  const auto found = holders.find(key);
  if (found == holders.end()) return;
  hold(found->second, false, now_ps);
  holders.erase(found);
}

void LinkControl::toggle(Holders& holders, std::size_t key, std::uint64_t id, Time_ps now_ps) {
  const auto found = holders.find(key);
  if (found == holders.end() || found->second.id != id) return;
  Holder& holder = found->second;
  hold(holder, !holder.holds, now_ps);
  const Time_ps next_ps = holder.holds ? holder.flap_down_ps : holder.flap_up_ps;
  if (next_ps == 0) return;
  changes_.at(now_ps + next_ps, [this, &holders, key, id](Time_ps then_ps) { toggle(holders, key, id, then_ps); });
}

void LinkControl::hold(Holder& holder, bool holds, Time_ps now_ps) {
  if (holder.holds == holds) return;
  holder.holds = holds;
  world_.hold_link(holder.link, holds, now_ps);
}

}  // namespace weft::lab
