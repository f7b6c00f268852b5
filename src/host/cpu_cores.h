// The CPUs of the machine that a host runs on: who runs on which, and when a thread gets its CPU while others want it
// too (docs/mechanisms/cpu.md). A host without load asks none of this: each of its programs has a CPU of its own.
// Two kinds of users: threads that sleep and wake (kernel TCP), which call run(); and programs that poll, which never
// sleep, and ask polling_ps() when they run next. Not modelled: migration, priorities, frequency changes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "spec/cpu_use.h"
#include "spec/host_model.h"

namespace weft::host {

inline constexpr std::uint32_t kNoCpu = 0xffffffff;

// Threads that the scheduler gives one share: those of a virtual machine, or of all programs of the host itself.
struct CpuGroup {
  std::vector<std::uint32_t> own;  // CPUs of the machine; empty: all
  std::vector<std::uint32_t> irq;  // of these
  bool virtual_machine = false;    // interrupts are work of a vCPU, and wait for it
  Time_ps phase_ps = 0;            // of its timer tick
};

enum class CpuWork : std::uint8_t { kThread, kInterrupt };

class CpuCores {
 public:
  // `phase_ps` is that of the timer tick; `random` decides when each CPU balances.
  CpuCores(const HostModel& model, const CpuUse& use, Time_ps phase_ps, RandomStream random);

  // Group 0 is the host's own; the number of another one.
  std::uint32_t add_group(CpuGroup group);
  // From now on these threads run where they may. Ours stay where they are.
  void set_load(std::uint32_t stress, const std::vector<std::uint32_t>& isolated);

  // A CPU for a thread: number `wanted` of the group's own, or one that is free, whole cores first.
  std::uint32_t place(std::optional<std::uint32_t> wanted, std::uint32_t group = 0);
  std::uint32_t place_interrupt(std::uint32_t group = 0);
  // Where the interrupts of queues go that have little to do: any CPU, which is not kept for it.
  std::uint32_t shared_interrupt(std::uint32_t group = 0) const {
    return groups_[group].irq.empty() ? take_free(group) : groups_[group].irq.front();
  }
  void release(std::uint32_t cpu);
  std::uint32_t own_count(std::uint32_t group = 0) const {
    return static_cast<std::uint32_t>(groups_[group].own.size());
  }

  // Work of so long on a CPU without contention, wanted from `now_ps` on: when it is done.
  Time_ps run(std::uint32_t cpu, CpuWork work, Time_ps now_ps, Time_ps length_ps);
  // A program that polls on `cpu` runs at or after `t_ps`: not while the tick, a VM exit or another thread has its CPU.
  Time_ps polling_ps(std::uint32_t cpu, Time_ps t_ps) const;
  // Costs of such a program: longer while the sibling is busy.
  const HostModel& model_of(std::uint32_t cpu) const;
  bool loaded() const { return stress_ > 0; }
  // Every CPU of the group has a busy sibling.
  bool siblings_busy(std::uint32_t group = 0) const;

  Time_ps busy_ps() const { return busy_ps_; }
  std::uint64_t waits() const { return waits_; }  // for a slice of another thread

 private:
  struct Cpu {
    std::uint32_t threads = 0;  // ours
    std::uint32_t group = 0;    // of these: a CPU that two groups share is the last one's
    std::uint32_t hogs = 0;     // stress threads
    Time_ps free_ps = 0;        // the last work ends
    Time_ps halt_poll_ps = 0;   // KVM looks for work so long before it gives the CPU away
    Time_ps since_hog_ps = 0;   // ran so long since another thread had a slice
    Time_ps balance_ps = 0;     // the load balancer moves the stress threads that wait here away …
    Time_ps away_until_ps = 0;  // … until then
  };

  std::uint32_t sibling(std::uint32_t cpu) const { return siblings_[cpu]; }
  bool sibling_busy(std::uint32_t cpu) const;
  std::uint32_t take_free(std::uint32_t group) const;
  void take(std::uint32_t cpu, std::uint32_t group);
  void place_stress();
  Time_ps stretched(std::uint32_t cpu, Time_ps length_ps) const;
  Time_ps slice_end_ps(Time_ps from_ps, Time_ps at_ps) const;
  bool hogs_at(Cpu& cpu, Time_ps now_ps) const;
  // A thread that is always busy keeps its CPU so long before a stress thread has a slice.
  Time_ps turn_ps(const Cpu& cpu) const;

  HostModel model_, slow_model_;
  struct Group : CpuGroup {
    std::uint32_t threads = 0;
    std::size_t next_irq = 0;
  };
  std::vector<Group> groups_;
  std::vector<bool> isolated_;
  std::vector<std::uint32_t> siblings_;  // by CPU; itself without one
  std::vector<Cpu> cpus_;
  std::uint32_t stress_ = 0;
  Time_ps phase_ps_ = 0;
  Time_ps busy_ps_ = 0;
  std::uint64_t waits_ = 0;
};

}  // namespace weft::host
