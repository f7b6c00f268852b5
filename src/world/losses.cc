#include "world/losses.h"

namespace weft::lab {

workload::LossAccount losses_of(World& world) {
  using fabric::Fate;
  workload::LossAccount lost;
  for (const WorldLink& link : world.links()) {
    const auto count = [](const fabric::Ledger& ledger, Fate fate) {
      return ledger.fates[static_cast<std::size_t>(fate)];
    };
    lost.elsewhere += count(link.direction->sent, Fate::kFaultDrop);
    lost.cable += count(link.direction->sent, Fate::kLinkDown);
    if (world.device(link.to) == nullptr) continue;
    for (Fate fate : {Fate::kFcsError, Fate::kIcrcError}) lost.cable += count(link.direction->received, fate);
  }
  for (std::uint32_t i = 0; i < world.switch_count(); ++i) {
    if (!world.has_switch(i)) continue;
    for (std::uint32_t port = 0; port < world.cabled_ports(i).size(); ++port) {
      const auto& drops = world.fabric_switch(i).counters(port).drops;
      for (std::size_t fate = 0; fate < drops.size(); ++fate) {
        const bool on_cable = static_cast<Fate>(fate) == Fate::kFcsError;
        (on_cable ? lost.cable : lost.elsewhere) += drops[fate];
      }
    }
  }
  return lost;
}

}  // namespace weft::lab
