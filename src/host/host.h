// A host: its NIC ports, the programs on its CPUs, and the loop that runs their events in order.
// Order at one instant: port by port, and at a port delayed frames of a faulty cable, service, arrival, timer; then
// programs by number (docs/mechanisms/event-order.md). Every program has a CPU of its own, unless the lab says what
// else its CPUs do (host/cpu_cores.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/check.h"
#include "engine/domain.h"
#include "host/cpu_cores.h"
#include "host/memory_path.h"
#include "host/program.h"
#include "nic/device.h"
#include "nic/prefetch.h"
#include "spec/host_model.h"

namespace weft::host {

inline constexpr std::uint32_t kNoProgram = 0xffffffff;

// Whoever runs programs that are not of this simulator: hears of asynchronous events and knows addresses.
struct HostHooks {
  void* self = nullptr;
  void (*on_async)(void* self, nic::Device& device, nic::AsyncKind kind, std::uint32_t number,
                   Time_ps now_ps) = nullptr;
  void (*on_write)(void* self, nic::Device& device, std::uint32_t key, Time_ps visible_ps) = nullptr;  // watched ones
  void (*make_grh)(void* self, const engine::Packet& packet, const nic::GroupGid* group,
                   std::span<std::uint8_t, nic::kGrh_B> out) = nullptr;
};

class alignas(64) Host {
  // Fields for every visit. The first port lies here, where a visit finds it in the next cache lines.
  Time_ps programs_ps_ = kNever_ps;  // the earliest wake of any program
  Time_ps last_step_ps_ = 0;         // of a program
  std::uint64_t steps_ = 0;
  std::vector<nic::Device*> ports_;
  std::optional<nic::Device> first_port_;

 public:
  Host(HostModel model, engine::Domain& domain, std::uint64_t seed, std::uint64_t id);
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  std::uint32_t node() const { return node_; }
  // Without them an overrun completion queue is a broken invariant, and a GRH is zeros.
  void set_hooks(const HostHooks& hooks) { hooks_ = hooks; }
  // Before any card. Without: every card, program and its memory are on one node.
  void set_places(HostPlaces places);
  nic::Card& card(std::size_t index) { return *cards_[index]; }
  nic::Card& add_card(const nic::NicModel& model, std::optional<std::uint32_t> slot = {});
  // The function that queue pairs of a program with this placement use, of the card that was added `card`th.
  std::uint8_t place(std::size_t card, std::uint8_t function, const Placement& placement);
  const MemoryPaths& memory_paths() const { return *memory_paths_; }
  // Completes `config` with this host's side. The second port of a bond comes after the first.
  nic::Device& add_device(nic::DeviceConfig config, nic::Card& card, fabric::LinkDirection& out,
                          fabric::LinkDirection& in, std::uint32_t guest = 0);
  // When the cable of a bond's port loses its signal and has it again. In order of time, before it runs.
  void change_link(nic::Device& port, bool up, Time_ps at_ps) {
    WEFT_CHECK(link_changes_.empty() || at_ps >= link_changes_.back().time_ps, "changes of a link are not in order");
    link_changes_.push_back({at_ps, &port, up});
  }
  std::uint32_t device_count() const { return static_cast<std::uint32_t>(devices_.size()); }
  nic::Device& device(std::uint32_t index) {
    WEFT_CHECK(index < ports_.size(), "a port that the host has not");
    return *ports_[index];
  }

  // Applies the lab's use of its CPUs. Before devices and programs.
  void use_cpus(const CpuUse& use);
  CpuCores& cpus();
  // A virtual machine with these CPUs, which shares everything else; its number, from 1 on. `id` is the lab's, for its
  // timer's phase.
  std::uint32_t add_guest(const CpuUse& use, std::uint64_t id);
  // Load of the machine from now on. Between two phases: programs that run keep their costs.
  void set_load(std::uint32_t stress, const std::vector<std::uint32_t>& isolated);

  // Programs are owned by whoever made them, who also stops them. Returns the program's number. Where other threads
  // want its CPU too it polls on number `cpu` of the host's, or of the guest's, or on any.
  std::uint32_t start(Program& program, Time_ps at_ps, std::optional<std::uint32_t> cpu = std::nullopt,
                      std::uint32_t guest = 0);
  // Starts a program that is no loop that polls: it asks cpus() itself.
  std::uint32_t start_thread(Program& program, Time_ps at_ps, std::uint32_t guest = 0);
  void stop(std::uint32_t program);
  // Its interrupts take so much longer: what they touch is not on its node.
  void slow_interrupts(std::uint32_t program, Time_ps delay_ps) { programs_[program].interrupt_delay_ps = delay_ps; }
  // The program sleeps until this CQ has an entry that is not visible yet, or wakes at once for one that is.
  Time_ps wait(std::uint32_t program, nic::Device& device, std::uint32_t cq);
  void watch(std::uint32_t program, nic::Device& device, std::uint32_t key);
  void wake(std::uint32_t program, Time_ps at_ps);
  // A port of it was changed from outside: the host looks at its ports again.
  void wake_ports(Time_ps at_ps) { domain_.wake(node_, at_ps); }

  // A CPU that polls is not there while an interrupt is: the first time at or after `t_ps` that it runs. In a step, the
  // CPU of the program that is stepped.
  Time_ps cpu_ps(Time_ps t_ps, std::uint32_t program = kNoProgram) const { return cpu_ps(stepped_cpu_, t_ps, program); }

  // In a step, with the costs of the CPU that the program runs on.
  const HostModel& model() const { return *stepped_model_; }
  const HostModel& quiet_model() const { return model_; }  // and if nobody else wanted that CPU
  Time_ps last_event_ps() const;
  std::uint64_t events() const;  // of its ports, and steps of programs

 private:
  struct DeviceSlot {
    Host* host;
    nic::Device* device;                 // that programs have: of a bond its first port
    std::unique_ptr<nic::Device> owned;  // all but the first
    std::uint32_t guest = 0;
  };
  struct ProgramSlot {
    Program* program = nullptr;  // null: free
    Time_ps wake_ps = kNever_ps;
    Time_ps interrupt_delay_ps = 0;
    std::uint32_t cpu = kNoCpu;      // where it polls; kNoCpu: nobody else wants its CPU
    Time_ps interrupt_phase_ps = 0;  // of its VM's timer, or the host's
  };
  struct LinkChange {
    Time_ps time_ps;
    nic::Device* port;
    bool up;
  };
  struct Watcher {
    nic::Device* device;
    std::uint32_t key;
    std::uint32_t program;
  };

  static Time_ps run_hook(void* self, Time_ps end_ps) { return static_cast<Host*>(self)->run(end_ps); }
  static void prepare_hook(const void* self, Time_ps end_ps) {
    const Host& host = *static_cast<const Host*>(self);
    if (host.first_port_) host.first_port_->prefetch(end_ps);
  }
  static void completion_hook(void* self, std::uint32_t cq, Time_ps visible_ps);
  static void write_hook(void* self, std::uint32_t key, Time_ps visible_ps);
  static void async_hook(void* self, nic::AsyncKind kind, std::uint32_t number, Time_ps now_ps);
  static void grh_hook(void* self, const engine::Packet& packet, const nic::GroupGid* group,
                       std::span<std::uint8_t, nic::kGrh_B> out);
  Time_ps run(Time_ps end_ps);
  Time_ps run_ports(Time_ps end_ps);
  Time_ps run_bonds(Time_ps end_ps);  // run_bonds.cc
  void run_programs(Time_ps now_ps);
  void plan_programs();
  Time_ps cpu_ps(std::uint32_t cpu, Time_ps t_ps, std::uint32_t program) const;
  std::uint32_t cpu_of(std::uint32_t program) const { return cpus_ ? programs_[program].cpu : kNoCpu; }
  Time_ps step(ProgramSlot& slot, Time_ps now_ps);
  Time_ps phase_of(std::uint64_t id) const;
  Time_ps jitter_of(std::uint32_t guest) const;

  HostModel model_;
  const HostModel* stepped_model_ = &model_;
  std::uint32_t stepped_cpu_ = kNoCpu;
  Time_ps stepped_phase_ps_ = 0;
  std::unique_ptr<CpuCores> cpus_;  // null: nobody asked
  HostHooks hooks_;
  engine::Domain& domain_;
  std::uint32_t node_;
  std::uint64_t seed_, id_;
  std::vector<Time_ps> interrupt_phases_ps_;  // the host's own, and of each guest
  Time_ps interrupt_delay_ps_ = 0;            // of programs that have the host's placement
  std::unique_ptr<MemoryPaths> memory_paths_;
  RandomStream cpu_random_;
  std::vector<std::unique_ptr<nic::Card>> cards_;
  std::vector<std::unique_ptr<DeviceSlot>> devices_;  // those of ports_
  std::vector<ProgramSlot> programs_;
  std::vector<Watcher> watchers_;
  // Bonds.
  bool has_bonds_ = false;
  std::size_t last_port_ = 0;  // of ports_: it had the last turn
  std::vector<LinkChange> link_changes_;
  std::size_t next_change_ = 0;
};

}  // namespace weft::host
