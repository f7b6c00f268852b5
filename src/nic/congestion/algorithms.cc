// The table of congestion control algorithms and what they share.
#include "base/check.h"
#include "nic/congestion.h"

namespace weft::nic {

namespace {
constexpr std::int64_t kBitTime_q16 = 8 * kSecond_ps * 65536;  // ps for a byte at 1 b/s, << 16
}

const CongestionAlgorithm* congestion_algorithm(CongestionKind kind) {
  switch (kind) {
    case CongestionKind::kOff:
      return nullptr;
    case CongestionKind::kDcqcn:
      return &kDcqcnAlgorithm;
    case CongestionKind::kHpcc:
      return &kHpccAlgorithm;
    case CongestionKind::kTimely:
      return &kTimelyAlgorithm;
    case CongestionKind::kSwift:
      return &kSwiftAlgorithm;
  }
  return nullptr;
}

std::int64_t pace_q16_of(std::int64_t rate_bps) {
  WEFT_CHECK(rate_bps > 0, "a paced flow has a rate");
  return kBitTime_q16 / rate_bps;
}

double rate_bps(const CongestionState& state, const CongestionEnvironment& environment) {
  if (state.pace_q16 == 0) return static_cast<double>(environment.line_rate_bps);
  return static_cast<double>(kBitTime_q16) / static_cast<double>(state.pace_q16);
}

}  // namespace weft::nic
