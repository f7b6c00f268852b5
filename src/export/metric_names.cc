#include "export/metric_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

namespace weft::exports {

namespace {

struct Renamed {
  std::string_view counter, metric;
};
// collector/infiniband_linux.go of node_exporter 1.9.
constexpr Renamed kInfiniband[] = {
    {"duplicate_request", "duplicate_requests_packets_total"},
    {"implied_nak_seq_err", "implied_nak_seq_errors_total"},
    {"local_ack_timeout_err", "local_ack_timeout_errors_total"},
    {"np_cnp_sent", "np_cnp_packets_sent_total"},
    {"np_ecn_marked_roce_packets", "np_ecn_marked_roce_packets_received_total"},
    {"out_of_buffer", "out_of_buffer_drops_total"},
    {"out_of_sequence", "out_of_sequence_packets_received_total"},
    {"packet_seq_err", "packet_sequence_errors_total"},
    {"req_cqe_error", "req_cqes_errors_total"},
    {"req_cqe_flush_error", "req_cqes_flush_errors_total"},
    {"req_remote_access_errors", "req_remote_access_errors_total"},
    {"req_remote_invalid_request", "req_remote_invalid_request_errors_total"},
    {"resp_cqe_error", "resp_cqes_errors_total"},
    {"resp_cqe_flush_error", "resp_cqes_flush_errors_total"},
    {"resp_local_length_error", "resp_local_length_errors_total"},
    {"resp_remote_access_errors", "resp_remote_access_errors_total"},
    {"rnr_nak_retry_err", "rnr_nak_retry_packets_received_total"},
    {"roce_adp_retrans", "roce_adp_retransmits_total"},
    {"roce_adp_retrans_to", "roce_adp_retransmits_timeout_total"},
    {"roce_slow_restart", "roce_slow_restart_used_total"},
    {"roce_slow_restart_cnps", "roce_slow_restart_cnps_total"},
    {"rp_cnp_handled", "rp_cnp_packets_handled_total"},
    {"rp_cnp_ignored", "rp_cnp_ignored_packets_received_total"},
    {"rx_atomic_requests", "rx_atomic_requests_total"},
    {"rx_icrc_encapsulated", "rx_icrc_encapsulated_errors_total"},
    {"rx_read_requests", "rx_read_requests_total"},
    {"rx_write_requests", "rx_write_requests_total"},
};

}  // namespace

std::string_view infiniband_metric(std::string_view counter) {
  for (const Renamed& each : kInfiniband) {
    if (each.counter == counter) return each.metric;
  }
  return {};
}

std::string_view infiniband_counter(std::size_t index) {
  return index < std::size(kInfiniband) ? kInfiniband[index].counter : std::string_view();
}

// As its ethtool collector: small letters, other characters as one underscore, the words rx and tx in full.
std::string ethtool_metric(std::string_view counter) {
  std::string name = "node_ethtool";
  std::size_t from = 0;
  while (from <= counter.size()) {
    const std::size_t end = std::min(counter.find('_', from), counter.size());
    std::string word;
    for (char c : counter.substr(from, end - from)) {
      const auto byte = static_cast<unsigned char>(c);
      word += std::isalnum(byte) != 0 ? static_cast<char>(std::tolower(byte)) : '_';
    }
    if (word == "rx") word = "received";
    if (word == "tx") word = "transmitted";
    name += "_" + word;
    from = end + 1;
  }
  return name;
}

OwnMetric own_metric(std::string_view quantity) {
  OwnMetric metric;
  metric.is_gauge = quantity.starts_with("max_") || quantity.ends_with("_B") || quantity.ends_with("_bps") ||
                    quantity.starts_with("held_");
  const auto replace = [&](std::string_view unit, std::string_view base) {
    if (!quantity.ends_with(unit)) return false;
    metric.name = std::string(quantity.substr(0, quantity.size() - unit.size())) + std::string(base);
    return true;
  };
  if (replace("_ps", "_seconds")) {
    metric.scale = MetricScale::kPicoseconds;
  } else if (replace("_bps", "_bytes_per_second")) {
    metric.scale = MetricScale::kBits;
  } else if (!replace("_B", "_bytes")) {
    metric.name = quantity;
  }
  for (char& c : metric.name) {
    const auto byte = static_cast<unsigned char>(c);
    c = std::isalnum(byte) != 0 ? static_cast<char>(std::tolower(byte)) : '_';
  }
  return metric;
}

std::string seconds_text(std::int64_t picoseconds) {
  constexpr std::uint64_t kSecond = 1'000'000'000'000;
  const bool negative = picoseconds < 0;
  const std::uint64_t size =
      negative ? 0 - static_cast<std::uint64_t>(picoseconds) : static_cast<std::uint64_t>(picoseconds);
  std::string text = fmt::format("{}{}.{:012}", negative ? "-" : "", size / kSecond, size % kSecond);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string metric_value(std::int64_t value, MetricScale scale) {
  if (scale == MetricScale::kPicoseconds) return seconds_text(value);
  if (scale == MetricScale::kOne) return std::to_string(value);
  return fmt::format("{}", static_cast<double>(value) / 8);
}

std::string metric_value(double value, MetricScale scale) {
  return fmt::format("{}", scale == MetricScale::kBits ? value / 8 : value);
}

std::string label_value(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += static_cast<unsigned char>(c) < 0x80 ? c : '?';
    }
  }
  return out + "\"";
}

}  // namespace weft::exports
