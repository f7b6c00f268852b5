#include "spec/nic_counters.h"

#include <fmt/format.h>

#include <string>

#include "base/check.h"

namespace weft::nic {

namespace {

constexpr std::uint64_t kFcs_B = 4;

struct PriorityNames {
  std::string rx_bytes, rx_packets, tx_bytes, tx_packets;
};

const std::array<PriorityNames, 8>& priority_names() {
  static const auto names = [] {
    std::array<PriorityNames, 8> list;
    for (std::size_t p = 0; p < list.size(); ++p) {
      list[p] = {fmt::format("rx_prio{}_bytes", p), fmt::format("rx_prio{}_packets", p),
                 fmt::format("tx_prio{}_bytes", p), fmt::format("tx_prio{}_packets", p)};
    }
    return list;
  }();
  return names;
}

}  // namespace

std::vector<NamedCounter> named(const Counters& c) {
  const Counters::Traffic tx = c.tx();
  const Counters::Traffic rx = c.rx();
  const CounterGroup hw = CounterGroup::kHardware;
  const CounterGroup eth = CounterGroup::kEthtool;
  WEFT_DCHECK(tx.packets >= c.tx_multicast.packets + c.ip_tx.packets, "a port has sent less than a part of it");
  WEFT_DCHECK(rx.packets >= c.rx_multicast.packets + c.ip_rx.packets, "a port has received less than a part of it");
  std::vector<NamedCounter> list = {
      {hw, "rx_write_requests", c.rx_write_requests},
      {hw, "rx_read_requests", c.rx_read_requests},
      {hw, "rx_atomic_requests", c.rx_atomic_requests},
      {hw, "out_of_buffer", c.out_of_buffer},
      {hw, "out_of_sequence", c.out_of_sequence},
      {hw, "duplicate_request", c.duplicate_request},
      {hw, "rnr_nak_retry_err", c.rnr_nak_retry_err},
      {hw, "packet_seq_err", c.packet_seq_err},
      {hw, "implied_nak_seq_err", c.implied_nak_seq_err},
      {hw, "local_ack_timeout_err", c.local_ack_timeout_err},
      {hw, "resp_local_length_error", c.resp_local_length_error},
      {hw, "resp_cqe_error", c.resp_cqe_error},
      {hw, "req_cqe_error", c.req_cqe_error},
      {hw, "req_remote_invalid_request", c.req_remote_invalid_request},
      {hw, "req_remote_access_errors", c.req_remote_access_errors},
      {hw, "resp_remote_access_errors", c.resp_remote_access_errors},
      {hw, "resp_cqe_flush_error", c.resp_cqe_flush_error},
      {hw, "req_cqe_flush_error", c.req_cqe_flush_error},
      {hw, "req_transport_retries_exceeded", c.req_transport_retries_exceeded},
      {hw, "req_rnr_retries_exceeded", c.req_rnr_retries_exceeded},
      {hw, "roce_adp_retrans", c.roce_adp_retrans},
      {hw, "roce_adp_retrans_to", c.roce_adp_retrans_to},
      {hw, "roce_slow_restart", c.roce_slow_restart},
      {hw, "roce_slow_restart_cnps", c.roce_slow_restart_cnps},
      {hw, "rp_cnp_ignored", c.rp_cnp_ignored},
      {hw, "rp_cnp_handled", c.rp_cnp_handled},
      {hw, "np_ecn_marked_roce_packets", c.np_ecn_marked_roce_packets},
      {hw, "np_cnp_sent", c.np_cnp_sent},
      {hw, "rx_icrc_encapsulated", c.rx_icrc_encapsulated},
      {eth, "rx_vport_rdma_unicast_packets", rx.packets - c.rx_multicast.packets - c.ip_rx.packets},
      {eth, "rx_vport_rdma_unicast_bytes", rx.bytes - c.rx_multicast.bytes - c.ip_rx.bytes},
      {eth, "tx_vport_rdma_unicast_packets", tx.packets - c.tx_multicast.packets - c.ip_tx.packets},
      {eth, "tx_vport_rdma_unicast_bytes", tx.bytes - c.tx_multicast.bytes - c.ip_tx.bytes},
      {eth, "tx_packets_phy", tx.packets},
      {eth, "rx_packets_phy", rx.packets + c.rx_crc_errors_phy + c.rx_discards_phy + c.rx_icrc_encapsulated},
      {eth, "rx_crc_errors_phy", c.rx_crc_errors_phy},
      {eth, "tx_bytes_phy", tx.bytes + kFcs_B * tx.packets},
      {eth, "rx_discards_phy", c.rx_discards_phy},
      {eth, "link_down_events_phy", c.link_down_events_phy},
  };
  for (std::size_t p = 0; p < 8; ++p) {
    const PriorityNames& names = priority_names()[p];
    list.push_back({eth, names.rx_bytes, c.priorities[p].rx.bytes});
    list.push_back({eth, names.rx_packets, c.priorities[p].rx.packets});
    list.push_back({eth, names.tx_bytes, c.priorities[p].tx.bytes});
    list.push_back({eth, names.tx_packets, c.priorities[p].tx.packets});
  }
  return list;
}

}  // namespace weft::nic
