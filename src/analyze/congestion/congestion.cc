#include "analyze/congestion/congestion.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace weft::analyze {
namespace {

constexpr std::size_t kMostRateFlows = 32, kMostCnpRows = 1000;

std::int64_t number(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

Table pause_table(const std::vector<CapturePoint>& points) {
  Table table{"pauses",
              {"flow", "priority", "frames", "xoff", "xon", "pauses", "expired", "paused_ns", "longest_ns",
               "refresh_ns", "share_percent", "response_ns", "response_mean_ns", "response_limit_ns"}};
  for (std::size_t i = 0; i < points.size(); ++i)
    for (const ClassPause& pause : points[i].pauses) {
      const std::string name = points[i].name.empty() ? fmt::format("interface {}", i) : points[i].name;
      const std::string what = !pause.sender.empty() ? "by " + pause.sender : pause.sent ? "sent" : "received";
      table.rows.push_back({name + " " + what, std::int64_t{pause.priority}, number(pause.frames), number(pause.xoff),
                            number(pause.xon), number(pause.pauses), number(pause.expired), pause.paused_ns,
                            pause.longest_ns, pause.refresh_ns, 100 * pause.share, pause.response_ns,
                            pause.response_mean_ns, pause.response_limit_ns});
    }
  return table;
}

Table cnp_table(const Reading& reading, const std::vector<Reaction>& reactions, const Cnps& cnps) {
  Table table{"cnp",
              {"flow", "ce_marked", "cnps", "unanswered", "delay_p50_ns", "gap_least_ns", "gap_p50_ns",
               "rate_before_Gbps", "left_after_cnp"}};
  for (const CnpSender& sender : cnps.senders()) {
    if (table.rows.size() == kMostCnpRows) break;
    if (sender.ce + sender.cnps == 0) continue;
    table.rows.push_back(
        {fmt::format("> {} at {}", reading.addresses.text(sender.address), point_name(reading, sender.point)),
         number(sender.ce), number(sender.cnps), number(sender.pending_ns == 0 ? 0 : sender.ce_pending),
         sender.delay.percentile(5'000), sender.least_gap_ns[0], sender.gap.percentile(5'000), std::string("-"),
         std::string("-")});
  }
  for (const Reaction& reaction : reactions) {
    if (table.rows.size() == kMostCnpRows) break;
    const StreamMarks& marks = reading.marks[reaction.stream];
    const double left = reaction.cuts == 0 ? 1 : reaction.cut_sum / static_cast<double>(reaction.cuts);
    table.rows.push_back({place_of(reading, reaction.stream), std::int64_t{marks.ce}, number(reaction.cnps),
                          std::string("-"), std::string("-"), std::string("-"), std::string("-"),
                          reaction.before_bps / 1e9, reaction.cuts == 0 ? Cell(std::string("-")) : Cell(left)});
  }
  return table;
}

// The streams with the most data, each at the point where it was seen first.
Table rate_table(const Reading& reading, Rates& rates) {
  Table table{"rate", {"flow", "from_ns", "to_ns", "payload_B", "rate_Gbps"}};
  std::vector<StreamId> order;
  for (StreamId id = 0; id < reading.streams.size(); ++id)
    if (rates.series(id) != nullptr) order.push_back(id);
  std::stable_sort(order.begin(), order.end(), [&](StreamId one, StreamId other) {
    return reading.streams[one].first_ns < reading.streams[other].first_ns;
  });
  std::set<std::tuple<AddressId, AddressId, std::uint32_t>> seen;
  std::erase_if(order, [&](StreamId id) {
    const Stream& stream = reading.streams[id];
    return !seen.insert({stream.src, stream.dst, stream.dst_qp}).second;
  });
  std::stable_sort(order.begin(), order.end(), [&](StreamId one, StreamId other) {
    return reading.streams[one].payload_B > reading.streams[other].payload_B;
  });
  if (order.size() > kMostRateFlows) order.resize(kMostRateFlows);
  const std::int64_t width_ns = rates.clock().width_ns();
  for (const StreamId id : order) {
    const BinSeries& series = *rates.series(id);
    const std::string flow = place_of(reading, id);
    for (std::size_t i = 0; i < BinClock::kBins; ++i) {
      const std::int64_t start_ns = rates.clock().start_ns() + number(i) * width_ns;
      if (start_ns > reading.capture.last_ns) break;
      const std::int64_t from_ns = start_ns - reading.capture.begin_ns;
      table.rows.push_back({flow, from_ns, from_ns + width_ns, number(series.values[i]),
                            static_cast<double>(series.values[i]) * 8 / static_cast<double>(width_ns)});
    }
  }
  return table;
}

}  // namespace

void Congestion::finish(Analysis& analysis, const Streams& streams, const Addresses& addresses) {
  classes_.reach(streams.size());
  const Reading reading{analysis.capture, streams, addresses, classes_.marks()};
  Findings& findings = analysis.findings;
  pauses_.finish(findings, reading);
  classes_.finish(findings, reading);
  changes_.finish(findings, reading);
  cnps_.finish(findings, reading);
  reaction_.finish(findings, reading, pauses_.lanes());
  check_path_entropy(findings, reading, pauses_.lanes());
  check_migreq(findings, reading);
  pauses_.fill(analysis.capture.points, reading.span_ns());
  analysis.tables.push_back(cnp_table(reading, reaction_.reactions(), cnps_));
  analysis.tables.push_back(pause_table(analysis.capture.points));
  analysis.tables.push_back(rate_table(reading, rates_));
}

}  // namespace weft::analyze
