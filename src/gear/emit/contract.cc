#include "gear/emit/contract.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/figures.h"
#include "text/units.h"

namespace weft::gear {

using fabric::kClasses;

std::vector<std::uint8_t> Contract::pfc_priorities() const {
  std::vector<std::uint8_t> all;
  for (std::uint8_t priority = 0; priority < kClasses; ++priority) {
    if (is_pfc(priority)) all.push_back(priority);
  }
  return all;
}

namespace {

std::vector<std::uint8_t> distinct(const std::array<std::uint8_t, kClasses>& map) {
  std::vector<std::uint8_t> all(map.begin(), map.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

const lab::LinkConfig* link_of(const lab::Lab& lab, std::uint32_t device, std::uint32_t port, lab::PortRef& peer) {
  const lab::PortRef here{device, lab::PortRef::kSwitch, port};
  for (const lab::LinkConfig& link : lab.links) {
    if (link.a != here && link.b != here) continue;
    peer = link.a == here ? link.b : link.a;
    return &link;
  }
  return nullptr;
}

}  // namespace

std::vector<std::uint8_t> Contract::queues() const {
  return distinct(qos.queue_of_priority);
}
std::vector<std::uint8_t> Contract::groups() const {
  return distinct(qos.group_of_priority);
}

std::string sonic_port_name(const fabric::SwitchModel& model, std::uint32_t number) {
  std::uint32_t lane = 0, left = number - 1;
  for (const fabric::FrontPorts& ports : model.ports) {
    const std::uint32_t here = std::min(left, ports.count);
    lane += here * ports.lanes;
    left -= here;
    if (left == 0 && here < ports.count) break;
  }
  return fmt::format("Ethernet{}", lane);
}

std::int64_t whole_ms(Time_ps time_ps) {
  return (time_ps + kMillisecond_ps - 1) / kMillisecond_ps;
}
std::int64_t whole_percent(std::uint32_t ppb) {
  return std::max<std::int64_t>((std::int64_t{ppb} + 5'000'000) / 10'000'000, 1);
}
std::int64_t whole_metres(std::int64_t length_mm) {
  return std::max<std::int64_t>((length_mm + 999) / 1000, 1);
}

Contract contract_of(const lab::Lab& lab, std::uint32_t device) {
  const lab::SwitchConfig& config = lab.switches[device];
  Contract contract{config.name, config.model, config.qos, {}, true, {}};
  for (std::uint32_t i = 0; i < config.ports.size(); ++i) {
    lab::PortRef peer;
    const lab::LinkConfig* link = link_of(lab, device, i, peer);
    if (link == nullptr) continue;
    const lab::SwitchPort& port = config.ports[i];
    ContractPort made;
    made.name = port.name;
    made.number = i + 1;
    made.sonic_name = sonic_port_name(config.model, made.number);
    made.rate_bps = link->rate_bps;
    made.fec = link->fec;
    made.mtu_B = port.mtu_B;
    made.cable = link->cable;
    made.length_mm = link->length_mm;
    made.headroom_B = port.headroom_B;
    made.peer = port_name(lab, peer);
    made.to_host = !peer.is_switch();
    if (peer.is_switch()) made.peer_port = peer;
    contract.ports.push_back(std::move(made));
  }
  return contract;
}

std::vector<EmitProblem> contract_problems(const Contract& contract) {
  std::vector<EmitProblem> problems;
  const auto add = [&](std::string message, std::string remedy) {
    problems.push_back(
        {contract.node, LabPart::kQos, fmt::format("{}: {}", contract.node, message), std::move(remedy)});
  };
  const fabric::SwitchModel& model = contract.model;
  const fabric::SwitchQos& qos = contract.qos;
  const auto lossless = contract.pfc_priorities();
  if (lossless.size() > model.max_lossless_priorities) {
    add(fmt::format("{} lossless priorities ({}), and {} has {} at most", lossless.size(), fmt::join(lossless, ", "),
                    model.name, model.max_lossless_priorities),
        "list fewer in pfc.priorities");
  }
  if (!lossless.empty() && !model.has_pfc)
    add(fmt::format("PFC, and {} has none", model.name), "write pfc: {mode: none}, or take another switch");
  const bool marks =
      std::any_of(qos.queues.begin(), qos.queues.end(), [](const auto& queue) { return queue.ecn.enabled; });
  if (marks && !model.has_ecn)
    add(fmt::format("ECN, and {} has none", model.name), "write ecn: off, or take another switch");
  std::int64_t headroom_B = 0, reserved_B = 0;
  for (const ContractPort& port : contract.ports) {
    for (std::size_t group = 0; group < kClasses; ++group) {
      headroom_B += port.headroom_B[group];
      reserved_B += qos.groups[group].reserved_B;
      if (qos.headroom_pool_B > 0 && port.headroom_B[group] > qos.headroom_pool_B) {
        add(fmt::format("port {} asks for {} of headroom, and the headroom pool of all ports has {}", port.name,
                        exact_size_text(port.headroom_B[group]), exact_size_text(qos.headroom_pool_B)),
            "shorten the cable, or raise buffer.headroom_pool");
        return problems;
      }
    }
  }
  const std::int64_t own_B = qos.headroom_pool_B > 0 ? qos.headroom_pool_B : headroom_B;
  if (own_B + reserved_B + qos.ingress_pool_B > model.buffer_B) {
    add(fmt::format("{} of headroom, {} reserved and a pool of {} are more than the {} of {}", size_text(own_B),
                    size_text(reserved_B), size_text(qos.ingress_pool_B), size_text(model.buffer_B), model.name),
        "shorten the cables, lower buffer.ingress_pool, or make fewer priorities lossless");
  }
  return problems;
}

std::vector<std::string> contract_gaps(const Contract& contract) {
  std::vector<std::string> gaps;
  for (std::uint8_t q : contract.queues()) {
    const fabric::EcnRamp& ecn = contract.qos.queues[q].ecn;
    if (!ecn.enabled) continue;
    if (ecn.probability_ppb % 10'000'000 != 0)
      gaps.push_back(fmt::format("queue {}: the probability of marking is {} % here, whole percents there", q,
                                 static_cast<double>(ecn.probability_ppb) / 1e7));
    if (ecn.yellow_dscps != 0)
      gaps.push_back(fmt::format("queue {}: the ramp of yellow packets is not written, set it by hand", q));
    if (ecn.at_enqueue) gaps.push_back(fmt::format("queue {}: mark at enqueue: the ASIC decides where it marks", q));
  }
  if (contract.qos.flow_control == fabric::FlowControl::kPause)
    gaps.push_back("802.3x pause of the whole link: PFC and pause exclude each other, set it by hand on each port");
  if (contract.qos.flow_control == fabric::FlowControl::kPfc && contract.qos.pause_quanta != 0xffff)
    gaps.push_back(fmt::format("pause quanta {}: the ASIC sends 65535", contract.qos.pause_quanta));
  return gaps;
}

}  // namespace weft::gear
