// A host, a cable and a port to the outside, without a lab: what leaves is kept, what comes in is a test's.
#pragma once

#include <memory>
#include <vector>

#include "engine/engine.h"
#include "fabric/link_wrapper.h"
#include "host/host.h"
#include "nic/transports/transport.h"
#include "support/models.h"
#include "wire/roce_frame.h"
#include "world/outside_port.h"

namespace weft::support {

inline constexpr std::uint32_t kHostPort = 0, kOutsidePort = 1;
inline constexpr wire::MacAddress kHostMac{2, 0, 0, 0, 0, 1}, kOutsideMac{2, 0, 0, 0, 0, 9};
inline constexpr wire::IpAddress kHostIp = wire::ipv4_mapped(10, 0, 0, 1), kOutsideIp = wire::ipv4_mapped(10, 0, 0, 9);

class OutsideHost {
 public:
  explicit OutsideHost(std::vector<fabric::FaultRule> faults = {}) {
    engine_.set_formats(nic::packet_formats());
    book_ = {{"h:p0", kHostMac, kHostIp, true, std::nullopt}, {"vm:p0", kOutsideMac, kOutsideIp, true, std::nullopt}};
    host_ = std::make_unique<host::Host>(test_host(), engine_.domain(0), 1, 0);
    host_->set_hooks({nullptr, [](void*, nic::Device&, nic::AsyncKind, std::uint32_t, Time_ps) {}, nullptr, nullptr});
    port_ = std::make_unique<lab::OutsidePort>(engine_.domain(0), book_, subnets_, kOutsidePort, 2);
    const std::uint32_t nodes[2] = {port_->node(), host_->node()};
    for (std::uint32_t from = 0; from < 2; ++from) {
      fabric::LinkTiming timing{80, us(1), ns(100), ns(300), 0};
      engine::LinkEnds ends = engine_.connect(0, 0, nodes[from], timing.flight_ps + timing.pipeline_ps);
      links_[from] = std::make_unique<fabric::LinkDirection>(ends, &engine_.domain(0), &engine_.domain(0), timing);
    }
    if (!faults.empty()) {
      wrapper_ = std::make_unique<fabric::LinkWrapper>(std::move(faults), 1, kOutsidePort, kHostPort, 0.0);
      links_[kOutsidePort]->wrap(wrapper_.get());
    }
    nic::DeviceConfig config;
    config.model = test_nic();
    config.name = "mlx5_0";
    config.port_id = kHostPort;
    config.seed = 1;
    config.subnets = &subnets_;
    config.carry_payload = true;
    host_->add_device(std::move(config), host_->add_card(test_nic()), *links_[0], *links_[1]);
    port_->attach(*links_[1], *links_[0], kHostPort);
    port_->set_sink({this, [](void* self, std::span<const std::uint8_t> frame) {
                       static_cast<OutsideHost*>(self)->sent.emplace_back(frame.begin(), frame.end());
                     }});
  }

  nic::Device& device() { return host_->device(0); }
  lab::OutsidePort& port() { return *port_; }
  fabric::LinkDirection& link(std::uint32_t from) { return *links_[from]; }
  Time_ps now_ps() const { return now_ps_; }
  // A frame from outside, and time for what follows.
  void receive(wire::Bytes frame, Time_ps then_ps = us(100)) {
    port_->receive(frame, now_ps_);
    pass(then_ps);
  }
  void pass(Time_ps time_ps) {
    now_ps_ += time_ps;
    engine_.run(now_ps_);
  }
  // Headers of a packet from outside to the host.
  static wire::RoceHeaders headers(wire::Opcode opcode, std::uint32_t qpn, std::uint32_t psn) {
    wire::RoceHeaders h;
    h.dst_mac = kHostMac;
    h.src_mac = kOutsideMac;
    h.src_ip = kOutsideIp;
    h.dst_ip = kHostIp;
    h.src_port = 0xc000;
    h.opcode = opcode;
    h.dest_qp = qpn;
    h.psn = psn;
    return h;
  }
  static std::vector<std::uint8_t> frame(const wire::RoceHeaders& headers, wire::Bytes payload = {}) {
    std::vector<std::uint8_t> bytes(wire::roce_frame_size_B(headers, payload.size()));
    wire::build_roce_frame(headers, payload, bytes);
    return bytes;
  }

  std::vector<std::vector<std::uint8_t>> sent;

 private:
  engine::Engine engine_{1};
  fabric::AddressBook book_;
  std::vector<std::uint32_t> subnets_{0, 0};
  std::unique_ptr<host::Host> host_;
  std::unique_ptr<lab::OutsidePort> port_;
  std::unique_ptr<fabric::LinkDirection> links_[2];  // by the port that sends
  std::unique_ptr<fabric::LinkWrapper> wrapper_;
  Time_ps now_ps_ = us(1);
};

}  // namespace weft::support
