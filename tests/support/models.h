// Made-up devices with round numbers, so that a test can compute by hand what must happen. Independent of catalog/.
#pragma once

#include "spec/host_model.h"
#include "spec/nic_model.h"

namespace weft::support {

// 100 Gb/s: a byte takes 80 ps on the line.
inline nic::NicModel test_nic() {
  nic::NicModel model;
  model.name = "test-100g";
  model.description = "test NIC, 100GbE";
  model.driver = "mlx5";
  model.oui = "02:00:00";
  model.line_rate_bps = 100'000'000'000;
  model.ports = 1;
  model.max_netdev_mtu_B = 9978;
  model.pcie_generation = 5;
  model.pcie_lanes = 16;
  model.message_rate_per_s = 100'000'000;
  model.wqe_interval_ps = ns(20);
  model.tx_latency_ps = ns(100);
  model.rx_latency_ps = ns(100);
  model.response_latency_ps = ns(100);
  model.port_latency_ps = ns(50);
  model.atomic_interval_ps = ns(50);
  model.rx_buffer_B = 1 << 20;
  model.ack_interval_packets = 29;
  model.max_rd_atomic = 16;
  model.max_inline_B = 220;
  model.ack_timeout_mode = nic::AckTimeoutMode::kFormula;
  model.nak_generation_ps = us(1);
  model.nak_reaction_ps = us(1);
  model.cnp_scope = nic::CnpScope::kPort;
  model.min_time_between_cnps_ps = us(4);
  return model;
}

inline nic::NicModel test_connectx() {
  nic::NicModel model = test_nic();
  model.name = "test-connectx-100g";
  model.ack_timeout_mode = nic::AckTimeoutMode::kConnectX;
  return model;
}

inline host::HostModel test_host() {
  host::HostModel model;
  model.name = "test-host";
  model.post_wqe_ps = ns(20);
  model.doorbell_ps = ns(30);
  model.post_loop_ps = ns(10);
  model.post_recv_ps = ns(20);
  model.poll_hit_ps = ns(20);
  model.poll_empty_ps = ns(10);
  model.mmio_write_ps = ns(100);
  model.dma_read_ps = ns(200);
  model.dma_write_ps = ns(100);
  return model;
}

}  // namespace weft::support
