// Where the devices of a host, its programs and their memory are, and the paths that DMA takes between them
// (docs/mechanisms/host.md). A queue pair whose memory is not reached by the card's link alone gets a function of the
// card with a path of its own (nic/pcie/path.h); all paths of a host share the links that they cross.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "nic/device_config.h"
#include "nic/pcie/path.h"
#include "spec/card_slot.h"
#include "spec/host_model.h"
#include "spec/places.h"

namespace weft::host {

class MemoryPaths {
 public:
  MemoryPaths(const HostModel& model, HostPlaces places, std::uint64_t seed, std::uint64_t id);

  void add_card(nic::Card& card, const nic::NicModel& nic, std::optional<std::uint32_t> slot);
  // The function of card `index` that a queue pair uses whose program has this placement.
  std::uint8_t function_for(std::size_t index, std::uint8_t function, const Placement& placement);
  // Delay of an interrupt because the program's CPU is not on the card's node.
  Time_ps interrupt_delay_ps(std::size_t index, const Placement& placement) const;
  const HostPlaces& places() const { return places_; }

 private:
  struct Resolved {
    std::uint32_t cpu = 0, memory = 0;
    std::optional<std::uint32_t> gpu;
  };
  struct CardPlace {
    nic::Card* card;
    nic::NicModel nic;
    std::optional<std::uint32_t> slot;
    std::uint32_t node;
    std::vector<nic::PcieChannel*> up, down;  // by function
    struct Known {
      Placement placement;
      std::uint8_t base, function;
    };
    std::vector<Known> known;
    std::vector<std::pair<std::uint32_t, nic::PcieChannel*>> shapers;  // by virtual function with a rate limit
  };
  struct Duplex {
    nic::PcieChannel *up, *down;
  };

  nic::PcieChannel* add_channel(std::int64_t rate_bps, bool carries_tlps, nic::PcieLimit limit);
  Resolved resolve(const CardPlace& place, const Placement& placement) const;
  bool needs_path(const CardPlace& place, const Placement& placement) const;
  nic::PciePathSettings settings(CardPlace& place, std::uint8_t function, const Placement& placement);
  Iommu iommu_of(const Placement& placement) const { return placement.iommu.value_or(places_.iommu); }
  void set_windows(const CardPlace& place, const Placement& placement, nic::PciePathSettings& out) const;
  void go_up(std::uint32_t slot, nic::PciePathSettings& out);
  void go_between(std::uint32_t from, std::uint32_t to, nic::PciePathSettings& out);
  void go_by_iommu(const CardPlace& place, const Placement& placement, nic::PciePathSettings& out) const;
  // Rate limit of a virtual function.
  nic::PcieChannel* shaper_of(CardPlace& place, const Placement& placement);
  void go_to_gpu(const CardPlace& place, std::uint32_t gpu, nic::PciePathSettings& out);
  void cross_switches(std::optional<std::uint32_t> slot, std::vector<nic::PcieCrossing>& out) const;
  void cross(std::uint32_t from, std::uint32_t to, std::vector<nic::PcieCrossing>& out) const;
  void set_path(nic::PcieFunction& function, nic::PciePathSettings settings);

  const HostModel& model_;
  Layout layout_;
  HostPlaces places_;
  std::uint64_t seed_, id_;
  std::deque<nic::PcieChannel> channels_;
  std::deque<nic::PciePath> paths_;
  std::vector<Duplex> slots_;         // above each slot; of switches it is the uplink that all below share
  std::vector<Duplex> links_;         // between nodes: up is from a to b
  std::vector<Duplex> gpus_;          // up: from the GPU
  std::vector<Duplex> gpu_limits_;    // null: none
  nic::PcieChannel* root_ = nullptr;  // peer to peer through the root complex
  std::deque<CardPlace> cards_;
};

}  // namespace weft::host
