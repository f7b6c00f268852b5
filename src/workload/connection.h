// Two ends of a workload and the queue pairs between them: what perftest exchanges over TCP before it starts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/host.h"

namespace weft::workload {

struct Endpoint {
  host::Host* host = nullptr;
  nic::Device* device = nullptr;
  nic::PortElsewhere* elsewhere = nullptr;  // in their place when they belong to another engine
  std::uint8_t function = 0;                // PCIe function of the port
  std::uint32_t active_mtu_B = 0;           // from the netdev MTU
  std::uint8_t tos = 0x02;
  std::uint8_t priority = nic::kPortPriority;
  std::uint8_t gid[16] = {};
  std::uint32_t port = nic::kDevicePort;  // of a virtual function, which the device's is not
  std::uint32_t guest = 0;                // which virtual machine of the host; 0: the host itself
  Time_ps interrupt_delay_ps = 0;         // of its program, which is not on the NIC's node
  std::int64_t most_memory_B = 0;         // that can be registered; 0: any
  std::string memory_error;               // not empty: none can be, and what ibv_reg_mr says
  std::optional<std::uint32_t> cpu;       // where its programs run, of the host's CPUs; none: any

  bool is_here() const { return device != nullptr; }
  std::uint32_t port_id() const {
    if (!is_here()) return elsewhere->port_id;
    return port == nic::kDevicePort ? device->port_id() : port;
  }
  std::uint32_t start(host::Program& program, Time_ps at_ps) const { return host->start(program, at_ps, cpu, guest); }
  std::uint32_t max_rd_atomic() const { return is_here() ? device->model().max_rd_atomic : elsewhere->max_rd_atomic; }
  std::uint32_t random_psn() const { return is_here() ? device->random_psn() : elsewhere->numbers.random_psn(); }
  nic::MemoryTable& memory() const { return is_here() ? device->memory() : elsewhere->memory; }
  // A queue pair of this end: where it belongs to another engine, only its number.
  std::uint32_t create_qp(nic::QpType type, std::uint32_t send_cq, std::uint32_t receive_cq, std::uint32_t send_depth,
                          std::uint32_t receive_depth) const {
    return is_here() ? device->create_qp(type, send_cq, receive_cq, send_depth, receive_depth, function)
                     : elsewhere->next_qpn();
  }
};

struct QpPair {
  std::uint32_t client = 0;  // QP numbers
  std::uint32_t server = 0;
  std::uint32_t client_psn = 0;
  std::uint32_t server_psn = 0;
};

struct ConnectionSettings {
  bool ud = false;
  std::uint32_t qps = 1;
  std::uint32_t mtu_B = 0;  // 0: the smaller active MTU
  std::uint32_t send_depth = 128;
  std::uint32_t receive_depth = 512;
  std::uint32_t max_rd_atomic = 16;
  std::uint8_t timeout = 14;
  std::uint8_t retry_cnt = 7;
  std::uint8_t rnr_retry = 7;
  std::uint8_t min_rnr_timer = 12;
  nic::Access server_access{true, true, true, true};
  engine::TelemetryFormat telemetry = engine::TelemetryFormat::kNone;
  bool connect_server = true;  // false: the server's QPs stay in RESET, a dead peer
};

struct Connection {
  std::uint32_t mtu_B = 0;
  std::uint32_t client_send_cq = 0, client_receive_cq = 0;
  std::uint32_t server_send_cq = 0, server_receive_cq = 0;
  std::vector<QpPair> qps;
};

inline constexpr std::uint32_t kWorkloadQkey = 0x11111111;  // perftest's DEF_QKEY

// Two fresh queue pairs that know each other's number. Only what is here is brought up.
void bring_up(const Endpoint& client, const Endpoint& server, const ConnectionSettings& settings, std::uint32_t mtu_B,
              const QpPair& pair);
Connection connect(const Endpoint& client, const Endpoint& server, const ConnectionSettings& settings);

}  // namespace weft::workload
