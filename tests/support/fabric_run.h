// Runs the flows of a lab on a world that the caller can look into afterwards, where run_lab would have aborted or
// thrown away: ledgers, buffers, logs. Also a digest of everything that a run can be asked for.
#pragma once

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "base/hash.h"
#include "workload/flow/run.h"
#include "world/world.h"

namespace weft::support {

struct FabricRunOptions {
  std::uint32_t domains = 1;
  std::uint32_t threads = 1;
  std::int64_t window_divisor = 1;
  engine::Part part{};                   // the domains that this run has
  engine::Exchange* exchange = nullptr;  // to those that have the others
};

class FabricRun {
 public:
  FabricRun(const lab::Lab& lab, const FabricRunOptions& options) : world_(lab, world_options(options)) {
    for (const lab::WorkloadConfig& config : lab.workloads) {
      std::vector<workload::Endpoint> ends;
      for (const lab::PortRef& port : config.flow_ports) ends.push_back(world_.endpoint(port, 0));
      flows_.push_back(std::make_unique<workload::FlowRun>(*config.as<workload::FlowOptions>(), std::move(ends)));
      flows_.back()->start_phase(config.start_ps.value_or(0));
    }
    if (options.exchange != nullptr) world_.engine().share(*options.exchange);
    const Time_ps end_ps = lab.duration_ps.value_or(kNever_ps);
    at_rest_ = world_.engine().run(end_ps, options.threads) == engine::RunEnd::kIdle;
    end_ps_ = at_rest_ ? world_.last_event_ps() : end_ps;
    for (std::uint32_t s = 0; s < world_.switch_count(); ++s) {
      if (world_.has_switch(s)) world_.fabric_switch(s).settle_ledgers();
    }
  }

  lab::World& world() { return world_; }
  bool at_rest() const { return at_rest_; }
  Time_ps end_ps() const { return end_ps_; }
  const std::vector<std::unique_ptr<workload::FlowRun>>& flows() const { return flows_; }

  std::uint64_t digest() {
    state_ = kFnvOffset;
    add(at_rest_);
    add(end_ps_);
    for (const auto& run : flows_) {
      for (const workload::FlowRow& row : run->rows()) {
        add(row.qpn), add(row.first_post_ps), add(row.end_ps), add(row.state), add(row.status), add(row.vendor_error);
      }
    }
    for (std::uint32_t port = 0; port < world_.port_count(); ++port) {
      nic::Device* device = world_.device(port);
      if (device == nullptr) continue;
      add(device->counters());
      add_pauses(device->pauses().received());
      add_log(device->pauses().log());
    }
    for (std::uint32_t s = 0; s < world_.switch_count(); ++s) add_switch(world_.fabric_switch(s));
    for (const lab::WorldLink& link : world_.links()) {
      add(link.direction->sent);
      add(link.direction->received);
      add(link.direction->in_flight());
      if (!link.wrapper) continue;
      for (std::uint64_t hits : link.wrapper->faults().hits()) add(hits);
    }
    return state_;
  }

  // One digest for each thing that belongs to one engine, by name: those of several that share a world are together
  // those of one that has all of it.
  std::map<std::string, std::uint64_t> digests() {
    std::map<std::string, std::uint64_t> all;
    auto start = [&] { state_ = kFnvOffset; };
    for (std::size_t r = 0; r < flows_.size(); ++r) {
      const auto& rows = flows_[r]->rows();
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].state == workload::FlowState::kWaiting) continue;
        start();
        add(rows[i].qpn), add(rows[i].remote_qpn), add(rows[i].first_post_ps), add(rows[i].end_ps), add(rows[i].state);
        all[fmt::format("flow {} of {}", i, r)] = state_;
      }
    }
    for (std::uint32_t port = 0; port < world_.port_count(); ++port) {
      nic::Device* device = world_.device(port);
      if (device == nullptr) continue;
      start();
      add(device->counters());
      add_log(device->pauses().log());
      all[world_.book()[port].name] = state_;
    }
    for (std::uint32_t s = 0; s < world_.switch_count(); ++s) {
      if (!world_.has_switch(s)) continue;
      start();
      add_switch(world_.fabric_switch(s));
      all[fmt::format("switch {}", s)] = state_;
    }
    for (const lab::WorldLink& link : world_.links()) {
      const std::string& from = world_.book()[link.from].name;
      if (link.direction->outlet().is_connected()) {
        start();
        add(link.direction->sent);
        all["sent by " + from] = state_;
      }
      if (link.direction->inlet() != nullptr) {
        start();
        add(link.direction->received);
        all["received from " + from] = state_;
      }
    }
    return all;
  }

 private:
  static lab::WorldOptions world_options(const FabricRunOptions& options) {
    lab::WorldOptions world;
    world.domains = options.domains;
    world.window_divisor = options.window_divisor;
    world.part = options.part;
    return world;
  }

  template <class T>
  void add(const T& value) {
    static_assert(std::has_unique_object_representations_v<T>, "padding would be digested");
    state_ = fnv1a({reinterpret_cast<const std::uint8_t*>(&value), sizeof value}, state_);
  }
  void add_pauses(const fabric::TransmitControl& pause) {
    for (std::size_t c = 0; c < fabric::kPauseClasses; ++c) {
      add(pause.frames(c)), add(pause.transitions(c)), add(pause.total_ps(c, end_ps_));
    }
  }
  template <class Log>
  void add_log(const Log& log) {
    add(log.total);
    for (const fabric::PauseEvent& event : log.records) {
      add(event.time_ps), add(event.port), add(event.pause_class), add(event.sent), add(event.what);
    }
  }
  void add_switch(const fabric::Switch& device) {
    for (std::uint32_t p = 0; p < device.port_count(); ++p) {
      add(device.counters(p));
      add_pauses(device.pause(p));
      for (std::uint32_t g = 0; g < fabric::kClasses; ++g) {
        add(device.buffer().max_shared_B(p, g)), add(device.buffer().max_headroom_B(p, g)), add(device.queue_B(p, g));
      }
    }
    add(device.buffer().max_used_B());
    add(device.drops().total());
    for (const fabric::DropRecord& drop : device.drops().records()) {
      add(drop.first_ps), add(drop.in_port), add(drop.out_port), add(drop.queue), add(drop.reason);
      add(drop.occupancy_B), add(drop.source), add(drop.destination), add(drop.endpoint), add(drop.sequence);
    }
    add_log(device.pause_log());
    add(device.held_packets());
  }

  lab::World world_;
  std::vector<std::unique_ptr<workload::FlowRun>> flows_;  // gone before the hosts that they run on
  bool at_rest_ = false;
  Time_ps end_ps_ = 0;
  std::uint64_t state_ = 0;
};

}  // namespace weft::support
