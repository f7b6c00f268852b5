#include "serve/runs/activity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "results/evidence_rows.h"
#include "serve/runs/sample_reader.h"
#include "store/rows/run_rows.h"
#include "store/table.h"

namespace weft::serve {

namespace {

constexpr std::size_t kMostCells = 6'500'000;             // ports times bins: 1,000 bins of 1,024 hosts
constexpr std::uint64_t kMostSeriesSamples = 50'000'000;  // of one series

// 1 for anything above zero, 255 for 100 %.
std::uint8_t byte_of(double share) {
  if (!(share > 0)) return 0;
  return static_cast<std::uint8_t>(std::clamp(std::lround(share * 255), 1L, 255L));
}

// Likewise with 65535: ports that send acknowledgements alone add up to nothing that shows.
std::uint16_t word_of(double share) {
  if (!(share > 0)) return 0;
  return static_cast<std::uint16_t>(std::clamp(std::lround(share * 65'535), 1L, 65'535L));
}

class ActivityReader {
 public:
  ActivityReader(OpenRun& run, Activity& out, ActivityParts parts) : run_(run), out_(out), parts_(parts) {}

  void read_links() {
    for (const lab::LinkEvidence& link : store::Reader<lab::LinkEvidence>(run_.file())) {
      places_.emplace(link.from, out_.ports.size());
      out_.ports.push_back(link.from);
      out_.most_queue_B.push_back(static_cast<std::int64_t>(link.max_queue_B));
      rates_bps_.push_back(static_cast<double>(std::max<std::int64_t>(1, link.rate_bps)));
      line_B_.push_back(static_cast<double>(link.line_B));
      paused_ps_.push_back(static_cast<double>(link.paused_ps));
    }
  }

  // From the totals of the run only.
  void fill_whole_run() {
    out_.bins = 1;
    out_.window = {0, std::max<Time_ps>(1, run_.end_ps())};
    const auto width_ps = static_cast<double>(out_.window.to_ps);
    for (std::size_t i = 0; i < out_.ports.size(); ++i) {
      out_.used.push_back(word_of(line_B_[i] * 8e12 / rates_bps_[i] / width_ps));
      out_.paused.push_back(byte_of(paused_ps_[i] / width_ps));
      out_.queue.push_back(out_.most_queue_B[i] > 0 ? 255 : 0);
      out_.group.push_back(0);
    }
  }

  void fill_bins(const SampleRange& range) {
    const std::size_t cells = out_.ports.size() * out_.bins;
    out_.used.assign(cells, 0);
    for (auto* each : {&out_.paused, &out_.queue, &out_.group}) each->assign(cells, 0);
    sent_B_.assign(out_.ports.size() * (out_.bins + 1), 0);
    total_B_.assign(out_.ports.size(), 0);
    place_edges(range);
    for (const store::SeriesRow& row : store::Reader<store::SeriesRow>(run_.file(), "WHERE metric = 'tx_bytes'")) {
      if (const auto at = places_.find(row.node + ":" + row.port); at != places_.end())
        total_B_[at->second] += static_cast<double>(row.last);
    }
    read_series(range, "'tx_bytes', 'pause_rx_ps'");
    if (parts_ == ActivityParts::kAll) {
      read_series(range, "'xoff_B'");
      read_series(range, "'queue_B', 'group_B'");
    }
    for (std::size_t i = 0; i < out_.ports.size(); ++i) fill_used(i);
  }

 private:
  // Where each edge of a bin lies between two samples.
  struct Edge {
    std::size_t sample = 0;
    double part = 0;
  };
  void place_edges(const SampleRange& range) {
    const auto width_ps = static_cast<double>(out_.window.to_ps - out_.window.from_ps);
    bin_ps_ = width_ps / out_.bins;
    for (std::uint32_t b = 0; b <= out_.bins; ++b) {
      const double at_ps = static_cast<double>(out_.window.from_ps) + width_ps * b / out_.bins -
                           static_cast<double>(range.first) * static_cast<double>(range.interval_ps);
      const double at =
          std::clamp(at_ps / static_cast<double>(range.interval_ps), 0.0, static_cast<double>(range.count - 1));
      edges_.push_back({static_cast<std::size_t>(at), at - std::floor(at)});
    }
  }
  double at_edge(std::uint32_t b) const {
    const Edge& edge = edges_[b];
    const auto value = static_cast<double>(samples_[edge.sample]);
    if (edge.part == 0) return value;
    return value + (static_cast<double>(samples_[edge.sample + 1]) - value) * edge.part;
  }

  void read_series(const SampleRange& range, const char* metrics) {
    store::Reader<store::BlockRow> blocks(
        run_.file(), "WHERE series_id = ? AND first_sample < ? AND first_sample + count > ? ORDER BY first_sample");
    const auto first = static_cast<std::int64_t>(range.first),
               end = static_cast<std::int64_t>(range.first + range.count);
    for (const store::SeriesRow& series :
         store::Reader<store::SeriesRow>(run_.file(), fmt::format("WHERE metric IN ({}) ORDER BY id", metrics))) {
      samples_.assign(range.count, 0);
      bool is_sampled = false;
      blocks.restart(series.id, end, first);
      for (const store::BlockRow& block : blocks) {
        put_block(range, block, samples_);
        is_sampled = true;
      }
      if (is_sampled) add(series);
    }
  }

  void add(const store::SeriesRow& source) {
    const std::string& metric = source.metric;
    if (metric == "xoff_B") {
      limits_[{source.node, source.class_}] = samples_;
      return;
    }
    const auto found = places_.find(source.node + ":" + source.port);
    if (found == places_.end()) return;
    const std::size_t place = found->second;
    if (metric == "tx_bytes") {
      double* edges = &sent_B_[place * (out_.bins + 1)];
      for (std::uint32_t b = 0; b <= out_.bins; ++b) edges[b] += at_edge(b);
    } else if (metric == "pause_rx_ps") {
      std::uint8_t* bytes = &out_.paused[place * out_.bins];
      for (std::uint32_t b = 0; b < out_.bins; ++b)
        bytes[b] = std::max(bytes[b], byte_of((at_edge(b + 1) - at_edge(b)) / bin_ps_));
    } else if (metric == "group_B") {
      add_group(place, limits_[{source.node, source.class_}]);
    } else {
      add_queue(place);
    }
  }

  // The samples that a bin shows; a bin between two samples has the one before it.
  std::pair<std::size_t, std::size_t> samples_of(std::uint32_t b) const {
    const std::size_t first = edges_[b].sample;
    return {first, std::max(first + 1, edges_[b + 1].sample + (edges_[b + 1].part > 0 ? 1 : 0))};
  }

  // The fullest of its groups, by the limit of the same moment.
  void add_group(std::size_t place, const std::vector<std::int64_t>& limits) {
    if (limits.size() != samples_.size()) return;
    std::uint8_t* bytes = &out_.group[place * out_.bins];
    for (std::uint32_t b = 0; b < out_.bins; ++b) {
      const auto [first, end] = samples_of(b);
      double most = 0;
      for (std::size_t i = first; i < end; ++i)
        most = std::max(most,
                        static_cast<double>(samples_[i]) / static_cast<double>(std::max<std::int64_t>(1, limits[i])));
      bytes[b] = std::max(bytes[b], byte_of(most * Activity::kXoffByte / 255));
    }
  }

  // The fullest of its queues.
  void add_queue(std::size_t place) {
    const auto most_B = static_cast<double>(std::max<std::int64_t>(1, out_.most_queue_B[place]));
    std::uint8_t* bytes = &out_.queue[place * out_.bins];
    for (std::uint32_t b = 0; b < out_.bins; ++b) {
      const auto [first, end] = samples_of(b);
      std::int64_t most = 0;
      for (std::size_t i = first; i < end; ++i) most = std::max(most, samples_[i]);
      bytes[b] = std::max(bytes[b], byte_of(static_cast<double>(most) / most_B));
    }
  }

  // Counters have no preamble and gap; their part of the whole is known from the totals.
  void fill_used(std::size_t place) {
    const double line = total_B_[place] > 0 && line_B_[place] > 0 ? line_B_[place] / total_B_[place] : 1;
    const double whole_B = rates_bps_[place] * bin_ps_ / 8e12;
    const double* edges = &sent_B_[place * (out_.bins + 1)];
    // A packet is counted when it starts: what is left of it at the end of a bin belongs to the next.
    double rest_B = 0;
    for (std::uint32_t b = 0; b < out_.bins; ++b) {
      const double sent_B = rest_B + (edges[b + 1] - edges[b]) * line;
      rest_B = std::max(0.0, sent_B - whole_B);
      out_.used[place * out_.bins + b] = word_of((sent_B - rest_B) / whole_B);
    }
  }

  OpenRun& run_;
  Activity& out_;
  ActivityParts parts_;
  std::unordered_map<std::string, std::size_t> places_;
  std::vector<double> rates_bps_, line_B_, paused_ps_, total_B_;
  std::vector<Edge> edges_;
  double bin_ps_ = 1;
  std::vector<double> sent_B_;  // by port and edge
  std::vector<std::int64_t> samples_;
  std::map<std::pair<std::string, std::int64_t>, std::vector<std::int64_t>> limits_;  // by switch and group
};

}  // namespace

Activity read_activity(OpenRun& run, const TimeWindow& window, std::uint32_t bins, ActivityParts parts) {
  Activity out;
  ActivityReader reader(run, out, parts);
  reader.read_links();
  const SampleRange range = samples_in(run, window);
  if (range.count > kMostSeriesSamples) throw std::runtime_error("too many samples for one answer");
  if (run.number("samples") < 2 || out.ports.empty()) {
    reader.fill_whole_run();
    return out;
  }
  out.window = window;
  if (range.count == 0) {  // after the last sample
    out.bins = 1;
    out.used.assign(out.ports.size(), 0);
    for (auto* each : {&out.paused, &out.queue, &out.group}) each->assign(out.ports.size(), 0);
    return out;
  }
  // Between two samples there is nothing to tell.
  const std::size_t most_bins = std::min<std::size_t>(kMostCells / out.ports.size(), range.count - 1);
  out.bins = static_cast<std::uint32_t>(std::clamp<std::size_t>(bins, 1, std::max<std::size_t>(1, most_bins)));
  reader.fill_bins(range);
  return out;
}

ActivityTotal read_activity_total(OpenRun& run, const TimeWindow& window, std::uint32_t bins) {
  const Activity all = read_activity(run, window, bins, ActivityParts::kLinks);
  std::set<std::string> hosts;
  for (const store::NodeRow& node : store::Reader<store::NodeRow>(run.file(), "WHERE kind IN ('host', 'vm')"))
    hosts.insert(node.name);
  ActivityTotal total{all.bins, all.window, hosts.size(), 0, {}, {}};
  total.received_bps.assign(all.bins, 0);
  total.paused.assign(all.bins, 0);
  store::Reader<lab::LinkEvidence> links(run.file());
  for (std::size_t i = 0; i < all.ports.size() && links.next(); ++i) {
    const std::string& peer = links.row().to;
    const bool to_host = hosts.contains(peer.substr(0, peer.find(':')));
    const auto rate_bps = static_cast<double>(links.row().rate_bps);
    bool is_busy = false;
    for (std::size_t b = 0, at = i * all.bins; b < all.bins; ++b, ++at) {
      if (to_host) total.received_bps[b] += rate_bps * all.used[at] / 65'535;
      total.paused[b] += all.paused[at] / 255.0;
      is_busy = is_busy || all.used[at] > 0 || all.paused[at] > 0;
    }
    total.busy += is_busy ? 1 : 0;
  }
  return total;
}

std::string base64(const std::vector<std::uint8_t>& bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t word = std::uint32_t{bytes[i]} << 16;
    if (left > 1) word |= std::uint32_t{bytes[i + 1]} << 8;
    if (left > 2) word |= bytes[i + 2];
    out += kDigits[word >> 18];
    out += kDigits[word >> 12 & 63];
    out += left > 1 ? kDigits[word >> 6 & 63] : '=';
    out += left > 2 ? kDigits[word & 63] : '=';
  }
  return out;
}

std::string base64(const std::vector<std::uint16_t>& words) {
  std::vector<std::uint8_t> bytes;
  bytes.reserve(words.size() * 2);
  for (const std::uint16_t word : words) {
    bytes.push_back(static_cast<std::uint8_t>(word & 0xff));
    bytes.push_back(static_cast<std::uint8_t>(word >> 8));
  }
  return base64(bytes);
}

}  // namespace weft::serve
