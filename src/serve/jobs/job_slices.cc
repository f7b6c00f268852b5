#include "serve/jobs/job_slices.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace weft::serve {

namespace {

using Span = std::pair<std::int64_t, std::int64_t>;
using Spans = std::vector<Span>;

constexpr std::size_t kLongestLine_B = 1 << 16;
constexpr std::uint32_t kMostRanks = 1 << 16;
constexpr std::size_t kMostNames = 1 << 12;

// Sorted, with overlapping and adjacent spans merged.
Spans united(Spans spans) {
  std::sort(spans.begin(), spans.end());
  Spans out;
  for (const Span& span : spans) {
    if (!out.empty() && span.first <= out.back().second) {
      out.back().second = std::max(out.back().second, span.second);
    } else {
      out.push_back(span);
    }
  }
  return out;
}

// `from` without `other`; both are merged spans.
Spans without_spans(const Spans& from, const Spans& other) {
  Spans out;
  std::size_t at = 0;
  for (const Span& span : from) {
    std::int64_t begin = span.first;
    while (at < other.size() && other[at].second <= begin) ++at;
    for (std::size_t i = at; i < other.size() && other[i].first < span.second; ++i) {
      if (other[i].first > begin) out.emplace_back(begin, other[i].first);
      begin = std::max(begin, other[i].second);
    }
    if (begin < span.second) out.emplace_back(begin, span.second);
  }
  return out;
}

// One rank while the file is read.
struct RankSpans {
  Spans compute, sending;
};

class TimelineReader {
 public:
  JobTimeline take(std::istream& file) {
    std::string line;
    while (std::getline(file, line)) {
      if (line.size() > kLongestLine_B || line.empty() || line.front() != '{') continue;
      if (line.back() == ',') line.pop_back();
      const auto event = nlohmann::json::parse(line, nullptr, false);
      if (event.is_object()) see(event);
    }
    add_states();
    return std::move(out_);
  }

 private:
  static std::string text_of(const nlohmann::json& object, const char* key) {
    const auto it = object.find(key);
    return it != object.end() && it->is_string() ? it->get<std::string>() : "";
  }
  static std::int64_t number_of(const nlohmann::json& object, const char* key) {
    const auto it = object.find(key);
    return it != object.end() && it->is_number_integer() ? it->get<std::int64_t>() : -1;
  }
  // Microseconds in the file; nothing can be longer than a hundred days.
  static std::int64_t time_of(const nlohmann::json& object, const char* key) {
    const auto it = object.find(key);
    if (it == object.end() || !it->is_number()) return -1;
    const double us = it->get<double>();
    return us >= 0 && us < 1e13 ? std::llround(us * 1e6) : -1;
  }

  void see(const nlohmann::json& event) {
    const std::string phase = text_of(event, "ph");
    const std::int64_t process = number_of(event, "pid"), thread = number_of(event, "tid");
    if (phase == "M") {
      const auto args = event.find("args");
      if (args == event.end() || !args->is_object()) return;
      const std::string what = text_of(event, "name");
      if (what == "process_name") hosts_[process] = text_of(*args, "name");
      if (what == "process_labels") out_.note = text_of(*args, "labels");
      if (what == "thread_name") add_track(process, thread, text_of(*args, "name"));
    } else if (phase == "X") {
      add_slice(event, thread);
    }
  }

  // "rank 3 data0"
  void add_track(std::int64_t process, std::int64_t thread, std::string_view name) {
    constexpr std::string_view kRank = "rank ";
    if (!name.starts_with(kRank)) return;
    name.remove_prefix(kRank.size());
    std::uint32_t rank = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), rank);
    if (parsed.ec != std::errc{} || rank >= kMostRanks) return;
    name.remove_prefix(static_cast<std::size_t>(parsed.ptr - name.data()));
    if (name.starts_with(' ')) name.remove_prefix(1);
    tracks_[thread] = static_cast<std::uint32_t>(out_.tracks.size());
    out_.tracks.push_back({rank, hosts_[process], std::string(name)});
    out_.ranks = std::max(out_.ranks, rank + 1);
  }

  void add_slice(const nlohmann::json& event, std::int64_t thread) {
    const auto track = tracks_.find(thread);
    const std::int64_t from_ps = time_of(event, "ts"), length_ps = time_of(event, "dur");
    if (track == tracks_.end() || from_ps < 0 || length_ps < 0) return;
    const bool compute = text_of(event, "cat") == "compute";
    const JobTrack& own = out_.tracks[track->second];
    const Span span(from_ps, from_ps + length_ps);
    end_ps_ = std::max(end_ps_, span.second);
    RankSpans& rank = ranks_[own.rank];
    if (compute) {
      rank.compute.push_back(span);
    } else if (!own.name.starts_with("from rank")) {
      rank.sending.push_back(span);  // waiting for a receive is not communication of this rank
    }
    if (out_.slices.size() >= kMostSlices) {
      ++out_.left_out;
      return;
    }
    out_.slices.push_back({track->second, name_number(text_of(event, "name")),
                           compute ? SliceKind::kCompute : SliceKind::kCommunication, span.first, span.second});
  }

  std::uint32_t name_number(const std::string& name) {
    const auto known = name_numbers_.find(name);
    if (known != name_numbers_.end()) return known->second;
    const auto next = static_cast<std::uint32_t>(out_.names.size());
    if (next > kMostNames) return kMostNames;  // the last name is that of all others
    out_.names.push_back(next < kMostNames ? name : "(other)");
    return next < kMostNames ? name_numbers_.emplace(name, next).first->second : next;
  }

  void add_states() {
    for (auto& each : ranks_) {
      const Spans compute = united(std::move(each.second.compute));
      const Spans exposed = without_spans(united(std::move(each.second.sending)), compute);
      Spans busy = compute;
      busy.insert(busy.end(), exposed.begin(), exposed.end());
      const Spans waits = without_spans({{0, end_ps_}}, united(std::move(busy)));
      add_states_of(each.first, compute, SliceKind::kCompute);
      add_states_of(each.first, exposed, SliceKind::kExposed);
      add_states_of(each.first, waits, SliceKind::kWait);
    }
  }
  void add_states_of(std::uint32_t rank, const Spans& spans, SliceKind kind) {
    for (const Span& span : spans) {
      if (out_.states.size() >= kMostSlices) {
        ++out_.left_out;
      } else {
        out_.states.push_back({rank, 0, kind, span.first, span.second});
      }
    }
  }

  JobTimeline out_;
  std::map<std::int64_t, std::string> hosts_;
  std::map<std::int64_t, std::uint32_t> tracks_;
  std::map<std::string, std::uint32_t> name_numbers_;
  std::map<std::uint32_t, RankSpans> ranks_;
  std::int64_t end_ps_ = 0;
};

}  // namespace

JobTimeline read_job_timeline(std::istream& file) {
  return TimelineReader().take(file);
}

}  // namespace weft::serve
