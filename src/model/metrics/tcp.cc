// What `expect:` may ask of iperf3, and sums over its streams.
#include <algorithm>
#include <iterator>

#include "model/workload_metrics.h"

namespace weft::workload {

namespace {

constexpr std::string_view kIperf3Metrics[] = {
    "bitrate_Gbps",     "sender_bitrate_Gbps", "retransmits",         "timeouts",
    "rx_out_of_buffer", "sender_cpu_percent",  "receiver_cpu_percent"};

std::uint64_t sum_of(const Iperf3Result& result, TcpStreamEnd TcpStream::*end, std::uint64_t TcpStreamEnd::*what) {
  std::uint64_t all = 0;
  for (const TcpStream& stream : result.streams) all += stream.*end.*what;
  return all;
}

}  // namespace

Time_ps Iperf3Result::elapsed_ps(TcpStreamEnd TcpStream::*end) const {
  Time_ps longest_ps = 0;
  for (const TcpStream& stream : streams) longest_ps = std::max(longest_ps, (stream.*end).elapsed_ps);
  return longest_ps;
}

double Iperf3Result::rate(TcpStreamEnd TcpStream::*end) const {
  const Time_ps longest_ps = elapsed_ps(end);
  return longest_ps == 0 ? 0
                         : 8e12 * static_cast<double>(sum(end, &TcpStreamEnd::bytes)) / static_cast<double>(longest_ps);
}

double Iperf3Result::cpu_percent(TcpStreamEnd TcpStream::*end) const {
  const Time_ps longest_ps = elapsed_ps(end);
  Time_ps busy_ps = 0;
  for (const TcpStream& stream : streams) busy_ps += (stream.*end).program_ps;
  return longest_ps == 0 ? 0 : 100 * static_cast<double>(busy_ps) / static_cast<double>(longest_ps);
}

std::vector<std::string_view> metric_names(const Iperf3Options&) {
  return {std::begin(kIperf3Metrics), std::end(kIperf3Metrics)};
}
std::vector<std::string_view> known_metrics(std::type_identity<Iperf3Options>) {
  return {std::begin(kIperf3Metrics), std::end(kIperf3Metrics)};
}

std::optional<double> metric_value(const Iperf3Options&, const Iperf3Result& r, std::string_view metric) {
  if (metric == "bitrate_Gbps") return r.received_bps() / 1e9;
  if (metric == "sender_bitrate_Gbps") return r.sent_bps() / 1e9;
  if (metric == "retransmits") return static_cast<double>(r.retransmits());
  if (metric == "timeouts") return static_cast<double>(sum_of(r, &TcpStream::sender, &TcpStreamEnd::timeouts));
  if (metric == "rx_out_of_buffer")
    return static_cast<double>(sum_of(r, &TcpStream::sender, &TcpStreamEnd::ring_drops) +
                               sum_of(r, &TcpStream::receiver, &TcpStreamEnd::ring_drops));
  if (metric == "sender_cpu_percent") return r.cpu_percent(&TcpStream::sender);
  if (metric == "receiver_cpu_percent") return r.cpu_percent(&TcpStream::receiver);
  return std::nullopt;
}

}  // namespace weft::workload
