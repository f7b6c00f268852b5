#include "world/read_out.h"

#include <algorithm>

#include "base/check.h"
#include "world/circular_wait.h"
#include "world/read_records.h"

namespace weft::lab {

namespace {

void read_pauses(const fabric::TransmitControl& pause, Time_ps end_ps, auto& outcome) {
  for (std::size_t c = 0; c < fabric::kClasses; ++c) {
    outcome.pause_rx[c] = pause.frames(c);
    outcome.pause_rx_transitions[c] = pause.transitions(c);
    outcome.pause_rx_ps[c] = pause.total_ps(c, end_ps);
  }
}

SwitchOutcome read_switch(World& world, std::uint32_t index, Time_ps end_ps) {
  fabric::Switch& device = world.fabric_switch(index);
  SwitchOutcome outcome;
  outcome.config = &world.lab().switches[index];
  for (std::uint32_t p = 0; p < device.port_count(); ++p) {
    SwitchPortOutcome port;
    port.name = outcome.config->ports[world.cabled_ports(index)[p]].name;
    port.peer = world.book()[world.peer(device.setup().ports[p].port_id)].name;
    port.rate_bps = device.setup().ports[p].rate_bps;
    port.counters = device.counters(p);
    read_pauses(device.pause(p), end_ps, port);
    for (std::uint32_t c = 0; c < fabric::kClasses; ++c)
      port.counters.pause_tx_ps[c] = device.pause_tx_ps(p, c, end_ps);
    for (std::uint32_t g = 0; g < fabric::kClasses; ++g) {
      port.max_shared_B[g] = device.buffer().max_shared_B(p, g);
      port.max_headroom_B[g] = device.buffer().max_headroom_B(p, g);
    }
    if (const fabric::Forwarder* forwarder = device.forwarder())
      port.forwarder = {device.setup().forwarder->ports[p], forwarder->counters(p)};
    outcome.ports.push_back(std::move(port));
  }
  outcome.max_buffer_B = device.buffer().max_used_B();
  outcome.pool_B = device.buffer().pool_B();
  outcome.drops = device.drops();
  outcome.pauses = device.pause_log();
  outcome.held_packets = device.held_packets();
  for (std::uint32_t c = 0; device.forwarder() != nullptr && c < device.forwarder()->cores(); ++c)
    outcome.softirq.push_back(device.forwarder()->softirq(c));
  return outcome;
}

}  // namespace

void read_out(World& world, std::span<const std::unique_ptr<ActiveWorkload>> workloads, RunResult& result) {
  result.book = world.book();
  for (const auto& active : workloads) result.workloads.push_back({&active->config(), active->outcome(world)});
  for (std::uint32_t port = 0; port < world.port_count(); ++port) {
    // What a virtual function sends and receives is in the counters of its NIC's port.
    if (nic::Device* device = world.device(port); device != nullptr && world.has_cable(port)) {
      PortOutcome outcome;
      outcome.name = world.book()[port].name;
      outcome.device = device->name();
      outcome.peer = world.book()[world.peer(port)].name;
      outcome.address = address_text(world.book()[port]);
      outcome.rate_bps = world.rate_bps(port);
      outcome.counters = device->counters();
      outcome.pauses = device->pauses().log();
      read_pauses(device->pauses().received(), result.end_ps, outcome);
      for (std::size_t c = 0; c < fabric::kClasses; ++c)
        outcome.counters.tx_pause_ps[c] = device->pauses().sent_ps(c, result.end_ps);
      result.ports.push_back(std::move(outcome));
    }
  }
  for (std::uint32_t s = 0; s < world.switch_count(); ++s) {
    world.fabric_switch(s).settle_ledgers();
    WEFT_CHECK(world.fabric_switch(s).balances(), "a switch lost or duplicated packets");
    result.switches.push_back(read_switch(world, s, result.end_ps));
  }
  result.circular_waits = circular_waits(world);
  read_records(world, result);
  for (WorldLink& link : world.links()) {
    LinkOutcome outcome;
    outcome.from = world.book()[link.from].name;
    outcome.to = world.book()[link.to].name;
    outcome.ledger = link.direction->sent;
    for (std::size_t f = 0; f < fabric::kFateCount; ++f) outcome.ledger.fates[f] += link.direction->received.fates[f];
    outcome.ledger.replicas = link.direction->received.replicas;
    outcome.in_flight = link.direction->in_flight();
    result.links.push_back(outcome);
  }
  result.fault_times = world.fault_times(result.end_ps);
  for (const WorldFault& fault : world.faults()) {
    result.faults.push_back(
        {fault.config.rule.name, world.book()[world.port_id(fault.config.from)].name, world.fault_hits(fault.number)});
  }
}

}  // namespace weft::lab
