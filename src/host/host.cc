#include "host/host.h"

#include <algorithm>

#include "base/check.h"
#include "nic/device_control.h"

namespace weft::host {

Host::Host(HostModel model, engine::Domain& domain, std::uint64_t seed, std::uint64_t id)
    : model_(std::move(model)),
      domain_(domain),
      node_(domain.add_node({this, &Host::run_hook})),
      seed_(seed),
      id_(id),
      cpu_random_(seed, 0x20000 + id, RandomPurpose::kHostJitter) {
  stepped_phase_ps_ = interrupt_phases_ps_.emplace_back(phase_of(id));
}

Time_ps Host::phase_of(std::uint64_t id) const {
  if (model_.interrupt_period_ps == 0) return 0;
  RandomStream phase(seed_, 0x10000 + id, RandomPurpose::kHostJitter);
  return static_cast<Time_ps>(phase.below(static_cast<std::uint64_t>(model_.interrupt_period_ps)));
}

void Host::set_places(HostPlaces places) {
  memory_paths_ = std::make_unique<MemoryPaths>(model_, std::move(places), seed_, id_);
}

void Host::use_cpus(const CpuUse& use) {
  if (use.given()) cpus_ = std::make_unique<CpuCores>(model_, use, interrupt_phases_ps_[0], cpu_random_);
}

CpuCores& Host::cpus() {
  if (!cpus_) cpus_ = std::make_unique<CpuCores>(model_, CpuUse{}, interrupt_phases_ps_[0], cpu_random_);
  return *cpus_;
}

std::uint32_t Host::add_guest(const CpuUse& use, std::uint64_t id) {
  interrupt_phases_ps_.push_back(phase_of(id));
  return cpus().add_group({use.own, use.irq, true, interrupt_phases_ps_.back()});
}

void Host::set_load(std::uint32_t stress, const std::vector<std::uint32_t>& isolated) {
  if (!cpus_ && stress == 0) return;
  cpus().set_load(stress, isolated);
  for (std::size_t i = 0; i < ports_.size(); ++i)
    nic::DeviceControl(*ports_[i]).set_memory_jitter(jitter_of(devices_[i]->guest));
}

// How late a CPU sees a write is the cache's and the core's, which siblings share.
Time_ps Host::jitter_of(std::uint32_t guest) const {
  const bool busy = cpus_ && cpus_->siblings_busy(guest);
  return model_.memory_jitter_ps + (busy ? model_.memory_jitter_ps * model_.smt_slowdown_percent / 100 : 0);
}

nic::Card& Host::add_card(const nic::NicModel& model, std::optional<std::uint32_t> slot) {
  auto card = std::make_unique<nic::Card>();
  nic::PcieLink link = link_in_slot(model_, model, slot);
  for (std::uint32_t i = 0; i < model.pcie_functions_per_port; ++i) card->functions.emplace_back(link);
  if (memory_paths_) {
    memory_paths_->add_card(*card, model, slot);
    interrupt_delay_ps_ = memory_paths_->interrupt_delay_ps(0, memory_paths_->places().placement);
  }
  cards_.push_back(std::move(card));
  return *cards_.back();
}

std::uint8_t Host::place(std::size_t card, std::uint8_t function, const Placement& placement) {
  const std::uint8_t placed = memory_paths_->function_for(card, function, placement);
  for (nic::Device* port : ports_) nic::DeviceControl(*port).find_functions();
  return placed;
}

nic::Device& Host::add_device(nic::DeviceConfig config, nic::Card& card, fabric::LinkDirection& out,
                              fabric::LinkDirection& in, std::uint32_t guest) {
  auto slot = std::make_unique<DeviceSlot>();
  slot->host = this;
  slot->guest = guest;
  config.host = {model_.mmio_write_ps,   model_.dma_read_ps, model_.dma_write_ps, jitter_of(guest), slot.get(),
                 &Host::completion_hook, &Host::write_hook,  &Host::async_hook,   &Host::grh_hook};
  if (ports_.empty()) {
    domain_.set_hot(node_, in.inlet());
    domain_.set_prepare(node_, &Host::prepare_hook, this);
    slot->device = &first_port_.emplace(std::move(config), card, out, in);
  } else {
    nic::Device* bond = config.bond;
    slot->owned = std::make_unique<nic::Device>(std::move(config), card, out, in);
    slot->device = bond == nullptr ? slot->owned.get() : bond;
    has_bonds_ = has_bonds_ || bond != nullptr;
  }
  ports_.push_back(slot->owned ? slot->owned.get() : slot->device);
  devices_.push_back(std::move(slot));
  return *ports_.back();
}

Time_ps Host::last_event_ps() const {
  Time_ps last_ps = last_step_ps_;
  for (const nic::Device* port : ports_) last_ps = std::max(last_ps, port->last_event_ps());
  return last_ps;
}

std::uint64_t Host::events() const {
  std::uint64_t sum = steps_;
  for (const nic::Device* port : ports_) sum += port->events();
  return sum;
}

std::uint32_t Host::start(Program& program, Time_ps at_ps, std::optional<std::uint32_t> cpu, std::uint32_t guest) {
  const std::uint32_t number = start_thread(program, at_ps, guest);
  if (cpus_ && cpus_->loaded()) programs_[number].cpu = cpus_->place(cpu, guest);
  return number;
}

std::uint32_t Host::start_thread(Program& program, Time_ps at_ps, std::uint32_t guest) {
  auto slot =
      std::find_if(programs_.begin(), programs_.end(), [](const ProgramSlot& s) { return s.program == nullptr; });
  if (slot == programs_.end()) slot = programs_.insert(programs_.end(), ProgramSlot{});
  const Time_ps exits_ps = guest > 0 ? kTickExits * model_.vm_exit_ps : 0;
  *slot = {&program, at_ps, interrupt_delay_ps_ + exits_ps, kNoCpu, interrupt_phases_ps_[guest]};
  plan_programs();
  domain_.wake(node_, at_ps);
  return static_cast<std::uint32_t>(slot - programs_.begin());
}

void Host::stop(std::uint32_t program) {
  if (program == kNoProgram) return;
  WEFT_CHECK(program < programs_.size(), "a program ends that was not started");
  if (programs_[program].cpu != kNoCpu) cpus_->release(programs_[program].cpu);
  programs_[program] = {};
  plan_programs();
  for (nic::Device* port : ports_) {
    for (std::uint32_t cq = 0; cq < port->cq_count(); ++cq) {
      nic::CompletionQueue& queue = port->cq(cq);
      queue.armed = queue.armed && queue.waiter != program;
    }
  }
  std::erase_if(watchers_, [&](const Watcher& watcher) { return watcher.program == program; });
}

void Host::wake(std::uint32_t program, Time_ps at_ps) {
  WEFT_CHECK(program < programs_.size(), "a wake-up of a program that was not started");
  programs_[program].wake_ps = std::min(programs_[program].wake_ps, at_ps);
  programs_ps_ = std::min(programs_ps_, at_ps);
  domain_.wake(node_, at_ps);
}

Time_ps Host::wait(std::uint32_t program, nic::Device& device, std::uint32_t cq) {
  nic::CompletionQueue& queue = device.cq(cq);
  if (queue.next_visible_ps() != kNever_ps) return cpu_ps(cpu_of(program), queue.next_visible_ps(), program);
  if (!queue.armed) {
    queue.armed = true;
    queue.waiter = program;
  }
  return kNever_ps;
}

void Host::watch(std::uint32_t program, nic::Device& device, std::uint32_t key) {
  WEFT_CHECK(device.memory().find(key) != nullptr, "a program spins on memory that is not registered");
  device.memory().find(key)->watched = true;
  watchers_.push_back({&device, key, program});
}

void Host::completion_hook(void* self, std::uint32_t cq, Time_ps visible_ps) {
  auto* slot = static_cast<DeviceSlot*>(self);
  nic::CompletionQueue& queue = slot->device->cq(cq);
  WEFT_CHECK(queue.armed && queue.waiter < slot->host->programs_.size() &&
                 slot->host->programs_[queue.waiter].program != nullptr,
             "a completion for a program that does not wait");
  queue.armed = false;
  Time_ps seen_ps = slot->host->cpu_ps(slot->host->cpu_of(queue.waiter), visible_ps, queue.waiter);
  WEFT_CHECK(seen_ps >= visible_ps, "a CPU sees a completion before it is visible");
  slot->host->programs_[queue.waiter].program->completion_visible(queue.tag, seen_ps);
  slot->host->wake(queue.waiter, seen_ps);
}

void Host::write_hook(void* self, std::uint32_t key, Time_ps visible_ps) {
  auto* slot = static_cast<DeviceSlot*>(self);
  const HostHooks& hooks = slot->host->hooks_;
  if (hooks.on_write != nullptr) hooks.on_write(hooks.self, *slot->device, key, visible_ps);
  for (const Watcher& watcher : slot->host->watchers_) {
    if (watcher.device != slot->device || watcher.key != key) continue;
    slot->host->programs_[watcher.program].program->region_written(*slot->device, key, visible_ps);
    slot->host->wake(watcher.program,
                     slot->host->cpu_ps(slot->host->cpu_of(watcher.program), visible_ps, watcher.program));
  }
}

void Host::async_hook(void* self, nic::AsyncKind kind, std::uint32_t number, Time_ps now_ps) {
  auto* slot = static_cast<DeviceSlot*>(self);
  const HostHooks& hooks = slot->host->hooks_;
  WEFT_CHECK(hooks.on_async != nullptr || kind != nic::AsyncKind::kCqError, "completion queue overrun");
  if (hooks.on_async != nullptr) hooks.on_async(hooks.self, *slot->device, kind, number, now_ps);
}

void Host::grh_hook(void* self, const engine::Packet& packet, const nic::GroupGid* group,
                    std::span<std::uint8_t, nic::kGrh_B> out) {
  const HostHooks& hooks = static_cast<DeviceSlot*>(self)->host->hooks_;
  if (hooks.make_grh != nullptr) {
    hooks.make_grh(hooks.self, packet, group, out);
  } else {
    std::fill(out.begin(), out.end(), std::uint8_t{0});
  }
}

Time_ps Host::cpu_ps(std::uint32_t cpu, Time_ps t_ps, std::uint32_t program) const {
  if (cpu != kNoCpu) [[unlikely]]
    return cpus_->polling_ps(cpu, t_ps);
  if (model_.interrupt_period_ps == 0) return t_ps;
  const bool known = program != kNoProgram;
  Time_ps cost_ps = model_.interrupt_cost_ps + (known ? programs_[program].interrupt_delay_ps : interrupt_delay_ps_);
  Time_ps phase_ps = known ? programs_[program].interrupt_phase_ps : stepped_phase_ps_;
  Time_ps into_ps = (t_ps + phase_ps) % model_.interrupt_period_ps;
  return into_ps < cost_ps ? t_ps + cost_ps - into_ps : t_ps;
}

Time_ps Host::step(ProgramSlot& slot, Time_ps now_ps) {
  stepped_phase_ps_ = slot.interrupt_phase_ps;
  if (slot.cpu == kNoCpu) [[likely]]
    return slot.program->step(now_ps);
  stepped_cpu_ = slot.cpu;
  stepped_model_ = &cpus_->model_of(slot.cpu);
  const Time_ps next_ps = slot.program->step(now_ps);
  stepped_cpu_ = kNoCpu;
  stepped_model_ = &model_;
  return next_ps;
}

// The first program that is due runs; others due at the same time have their turn in the next round.
void Host::run_programs(Time_ps now_ps) {
  WEFT_DCHECK(now_ps >= last_step_ps_, "the steps of programs run back in time");
  last_step_ps_ = now_ps;
  ++steps_;
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    if (programs_[i].wake_ps > now_ps) continue;
    programs_[i].wake_ps = kNever_ps;
    Time_ps next_ps = step(programs_[i], now_ps);
    WEFT_CHECK(next_ps > now_ps, "a program must take time");
    // A step may have started others: their places move.
    programs_[i].wake_ps = std::min(programs_[i].wake_ps, next_ps);
    break;
  }
  plan_programs();
}

void Host::plan_programs() {
  programs_ps_ = kNever_ps;
  for (const ProgramSlot& slot : programs_) programs_ps_ = std::min(programs_ps_, slot.wake_ps);
}

// Most hosts have one port: it runs until a program is due.
Time_ps Host::run(Time_ps end_ps) {
  if (ports_.size() != 1) return has_bonds_ ? run_bonds(end_ps) : run_ports(end_ps);
  for (;;) {
    Time_ps port_ps = first_port_->run_until(end_ps, &programs_ps_);
    if (programs_ps_ >= end_ps) return std::min(port_ps, programs_ps_);
    run_programs(programs_ps_);
  }
}

Time_ps Host::run_ports(Time_ps end_ps) {
  for (;;) {
    // The port whose next event is first (the lowest of equals) runs until another port or a program is due.
    nic::Device* first = nullptr;
    Time_ps first_ps = kNever_ps;
    Time_ps other_ps = kNever_ps;
    for (nic::Device* port : ports_) {
      Time_ps port_ps = port->next_ps();
      if (port_ps < first_ps) {
        other_ps = first_ps;
        first = port;
        first_ps = port_ps;
      } else {
        other_ps = std::min(other_ps, port_ps);
      }
    }
    if (std::min(first_ps, programs_ps_) >= end_ps) return std::min(first_ps, programs_ps_);
    if (first_ps <= programs_ps_) {
      // Another port at the same instant has its turn in the next round.
      first->run_until(std::min(end_ps, std::max(other_ps, first_ps + 1)), &programs_ps_);
    } else {
      run_programs(programs_ps_);
    }
  }
}

}  // namespace weft::host
