#include "tools/perftest/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "tools/perftest/flags.h"

namespace weft::workload {
namespace {

constexpr std::string_view kLine =
    "---------------------------------------------------------------------------------------\n";
constexpr double kMiB = 1024.0 * 1024.0;
// perftest's LAT_MEASURE_TAIL: so many of the largest samples enter no average.
constexpr std::size_t kLatencyTail = 2;

bool is_read_like(const PerftestOptions& options) {
  return options.verb == PerftestVerb::kRead || options.verb == PerftestVerb::kAtomic;
}

// A READ or an atomic is a round trip by itself; a write or a send is half of a ping-pong.
int round_trip_factor(const PerftestOptions& options) {
  return is_read_like(options) ? 1 : 2;
}

double in_us(Time_ps time_ps) {
  return static_cast<double>(time_ps) / static_cast<double>(kMicrosecond_ps);
}

double per_second(double count, Time_ps elapsed_ps) {
  return elapsed_ps > 0 ? count * static_cast<double>(kSecond_ps) / static_cast<double>(elapsed_ps) : 0;
}

// printf's %#0<width>x: no prefix for zero.
std::string hex(std::uint64_t value, int width) {
  return value == 0 ? std::string(static_cast<std::size_t>(width), '0') : fmt::format("{:#0{}x}", value, width);
}

void add_direction(const PerftestOptions& options, const PerftestRow& row, const BwMeasure& measure,
                   PerftestNumbers& numbers) {
  const double size_B = static_cast<double>(row.size_B);
  const double messages_per_s = per_second(static_cast<double>(measure.messages), measure.elapsed_ps);
  numbers.msg_rate_Mpps += messages_per_s / 1e6;
  numbers.bw_average_MiBps += messages_per_s * size_B / kMiB;
  numbers.bw_average_Gbps += messages_per_s * size_B * 8 / 1e9;
  if (options.no_peak) return;
  const double peak_per_s = per_second(static_cast<double>(measure.peak_messages), measure.peak_ps);
  numbers.bw_peak_MiBps += peak_per_s * size_B / kMiB;
  numbers.bw_peak_Gbps += peak_per_s * size_B * 8 / 1e9;
}

// How many of the samples enter median, average and percentiles.
std::size_t kept_samples(const PerftestRow& row) {
  return row.samples_ps.size() > kLatencyTail ? row.samples_ps.size() - kLatencyTail : 0;
}

std::vector<Time_ps> sorted_samples(const PerftestRow& row) {
  std::vector<Time_ps> sorted = row.samples_ps;
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

Time_ps median_of(const std::vector<Time_ps>& sorted, std::size_t kept) {
  return kept % 2 == 0 ? (sorted[kept / 2] + sorted[kept / 2 - 1]) / 2 : sorted[kept / 2];
}

void add_latency(const PerftestRow& row, PerftestNumbers& numbers) {
  const std::size_t kept = kept_samples(row);
  if (kept == 0) return;
  const std::vector<Time_ps> sorted = sorted_samples(row);
  const Time_ps median_ps = median_of(sorted, kept);
  double sum_us = 0;
  for (std::size_t i = 0; i < kept; ++i) sum_us += in_us(sorted[i]);
  const double average_us = sum_us / static_cast<double>(kept);
  double squares = 0;
  for (std::size_t i = 0; i < kept; ++i) {
    const auto whole_us = static_cast<std::int64_t>(average_us - in_us(sorted[i]));
    squares += static_cast<double>(whole_us * whole_us);
  }
  const auto rank = [&](double share) {
    return static_cast<std::size_t>(std::ceil(static_cast<double>(kept) * share));
  };
  numbers.t_min_us = in_us(sorted[0]);
  numbers.t_max_us = in_us(sorted[kept]);
  numbers.t_typical_us = in_us(median_ps);
  numbers.t_avg_us = average_us;
  numbers.t_stdev_us = std::sqrt(squares / static_cast<double>(kept));
  numbers.p99_us = in_us(sorted[rank(0.99)]);
  numbers.p999_us = in_us(sorted[rank(0.999)]);
}

std::string_view verb_title(PerftestVerb verb) {
  switch (verb) {
    case PerftestVerb::kWrite:
      return "RDMA_Write";
    case PerftestVerb::kRead:
      return "RDMA_Read";
    case PerftestVerb::kSend:
      return "Send";
    case PerftestVerb::kAtomic:
      return "Atomic";
  }
  return "";
}

std::string title(const PerftestOptions& options, char separator) {
  std::string text(verb_title(options.verb));
  const auto add = [&](std::string_view word) { text += fmt::format("{}{}", separator, word); };
  if (options.verb == PerftestVerb::kAtomic) {
    add(options.atomic == AtomicKind::kCompareSwap ? "CMP_AND_SWAP" : "FETCH_AND_ADD");
  }
  if (options.bidirectional) add("Bidirectional");
  if (options.post_list > 1) {
    add("Post");
    add("List");
  }
  add(options.latency ? "Latency" : "BW");
  add("Test");
  return text;
}

std::string_view on_off(bool on) {
  return on ? "ON" : "OFF";
}

// perftest uses the new posting calls only on devices that it knows to have them.
bool has_wr_api(const PerftestResult& result) {
  return result.device.starts_with("mlx5");
}

// What perftest says before the banner about values that it chose against the command line.
std::string notices(const PerftestOptions& options, const PerftestResult& result) {
  std::string text;
  if (options.size_B > kCqModSizeLimit_B && !options.ud && !options.all_sizes && options.cq_mod_given &&
      options.cq_mod > 1) {
    text += kLine;
    text += "Warning: Large message requested and CQ moderation enabled\nWarning: It can lead to inaccurate results\n";
  }
  if (options.post_list > 1 && !options.cq_mod_given) {
    text += kLine;
    text += "Post List requested - CQ moderation will be the size of the post list\n";
  }
  if (options.mtu_B > result.mtu_B) {
    // Printed as verbs' enum ibv_mtu: 1 is 256, 5 is 4096.
    text += fmt::format("Requested mtu is higher than active mtu \nChanging to active mtu - {}\n",
                        std::bit_width(result.mtu_B) - 8);
  }
  return text;
}

std::string banner(const PerftestOptions& options, const PerftestResult& result) {
  std::string text(kLine);
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "{:20}{}\n", "", title(options, ' '));
  fmt::format_to(out, " Dual-port       : OFF\t\tDevice         : {}\n", result.device);
  fmt::format_to(out, " Number of qps   : {}\t\tTransport type : IB\n", options.qps);
  fmt::format_to(out, " Connection type : {}\t\tUsing SRQ      : OFF\n", options.ud ? "UD" : "RC");
  fmt::format_to(out, " PCIe relax order: {}\n", on_off(options.relaxed_ordering));
  fmt::format_to(out, " ibv_wr* API     : {}\n", on_off(has_wr_api(result)));
  fmt::format_to(out, " TX depth        : {}\n", options.tx_depth);
  if (options.post_list > 1) fmt::format_to(out, " Post List       : {}\n", options.post_list);
  if (options.verb == PerftestVerb::kSend && options.bidirectional) {
    fmt::format_to(out, " RX depth        : {}\n", options.rx_depth);
  }
  if (!options.latency) fmt::format_to(out, " CQ Moderation   : {}\n", options.cq_mod);
  fmt::format_to(out, " Mtu             : {}[B]\n", result.mtu_B);
  fmt::format_to(out, " Link type       : Ethernet\n");
  fmt::format_to(out, " GID index       : {}\n", result.gid_index);
  if (is_read_like(options)) {
    fmt::format_to(out, " Outstand reads  : {}\n", options.outstanding_reads);
  } else {
    fmt::format_to(out, " Max inline data : {}[B]\n", options.inline_B);
  }
  fmt::format_to(out, " rdma_cm QPs\t : OFF\n");
  fmt::format_to(out, " Data ex. method : Ethernet\n");
  text += kLine;
  return text;
}

// Only write and read show the remote key and address; read also its outstanding requests.
std::string address(const PerftestOptions& options, std::string_view side, const PerftestEndpoint& end) {
  std::string text = fmt::format(" {} address: LID 0000 QPN {} PSN {}", side, hex(end.qpn, 6), hex(end.psn, 6));
  if (options.verb == PerftestVerb::kRead) text += fmt::format(" OUT {}", hex(options.outstanding_reads, 4));
  if (options.verb == PerftestVerb::kRead || options.verb == PerftestVerb::kWrite) {
    text += fmt::format(" RKey {} VAddr {}", hex(end.rkey, 8), hex(end.vaddr, 16));
  }
  text += "\n GID: ";
  for (std::size_t i = 0; i < std::size(end.gid); ++i) text += fmt::format("{}{:02}", i == 0 ? "" : ":", end.gid[i]);
  return text + "\n";
}

std::string sample_list(const std::vector<Time_ps>& samples_ps, std::size_t count) {
  std::string text = "#, usec\n";
  for (std::size_t i = 0; i < count; ++i) text += fmt::format("{}, {:g}\n", i + 1, in_us(samples_ps[i]));
  return text;
}

std::string bandwidth_row(const PerftestOptions& options, const PerftestRow& row, const PerftestNumbers& numbers) {
  const double peak = options.report_gbits ? numbers.bw_peak_Gbps : numbers.bw_peak_MiBps;
  const double average = options.report_gbits ? numbers.bw_average_Gbps : numbers.bw_average_MiBps;
  // Six digits below 0.1 Gb/s, decided on the client's own direction.
  PerftestNumbers own;
  if (!row.bw.empty()) add_direction(options, row, row.bw.front(), own);
  if (options.report_gbits && own.bw_average_Gbps < 0.1) {
    return fmt::format(" {:<7}    {}           {:<7.6f}            {:<7.6f}            {:<7.6f}\n", row.size_B,
                       row.iterations, peak, average, numbers.msg_rate_Mpps);
  }
  return fmt::format(" {:<7}    {:<10}       {:<7.2f}            {:<7.2f}\t\t   {:<7.6f}\n", row.size_B, row.iterations,
                     peak, average, numbers.msg_rate_Mpps);
}

std::string latency_row(const PerftestOptions& options, const PerftestRow& row, const PerftestNumbers& numbers) {
  if (options.duration_s > 0) {
    return fmt::format(" {:<7}       {}            {:<7.2f}        {:<7.2f}\n", row.size_B, row.iterations,
                       numbers.t_avg_us, numbers.tps);
  }
  std::string text;
  if (options.report_unsorted) text += sample_list(row.samples_ps, row.samples_ps.size());
  if (options.report_histogram) text += sample_list(sorted_samples(row), kept_samples(row));
  if (!text.empty()) text += fmt::format("{}{}", kLine, format_perftest_header(options));
  return text + fmt::format(
                    " {:<7} {}          {:<7.2f}        {:<7.2f}      {:<7.2f}  \t       {:<7.2f}     \t{:<7.2f}"
                    "\t\t{:<7.2f} \t\t{:<7.2f}\n",
                    row.size_B, row.iterations, numbers.t_min_us, numbers.t_max_us, numbers.t_typical_us,
                    numbers.t_avg_us, numbers.t_stdev_us, numbers.p99_us, numbers.p999_us);
}

}  // namespace

Time_ps typical_ps(const PerftestRow& row) {
  const std::size_t kept = kept_samples(row);
  return kept == 0 ? 0 : median_of(sorted_samples(row), kept);
}

PerftestNumbers perftest_numbers(const PerftestOptions& options, const PerftestRow& row) {
  PerftestNumbers numbers;
  if (!options.latency) {
    for (const BwMeasure& measure : row.bw) add_direction(options, row, measure, numbers);
  } else if (options.duration_s > 0) {
    const auto count = static_cast<double>(row.duration_iterations);
    numbers.t_avg_us = count > 0 ? in_us(row.duration_elapsed_ps) / round_trip_factor(options) / count : 0;
    numbers.tps = per_second(count, row.duration_elapsed_ps);
  } else {
    add_latency(row, numbers);
  }
  return numbers;
}

std::vector<std::pair<std::string, std::string>> test_info(const PerftestOptions& options,
                                                           const PerftestResult& result) {
  std::vector<std::pair<std::string, std::string>> info = {
      {"test", title(options, '_')},
      {"Dual_port", "OFF"},
      {"Device", result.device},
      {"Number_of_qps", std::to_string(options.qps)},
      {"Transport_type", "IB"},
      {"Connection_type", options.ud ? "UD" : "RC"},
      {"Using_SRQ", "OFF"},
      {"PCIe_relax_order", std::string(on_off(options.relaxed_ordering))},
      {"ibv_wr_API", std::string(on_off(has_wr_api(result)))},
      {"TX_depth", std::to_string(options.tx_depth)},
  };
  if (options.post_list > 1) info.emplace_back("Post_List", std::to_string(options.post_list));
  if (options.verb == PerftestVerb::kSend && options.bidirectional) {
    info.emplace_back("RX_depth", std::to_string(options.rx_depth));
  }
  if (!options.latency) info.emplace_back("CQ_Moderation", std::to_string(options.cq_mod));
  info.emplace_back("Mtu", std::to_string(result.mtu_B));
  info.emplace_back("Link_type", "Ethernet");
  info.emplace_back("GID_index", std::to_string(result.gid_index));
  if (is_read_like(options)) {
    info.emplace_back("Outstand_reads", std::to_string(options.outstanding_reads));
  } else {
    info.emplace_back("Max_inline_data", std::to_string(options.inline_B));
  }
  info.emplace_back("rdma_cm_QPs", "OFF");
  info.emplace_back("Data_ex_method", "Ethernet");
  return info;
}

std::string format_perftest_header(const PerftestOptions& options) {
  if (options.latency) {
    return options.duration_s > 0
               ? " #bytes        #iterations       t_avg[usec]    tps average\n"
               : " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]"
                 "   99% percentile[usec]   99.9% percentile[usec] \n";
  }
  return fmt::format(" #bytes     #iterations    BW peak[{0}/sec]    BW average[{0}/sec]   MsgRate[Mpps]\n",
                     options.report_gbits ? "Gb" : "MB");
}

std::string format_perftest_row(const PerftestOptions& options, const PerftestRow& row) {
  if (!row.failure.empty()) return fmt::format(" {}\n", row.failure);
  const PerftestNumbers numbers = perftest_numbers(options, row);
  return options.latency ? latency_row(options, row, numbers) : bandwidth_row(options, row, numbers);
}

std::string format_perftest(const PerftestOptions& options, const PerftestResult& result) {
  std::string text = notices(options, result) + banner(options, result);
  for (const PerftestEndpoint& end : result.local) text += address(options, "local", end);
  for (const PerftestEndpoint& end : result.remote) text += address(options, "remote", end);
  text += kLine;
  text += format_perftest_header(options);
  for (const PerftestRow& row : result.rows) {
    text += format_perftest_row(options, row);
    if (!row.failure.empty()) return text;
  }
  text += kLine;
  return text;
}

}  // namespace weft::workload
