// The QoS profiles: what a device does before the lab's own keys.
#include "model/qos_contract.h"

namespace weft::lab {
namespace {

using fabric::kClasses;
using fabric::Scheduling;

constexpr std::uint32_t kAlways_ppb = 1'000'000'000;
constexpr std::int8_t kLossyAlpha = 3;     // SONiC's lossy profiles: 8 times what is free ([sonic-buildimage])
constexpr std::int8_t kLosslessAlpha = 0;  // pg_profile_lookup.ini of Spectrum: as much as is free

std::uint8_t bit(std::uint8_t priority) {
  return static_cast<std::uint8_t>(1U << priority);
}

void mark(fabric::QueueConfig& queue, std::int64_t min_B, std::int64_t max_B, std::uint32_t probability_ppb) {
  queue.ecn.enabled = true;
  queue.ecn.min_B = min_B;
  queue.ecn.max_B = max_B;
  queue.ecn.probability_ppb = probability_ppb;
}

// Everything is in queue 0 and group 0, best effort.
QosContract nothing() {
  QosContract contract;
  contract.host.congestion.kind = nic::CongestionKind::kDcqcn;  // on in every mlx5 NIC; idle without CNPs
  contract.device.queue_of_priority.fill(0);
  contract.device.group_of_priority.fill(0);
  for (fabric::QueueConfig& queue : contract.device.queues) queue.alpha_exponent = kLossyAlpha;
  for (fabric::GroupConfig& group : contract.device.groups) group.alpha_exponent = kLossyAlpha;
  return contract;
}

// NVIDIA's RoCE: `nv set qos roce` of Cumulus Linux 5.19 ([cumulus-docs]) and the usual mlx5 host.
QosContract roce(bool lossless) {
  constexpr std::uint8_t kData = 3, kCnp = 6;
  QosContract contract = nothing();
  contract.host.dscp = 26;
  contract.host.priority = kData;
  fabric::SwitchQos& device = contract.device;
  for (std::size_t dscp = 0; dscp < 64; ++dscp) device.priority_of_dscp[dscp] = static_cast<std::uint8_t>(dscp / 8);
  for (std::uint8_t own : {kData, kCnp}) device.queue_of_priority[own] = device.group_of_priority[own] = own;
  device.queues[0].weight = device.queues[kData].weight = 50;
  device.queues[kCnp].scheduling = Scheduling::kStrict;
  for (std::uint8_t queue : {std::uint8_t{0}, kData}) mark(device.queues[queue], 150'000, 1'500'000, kAlways_ppb);
  if (lossless) {
    device.flow_control = fabric::FlowControl::kPfc;
    contract.lossless_priorities = bit(kData);
    device.groups[kData].alpha_exponent = kLosslessAlpha;
  }
  return contract;
}

// qos_config.j2 of SONiC, maps "AZURE", and its watchdog ([sonic-buildimage], [sonic-utilities]).
QosContract sonic() {
  QosContract contract = nothing();
  contract.host.dscp = 3;
  contract.host.priority = 3;
  fabric::SwitchQos& device = contract.device;
  device.priority_of_dscp.fill(1);
  constexpr std::pair<std::uint8_t, std::uint8_t> kAzure[] = {{3, 3}, {4, 4}, {5, 2}, {8, 0}, {46, 5}, {48, 6}};
  for (const auto& [dscp, priority] : kAzure) device.priority_of_dscp[dscp] = priority;
  device.queue_of_priority = {0, 1, 2, 3, 4, 5, 6, 7};
  device.group_of_priority = {0, 0, 0, 3, 4, 0, 0, 7};
  for (fabric::QueueConfig& queue : device.queues) queue.weight = 14;  // scheduler.0
  device.flow_control = fabric::FlowControl::kPfc;
  device.watchdog.enabled = true;
  for (std::uint8_t lossless : {std::uint8_t{3}, std::uint8_t{4}}) {
    contract.lossless_priorities |= bit(lossless);
    device.queues[lossless].weight = 15;  // scheduler.1
    device.groups[lossless].alpha_exponent = kLosslessAlpha;
    mark(device.queues[lossless], 1 << 20, 2 << 20, kAlways_ppb / 20);
  }
  return contract;
}

QosContract values_of(QosProfile profile) {
  switch (profile) {
    case QosProfile::kRoceLossless:
      return roce(true);
    case QosProfile::kRoceLossy:
      return roce(false);
    case QosProfile::kSonicDefault:
      return sonic();
    case QosProfile::kNone:
      break;
  }
  return nothing();
}

}  // namespace

QosContract qos_profile(QosProfile profile, const Place& place) {
  QosContract contract = values_of(profile);
  contract.profile = profile;
  QosPlaces& places = contract.places;
  places.section = places.trust = places.priority = places.cnp = places.dscp_map = places.pfc = places.watchdog =
      places.buffer = places.congestion = place;
  places.queues.fill(place);
  places.groups.fill(place);
  return contract;
}

}  // namespace weft::lab
