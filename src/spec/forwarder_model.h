// A software forwarder: a Linux bridge or router, which moves every packet by a CPU. Its parameters (values from
// catalog/forwarders.yaml, each with its source) and what a lab says to it. docs/mechanisms/forwarder.md
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "spec/switch_model.h"

namespace weft::fabric {

struct ForwarderModel {
  std::string name;         // catalog key, e.g. "linux-bridge-25g"
  std::string description;  // "Linux bridge over two ConnectX-4 Lx 25GbE ports"
  std::string oui;          // of the made-up MAC addresses
  std::string port_prefix;
  std::vector<FrontPorts> ports;
  std::int64_t max_mtu_B = 0;
  Time_ps port_latency_ps = 0;       // MAC, PCS and SerDes of one port, one direction, without FEC
  Time_ps rx_latency_ps = 0;         // last bit at the MAC -> frame and completion in host memory
  Time_ps tx_latency_ps = 0;         // doorbell -> first bit at the MAC, a DMA read of the frame in it
  std::uint32_t cores = 0;           // softirq CPUs: each has one RX queue of each port
  Time_ps packet_cost_ps = 0;        // of a CPU, for one packet from the ring to the doorbell
  Time_ps red_cost_ps = 0;           // more than that through a red at the root, which one lock guards
  std::uint32_t rx_ring = 0;         // descriptors of each RX queue (ethtool -G)
  std::uint32_t max_rx_ring = 0;     // most that the driver takes
  Time_ps rx_usecs_ps = 0;           // interrupt moderation (ethtool -C): after the first packet, or
  std::uint32_t rx_frames = 0;       // as many as that
  Time_ps interrupt_latency_ps = 0;  // interrupt -> first poll
  std::uint32_t napi_weight = 0;     // packets of one poll; their descriptors are free again when it ends
  std::uint32_t netdev_budget = 0;   // packets of one softirq run (net.core.netdev_budget)
  Time_ps softirq_resume_ps = 0;     // out of budget -> ksoftirqd polls on
  Time_ps tx_usecs_ps = 0;           // completions of sent packets are seen so much later
  Time_ps tx_stall_interval_ps = 0;  // mean time between hold-ups of the CPU that takes completions; 0: there are none
  Time_ps tx_stall_ps = 0;           // mean length of one
  std::uint32_t pfifo_limit = 0;     // packets (txqueuelen): the qdisc of a port whose lab names none
};

enum class QdiscKind : std::uint8_t { kPfifo, kRed };

// Of one egress port, by tc's names (man tc-pfifo, tc-red).
struct QdiscConfig {
  QdiscKind kind = QdiscKind::kPfifo;
  std::int64_t limit = 0;  // pfifo: packets; red: bytes
  std::int64_t min_B = 0, max_B = 0;
  std::uint32_t probability_ppb = 0;
  std::int64_t avpkt_B = 0;
  std::int64_t burst = 0;          // packets
  std::int64_t bandwidth_bps = 0;  // for the average of an idle queue
  bool ecn = false;
};

struct ForwarderPort {
  std::uint32_t rx_ring = 0;
  QdiscConfig qdisc;
};

struct ForwarderConfig {
  ForwarderModel model;
  std::vector<ForwarderPort> ports;
};

// EWMA exponent (Wlog) as tc computes it from min, avpkt and burst (iproute2 tc/tc_red.c); -1: burst is too small for
// min.
int red_weight_exponent(const QdiscConfig& red);
// The burst that tc takes when none is given, in packets.
std::int64_t red_default_burst(const QdiscConfig& red);

}  // namespace weft::fabric
