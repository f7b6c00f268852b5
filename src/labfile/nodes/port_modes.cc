#include "labfile/nodes/port_modes.h"

#include <algorithm>

#include "catalog/catalog.h"

namespace weft::lab {

std::vector<std::int64_t> supported_rates_bps(const nic::NicModel& model) {
  std::vector<std::int64_t> rates_bps = {model.line_rate_bps};
  for (const std::int64_t rate_bps : Catalog::built_in().link_rates_bps(model.name)) {
    if (rate_bps < model.line_rate_bps) rates_bps.push_back(rate_bps);
  }
  return rates_bps;
}

std::vector<Fec> supported_fec(const nic::NicModel& model) {
  const std::vector<std::int64_t> rates_bps = supported_rates_bps(model);
  std::vector<Fec> modes;
  for (const Fec fec : {Fec::kNone, Fec::kBaseR, Fec::kRs528, Fec::kRs544}) {
    const bool any = std::any_of(rates_bps.begin(), rates_bps.end(), [fec](std::int64_t rate_bps) {
      return Catalog::built_in().fec_latency_ps(fec, rate_bps).has_value();
    });
    if (any) modes.push_back(fec);
  }
  return modes;
}

}  // namespace weft::lab
