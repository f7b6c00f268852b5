#include "host/memory_path.h"

#include <algorithm>

#include "base/check.h"

namespace weft::host {

namespace {

// NCCL's way: pieces of an eighth of its buffer of 4 MiB ([nccl] transport/net.cc); what a copy takes to begin is an
// estimate.
constexpr std::uint32_t kCopyPiece_B = 512 << 10;
constexpr Time_ps kCopyStart_ps = us(5);
constexpr Time_ps kSwitchHop_ps = ns(115);  // Broadcom PEX89048 ([highpoint])

Layout layout_of(const HostModel& model) {
  return model.layout == nullptr ? Layout{{NumaNode{}}, {}, {}} : *model.layout;
}

// Bytes in flight over this time are less than the link could carry.
bool binds(std::int64_t window_B, Time_ps latency_ps, std::int64_t link_bps) {
  return window_B > 0 && static_cast<double>(window_B) * 8e12 / static_cast<double>(std::max<Time_ps>(latency_ps, 1)) <
                             static_cast<double>(link_bps);
}

}  // namespace

MemoryPaths::MemoryPaths(const HostModel& model, HostPlaces places, std::uint64_t seed, std::uint64_t id)
    : model_(model), layout_(layout_of(model)), places_(std::move(places)), seed_(seed), id_(id) {
  using nic::PcieLimit;
  const auto duplex = [&](std::int64_t rate_bps, bool carries_tlps, PcieLimit limit) {
    return Duplex{add_channel(rate_bps, carries_tlps, limit), add_channel(rate_bps, carries_tlps, limit)};
  };
  for (const PcieSlot& slot : layout_.slots) {
    slots_.push_back(duplex(nic::PcieLink{slot.generation, slot.lanes}.tlp_bps(), true, PcieLimit::kUplink));
  }
  for (const NumaLink& link : layout_.links) {
    links_.push_back(duplex(link.rate_bps, false, PcieLimit::kNuma));
    for (nic::PcieChannel* channel : {links_.back().up, links_.back().down}) {
      channel->load_permille = link.load_permille;
      channel->burst_ps = link.burst_B * 8 * (kSecond_ps / 1000) / (link.rate_bps / 1000);
    }
  }
  for (const GpuPlace& gpu : places_.gpus) {
    const std::uint32_t lanes = std::max<std::uint32_t>(gpu.model.pcie_lanes, 1);
    nic::PcieLink link{std::max<std::uint32_t>(gpu.model.pcie_generation, 1), lanes};
    if (gpu.slot) {
      link.generation = std::min(link.generation, layout_.slots[*gpu.slot].generation);
      link.lanes = std::min(link.lanes, layout_.slots[*gpu.slot].lanes);
    }
    gpus_.push_back(duplex(link.tlp_bps(), true, PcieLimit::kGpu));
    const auto peer_limit = [&](std::int64_t rate_bps) {
      return rate_bps == 0 ? nullptr : add_channel(rate_bps, false, PcieLimit::kGpu);
    };
    gpu_limits_.push_back({peer_limit(gpu.model.peer_read_bps), peer_limit(gpu.model.peer_write_bps)});
  }
  if (model.peer_rate_bps > 0) root_ = add_channel(model.peer_rate_bps, false, PcieLimit::kPeer);
}

nic::PcieChannel* MemoryPaths::add_channel(std::int64_t rate_bps, bool carries_tlps, nic::PcieLimit limit) {
  nic::PcieChannel& channel = channels_.emplace_back();
  WEFT_CHECK(rate_bps > 0, "a PCIe channel without a rate");
  channel.limit = limit;
  channel.set_rate(rate_bps);
  channel.carries_tlps = carries_tlps;
  return &channel;
}

void MemoryPaths::add_card(nic::Card& card, const nic::NicModel& nic, std::optional<std::uint32_t> slot) {
  CardPlace& place =
      cards_.emplace_back(CardPlace{&card, nic, slot, slot ? layout_.slots[*slot].node : 0, {}, {}, {}, {}});
  const nic::PcieLink link = link_in_slot(model_, nic, slot);
  for (std::size_t i = 0; i < card.functions.size(); ++i) {
    place.up.push_back(add_channel(link.tlp_bps(), true, nic::PcieLimit::kLink));
    place.down.push_back(add_channel(link.tlp_bps(), true, nic::PcieLimit::kLink));
  }
  if (!needs_path(place, places_.placement)) return;
  for (std::uint8_t i = 0; i < place.up.size(); ++i) set_path(card.functions[i], settings(place, i, places_.placement));
}

MemoryPaths::Resolved MemoryPaths::resolve(const CardPlace& place, const Placement& placement) const {
  Resolved resolved;
  resolved.cpu = placement.cpu_node.value_or(place.node);
  resolved.memory = placement.memory_node.value_or(resolved.cpu);
  resolved.gpu = placement.gpu;
  return resolved;
}

std::uint8_t MemoryPaths::function_for(std::size_t index, std::uint8_t function, const Placement& wanted) {
  WEFT_CHECK(index < cards_.size(), "a place on a card that the host has not");
  CardPlace& place = cards_[index];
  Placement placement = wanted;
  placement.cpu = places_.placement.cpu;  // its node is what counts
  if (placement == places_.placement) return function;
  for (const CardPlace::Known& known : place.known) {
    if (known.base == function && known.placement == placement) return known.function;
  }
  std::vector<nic::PcieFunction>& functions = place.card->functions;
  if (functions[function].path() == nullptr) {
    if (!needs_path(place, placement)) return function;
    // From now on the functions of the card share their links with others.
    for (std::uint8_t i = 0; i < place.up.size(); ++i) set_path(functions[i], settings(place, i, places_.placement));
  }
  WEFT_CHECK(functions.size() < nic::kMostFunctions, "more placements on one card than it has room for");
  WEFT_CHECK(function < place.up.size(), "a PCIe function that the card has not");
  functions.push_back(nic::PcieFunction(link_in_slot(model_, place.nic, place.slot)));
  set_path(functions.back(), settings(place, function, placement));
  const auto added = static_cast<std::uint8_t>(functions.size() - 1);
  place.known.push_back({placement, function, added});
  return added;
}

Time_ps MemoryPaths::interrupt_delay_ps(std::size_t index, const Placement& placement) const {
  const CardPlace& place = cards_[index];
  Time_ps latency_ps = 0;
  for (const Layout::Step& step : layout_.way(resolve(place, placement).cpu, place.node))
    latency_ps += layout_.links[step.link].latency_ps;
  return 2 * latency_ps * model_.interrupt_misses;
}

bool MemoryPaths::needs_path(const CardPlace& place, const Placement& placement) const {
  const Resolved where = resolve(place, placement);
  if (where.gpu || where.cpu != place.node || where.memory != place.node) return true;
  if (iommu_of(placement) == Iommu::kOn || placement.max_tx_rate_bps > 0 ||
      (place.slot && layout_.slots[*place.slot].parent >= 0))
    return true;
  nic::PciePathSettings limits;
  set_windows(place, placement, limits);
  return limits.read_tags > 0 || limits.write_window_B > 0;
}

void MemoryPaths::set_windows(const CardPlace& place, const Placement& placement, nic::PciePathSettings& out) const {
  const nic::PcieLink link = link_in_slot(model_, place.nic, place.slot);
  Time_ps crossings_ps = 0;
  for (const nic::PcieCrossing& crossing : out.payload) crossings_ps += 2 * crossing.latency_ps;
  out.max_payload_B = out.completion_B = place.nic.pcie_max_payload_B;
  out.max_read_request_B = place.nic.pcie_max_read_request_B;
  out.read_latency_ps = model_.dma_read_ps;
  out.write_latency_ps = model_.dma_write_ps;
  const Time_ps beyond_ps = crossings_ps + out.payload_read_delay_ps;
  const std::int64_t in_flight_B = std::int64_t{place.nic.pcie_read_requests} * place.nic.pcie_max_read_request_B;
  if (binds(in_flight_B, model_.dma_read_ps + beyond_ps, link.raw_bps())) out.read_tags = place.nic.pcie_read_requests;
  const bool relaxed = placement.relaxed_ordering && place.nic.pcie_relaxed_ordering;
  const std::int64_t window_B = relaxed ? model_.write_window_B : model_.ordered_write_window_B;
  out.ordered = !relaxed;
  out.write_latency_ps += out.payload_read_delay_ps;
  if (binds(window_B, model_.dma_write_ps + beyond_ps, link.raw_bps()))
    out.write_window_B = static_cast<std::uint32_t>(std::max<std::int64_t>(window_B, out.max_payload_B));
}

void MemoryPaths::cross(std::uint32_t from, std::uint32_t to, std::vector<nic::PcieCrossing>& out) const {
  for (const Layout::Step& step : layout_.way(from, to)) {
    const Duplex& link = links_[step.link];
    out.push_back({step.backwards ? link.down : link.up, layout_.links[step.link].latency_ps});
  }
}

void MemoryPaths::cross_switches(std::optional<std::uint32_t> slot, std::vector<nic::PcieCrossing>& out) const {
  for (std::int32_t at = slot ? layout_.slots[*slot].parent : -1; at >= 0;
       at = layout_.slots[static_cast<std::size_t>(at)].parent)
    out.push_back({slots_[static_cast<std::size_t>(at)].up, kSwitchHop_ps, 1});
}

// Over the uplinks of the switches above the card.
void MemoryPaths::go_up(std::uint32_t slot, nic::PciePathSettings& out) {
  for (std::int32_t at = layout_.slots[slot].parent; at >= 0; at = layout_.slots[static_cast<std::size_t>(at)].parent) {
    const Duplex& uplink = slots_[static_cast<std::size_t>(at)];
    out.writes.push_back(uplink.up);
    out.reads.push_back(uplink.down);
  }
}

void MemoryPaths::go_between(std::uint32_t from, std::uint32_t to, nic::PciePathSettings& out) {
  for (const Layout::Step& step : layout_.way(from, to)) {
    const Duplex& link = links_[step.link];
    out.writes.push_back(step.backwards ? link.down : link.up);
    out.reads.push_back(step.backwards ? link.up : link.down);
  }
}

void MemoryPaths::go_to_gpu(const CardPlace& place, std::uint32_t gpu, nic::PciePathSettings& out) {
  const GpuPlace& target = places_.gpus[gpu];
  const std::uint32_t node = target.slot ? layout_.slots[*target.slot].node : place.node;
  const bool below_switch =
      place.slot && target.slot && path_class(layout_, *place.slot, *target.slot) <= PathClass::kPxb;
  out.redirected = below_switch && places_.acs;
  if (!below_switch || places_.acs) {
    if (place.slot) go_up(*place.slot, out);
    if (root_ != nullptr) {
      out.writes.push_back(root_);
      out.reads.push_back(root_);
    }
    go_between(place.node, node, out);
    cross_switches(place.slot, out.payload);
    cross(place.node, node, out.payload);
    cross_switches(target.slot, out.payload);
    // Down again: what goes to the GPU comes over the same uplinks the other way.
    for (std::int32_t at = target.slot ? layout_.slots[*target.slot].parent : -1; at >= 0;
         at = layout_.slots[static_cast<std::size_t>(at)].parent) {
      out.writes.push_back(slots_[static_cast<std::size_t>(at)].down);
      out.reads.push_back(slots_[static_cast<std::size_t>(at)].up);
    }
    out.payload_read_delay_ps += model_.peer_latency_ps;
  } else {
    // Through the one switch, or the several, that they share; the first stands for all of them.
    out.payload.push_back({gpus_[gpu].down, kSwitchHop_ps, 1});
  }
  out.payload_read_delay_ps += target.model.peer_latency_ps;
  out.writes.push_back(gpus_[gpu].down);
  out.reads.push_back(gpus_[gpu].up);
  if (gpu_limits_[gpu].down != nullptr) out.writes.push_back(gpu_limits_[gpu].down);
  if (gpu_limits_[gpu].up != nullptr) out.reads.push_back(gpu_limits_[gpu].up);
}

nic::PciePathSettings MemoryPaths::settings(CardPlace& place, std::uint8_t function, const Placement& placement) {
  const Resolved where = resolve(place, placement);
  nic::PciePathSettings out;
  for (auto* crossings : {&out.doorbell, &out.entry}) cross_switches(place.slot, *crossings);
  cross(where.cpu, place.node, out.doorbell);
  cross(place.node, where.memory, out.entry);
  cross(where.cpu, where.memory, out.poll);
  // Completions go to the program's memory.
  out.writes.push_back(place.up[function]);
  out.reads.push_back(place.down[function]);
  nic::PciePathSettings entries = out;
  if (place.slot) go_up(*place.slot, entries);
  go_between(place.node, where.memory, entries);
  out.entries = entries.writes;
  if (where.gpu && !placement.bounce) {
    go_to_gpu(place, *where.gpu, out);
  } else {
    out.payload = out.entry;
    out.writes = entries.writes;
    out.reads = entries.reads;
  }
  set_windows(place, placement, out);
  if (where.gpu && placement.bounce) {
    // The copies go over the GPU's link, and pass it as fast as the NIC takes them.
    out.writes.push_back(gpus_[*where.gpu].down);
    out.reads.push_back(gpus_[*where.gpu].up);
    out.copy = gpus_[*where.gpu].up;
    out.copy_piece_B = kCopyPiece_B;
    out.copy_start_ps = kCopyStart_ps;
  }
  if (where.gpu && !placement.bounce)
    out.completion_B = std::min(out.completion_B, places_.gpus[*where.gpu].model.completion_B);
  go_by_iommu(place, placement, out);
  if (nic::PcieChannel* shaper = shaper_of(place, placement)) {
    out.reads.push_back(shaper);
    out.rate_limited = true;
  }
  return out;
}

void MemoryPaths::go_by_iommu(const CardPlace& place, const Placement& placement, nic::PciePathSettings& out) const {
  if (iommu_of(placement) != Iommu::kOn) return;
  out.iotlb_entries = model_.iotlb_entries;
  out.page_B = placement.page_B > 0 ? placement.page_B : places_.page_B;
  out.iotlb_miss_ps = model_.iotlb_miss_ps;
  out.iotlb_walk_ps = model_.iotlb_walk_ps;
  out.working_set_B = &place.card->registered_B;
}

// The card schedules a function below its rate: payload of its queue pairs is fetched no faster.
nic::PcieChannel* MemoryPaths::shaper_of(CardPlace& place, const Placement& placement) {
  if (placement.max_tx_rate_bps == 0) return nullptr;
  for (const auto& [vf, channel] : place.shapers) {
    if (vf == placement.vf) return channel;
  }
  return place.shapers
      .emplace_back(placement.vf, add_channel(placement.max_tx_rate_bps, false, nic::PcieLimit::kRateLimit))
      .second;
}

void MemoryPaths::set_path(nic::PcieFunction& function, nic::PciePathSettings settings) {
  WEFT_CHECK(!settings.reads.empty() && !settings.writes.empty() && !settings.entries.empty(), "a path by no link");
  WEFT_CHECK(function.path() == nullptr, "a function takes two paths");
  settings.seed = seed_;
  settings.owner = 0x20000 + (id_ << 16) + paths_.size();
  function.set_path(paths_.emplace_back(std::move(settings)));
}

}  // namespace weft::host
