// iperf3's text output of a client: intervals as its sender saw them, then both ends' sums.
#include "tools/iperf3/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weft::workload {

namespace {

// iperf3's unit_snprintf: a number in the largest unit in which it is at least 1, with three significant places.
std::string scaled(double value, double base, std::string_view unit) {
  constexpr std::string_view kPrefixes[] = {"", "K", "M", "G", "T"};
  std::size_t step = 0;
  while (value >= base && step < 4) {
    value /= base;
    ++step;
  }
  const int places = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}{}", value, places, kPrefixes[step], unit);
}

std::string bitrate(char format, double bps) {
  constexpr std::string_view kBits = "kmgt", kBytes = "KMGT";
  if (const std::size_t at = kBits.find(format); format != 0 && at != std::string_view::npos)
    return fmt::format("{:.2f} {}bits/sec", bps / std::pow(1000.0, at + 1), kBytes[at]);
  if (const std::size_t at = kBytes.find(format); format != 0 && at != std::string_view::npos)
    return fmt::format("{:.2f} {}Bytes/sec", bps / 8 / std::pow(1024.0, at + 1), kBytes[at]);
  return scaled(bps, 1000, "bits/sec");
}

double seconds(Time_ps time_ps) {
  return static_cast<double>(time_ps) / 1e12;
}

std::string row(const std::string& id, Time_ps start_ps, Time_ps end_ps, std::uint64_t bytes, double bps, char format) {
  return fmt::format("[{:>3}] {:6.2f}-{:<6.2f} sec  {:>11}  {:>15}", id, seconds(start_ps), seconds(end_ps),
                     scaled(static_cast<double>(bytes), 1024, "Bytes"), bitrate(format, bps));
}

void add_intervals(const Iperf3Options& options, const Iperf3Result& result, std::string& out) {
  std::size_t most = 0;
  for (const TcpStream& stream : result.streams) most = std::max(most, stream.sender.intervals.size());
  for (std::size_t i = 0; i < most; ++i) {
    TcpInterval all;
    for (const TcpStream& stream : result.streams) {
      if (i >= stream.sender.intervals.size()) continue;
      const TcpInterval& each = stream.sender.intervals[i];
      out += row(std::to_string(stream.id), each.start_ps, each.end_ps, each.bytes, each.bits_per_second(),
                 options.format) +
             fmt::format("  {:>3}   {:>11}       \n", each.retransmits,
                         scaled(static_cast<double>(each.cwnd_B), 1024, "Bytes"));
      all.start_ps = each.start_ps;
      all.end_ps = std::max(all.end_ps, each.end_ps);
      all.bytes += each.bytes;
      all.retransmits += each.retransmits;
    }
    if (result.streams.size() < 2) continue;
    out += row("SUM", all.start_ps, all.end_ps, all.bytes, all.bits_per_second(), options.format) +
           fmt::format("  {:>3}             \n- - - - - - - - - - - - - - - - - - - - - - - - -\n", all.retransmits);
  }
}

double rate_of(const TcpStreamEnd& end) {
  return end.elapsed_ps == 0 ? 0 : 8 * static_cast<double>(end.bytes) / seconds(end.elapsed_ps);
}

}  // namespace

std::string format_iperf3(const Iperf3Options& options, const Iperf3Result& result) {
  std::string out = fmt::format("Connecting to host {}, port {}\n", result.server, options.port);
  if (options.reverse) out += fmt::format("Reverse mode, remote host {} is sending\n", result.server);
  for (const TcpStream& stream : result.streams) {
    out += fmt::format("[{:>3}] local {} port {} connected to {} port {}\n", stream.id, result.client,
                       stream.local_port, result.server, stream.remote_port);
  }
  if (options.interval_ps > 0) {
    out += "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n";
    add_intervals(options, result, out);
  }
  if (result.streams.size() < 2) out += "- - - - - - - - - - - - - - - - - - - - - - - - -\n";
  out += "[ ID] Interval           Transfer     Bitrate         Retr\n";
  for (const TcpStream& stream : result.streams) {
    const std::string id = std::to_string(stream.id);
    out += row(id, 0, stream.sender.elapsed_ps, stream.sender.bytes, rate_of(stream.sender), options.format) +
           fmt::format("  {:>3}             sender\n", stream.sender.retransmits);
    out += row(id, 0, stream.receiver.elapsed_ps, stream.receiver.bytes, rate_of(stream.receiver), options.format) +
           "                  receiver\n";
  }
  if (result.streams.size() > 1) {
    out += row("SUM", 0, result.elapsed_ps(&TcpStream::sender), result.sent_B(), result.sent_bps(), options.format) +
           fmt::format("  {:>3}             sender\n", result.retransmits());
    out += row("SUM", 0, result.elapsed_ps(&TcpStream::receiver), result.received_B(), result.received_bps(),
               options.format) +
           "                  receiver\n";
  }
  return out + "\niperf Done.\n";
}

}  // namespace weft::workload
