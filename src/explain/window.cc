// A part of a run: what lies between two times, and shares by samples.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "base/figures.h"
#include "explain/read_evidence.h"
#include "results/report_text.h"
#include "store/rows/run_rows.h"
#include "store/series.h"
#include "store/table.h"

namespace weft::explain {
namespace {

using lab::Evidence;

// By kSenderMetrics.
constexpr const char* kCauses[] = {lab::held::kSending,     lab::held::kPortBusy, lab::held::kStart,
                                   lab::held::kNoWork,      lab::held::kCpu,      lab::held::kRoundTrip,
                                   lab::held::kMessageRate, lab::held::kPace,     lab::held::kPause,
                                   lab::held::kRecovery,    lab::held::kContext,  "PCIe"};
static_assert(std::size(kCauses) == std::size(store::kSenderMetrics));

struct Grown {
  std::map<std::string, std::int64_t> bytes, paused_ps, marked, queue_B;               // by port
  std::map<std::pair<std::string, std::string>, std::map<std::string, Time_ps>> held;  // by workload and number
};

// How much a series grew between two samples; nothing: a damaged block.
std::optional<std::int64_t> growth(store::SqliteFile& file, std::int64_t id, std::uint64_t from, std::uint64_t to) {
  std::int64_t first = 0, last = 0;
  for (const store::BlockRow& block : store::Reader<store::BlockRow>(file, "WHERE series_id=?", id)) {
    const std::uint64_t begin = block.first_sample, count = block.count;
    const auto holds = [&](std::uint64_t sample) { return sample >= begin && sample - begin < count; };
    if (!holds(from) && !holds(to)) continue;
    if (count > store::kBlockSamples) return std::nullopt;
    const auto values = store::decode_block(block.data, static_cast<std::uint32_t>(count));
    if (!values) return std::nullopt;
    if (holds(from)) first = (*values)[from - begin];
    if (holds(to)) last = (*values)[to - begin];
  }
  return last - first;
}

// The largest of these samples.
std::optional<std::int64_t> largest(store::SqliteFile& file, std::int64_t id, std::uint64_t from, std::uint64_t to) {
  std::int64_t most = 0;
  for (const store::BlockRow& block : store::Reader<store::BlockRow>(file, "WHERE series_id=?", id)) {
    const std::uint64_t begin = block.first_sample, count = block.count;
    if (count > store::kBlockSamples) return std::nullopt;
    if (begin > to || (begin < from && from - begin >= count)) continue;
    const auto values = store::decode_block(block.data, static_cast<std::uint32_t>(count));
    if (!values) return std::nullopt;
    for (std::uint64_t i = std::max(begin, from); i <= to && i - begin < values->size(); ++i)
      most = std::max<std::int64_t>(most, (*values)[i - begin]);
  }
  return most;
}

bool read_growth(store::SqliteFile& file, std::uint64_t from, std::uint64_t to, Grown& grown) {
  static const std::map<std::string, std::string> kCauseOf = [] {
    std::map<std::string, std::string> out;
    for (std::size_t i = 0; i < std::size(kCauses); ++i) out[store::kSenderMetrics[i]] = kCauses[i];
    return out;
  }();
  for (const store::SeriesRow& series : store::Reader<store::SeriesRow>(file, "ORDER BY id")) {
    const std::string &metric = series.metric, port = series.node + ":" + series.port;
    const bool of_flow = kCauseOf.contains(metric);
    if (metric == "queue_B") {
      const auto most = largest(file, series.id, from, to);
      if (!most) return false;
      grown.queue_B[port] = std::max(grown.queue_B[port], *most);
      continue;
    }
    if (!of_flow && metric != "tx_bytes" && metric != "pause_rx_ps" && metric != "ecn_marked") continue;
    const auto more = growth(file, series.id, from, to);
    if (!more) return false;
    if (of_flow) {
      grown.held[{series.node, series.port}][kCauseOf.at(metric)] = *more;
    } else if (metric == "tx_bytes") {
      grown.bytes[port] += *more;
    } else if (metric == "ecn_marked") {
      grown.marked[port] += *more;
    } else {
      grown.paused_ps[port] = std::max(grown.paused_ps[port], *more);
    }
  }
  return true;
}

// Bytes on the line are those of whole packets, as many as the run's average.
void use_growth(const Grown& grown, Evidence& evidence) {
  const auto of = [](const auto& map, const auto& key) {
    const auto found = map.find(key);
    return found == map.end() ? std::int64_t{0} : found->second;
  };
  for (lab::LinkEvidence& link : evidence.links) {
    const auto bytes = static_cast<double>(of(grown.bytes, link.from));
    const double all_B = static_cast<double>(link.line_B);
    const double counted_B = all_B - 20.0 * static_cast<double>(link.packets);
    link.line_B = counted_B > 0 ? static_cast<std::uint64_t>(bytes * all_B / counted_B) : 0;
    link.paused_ps = of(grown.paused_ps, link.from);
    link.marked = static_cast<std::uint64_t>(of(grown.marked, link.from));
    link.max_queue_B = static_cast<std::uint64_t>(of(grown.queue_B, link.from));
    link.lost.clear();
  }
  for (lab::FlowEvidence& flow : evidence.flows) flow.goodput_bps.reset();  // it is of the whole run
  std::map<std::pair<std::string, std::uint32_t>, const std::map<std::string, Time_ps>*> by_sender;
  for (const lab::FlowEvidence& flow : evidence.flows) {
    const auto found = grown.held.find({flow.workload, std::to_string(flow.number)});
    if (found != grown.held.end()) by_sender[{flow.from, flow.qpn}] = &found->second;
  }
  for (lab::SenderEvidence& sender : evidence.senders) {
    const auto found = by_sender.find({sender.from, sender.qpn});
    sender.held.clear();
    sender.again = 0;  // when is not known
    if (found == by_sender.end() || sender.replies) continue;
    for (const auto& [cause, time_ps] : *found->second) {
      if (time_ps > 0) sender.held.push_back({cause, time_ps});
    }
  }
  std::erase_if(evidence.senders, [](const lab::SenderEvidence& sender) { return sender.held.empty(); });
}

void keep_events(Time_ps from_ps, Time_ps to_ps, Evidence& evidence) {
  const auto is_out = [&](Time_ps first_ps, Time_ps last_ps) { return first_ps > to_ps || last_ps < from_ps; };
  std::erase_if(evidence.events, [&](const auto& event) { return is_out(event.first_ps, event.last_ps); });
  std::erase_if(evidence.drops, [&](const auto& drop) { return is_out(drop.first_ps, drop.last_ps); });
  // Of pauses that had begun before, the beginning stays.
  std::map<std::tuple<std::string, bool, unsigned>, lab::PauseEvidence> open;  // by port, direction and class
  std::vector<lab::PauseEvidence> inside;
  for (const lab::PauseEvidence& pause : evidence.pauses) {
    if (pause.time_ps > to_ps) break;
    if (pause.time_ps >= from_ps) {
      inside.push_back(pause);
      continue;
    }
    for (unsigned c = 0; c < 8; ++c) {
      if ((pause.classes >> c & 1) == 0) continue;
      if (pause.what != "start") {
        open.erase({pause.port, pause.sent, c});
        continue;
      }
      open.insert_or_assign({pause.port, pause.sent, c}, pause);
      open[{pause.port, pause.sent, c}].classes = 1u << c;
    }
  }
  evidence.pauses.clear();
  for (const auto& [port, pause] : open) evidence.pauses.push_back(pause);
  std::stable_sort(evidence.pauses.begin(), evidence.pauses.end(),
                   [](const auto& a, const auto& b) { return a.time_ps < b.time_ps; });
  evidence.pauses.insert(evidence.pauses.end(), inside.begin(), inside.end());
}

}  // namespace

tl::expected<void, ExplainProblem> cut_to_window(const std::string& directory, Time_ps from_ps, Time_ps to_ps,
                                                 Evidence& evidence) {
  const Time_ps interval_ps = evidence.sample_interval_ps;
  if (interval_ps <= 0 || evidence.samples < 2)
    return tl::unexpected(ExplainProblem{
        "--between needs samples, and this run has none",
        fmt::format("run it with them: weft run {}/lab.yaml --set 'sample=10 us' --out DIR", directory)});
  if (evidence.samples - 2 > static_cast<std::uint64_t>(evidence.end_ps / interval_ps))
    return tl::unexpected(
        ExplainProblem{fmt::format("{} samples do not fit a run of {}", evidence.samples, moment_text(evidence.end_ps)),
                       "run the lab again"});
  const Time_ps last_ps = static_cast<Time_ps>(evidence.samples - 1) * interval_ps;
  if (from_ps >= last_ps)
    return tl::unexpected(ExplainProblem{
        fmt::format("--between begins at {}, and the last sample is of {}", moment_text(from_ps), moment_text(last_ps)),
        "choose times within the run"});
  const auto from = static_cast<std::uint64_t>(from_ps / interval_ps);
  const auto to = std::min<std::uint64_t>(
      evidence.samples - 1, static_cast<std::uint64_t>((std::min(to_ps, last_ps) + interval_ps - 1) / interval_ps));
  Grown grown;
  const std::string path = directory + "/results.sqlite";
  store::SqliteFile file(path, store::SqliteFile::Mode::kRead);
  file.limit_integers(kMostNumber);
  if (!read_growth(file, from, to, grown) || !file.error().empty())
    return tl::unexpected(ExplainProblem{path + ": a damaged series", "run the lab again"});
  evidence.is_window = true;
  evidence.from_ps = static_cast<Time_ps>(from) * interval_ps;
  evidence.end_ps = static_cast<Time_ps>(to) * interval_ps;
  use_growth(grown, evidence);
  keep_events(evidence.from_ps, evidence.end_ps, evidence);
  for (lab::SenderEvidence& sender : evidence.senders) {
    sender.first_ps = std::max(sender.first_ps, evidence.from_ps);
    sender.last_ps = std::min(sender.last_ps, evidence.end_ps);
  }
  return {};
}

}  // namespace weft::explain
