// What `expect:` may ask of a verified transfer.
#include <iterator>

#include "model/workload_metrics.h"

namespace weft::workload {

namespace {

constexpr std::string_view kTransferMetrics[] = {"completed", "failed", "bytes_ok", "wc_status"};

}  // namespace

std::vector<std::string_view> metric_names(const TransferOptions&) {
  return {std::begin(kTransferMetrics), std::end(kTransferMetrics)};
}
std::vector<std::string_view> known_metrics(std::type_identity<TransferOptions>) {
  return {std::begin(kTransferMetrics), std::end(kTransferMetrics)};
}

std::optional<double> metric_value(const TransferOptions&, const TransferResult& t, std::string_view metric) {
  if (metric == "completed") return static_cast<double>(t.completed);
  if (metric == "failed") return static_cast<double>(t.failed);
  if (metric == "bytes_ok") return static_cast<double>(t.bytes_ok);
  if (metric == "wc_status") return t.wc_status;
  return std::nullopt;
}

}  // namespace weft::workload
