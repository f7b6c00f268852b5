#include "serve/runs/series_routes.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "export/series_filter.h"
#include "serve/api/api_rows.h"
#include "serve/http/json_answer.h"
#include "serve/runs/sample_reader.h"
#include "store/json_row.h"
#include "store/table.h"

namespace weft::serve {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kMostSeries = 400;                 // in one answer
constexpr std::uint64_t kMostReadSamples = 200'000'000;  // read for one answer: a second or two
constexpr std::size_t kMostPatterns = 400;
constexpr std::uint64_t kMostPoints = 2'000'000;  // of all series of an answer together

// True for counters from the start of the run, false for gauges.
bool is_counter(const std::string& metric) {
  static constexpr std::string_view kGauges[] = {"queue_B", "group_B", "xoff_B", "buffer_B", "headroom_B", "rate_bps"};
  return std::find(std::begin(kGauges), std::end(kGauges), metric) == std::end(kGauges);
}

Response list_series(OpenRun& run) {
  std::vector<SeriesEntry> list;
  for (const store::SeriesRow& each : store::Reader<store::SeriesRow>(run.file()))
    list.push_back(
        {exports::series_name(each), each.node, each.port, each.class_, each.metric, each.unit, each.most, each.last});
  store::JsonText text;
  text.open('{');
  store::add_list(text, "series", list);
  text.close('}');
  return json_answer(text);
}

// Names are found at once; patterns are tried one by one.
class Wanted {
 public:
  explicit Wanted(const std::string& text) {
    for (std::size_t at = 0; at <= text.size() && size() <= kMostPatterns;) {
      const std::size_t end = std::min(text.find(',', at), text.size());
      const std::string each = text.substr(at, end - at);
      if (each.find_first_of("*?") != each.npos) {
        patterns_.push_back(each);
      } else if (!each.empty()) {
        names_.insert(each);
      }
      at = end + 1;
    }
  }
  std::size_t size() const { return names_.size() + patterns_.size(); }
  bool has(const exports::SeriesInfo& series) const {
    if (names_.contains(exports::series_name(series)) || names_.contains(series.metric)) return true;
    return !patterns_.empty() && exports::is_wanted(series, patterns_);
  }

 private:
  std::unordered_set<std::string> names_;
  std::vector<std::string> patterns_;
};

// The minimum and maximum of several samples.
struct Thinned {
  std::vector<std::int64_t> time_ps;
  std::vector<double> min, max;
  void add(Time_ps time, double value) {
    time_ps.push_back(time);
    min.push_back(value);
    max.push_back(value);
  }
  void widen(double value) {
    min.back() = std::min(min.back(), value);
    max.back() = std::max(max.back(), value);
  }
};

// At most `points`, each for an equal part of the time.
template <class Value>
Thinned thin(const SampleRange& range, std::uint64_t count, std::uint64_t points, Value value_at) {
  Thinned out;
  std::uint64_t part = UINT64_MAX;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t own = count <= points ? i : static_cast<std::uint64_t>((__uint128_t{i} * points) / count);
    if (own == part) {
      out.widen(value_at(i));
    } else {
      out.add(range.time_ps(i), value_at(i));
    }
    part = own;
  }
  return out;
}

// Defined for any content of a damaged file.
double change(const std::vector<std::int64_t>& samples, std::uint64_t i) {
  return static_cast<double>(
      static_cast<std::int64_t>(static_cast<std::uint64_t>(samples[i + 1]) - static_cast<std::uint64_t>(samples[i])));
}

// Bytes as bits per second, times as a share of the time.
struct RateUnit {
  const char* unit;
  double factor;  // of the change per picosecond
};
RateUnit rate_unit(const std::string& unit) {
  if (unit == "B") return {"b/s", 8e12};
  if (unit == "ps") return {"share", 1};
  return {"1/s", 1e12};
}

Json data_of(OpenRun& run, const exports::SeriesInfo& series, const SampleRange& range, std::uint64_t points,
             bool rate) {
  const std::vector<std::int64_t> samples = read_samples(run, series.id, range);
  Thinned thinned;
  std::string unit = series.unit;
  if (rate && is_counter(series.metric)) {
    const RateUnit of = rate_unit(series.unit);
    unit = of.unit;
    const double factor = of.factor / static_cast<double>(range.interval_ps);
    thinned = thin(range, samples.empty() ? 0 : samples.size() - 1, points,
                   [&](std::uint64_t i) { return change(samples, i) * factor; });
  } else {
    thinned = thin(range, samples.size(), points, [&](std::uint64_t i) { return static_cast<double>(samples[i]); });
  }
  return {{"id", exports::series_name(series)},
          {"unit", unit},
          {"t_ps", thinned.time_ps},
          {"min", thinned.min},
          {"max", thinned.max}};
}

Response series_data(const Request& request, OpenRun& run) {
  const auto window = window_of(request, run);
  if (!window) return problem(422, "from_ps and to_ps are times in picoseconds, from_ps before to_ps");
  const auto points = request.number("points", 800, 2, 20'000);
  const auto rate = request.number("rate", 0, 0, 1);
  if (!points || !rate) return problem(422, "points is a number from 2 to 20000, rate 0 or 1");
  const Wanted patterns(request.text("match"));
  if (patterns.size() == 0 || patterns.size() > kMostPatterns)
    return problem(422, "match takes up to 400 names or patterns of series", "match=leaf0:swp1.3.queue_B,h0:*");
  const SampleRange range = samples_in(run, *window);
  std::vector<exports::SeriesInfo> wanted;
  std::size_t left_out = 0;
  for (const exports::SeriesInfo& each : store::Reader<store::SeriesRow>(run.file())) {
    if (!patterns.has(each)) continue;
    if (wanted.size() >= kMostSeries || (wanted.size() + 1) * range.count > kMostReadSamples) {
      ++left_out;
    } else {
      wanted.push_back(each);
    }
  }
  const std::uint64_t shown = std::min<std::uint64_t>(static_cast<std::uint64_t>(*points),
                                                      kMostPoints / std::max<std::size_t>(1, wanted.size()));
  Json list = Json::array();
  for (const exports::SeriesInfo& each : wanted) list.push_back(data_of(run, each, range, shown, *rate == 1));
  return json_answer(Json{{"series", list}, {"left_out", left_out}, {"interval_ps", range.interval_ps}});
}

}  // namespace

void add_series_routes(Router& router, const RunPlace& place, AnswerCache& cache) {
  router.add("GET", "/api/runs/*/series",
             on_run(place, cache, [](const Request&, OpenRun& run) { return list_series(run); }));
  router.add("GET", "/api/runs/*/series/data", on_run(place, cache, series_data));
}

}  // namespace weft::serve
