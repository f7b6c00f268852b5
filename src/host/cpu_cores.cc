#include "host/cpu_cores.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace weft::host {

namespace {

// KVM: halt_poll_ns_grow_start; the time doubles after a short sleep and halves after a long one (since 6.11).
constexpr Time_ps kFirstHaltPoll_ps = us(10);
// The scheduler balances a busy CPU so many times less often than an idle one (sched_domain busy_factor).
constexpr Time_ps kBusyFactor = 16;

Time_ps percent_more(Time_ps time_ps, std::uint32_t percent) {
  return time_ps + time_ps * percent / 100;
}

}  // namespace

CpuCores::CpuCores(const HostModel& model, const CpuUse& use, Time_ps phase_ps, RandomStream random)
    : model_(model), slow_model_(model), cpus_(model.cpus), phase_ps_(phase_ps) {
  siblings_.resize(model.cpus);
  std::iota(siblings_.begin(), siblings_.end(), 0);
  for (const NumaNode& node : model.layout == nullptr ? std::vector<NumaNode>() : model.layout->nodes) {
    if (node.cpus.size() < 2) continue;
    for (std::size_t core = 0; core < node.cpus[0].size(); ++core) {
      siblings_[node.cpus[0][core]] = node.cpus[1][core];
      siblings_[node.cpus[1][core]] = node.cpus[0][core];
    }
  }
  add_group({use.own, use.irq, model.virtual_machine, phase_ps});
  // Instructions are slowed down; a store to the doorbell page waits for PCIe, not for its core.
  for (Time_ps HostModel::*cost : {&HostModel::post_wqe_ps, &HostModel::post_loop_ps, &HostModel::post_recv_ps,
                                   &HostModel::poll_hit_ps, &HostModel::poll_empty_ps, &HostModel::interrupt_cost_ps})
    slow_model_.*cost = percent_more(model_.*cost, model_.smt_slowdown_percent);
  const Time_ps busy_ps = std::max<Time_ps>(kBusyFactor * model_.sched_balance_ps, 1);
  for (Cpu& cpu : cpus_) {
    cpu.balance_ps = static_cast<Time_ps>(random.below(static_cast<std::uint64_t>(busy_ps)));
  }
  set_load(use.stress, use.isolated);
}

std::uint32_t CpuCores::add_group(CpuGroup group) {
  if (group.own.empty()) {
    group.own.resize(cpus_.size());
    std::iota(group.own.begin(), group.own.end(), 0);
  }
  const auto number = static_cast<std::uint32_t>(groups_.size());
  // A vCPU is one before any thread runs there: interrupts that come first wait for it, too.
  for (std::size_t i = 0; group.virtual_machine && i < group.own.size(); ++i) cpus_[group.own[i]].group = number;
  groups_.push_back({std::move(group)});
  return number;
}

void CpuCores::set_load(std::uint32_t stress, const std::vector<std::uint32_t>& isolated) {
  stress_ = stress;
  isolated_.assign(cpus_.size(), false);
  for (std::uint32_t cpu : isolated) {
    WEFT_CHECK(cpu < cpus_.size(), "an isolated CPU that the host has not");
    isolated_[cpu] = true;
  }
  place_stress();
}

// One on each CPU that is allowed, then a second, as the scheduler balances them; fewer than CPUs: one per core first,
// the last cores first, where the node's own threads come last.
void CpuCores::place_stress() {
  std::vector<std::uint32_t> allowed;
  for (std::uint32_t cpu = 0; cpu < cpus_.size(); ++cpu) {
    cpus_[cpu].hogs = 0;
    if (!isolated_[cpu]) allowed.push_back(cpu);
  }
  if (allowed.empty()) return;
  const auto rank = [&](std::uint32_t cpu) {
    return std::pair(cpus_[cpu].threads > 0 ? 2u : cpus_[sibling(cpu)].threads > 0 ? 1u : 0u, cpus_.size() - cpu);
  };
  std::sort(allowed.begin(), allowed.end(), [&](std::uint32_t a, std::uint32_t b) { return rank(a) < rank(b); });
  for (std::uint32_t i = 0; i < stress_; ++i) ++cpus_[allowed[i % allowed.size()]].hogs;
}

bool CpuCores::sibling_busy(std::uint32_t cpu) const {
  const std::uint32_t other = sibling(cpu);
  return other != cpu && (cpus_[other].hogs > 0 || cpus_[other].threads > 0);
}

bool CpuCores::siblings_busy(std::uint32_t group) const {
  const std::vector<std::uint32_t>& own = groups_[group].own;
  return stress_ > 0 && std::all_of(own.begin(), own.end(), [&](std::uint32_t cpu) { return sibling_busy(cpu); });
}

std::uint32_t CpuCores::take_free(std::uint32_t group) const {
  const std::vector<std::uint32_t>& own = groups_[group].own;
  std::uint32_t best = own.front();
  std::uint32_t least = UINT32_MAX;
  for (std::uint32_t cpu : own) {
    const bool second = sibling(cpu) < cpu;
    const std::uint32_t cost =
        8 * cpus_[cpu].threads + 4 * (cpus_[sibling(cpu)].threads > 0 ? 1u : 0u) + (second ? 1 : 0);
    if (cost >= least) continue;
    least = cost;
    best = cpu;
  }
  return best;
}

void CpuCores::take(std::uint32_t cpu, std::uint32_t group) {
  WEFT_CHECK(cpu < cpus_.size() && group < groups_.size(), "a thread on a CPU or in a group that the host has not");
  ++cpus_[cpu].threads;
  if (cpus_[cpu].group != group || cpus_[cpu].free_ps == 0)
    cpus_[cpu].halt_poll_ps = groups_[group].virtual_machine ? model_.halt_poll_ps : 0;
  cpus_[cpu].group = group;
  ++groups_[group].threads;
}

std::uint32_t CpuCores::place(std::optional<std::uint32_t> wanted, std::uint32_t group) {
  WEFT_CHECK(!wanted || *wanted < groups_[group].own.size(), "the node has that CPU");
  const std::uint32_t cpu = wanted ? groups_[group].own[*wanted] : take_free(group);
  take(cpu, group);
  if (stress_ < cpus_.size()) place_stress();
  return cpu;
}

std::uint32_t CpuCores::place_interrupt(std::uint32_t group) {
  Group& its = groups_[group];
  if (its.irq.empty()) return place(std::nullopt, group);
  const std::uint32_t cpu = its.irq[its.next_irq++ % its.irq.size()];
  take(cpu, group);
  return cpu;
}

void CpuCores::release(std::uint32_t cpu) {
  WEFT_CHECK(cpus_[cpu].threads > 0, "a CPU is released more often than taken");
  --cpus_[cpu].threads;
  // The last of two groups that share the CPU has it, while it has any thread.
  if (groups_[cpus_[cpu].group].threads == 0) {
    const auto other = std::find_if(groups_.begin(), groups_.end(), [&](const Group& group) {
      return group.threads > 0 && std::find(group.own.begin(), group.own.end(), cpu) != group.own.end();
    });
    WEFT_CHECK(other != groups_.end(), "a thread that was placed");
    cpus_[cpu].group = static_cast<std::uint32_t>(other - groups_.begin());
  }
  WEFT_CHECK(groups_[cpus_[cpu].group].threads > 0, "a group gives back a thread that it has not");
  --groups_[cpus_[cpu].group].threads;
}

Time_ps CpuCores::stretched(std::uint32_t cpu, Time_ps length_ps) const {
  return sibling_busy(cpu) ? percent_more(length_ps, model_.smt_slowdown_percent) : length_ps;
}

// Group scheduling: the stress threads share one group's weight over all CPUs that they run on, and ours another.
Time_ps CpuCores::turn_ps(const Cpu& cpu) const {
  return model_.sched_slice_ps * stress_ / (Time_ps{std::max(cpu.hogs, 1u)} * std::max(groups_[cpu.group].threads, 1u));
}

// A stress thread that waits behind a busy thread is pulled to another CPU, and comes back with the next idle balance.
bool CpuCores::hogs_at(Cpu& cpu, Time_ps now_ps) const {
  if (cpu.hogs == 0) return false;
  if (model_.sched_balance_ps > 0) {
    while (now_ps >= cpu.balance_ps) {
      cpu.away_until_ps = cpu.balance_ps + model_.sched_balance_ps;
      cpu.balance_ps = cpu.away_until_ps + kBusyFactor * model_.sched_balance_ps;
    }
  }
  return now_ps >= cpu.away_until_ps;
}

// Slices one after the other from `from_ps` on: the end of the one at `at_ps`. The scheduler looks at a slice at the
// tick.
Time_ps CpuCores::slice_end_ps(Time_ps from_ps, Time_ps at_ps) const {
  const Time_ps tick_ps = std::max<Time_ps>(model_.interrupt_period_ps, 1);
  const Time_ps whole_ps = (model_.sched_slice_ps + tick_ps - 1) / tick_ps * tick_ps;
  const Time_ps first_ps = from_ps + model_.sched_slice_ps;
  const Time_ps into_ps = (first_ps + phase_ps_) % tick_ps;
  const Time_ps end_ps = into_ps == 0 ? first_ps : first_ps + tick_ps - into_ps;
  return at_ps <= end_ps ? end_ps : end_ps + (at_ps - end_ps + whole_ps - 1) / whole_ps * whole_ps;
}

Time_ps CpuCores::run(std::uint32_t number, CpuWork work, Time_ps now_ps, Time_ps length_ps) {
  Cpu& cpu = cpus_[number];
  Time_ps start_ps = std::max(now_ps, cpu.free_ps);
  const bool preempts = work == CpuWork::kInterrupt && !groups_[cpu.group].virtual_machine;
  if (!preempts && hogs_at(cpu, start_ps)) {
    const Time_ps given_ps = cpu.free_ps + cpu.halt_poll_ps;
    if (start_ps > given_ps) {
      // The CPU was given away when it had nothing to do; the other thread keeps it to the end of its slice.
      start_ps = slice_end_ps(given_ps, start_ps);
      cpu.since_hog_ps = 0;
      ++waits_;
    }
    const Time_ps slept_ps = start_ps - cpu.free_ps;
    if (!groups_[cpu.group].virtual_machine) {
      cpu.halt_poll_ps = 0;
    } else if (slept_ps > model_.halt_poll_ps) {
      cpu.halt_poll_ps /= 2;
      if (cpu.halt_poll_ps < kFirstHaltPoll_ps) cpu.halt_poll_ps = 0;
    } else if (slept_ps > cpu.halt_poll_ps) {
      cpu.halt_poll_ps = std::min(std::max(2 * cpu.halt_poll_ps, kFirstHaltPoll_ps), model_.halt_poll_ps);
    }
    if (cpu.since_hog_ps > turn_ps(cpu)) {
      start_ps += model_.sched_slice_ps;
      cpu.since_hog_ps = 0;
      ++waits_;
    }
  }
  WEFT_CHECK(start_ps >= now_ps && start_ps >= cpu.free_ps, "work begins on a CPU that is busy");
  const Time_ps long_ps = stretched(number, length_ps);
  WEFT_CHECK(long_ps >= length_ps, "work on a slow core takes less time");
  cpu.since_hog_ps += long_ps;
  busy_ps_ += long_ps;
  cpu.free_ps = start_ps + long_ps;
  return cpu.free_ps;
}

Time_ps CpuCores::polling_ps(std::uint32_t number, Time_ps t_ps) const {
  const Cpu& cpu = cpus_[number];
  const HostModel& model = model_of(number);
  for (;;) {
    Time_ps run_ps = t_ps;
    if (model.interrupt_period_ps > 0) {
      const Group& group = groups_[cpu.group];
      const Time_ps cost_ps = model.interrupt_cost_ps + (group.virtual_machine ? kTickExits * model.vm_exit_ps : 0);
      const Time_ps into_ps = (run_ps + group.phase_ps) % model.interrupt_period_ps;
      if (into_ps < cost_ps) run_ps += cost_ps - into_ps;
    }
    if (cpu.hogs > 0) {
      const Time_ps period_ps = turn_ps(cpu) + model.sched_slice_ps;
      const Time_ps into_ps = (run_ps + phase_ps_ * Time_ps{number + 1}) % period_ps;
      if (into_ps < model.sched_slice_ps) run_ps += model.sched_slice_ps - into_ps;
    }
    if (run_ps == t_ps) return run_ps;
    t_ps = run_ps;
  }
}

const HostModel& CpuCores::model_of(std::uint32_t cpu) const {
  return sibling_busy(cpu) ? slow_model_ : model_;
}

}  // namespace weft::host
