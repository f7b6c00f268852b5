#include "gear/choose/transport.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace weft::gear {

TransportAdvice advise_transport(const TransportSituation& situation) {
  TransportAdvice advice;
  const bool large = situation.gpus >= kInfinibandFromGpus;
  advice.infiniband = large && !situation.mixed && !situation.tenants && !situation.small_budget;
  auto& reasons = advice.reasons;
  if (advice.infiniband) {
    reasons.push_back(fmt::format("{} GPUs that only train: from {} on InfiniBand has the lowest latency",
                                  situation.gpus, kInfinibandFromGpus));
    reasons.emplace_back("credits make it lossless without PFC and ECN to tune; it routes adaptively in the fabric");
    advice.against.emplace_back(
        "RoCEv2 has trained at 24,000 GPUs (Meta, SIGCOMM 2024): switches cost a half to a third");
    advice.against.emplace_back("one vendor, its own cables, few engineers; a subnet manager has to run");
    return advice;
  }
  if (!large)
    reasons.push_back(fmt::format("{} GPUs: below {} tuned RoCEv2 gives 85 to 95 % of InfiniBand's throughput",
                                  situation.gpus, kInfinibandFromGpus));
  if (situation.mixed) reasons.emplace_back("mixed workloads: a VXLAN EVPN overlay carries both");
  if (situation.tenants)
    reasons.emplace_back("several tenants: VXLAN EVPN keeps them apart; InfiniBand does so in part");
  if (situation.small_budget)
    reasons.emplace_back("a small budget: InfiniBand switches cost two to three times as much");
  if (situation.ethernet_there)
    reasons.emplace_back("Ethernet switches, cables and skills that are there are used again");
  reasons.emplace_back(
      "NICs are the same (ConnectX in Ethernet mode); Cisco, Arista and Broadcom are a choice of vendors");
  advice.against.emplace_back(
      "PFC, ECN and buffers need tuning; ECMP makes hotspots where InfiniBand routes adaptively");
  if (large)
    advice.against.push_back(fmt::format("{} GPUs: InfiniBand still has the lowest latency there", situation.gpus));
  return advice;
}

std::string transport_text(const TransportAdvice& advice) {
  std::string out = advice.choice() + "\n";
  for (const std::string& reason : advice.reasons) out += "  for: " + reason + "\n";
  for (const std::string& reason : advice.against) out += "  against: " + reason + "\n";
  return out;
}

std::string transport_json(const TransportAdvice& advice) {
  nlohmann::ordered_json j;
  j["choice"] = advice.choice();
  j["for"] = advice.reasons;
  j["against"] = advice.against;
  return j.dump(2) + "\n";
}

}  // namespace weft::gear
