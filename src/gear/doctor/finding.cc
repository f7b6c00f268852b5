#include "gear/doctor/finding.h"

#include <algorithm>

#include "base/check.h"

namespace weft::gear {

namespace {

constexpr FindingKind kFindingKinds[] = {
    // The physical layer, and what the port is.
    {"no-rdma-device", Severity::kBroken, "no RDMA device"},
    {"link-down", Severity::kBroken, "link down"},
    {"link-layer", Severity::kBroken, "link layers differ"},
    {"no-subnet-manager", Severity::kBroken, "no subnet manager"},
    {"two-subnet-managers", Severity::kBroken, "two subnet managers"},
    {"link-rate", Severity::kSlow, "link rate below the port's"},
    {"rate-differs", Severity::kSlow, "link rates differ"},
    {"roce-v1", Severity::kBroken, "RoCE v1 is the default"},
    {"gid-missing", Severity::kBroken, "no RoCE v2 GID"},
    {"gid-index", Severity::kBroken, "GID index"},
    // 1. MTU.
    {"mtu-chain", Severity::kBroken, "MTU larger than the next hop's"},
    {"mtu-small", Severity::kSlow, "RDMA MTU below 4096"},
    {"mtu-differs", Severity::kSlow, "MTUs differ"},
    // 2. PFC, and the rest of the contract.
    {"pfc-off", Severity::kBroken, "PFC off"},
    {"pfc-differs", Severity::kBroken, "PFC priorities differ"},
    {"trust", Severity::kBroken, "DSCP is not trusted"},
    {"dscp-unmapped", Severity::kBroken, "RoCE's DSCP is not lossless"},
    {"dscp-differs", Severity::kBroken, "DSCP values differ"},
    {"global-pause", Severity::kBroken, "802.3x pause is on"},
    {"headroom-missing", Severity::kBroken, "no headroom for the lossless priority group"},
    {"queue-map", Severity::kBroken, "PFC acts on another queue"},
    {"ecn-off", Severity::kSlow, "ECN off"},
    // 3. Cable and transceiver.
    {"fec-mismatch", Severity::kBroken, "FEC differs"},
    {"cable-fault", Severity::kBroken, "cable or transceiver fault"},
    {"symbol-errors", Severity::kSlow, "errors on the line"},
    {"link-flaps", Severity::kSlow, "link flaps"},
    // 4. PCIe.
    {"pcie-speed", Severity::kSlow, "PCIe generation below the card's"},
    {"pcie-width", Severity::kSlow, "PCIe lanes below the card's"},
    {"pcie-errors", Severity::kSlow, "PCIe errors"},
    // 5. NUMA, and the way from NIC to GPU.
    {"numa-distance", Severity::kSlow, "GPU and NIC on different NUMA nodes"},
    {"peermem-load-order", Severity::kSlow, "nvidia-peermem did not load"},
    {"peermem-missing", Severity::kSlow, "nvidia-peermem is not loaded"},
    {"acs", Severity::kSlow, "ACS redirects peer-to-peer traffic"},
    {"iommu", Severity::kSlow, "IOMMU translates"},
    // Symptoms.
    {"watchdog-storm", Severity::kBroken, "PFC storm"},
    {"lossless-drops", Severity::kBroken, "drops in a lossless class"},
    {"rx-discards", Severity::kSlow, "packets discarded at the port"},
    {"retransmissions", Severity::kSlow, "RDMA retransmissions"},
    {"pauses", Severity::kSlow, "paused for long"},
    {"rx-ring", Severity::kSlow, "RX ring too small"},
    // The host.
    {"governor", Severity::kAdvice, "CPU frequency governor"},
    {"isolcpus", Severity::kAdvice, "CPU isolation"},
    {"huge-pages", Severity::kAdvice, "huge pages"},
    {"firmware-old", Severity::kAdvice, "firmware too old"},
    {"firmware-differs", Severity::kAdvice, "firmware versions differ"},
};

std::size_t rank_of(std::string_view id) {
  const auto it = std::find_if(std::begin(kFindingKinds), std::end(kFindingKinds),
                               [&](const FindingKind& kind) { return kind.id == id; });
  return static_cast<std::size_t>(it - std::begin(kFindingKinds));
}

}  // namespace

std::string_view severity_word(Severity severity) {
  return severity == Severity::kBroken ? "broken" : severity == Severity::kSlow ? "slow" : "advice";
}

std::span<const FindingKind> finding_kinds() {
  return kFindingKinds;
}

const FindingKind& kind_of(const Finding& finding) {
  return kFindingKinds[rank_of(finding.id)];
}

void Findings::add(std::string_view id, std::string where, std::string message, std::vector<Evidence> evidence,
                   std::vector<std::string> fix) {
  const std::size_t rank = rank_of(id);
  WEFT_CHECK(rank < std::size(kFindingKinds), "a finding of no known kind");
  findings_.push_back(
      {kFindingKinds[rank].id, std::move(where), std::move(message), std::move(evidence), std::move(fix)});
}

std::vector<Finding> Findings::take() {
  std::stable_sort(findings_.begin(), findings_.end(), [](const Finding& a, const Finding& b) {
    return std::pair(rank_of(a.id), std::string_view(a.where)) < std::pair(rank_of(b.id), std::string_view(b.where));
  });
  return std::move(findings_);
}

}  // namespace weft::gear
