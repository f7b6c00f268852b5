#include "model/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <vector>

#include "spec/nic_counters.h"

namespace weft::lab {
namespace {

// Of a port of a switch, where one priority can be asked for: ecn_marked.3.
constexpr std::string_view kSwitchPort[] = {"rx_packets",  "tx_packets",   "ecn_marked",     "drops",
                                            "pause_tx",    "pause_rx",     "pause_tx_us",    "pause_rx_us",
                                            "max_queue_B", "max_shared_B", "max_headroom_B", "storms"};
// Of a switch: sums, or the largest, over its ports; drops by reason (results/counters/drop_reason.h).
constexpr std::string_view kSwitch[] = {
    "rx_packets",    "tx_packets",     "ecn_marked",   "drops",       "tail_drop",     "wred_drop",
    "headroom_drop", "no_route_drop",  "ttl_drop",     "mtu_drop",    "watchdog_drop", "port_down_drop",
    "cpu_drop",      "pause_tx",       "pause_rx",     "pause_tx_us", "pause_rx_us",   "max_queue_B",
    "max_shared_B",  "max_headroom_B", "max_buffer_B", "storms",      "held_packets",  "rx_out_of_buffer"};
// Of a forwarder, and of one port of it: what a switch does not have.
constexpr std::string_view kForwarder[] = {"rx_out_of_buffer", "max_rx_ring",    "qdisc_packets", "qdisc_drops",
                                           "qdisc_overlimits", "qdisc_requeues", "qdisc_marked",  "qdisc_early",
                                           "qdisc_pdrop",      "max_backlog_B"};
// Of all switches; pause_frames are those of switches and NICs.
constexpr std::string_view kFabric[] = {
    "ecn_marked",    "drops",       "lossless_drops", "tail_drop",     "wred_drop",      "headroom_drop",
    "no_route_drop", "ttl_drop",    "mtu_drop",       "watchdog_drop", "port_down_drop", "cpu_drop",
    "pause_frames",  "max_queue_B", "max_buffer_B",   "storms",        "held_packets",   "rx_out_of_buffer"};
constexpr std::string_view kDeadlock[] = {"cycles"};

// /sys/class/infiniband/*/ports/1/hw_counters (linux drivers/infiniband/hw/mlx5/counters.c).
constexpr std::string_view kHwCounters[] = {"rx_write_requests",
                                            "rx_read_requests",
                                            "rx_atomic_requests",
                                            "rx_dct_connect",
                                            "out_of_buffer",
                                            "out_of_sequence",
                                            "duplicate_request",
                                            "rnr_nak_retry_err",
                                            "packet_seq_err",
                                            "implied_nak_seq_err",
                                            "local_ack_timeout_err",
                                            "resp_local_length_error",
                                            "resp_cqe_error",
                                            "req_cqe_error",
                                            "req_remote_invalid_request",
                                            "req_remote_access_errors",
                                            "resp_remote_access_errors",
                                            "resp_cqe_flush_error",
                                            "req_cqe_flush_error",
                                            "req_transport_retries_exceeded",
                                            "req_rnr_retries_exceeded",
                                            "roce_adp_retrans",
                                            "roce_adp_retrans_to",
                                            "roce_slow_restart",
                                            "roce_slow_restart_cnps",
                                            "roce_slow_restart_trans",
                                            "rp_cnp_ignored",
                                            "rp_cnp_handled",
                                            "np_ecn_marked_roce_packets",
                                            "np_cnp_sent",
                                            "rx_icrc_encapsulated",
                                            "cc_rx_ce_pkts",
                                            "cc_rx_cnp_pkts",
                                            "cc_tx_cnp_pkts",
                                            "rdma_tx_packets",
                                            "rdma_rx_packets",
                                            "rdma_tx_bytes",
                                            "rdma_rx_bytes"};

// /sys/class/infiniband/*/ports/1/counters; the data counters count 4-byte words.
constexpr std::string_view kPortCounters[] = {"port_xmit_data",   "port_rcv_data",  "port_xmit_packets",
                                              "port_rcv_packets", "port_xmit_wait", "port_xmit_discards",
                                              "port_rcv_errors",  "symbol_error",   "link_downed"};

// ethtool -S (linux Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst).
constexpr std::string_view kEthtool[] = {"rx_vport_rdma_unicast_packets",
                                         "rx_vport_rdma_unicast_bytes",
                                         "tx_vport_rdma_unicast_packets",
                                         "tx_vport_rdma_unicast_bytes",
                                         "rx_vport_rdma_multicast_packets",
                                         "rx_vport_rdma_multicast_bytes",
                                         "tx_vport_rdma_multicast_packets",
                                         "tx_vport_rdma_multicast_bytes",
                                         "rx_packets_phy",
                                         "rx_bytes_phy",
                                         "tx_packets_phy",
                                         "tx_bytes_phy",
                                         "rx_discards_phy",
                                         "tx_discards_phy",
                                         "rx_buffer_passed_thres_phy",
                                         "tx_pause_storm_warning_events",
                                         "tx_pause_storm_error_events",
                                         "rx_pause_ctrl_phy",
                                         "tx_pause_ctrl_phy",
                                         "rx_global_pause",
                                         "tx_global_pause",
                                         "rx_global_pause_duration",
                                         "tx_global_pause_duration",
                                         "rx_out_of_buffer",
                                         "rx_steer_missed_packets",
                                         "rx_crc_errors_phy",
                                         "rx_pcs_symbol_err_phy",
                                         "rx_corrected_bits_phy",
                                         "link_down_events_phy",
                                         "outbound_pci_stalled_rd",
                                         "outbound_pci_stalled_wr",
                                         "outbound_pci_stalled_rd_events",
                                         "outbound_pci_stalled_wr_events",
                                         "outbound_pci_buffer_overflow"};

// One for each of the eight priorities: rx_prio3_pause.
constexpr std::string_view kPerPriority[] = {"rx_prio{}_bytes",
                                             "rx_prio{}_packets",
                                             "tx_prio{}_bytes",
                                             "tx_prio{}_packets",
                                             "rx_prio{}_pause",
                                             "rx_prio{}_pause_duration",
                                             "rx_prio{}_pause_transition",
                                             "tx_prio{}_pause",
                                             "tx_prio{}_pause_duration",
                                             "rx_prio{}_buf_discard",
                                             "rx_prio{}_cong_discard",
                                             "rx_prio{}_marked",
                                             "rx_prio{}_discards"};

// irdma ([lumina] host_counter.py).
constexpr std::string_view kIrdma[] = {"cnpSent", "cnpHandled", "RxECNMrkd"};

// libibverbs enum ibv_wc_status, in order from 0.
constexpr std::string_view kWcStatus[] = {"IBV_WC_SUCCESS",
                                          "IBV_WC_LOC_LEN_ERR",
                                          "IBV_WC_LOC_QP_OP_ERR",
                                          "IBV_WC_LOC_EEC_OP_ERR",
                                          "IBV_WC_LOC_PROT_ERR",
                                          "IBV_WC_WR_FLUSH_ERR",
                                          "IBV_WC_MW_BIND_ERR",
                                          "IBV_WC_BAD_RESP_ERR",
                                          "IBV_WC_LOC_ACCESS_ERR",
                                          "IBV_WC_REM_INV_REQ_ERR",
                                          "IBV_WC_REM_ACCESS_ERR",
                                          "IBV_WC_REM_OP_ERR",
                                          "IBV_WC_RETRY_EXC_ERR",
                                          "IBV_WC_RNR_RETRY_EXC_ERR",
                                          "IBV_WC_LOC_RDD_VIOL_ERR",
                                          "IBV_WC_REM_INV_RD_REQ_ERR",
                                          "IBV_WC_REM_ABORT_ERR",
                                          "IBV_WC_INV_EECN_ERR",
                                          "IBV_WC_INV_EEC_STATE_ERR",
                                          "IBV_WC_FATAL_ERR",
                                          "IBV_WC_RESP_TIMEOUT_ERR",
                                          "IBV_WC_GENERAL_ERR",
                                          "IBV_WC_TM_ERR",
                                          "IBV_WC_TM_RNDV_INCOMPLETE"};

struct CounterNames {
  std::deque<std::string> expanded;  // keeps the names with a priority in place
  std::vector<std::string_view> all;

  CounterNames() {
    for (std::span<const std::string_view> group :
         {std::span<const std::string_view>(kHwCounters), {kPortCounters}, {kEthtool}}) {
      all.insert(all.end(), group.begin(), group.end());
    }
    for (std::string_view pattern : kPerPriority) {
      for (int priority = 0; priority < 8; ++priority) {
        all.push_back(expanded.emplace_back(fmt::format(fmt::runtime(pattern), priority)));
      }
    }
    all.insert(all.end(), std::begin(kIrdma), std::end(kIrdma));
  }
};

}  // namespace

std::span<const std::string_view> metrics_of(MetricGroup group) {
  switch (group) {
    case MetricGroup::kSwitchPort:
      return kSwitchPort;
    case MetricGroup::kSwitch:
      return kSwitch;
    case MetricGroup::kForwarder:
      return kForwarder;
    case MetricGroup::kFabric:
      return kFabric;
    case MetricGroup::kDeadlock:
      return kDeadlock;
  }
  return {};
}

std::span<const std::string_view> known_counters() {
  static const CounterNames names;
  return names.all;
}

bool is_known_counter(std::string_view name) {
  const auto counters = known_counters();
  return std::find(counters.begin(), counters.end(), name) != counters.end();
}

std::span<const std::string> counted_counters() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const nic::NamedCounter& counter : nic::named(nic::Counters{})) list.emplace_back(counter.name);
    for (const PauseCounterNames& n : pause_counter_names())
      list.insert(list.end(), {n.rx, n.rx_duration, n.tx, n.tx_duration, n.rx_transition});
    return list;
  }();
  return names;
}

const std::array<PauseCounterNames, fabric::kClasses>& pause_counter_names() {
  static const auto names = [] {
    std::array<PauseCounterNames, fabric::kClasses> list;
    for (std::size_t p = 0; p < list.size(); ++p) {
      list[p] = {fmt::format("rx_prio{}_pause", p), fmt::format("rx_prio{}_pause_duration", p),
                 fmt::format("tx_prio{}_pause", p), fmt::format("tx_prio{}_pause_duration", p),
                 fmt::format("rx_prio{}_pause_transition", p)};
    }
    return list;
  }();
  return names;
}

std::optional<int> wc_status_value(std::string_view name) {
  const auto found = std::find(std::begin(kWcStatus), std::end(kWcStatus), name);
  if (found == std::end(kWcStatus)) return std::nullopt;
  return static_cast<int>(found - std::begin(kWcStatus));
}

}  // namespace weft::lab
