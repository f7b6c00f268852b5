// RoCEv2 or InfiniBand, by the decision matrix of [firstpasslab]: below 10,000 GPUs RoCEv2; from there on InfiniBand
// for training alone; mixed workloads, tenants and a small budget speak for RoCEv2. Each reason is a line of that
// article.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::gear {

inline constexpr std::uint32_t kInfinibandFromGpus = 10'000;

struct TransportSituation {
  std::uint32_t gpus = 0;
  bool mixed = false;    // AI beside other workloads
  bool tenants = false;  // several, kept apart by VXLAN EVPN
  bool small_budget = false;
  bool ethernet_there = false;  // switches and skills that can be used again
};

struct TransportAdvice {
  bool infiniband = false;
  std::vector<std::string> reasons;  // for the choice, the deciding one first
  std::vector<std::string> against;  // what the other has over it

  std::string choice() const { return infiniband ? "InfiniBand" : "RoCEv2"; }
};

TransportAdvice advise_transport(const TransportSituation& situation);
std::string transport_text(const TransportAdvice& advice);
std::string transport_json(const TransportAdvice& advice);

}  // namespace weft::gear
