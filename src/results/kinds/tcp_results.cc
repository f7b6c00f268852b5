// What iperf3 leaves in the report, in results.json and in results.sqlite.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/figures.h"
#include "results/json_rows.h"
#include "results/kinds/workload_kind.h"
#include "results/report_text.h"
#include "store/rows/workload_rows.h"
#include "store/table.h"
#include "tools/iperf3/report.h"

namespace weft::lab {

namespace {

using Json = nlohmann::ordered_json;
using workload::Iperf3Options;
using workload::Iperf3Result;
using workload::TcpInterval;
using workload::TcpStream;
using workload::TcpStreamEnd;

double seconds_of(Time_ps time_ps) {
  return places(static_cast<double>(time_ps) / 1e12, 6);
}
std::int64_t microseconds_of(Time_ps time_ps) {
  return time_ps / kMicrosecond_ps;
}

double rate_of(const TcpStreamEnd& end) {
  return end.elapsed_ps == 0 ? 0 : 8e12 * static_cast<double>(end.bytes) / static_cast<double>(end.elapsed_ps);
}

// The members that iperf3 gives every sum and stream.
Json bytes_object(Time_ps start_ps, Time_ps end_ps, std::uint64_t bytes, double bps,
                  const TcpStream* stream = nullptr) {
  Json j;
  if (stream != nullptr) j["socket"] = stream->id;
  j["start"] = seconds_of(start_ps);
  j["end"] = seconds_of(end_ps);
  j["seconds"] = seconds_of(end_ps - start_ps);
  j["bytes"] = bytes;
  j["bits_per_second"] = places(bps, 0);
  return j;
}

Json start_object(const Iperf3Options& options, const Iperf3Result& result) {
  Json start;
  start["connected"] = Json::array();
  for (const TcpStream& stream : result.streams) {
    start["connected"].push_back({{"socket", stream.id},
                                  {"local_host", result.client},
                                  {"local_port", stream.local_port},
                                  {"remote_host", result.server},
                                  {"remote_port", stream.remote_port}});
  }
  start["connecting_to"] = {{"host", result.server}, {"port", options.port}};
  start["tcp_mss_default"] = result.mss_B;
  start["sock_bufsize"] = options.window_B;
  start["test_start"] = {{"protocol", "TCP"},
                         {"num_streams", options.parallel},
                         {"blksize", options.block_B},
                         {"omit", 0},
                         {"duration", options.duration_ps / kSecond_ps},
                         {"bytes", options.total_B},
                         {"blocks", 0},
                         {"reverse", options.reverse ? 1 : 0},
                         {"tos", options.tos.value_or(0)}};
  return start;
}

Json intervals_list(const Iperf3Options& options, const Iperf3Result& result) {
  Json list = Json::array();
  std::size_t most = 0;
  for (const TcpStream& stream : result.streams) most = std::max(most, stream.sender.intervals.size());
  for (std::size_t i = 0; i < most; ++i) {
    Json streams = Json::array();
    TcpInterval all;
    for (const TcpStream& stream : result.streams) {
      if (i >= stream.sender.intervals.size()) continue;
      const TcpInterval& each = stream.sender.intervals[i];
      Json row = bytes_object(each.start_ps, each.end_ps, each.bytes, each.bits_per_second(), &stream);
      row["retransmits"] = each.retransmits;
      row["snd_cwnd"] = each.cwnd_B;
      row["rtt"] = microseconds_of(each.rtt_ps);
      row["rttvar"] = microseconds_of(each.rttvar_ps);
      row["omitted"] = false;
      row["sender"] = !options.reverse;
      streams.push_back(row);
      all.start_ps = each.start_ps;
      all.end_ps = std::max(all.end_ps, each.end_ps);
      all.bytes += each.bytes;
      all.retransmits += each.retransmits;
    }
    Json sum = bytes_object(all.start_ps, all.end_ps, all.bytes, all.bits_per_second());
    sum["retransmits"] = all.retransmits;
    sum["omitted"] = false;
    sum["sender"] = !options.reverse;
    list.push_back({{"streams", streams}, {"sum", sum}});
  }
  return list;
}

Json end_object(const Iperf3Options& options, const Iperf3Result& result) {
  Json end;
  end["streams"] = Json::array();
  for (const TcpStream& stream : result.streams) {
    Json sender = bytes_object(0, stream.sender.elapsed_ps, stream.sender.bytes, rate_of(stream.sender), &stream);
    sender["retransmits"] = stream.sender.retransmits;
    sender["max_snd_cwnd"] = stream.sender.max_cwnd_B;
    sender["max_rtt"] = microseconds_of(stream.sender.max_rtt_ps);
    sender["min_rtt"] = microseconds_of(stream.sender.min_rtt_ps);
    sender["mean_rtt"] = microseconds_of(stream.sender.mean_rtt_ps);
    sender["sender"] = !options.reverse;
    Json receiver =
        bytes_object(0, stream.receiver.elapsed_ps, stream.receiver.bytes, rate_of(stream.receiver), &stream);
    receiver["sender"] = !options.reverse;
    end["streams"].push_back({{"sender", sender}, {"receiver", receiver}});
  }
  Json sent = bytes_object(0, result.elapsed_ps(&TcpStream::sender), result.sent_B(), result.sent_bps());
  sent["retransmits"] = result.retransmits();
  end["sum_sent"] = sent;
  end["sum_received"] =
      bytes_object(0, result.elapsed_ps(&TcpStream::receiver), result.received_B(), result.received_bps());
  const double sender_cpu = places(result.cpu_percent(&TcpStream::sender), 3);
  const double receiver_cpu = places(result.cpu_percent(&TcpStream::receiver), 3);
  end["cpu_utilization_percent"] = {{"host_total", options.reverse ? receiver_cpu : sender_cpu},
                                    {"remote_total", options.reverse ? sender_cpu : receiver_cpu}};
  end["sender_tcp_congestion"] = name(options.algorithm);
  end["receiver_tcp_congestion"] = name(options.algorithm);
  return end;
}

Json iperf3_object(const Iperf3Options& options, const Iperf3Result& result) {
  Json j;
  j["start"] = start_object(options, result);
  j["intervals"] = intervals_list(options, result);
  j["end"] = end_object(options, result);
  return j;
}

std::string cpu_text(std::string_view side, const TcpStreamEnd& end) {
  if (end.elapsed_ps == 0) return "";
  const auto part = [&](Time_ps busy_ps) {
    return share_text(static_cast<double>(busy_ps) / static_cast<double>(end.elapsed_ps));
  };
  return fmt::format("{} {} in the program, {} in the interrupt", side, part(end.program_ps), part(end.interrupt_ps));
}

}  // namespace

std::string report_section(const Iperf3Options& options, const Iperf3Result& result, const Lab& lab,
                           const WorkloadConfig& config) {
  std::string command = "iperf3 -c " + result.server;
  for (const std::string& word : options.words) command += " " + word;
  std::string out = heading(fmt::format("{}: {}, {}", config.name, command, ends_text(lab, config)));
  out += fmt::format("TCP {}, MSS {} B; CPU of the first stream: {}; {}\n\n```\n", name(options.algorithm),
                     result.mss_B, cpu_text("sender", result.streams.front().sender),
                     cpu_text("receiver", result.streams.front().receiver));
  out += options.json ? iperf3_object(options, result).dump(2) + "\n" : workload::format_iperf3(options, result);
  return out + "```\n";
}

void write_json(const Iperf3Options& options, const Iperf3Result& result, const Lab& lab, const WorkloadConfig& config,
                store::JsonStream& out) {
  Json w;
  w["name"] = config.name;
  w["client"] = port_name(lab, config.client);
  w["server"] = port_name(lab, config.server);
  w["iperf3"] = iperf3_object(options, result);
  out.item(w.dump());
}

// Only where there is an iperf3, so that the file of a lab without one has no tables that say nothing.
void write_tables(std::type_identity<Iperf3Options>, const RunResult& result, store::SqliteFile& file) {
  const auto is_iperf3 = [](const WorkloadOutcome& outcome) { return outcome.as<Iperf3Result>() != nullptr; };
  if (std::none_of(result.workloads.begin(), result.workloads.end(), is_iperf3)) return;
  store::Inserter<store::Iperf3StreamRow> streams(file);
  store::Inserter<store::Iperf3IntervalRow> intervals(file);
  for (const WorkloadOutcome& outcome : result.workloads) {
    const auto* iperf3 = outcome.as<Iperf3Result>();
    if (iperf3 == nullptr) continue;
    for (const TcpStream& stream : iperf3->streams) {
      streams.add({outcome.config->name, stream.id, stream.sender.bytes, stream.receiver.bytes, rate_of(stream.sender),
                   rate_of(stream.receiver), stream.sender.retransmits, stream.sender.timeouts,
                   stream.sender.ring_drops + stream.receiver.ring_drops, stream.sender.program_ps,
                   stream.sender.interrupt_ps, stream.receiver.program_ps, stream.receiver.interrupt_ps});
      for (const TcpStreamEnd* end : {&stream.sender, &stream.receiver}) {
        for (const TcpInterval& each : end->intervals)
          intervals.add({outcome.config->name, stream.id, end == &stream.sender ? "sender" : "receiver", each.start_ps,
                         each.end_ps, each.bytes, each.bits_per_second(), each.retransmits, each.cwnd_B, each.rtt_ps});
      }
    }
  }
}

std::string failure_text(const Iperf3Options&, const Iperf3Result& result, const RunResult& run, const Judged& judged) {
  const bool cut_short = run.interrupted || run.cut_off;
  if (judged({"bitrate_Gbps"}) || cut_short) return "";
  std::uint64_t without = 0;
  for (const TcpStream& stream : result.streams) without += stream.sender.connected ? 0 : 1;
  if (without > 0) return count_text(without, result.streams.size(), "stream") + " never connected";
  return result.received_B() == 0 ? "nothing was received" : "";
}

void add_evidence(const workload::Iperf3Options&, const workload::Iperf3Result&, const Lab& lab,
                  const WorkloadConfig& config, Evidence& evidence) {
  add_ends(lab, config, "iperf3", evidence);
}

}  // namespace weft::lab
