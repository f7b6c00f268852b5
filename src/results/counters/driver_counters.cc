#include "results/counters/driver_counters.h"

#include <fmt/format.h>

#include "results/counters/port_counters.h"

namespace weft::lab {

namespace {

using Group = nic::CounterGroup;

// irdma's hw_counters, and ice's `ethtool -S` (drivers/infiniband/hw/irdma/verbs.c, ice_ethtool.c of Linux).
std::vector<DriverCounter> intel(const PortOutcome& port, bool ipv4) {
  const nic::Counters& c = port.counters;
  const nic::Counters::Traffic tx = c.tx(), rx = c.rx();
  // The hardware counters are those of RDMA; what the kernel sends is ice's.
  const nic::Counters::Traffic roce_tx = {tx.packets - c.ip_tx.packets, tx.bytes - c.ip_tx.bytes};
  const nic::Counters::Traffic roce_rx = {rx.packets - c.ip_rx.packets, rx.bytes - c.ip_rx.bytes};
  const std::string ip = ipv4 ? "ip4" : "ip6";
  std::vector<DriverCounter> list = {
      {Group::kHardware, ip + "InOctets", roce_rx.bytes},
      {Group::kHardware, ip + "InPkts", roce_rx.packets},
      {Group::kHardware, ip + "OutOctets", roce_tx.bytes},
      {Group::kHardware, ip + "OutPkts", roce_tx.packets},
      {Group::kHardware, "iwInRdmaReads", c.rx_read_requests},
      {Group::kHardware, "iwInRdmaWrites", c.rx_write_requests},
      {Group::kHardware, "cnpHandled", c.rp_cnp_handled},
      {Group::kHardware, "cnpIgnored", c.rp_cnp_ignored},
      {Group::kHardware, "cnpSent", c.np_cnp_sent},
      {Group::kHardware, "RxECNMrkd", c.np_ecn_marked_roce_packets},
      {Group::kEthtool, "rx_bytes.nic", rx.bytes},
      {Group::kEthtool, "tx_bytes.nic", tx.bytes},
      {Group::kEthtool, "rx_unicast.nic", rx.packets},
      {Group::kEthtool, "tx_unicast.nic", tx.packets},
      {Group::kEthtool, "rx_dropped.nic", c.rx_discards_phy},
      {Group::kEthtool, "rx_crc_errors.nic", c.rx_crc_errors_phy},
  };
  for (std::size_t p = 0; p < fabric::kClasses; ++p)
    list.push_back({Group::kEthtool, fmt::format("tx_priority_{}_xoff.nic", p), c.tx_pause[p]});
  for (std::size_t p = 0; p < fabric::kClasses; ++p)
    list.push_back({Group::kEthtool, fmt::format("rx_priority_{}_xoff.nic", p), port.pause_rx[p]});
  return list;
}

}  // namespace

std::vector<DriverCounter> driver_counters(const PortOutcome& port, std::string_view driver, bool ipv4) {
  if (driver == "irdma") return intel(port, ipv4);
  std::vector<DriverCounter> list;
  for (const nic::NamedCounter& each : port_counters(port))
    list.push_back({each.group, std::string(each.name), each.value});
  return list;
}

}  // namespace weft::lab
