// Names of Prometheus metrics: those of node_exporter's collectors infiniband and ethtool for what a NIC counts, and
// ours, in base units, for the rest.
#pragma once

#include <string>
#include <string_view>

namespace weft::exports {

// "np_cnp_packets_sent_total" for np_cnp_sent of hw_counters; empty where node_exporter (1.9) has no such metric.
std::string_view infiniband_metric(std::string_view counter);
// The counters above, in the order of their list, by number; empty beyond the last.
std::string_view infiniband_counter(std::size_t index);
// "node_ethtool_received_prio3_pause" for rx_prio3_pause.
std::string ethtool_metric(std::string_view counter);

// A quantity of ours as a metric: a unit at the end of its name becomes the base unit (queue_B -> queue_bytes,
// pause_tx_ps -> pause_tx_seconds, rate_bps -> rate_bytes_per_second).
enum class MetricScale : unsigned char { kOne, kPicoseconds, kBits };
struct OwnMetric {
  std::string name;
  MetricScale scale = MetricScale::kOne;  // of the value, which has to follow
  bool is_gauge = false;                  // what goes down again: queues, buffers, rates, and maxima
};
OwnMetric own_metric(std::string_view quantity);
// A value of ours in the base unit. Picoseconds as seconds exactly: 1.5e9 is "0.0015".
std::string metric_value(std::int64_t value, MetricScale scale);
std::string metric_value(double value, MetricScale scale);
std::string seconds_text(std::int64_t picoseconds);

// In quotes, with what the text format wants escaped.
std::string label_value(std::string_view text);

}  // namespace weft::exports
