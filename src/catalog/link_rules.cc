#include "catalog/link_rules.h"

namespace weft::lab {

std::span<const std::int64_t> ethernet_rates_bps() {
  static constexpr std::int64_t kGbps = 1'000'000'000;
  static constexpr std::int64_t kRates[kEthernetRateCount] = {
      800 * kGbps, 400 * kGbps, 200 * kGbps, 100 * kGbps, 50 * kGbps, 40 * kGbps, 25 * kGbps, 10 * kGbps, kGbps};
  return kRates;
}

std::span<const std::string_view> fec_latency_keys() {
  static constexpr std::string_view kKeys[kEthernetRateCount] = {"latency_800G", "latency_400G", "latency_200G",
                                                                 "latency_100G", "latency_50G",  "latency_40G",
                                                                 "latency_25G",  "latency_10G",  "latency_1G"};
  return kKeys;
}

Fec auto_fec(std::int64_t rate_bps, CableKind cable, std::int64_t length_mm) {
  constexpr std::int64_t kGigabit_bps = 1'000'000'000;
  constexpr std::int64_t kLongestWithoutFec_mm = 3000;  // 25GBASE-CR-S, CA-N
  if (rate_bps >= 200 * kGigabit_bps || rate_bps == 50 * kGigabit_bps) return Fec::kRs544;
  if (rate_bps == 100 * kGigabit_bps) return Fec::kRs528;
  if (rate_bps == 25 * kGigabit_bps) {
    if (cable != CableKind::kDac) return Fec::kBaseR;
    return length_mm <= kLongestWithoutFec_mm ? Fec::kNone : Fec::kRs528;
  }
  return Fec::kNone;
}

}  // namespace weft::lab
