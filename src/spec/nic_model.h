// The parameters of one NIC model: everything that distinguishes a ConnectX-4 Lx from an E810 in
// this simulator. Values come from catalog/nics.yaml, each with its source; nothing here has a
// default that a device would silently inherit.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace weft::nic {

// Local ACK timeout. kFormula: 4.096 us * 2^T for every try (IBTA vol 1, 9.7.6.1.3).
// kConnectX: what firmware with the timeout floor and adaptive retransmission was measured to do
// ([fault-characterization]): T is at least 16, eight adaptive retransmissions with doubling gaps cost one
// retry, then R-1 tries spaced 2 * 4.096 us * 2^T.
enum class AckTimeoutMode : std::uint8_t { kFormula, kConnectX };

// Scope of one CNP pacing interval at the notification point ([lumina-paper]).
enum class CnpScope : std::uint8_t { kPort, kDestinationAddress, kQueuePair };

struct NicModel {
  std::string name;         // catalog key, e.g. "cx4-lx-25g"
  std::string description;  // "NVIDIA ConnectX-4 Lx EN, 2x 25GbE SFP28"
  std::string driver;       // "mlx5" or "irdma": decides device and counter names
  std::string pci_id;
  std::string firmware;
  std::string oui;  // "50:6b:4b", of the made-up MAC addresses

  std::int64_t line_rate_bps = 0;  // of one port
  // Rate of the embedded switch to this card's functions, from the cable and from each other; 0: not known, and
  // packets between functions go at the line rate.
  std::int64_t internal_rate_bps = 0;
  std::uint32_t ports = 0;
  std::int64_t max_netdev_mtu_B = 0;

  std::uint32_t pcie_generation = 0;          // 3, 4, 5
  std::uint32_t pcie_lanes = 0;               // of one function
  std::uint32_t pcie_functions_per_port = 1;  // DGX Spark: each port is fed by two x4 functions
  std::uint32_t pcie_max_payload_B = 256;
  std::uint32_t pcie_max_read_request_B = 512;
  std::uint32_t pcie_read_requests = 256;  // in flight: tags
  bool pcie_relaxed_ordering = true;       // regions are registered for it and the function has it enabled

  std::int64_t message_rate_per_s = 0;  // whole NIC
  Time_ps wqe_interval_ps = 0;          // one QP: shortest time between two messages
  Time_ps tx_latency_ps = 0;            // doorbell at the NIC -> first bit at the port
  Time_ps rx_latency_ps = 0;            // last bit at the port -> packet checked, DMA write leaves
  Time_ps response_latency_ps = 0;      // request checked -> ACK, CNP or response can leave (no doorbell, no WQE)
  Time_ps port_latency_ps = 0;          // MAC, PCS and SerDes of one port, one direction, without FEC
  Time_ps atomic_interval_ps = 0;       // the atomic unit: shortest time between two atomics
  Time_ps read_interval_ps = 0;         // the READ responder: shortest time between two requests that it begins
  std::uint32_t fetch_burst_B = 0;      // payload of a message that is in the NIC before its first packet leaves
  Time_ps read_turnaround_ps = 0;       // one QP: last bit of a READ's data -> first bit of the next READ's
  std::uint32_t context_cache = 0;      // queue pairs whose contexts the NIC holds; 0: all
  std::uint32_t context_map = 0;        // contexts whose place in host memory it knows without asking
  std::uint32_t context_fetches = 0;    // reads of contexts from host memory at once
  std::int64_t rx_buffer_B = 0;         // between port and PCIe; beyond it rx_discards_phy
  std::int64_t rx_pause_xoff_B = 0;     // flow control: fill of the receive buffer at which the NIC sends XOFF
  std::int64_t rx_pause_xon_B = 0;      // and at which it sends XON
  std::int64_t rx_sustained_bps = 0;    // what it can receive for ever; 0: the line rate. nic/receive_load.h
  Time_ps rx_slow_after_ps = 0;         // of more than that, until it becomes slow
  Time_ps rx_slow_ps = 0;               // for so long
  std::int64_t rx_slow_rate_bps = 0;    // what then leaves the receive buffer
  std::int64_t rx_resume_B = 0;         // and to what a full one falls before it takes packets again
  Time_ps pfc_response_ps = 0;          // pause frame received -> no new frame of that priority starts

  std::uint32_t ack_interval_packets = 0;  // the responder acknowledges at the latest after so many packets
  std::uint32_t max_rd_atomic = 0;         // outstanding READ and atomic requests of one QP
  std::uint32_t max_inline_B = 0;
  bool end_to_end_credits = false;  // AETH carries receive credits (IBTA 9.7.7.2), else code 31
  bool mig_req = true;              // BTH MigReq bit (ConnectX 1, E810 0)

  AckTimeoutMode ack_timeout_mode = AckTimeoutMode::kFormula;
  Time_ps adaptive_timeout_ps = ns(4'194'304);  // kConnectX: the shortest timeout of its own
  Time_ps nak_generation_ps = 0;                // gap seen -> NAK ready to send
  Time_ps nak_reaction_ps = 0;                  // NAK received -> first retransmission ready to send
  bool selective_repeat = false;                // of RC queue pairs: nic/transports/selective_repeat.h
  std::uint32_t tx_psn_window = 1024;           // selective repeat: packets in flight

  CnpScope cnp_scope = CnpScope::kPort;
  Time_ps min_time_between_cnps_ps = 0;
  Time_ps cnp_generation_ps = 0;  // CE packet checked -> CNP ready to send
  bool mild_restart =
      false;  // slow restart of a queue pair near its line rate costs it little: nic/congestion/dcqcn.cc
  bool slow_restart = false;  // loss is congestion: a gap asks for a CNP, and the sender reacts to a NAK or timeout
};

}  // namespace weft::nic
