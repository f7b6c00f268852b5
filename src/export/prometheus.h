// Prometheus: the counters of a run at its end in the text format that an exporter serves, and its time series in
// OpenMetrics with time stamps, which `promtool tsdb create-blocks-from openmetrics` takes.
// Prometheus keeps milliseconds; series are finer. So one interval of the run becomes one second there, from 2026-01-01
// on.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "export/run_store.h"

namespace weft::exports {

inline constexpr std::int64_t kEpoch_s = 1'767'225'600;  // 2026-01-01T00:00:00Z, as captures have it

struct MetricsText {
  std::string text;
  std::uint64_t samples = 0;
};
// The counters of a run at its end; the error is a reason.
tl::expected<MetricsText, std::string> metrics_text(const RunStore& store);
// Those of a world that is up, from what it says of its ports; of the same names.
std::string world_metrics_text(const PortResults& results, const std::string& world, std::int64_t now_ps);

// Samples written; the error names the file and the reason.
tl::expected<std::uint64_t, std::string> write_metrics(const RunStore& store, const std::string& path);
tl::expected<std::uint64_t, std::string> write_openmetrics(const RunStore& store,
                                                           const std::vector<std::string>& patterns,
                                                           const std::string& path);

}  // namespace weft::exports
