// Counters of one port, under the names that the Linux drivers give them: hw_counters of mlx5
// (`rdma statistic`, /sys/class/infiniband/*/ports/1/hw_counters) and `ethtool -S`. The hot path keeps
// few; named() derives the rest.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "spec/wait.h"

namespace weft::nic {

struct Counters {
  struct Traffic {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;  // frames without FCS
  };
  struct PriorityTraffic {
    Traffic tx, rx;
  };
  // ethtool -S: vport_rdma and phy counters are sums of these. First, because every packet counts here.
  std::array<PriorityTraffic, 8> priorities{};
  Traffic tx_multicast, rx_multicast;  // of these, to and from groups
  // hw_counters
  std::uint64_t rx_write_requests = 0;
  std::uint64_t rx_read_requests = 0;
  std::uint64_t rx_atomic_requests = 0;
  std::uint64_t out_of_buffer = 0;
  std::uint64_t out_of_sequence = 0;
  std::uint64_t duplicate_request = 0;
  std::uint64_t rnr_nak_retry_err = 0;
  std::uint64_t packet_seq_err = 0;
  std::uint64_t implied_nak_seq_err = 0;
  std::uint64_t local_ack_timeout_err = 0;
  std::uint64_t resp_local_length_error = 0;
  std::uint64_t resp_cqe_error = 0;
  std::uint64_t req_cqe_error = 0;
  std::uint64_t req_remote_invalid_request = 0;
  std::uint64_t req_remote_access_errors = 0;
  std::uint64_t resp_remote_access_errors = 0;
  std::uint64_t resp_cqe_flush_error = 0;
  std::uint64_t req_cqe_flush_error = 0;
  std::uint64_t req_transport_retries_exceeded = 0;
  std::uint64_t req_rnr_retries_exceeded = 0;
  std::uint64_t roce_adp_retrans = 0;
  std::uint64_t roce_adp_retrans_to = 0;
  std::uint64_t roce_slow_restart = 0;
  std::uint64_t roce_slow_restart_cnps = 0;
  std::uint64_t rp_cnp_ignored = 0;
  std::uint64_t rp_cnp_handled = 0;
  std::uint64_t np_ecn_marked_roce_packets = 0;
  std::uint64_t np_cnp_sent = 0;
  std::uint64_t rx_icrc_encapsulated = 0;
  std::array<std::uint64_t, 8> tx_pause{};     // pause frames by class, XOFF and XON
  std::array<std::int64_t, 8> tx_pause_ps{};   // time in XOFF
  std::array<std::int64_t, kWaits> idle_ps{};  // the port had sent everything and waited, by cause
  std::int64_t idle_from_ps = 0;               // what was before does not count there
  std::uint64_t rx_crc_errors_phy = 0;
  std::uint64_t rx_discards_phy = 0;
  std::uint64_t link_down_events_phy = 0;
  // The kernel's part of all that (nic/transports/ip_datagram.h); the rest is RoCE.
  Traffic ip_tx, ip_rx;
  // No driver has these; the report's own words.
  std::uint64_t retransmitted_packets = 0;
  std::uint64_t acks_sent = 0;
  std::uint64_t naks_sent = 0;

  Traffic tx() const { return sum(&PriorityTraffic::tx); }
  Traffic rx() const { return sum(&PriorityTraffic::rx); }

 private:
  Traffic sum(Traffic PriorityTraffic::*direction) const {
    Traffic all;
    for (const PriorityTraffic& each : priorities) {
      all.packets += (each.*direction).packets;
      all.bytes += (each.*direction).bytes;
    }
    return all;
  }
};

enum class CounterGroup : std::uint8_t { kHardware, kEthtool };
struct NamedCounter {
  CounterGroup group;
  std::string_view name;  // of static storage
  std::uint64_t value;
};
// In the order in which the drivers print them.
std::vector<NamedCounter> named(const Counters& counters);

}  // namespace weft::nic
