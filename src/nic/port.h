// A NIC port: the parts of a device, each by value and with its own rules. nic::Device is what programs and hosts see
// of it; transports (nic/transports/transport.h) and the functions of the packet path work on the parts. Which of them
// a packet needs comes first, by cache line.
#pragma once

#include <cstdint>
#include <memory>

#include "base/random.h"
#include "fabric/link.h"
#include "nic/bond.h"
#include "nic/cnp_notifier.h"
#include "nic/congestion.h"
#include "nic/device_config.h"
#include "nic/loopback.h"
#include "nic/memory.h"
#include "nic/pause_engine.h"
#include "nic/pcie/function.h"
#include "nic/port_schedule.h"
#include "nic/queues/completion_side.h"
#include "nic/queues/queue_pair_table.h"
#include "nic/receive_buffer.h"
#include "nic/record/port_record.h"
#include "nic/traffic_classes.h"
#include "spec/nic_counters.h"

namespace weft::nic {

struct alignas(64) Port {
  Port(Device& device, DeviceConfig given, Card& card, fabric::LinkDirection& out, fabric::LinkDirection& in);

  PortSchedule schedule;
  QueuePairTable qps;
  fabric::LinkDirection& in;
  PcieFunction* functions;                  // the card's
  const CongestionAlgorithm* cc = nullptr;  // null: off
  std::uint32_t ack_interval_packets;
  bool carry_payload, records = false;  // records: recorder is there
  TrafficClasses classes;
  MemoryTable& memory;  // of the bond's first port
  ReceiveBuffer buffer;
  alignas(32) Counters counters;

  DeviceConfig config;
  Device& device;
  Card& card;
  fabric::LinkDirection& wire;  // its cable; schedule.wire() is the sibling's while this one has no signal
  MemoryTable own_memory;
  SharedByPorts own_shared;
  SharedByPorts& shared;  // of the bond's first port
  BondPort bond;
  CompletionSide completions;
  CnpNotifier cnps;
  PauseEngine pauses;
  LoopBack looped;
  RandomStream recovery;
  Time_ps message_interval_ps;
  std::int64_t line_rate_bps;
  bool is_up = true;  // by DeviceControl, and of a bond by Bond
  std::unique_ptr<PortRecord> recorder;

  // The port whose address its packets have.
  std::uint32_t address_id() const { return bond.is_second ? bond.sibling->config.port_id : config.port_id; }
  // The port of the bond that has this queue pair.
  Port& owner_of(std::uint32_t qpn) { return is_siblings(qpn) ? *bond.sibling : *this; }
  bool is_siblings(std::uint32_t qpn) const { return bond.sibling != nullptr && qps.is_of_other_port(qpn); }
  std::uint64_t context_key(const QueuePair& qp) const { return std::uint64_t{config.port_id + 1u} << 32 | qp.qpn; }

  // The host's loop (nic/port_loop.cc): Device::run_until.
  Time_ps run_until(Time_ps end_ps, const Time_ps* programs_ps);
  void prefetch(Time_ps end_ps) const;  // nic/prefetch.h
  // Contexts whose class is no longer stopped go on.
  void unpark(Time_ps now_ps);
};

}  // namespace weft::nic
