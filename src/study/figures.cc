#include "study/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/figures.h"
#include "base/files.h"
#include "study/run_directory.h"

namespace weft::study {

namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostResults_B = std::size_t{1} << 30;
constexpr int kDeepest = 6;

// Numbers and booleans below `value`. Lists are rows (flows, programs), which may differ between runs.
void gather(const Json& value, const std::string& name, int depth, std::vector<Figure>& out) {
  if (value.is_boolean() || value.is_number()) {
    const double number = value.is_boolean() ? (value.get<bool>() ? 1.0 : 0.0) : value.get<double>();
    out.push_back({name, FigureGroup::kWorkload, number});
  } else if (value.is_object() && depth < kDeepest) {
    for (const auto& [key, inner] : value.items()) gather(inner, name + "." + key, depth + 1, out);
  }
}

void gather_workload(const Json& workload, std::vector<Figure>& out) {
  if (!workload.is_object()) return;
  const std::string name = workload.value("name", "workload");
  for (const auto& [key, inner] : workload.items()) {
    // The kind's own object adds no name: incast.goodput_Gbps, as in `expect`.
    if (inner.is_object() && key != "verdict") {
      gather(inner, name, 0, out);
    } else {
      gather(inner, name + "." + key, 0, out);
    }
  }
}

// In addition to the figures of the kind of workload.
void gather_latency(const Json& latency, std::vector<Figure>& out) {
  if (!latency.is_object()) return;
  const std::string name = latency.value("workload", "workload");
  for (const auto& [key, value] : latency.items()) {
    if (key.starts_with("latency_") && value.is_number())
      out.push_back({name + "." + key, FigureGroup::kWorkload, value.get<double>()});
  }
}

struct Sums {
  std::vector<std::string> order;
  std::map<std::string, double> values;
  void add(const std::string& name, double value) {
    if (!values.contains(name)) order.push_back(name);
    values[name] += value;
  }
  void raise(const std::string& name, double value) {
    if (!values.contains(name)) order.push_back(name);
    values[name] = std::max(values[name], value);
  }
  void put(const std::string& prefix, FigureGroup group, std::vector<Figure>& out) const {
    for (const std::string& name : order) out.push_back({prefix + name, group, values.at(name)});
  }
};

// A list or object of the document; an empty one when it is missing.
const Json& part(const Json& from, const char* name) {
  static const Json none = Json::array();
  if (!from.is_object()) return none;
  const auto it = from.find(name);
  return it == from.end() ? none : *it;
}

// Counters of ports are figures: one that is not there is 0.
bool is_figure(const Json& value) {
  return value.is_number() && value != 0;
}

constexpr const char* kSummed[] = {"drops", "ecn_marked", "pause_tx", "pause_tx_ps", "pause_rx_ps"};

void gather_switches(const Json& switches, Sums& fabric, std::vector<Figure>& ports) {
  for (const Json& node : switches) {
    if (!node.is_object()) continue;
    const std::string name = node.value("name", "");
    fabric.raise("max_buffer_B", node.value("max_buffer_B", 0.0));
    for (const char* counter : kSummed) fabric.add(counter, 0);
    for (const char* most : {"max_queue_B", "max_headroom_B"}) fabric.raise(most, 0);
    for (const Json& port : part(node, "ports")) {
      const std::string where = name + ":" + port.value("name", "");
      for (const auto& [reason, count] : part(port, "drops").items()) {
        if (!is_figure(count)) continue;
        fabric.add("drops", count.get<double>());
        ports.push_back({fmt::format("{}.drops.{}", where, reason), FigureGroup::kPort, count.get<double>()});
      }
      for (const Json& row : part(port, "classes")) {
        if (!row.is_object()) continue;
        const int number = row.value("class", 0);
        for (const auto& [counter, value] : row.items()) {
          if (counter == "class" || !is_figure(value)) continue;
          ports.push_back({fmt::format("{}.{}.{}", where, number, counter), FigureGroup::kPort, value.get<double>()});
          if (std::find(std::begin(kSummed), std::end(kSummed), counter) != std::end(kSummed))
            fabric.add(counter, value.get<double>());
          if (counter == "max_queue_B" || counter == "max_headroom_B") fabric.raise(counter, value.get<double>());
        }
      }
    }
  }
}

void gather_ports(const Json& list, Sums& hosts, std::vector<Figure>& ports) {
  for (const Json& port : list) {
    if (!port.is_object()) continue;
    const std::string where = port.value("name", "");
    for (const char* group : {"hw_counters", "ethtool", "weft"}) {
      for (const auto& [counter, value] : part(port, group).items()) {
        if (!is_figure(value)) continue;
        hosts.add(counter, value.get<double>());
        ports.push_back({where + "." + counter, FigureGroup::kPort, value.get<double>()});
      }
    }
  }
}

enum class Kind : std::uint8_t { kRate, kTime, kSize, kSizeRate };

struct UnitText {
  std::string_view unit;
  double factor;  // to b/s, ps, B, B/s
  Kind kind;
};
constexpr std::array<UnitText, 10> kUnits = {{{"Gbps", 1e9, Kind::kRate},
                                              {"Mbps", 1e6, Kind::kRate},
                                              {"bps", 1, Kind::kRate},
                                              {"ps", 1, Kind::kTime},
                                              {"ns", 1e3, Kind::kTime},
                                              {"us", 1e6, Kind::kTime},
                                              {"ms", 1e9, Kind::kTime},
                                              {"s", 1e12, Kind::kTime},
                                              {"Bps", 1, Kind::kSizeRate},
                                              {"B", 1, Kind::kSize}}};

}  // namespace

std::string_view unit_of(std::string_view name) {
  const std::size_t at = name.rfind('_');
  if (at == name.npos) return "";
  const std::string_view end = name.substr(at + 1);
  const bool known = std::any_of(kUnits.begin(), kUnits.end(), [&](const UnitText& unit) { return unit.unit == end; });
  return known ? end : "";
}

std::string figure_text(std::string_view name, double value) {
  const std::string_view unit = unit_of(name);
  if (unit.empty()) {
    if (value == std::floor(value) && std::abs(value) < 1e15) return fmt::format("{:.0f}", value);
    return fmt::format("{:.4g}", value);
  }
  const auto it = std::find_if(kUnits.begin(), kUnits.end(), [&](const UnitText& u) { return u.unit == unit; });
  // One digit more than elsewhere: two runs are compared by it.
  constexpr int kDigits = 4;
  const double base = value * it->factor;
  switch (it->kind) {
    case Kind::kRate:
      return rate_text(base, kDigits);
    case Kind::kTime:
      return time_text(base, kDigits);
    case Kind::kSize:
      return size_text(base, kDigits);
    case Kind::kSizeRate:
      return size_text(base, kDigits) + "/s";
  }
  return "";
}

namespace {

// Without the ledger and the pauses, which are most of a large file and no figures.
Json parsed_run(const std::string& text) {
  using Event = Json::parse_event_t;
  const auto is_wanted = [&](int depth, Event event, Json& parsed) {
    return depth != 1 || event != Event::key || (parsed != "ledger" && parsed != "pauses");
  };
  return Json::parse(text, is_wanted, false);
}

}  // namespace

tl::expected<RunFigures, StudyProblem> parse_figures(const std::string& text) {
  const Json json = parsed_run(text);
  if (!json.is_object())
    return tl::unexpected(StudyProblem{"results.json is not the JSON of a run", "run the lab again"});
  if (json.contains("runs") || !json.contains("workloads"))
    return tl::unexpected(StudyProblem{"the directory is a study of several runs", "name one of the runs in it"});
  try {
    RunFigures run;
    run.lab = json.value("lab", "");
    run.seed = json.value("seed", std::uint64_t{0});
    run.interrupted = json.value("interrupted", false);
    for (const Json& word : part(json, "set"))
      if (word.is_string()) run.set.push_back(word.get<std::string>());
    for (const Json& expectation : part(json, "expect")) {
      ++run.expectations;
      run.met += expectation.value("met", false) ? 1 : 0;
      run.expected.push_back(expectation.value("what", ""));
    }
    for (const Json& workload : part(json, "workloads")) gather_workload(workload, run.figures);
    for (const Json& latency : part(json, "latency")) gather_latency(latency, run.figures);
    if (json.contains("end_ns")) run.figures.push_back({"end_ns", FigureGroup::kFabric, json.value("end_ns", 0.0)});
    Sums fabric, hosts;
    std::vector<Figure> ports;
    gather_switches(part(json, "switches"), fabric, ports);
    gather_ports(part(json, "ports"), hosts, ports);
    fabric.put("fabric.", FigureGroup::kFabric, run.figures);
    hosts.put("hosts.", FigureGroup::kHosts, run.figures);
    run.figures.insert(run.figures.end(), ports.begin(), ports.end());
    std::set<std::string> known;
    for (const Figure& figure : run.figures) known.insert(figure.name);
    for (const Json& expectation : part(json, "expect")) {
      const std::string name = expectation.value("what", "");
      if (expectation.contains("value") && expectation["value"].is_number() && known.insert(name).second)
        run.figures.push_back({name, FigureGroup::kExpected, expectation["value"].get<double>()});
    }
    return run;
  } catch (const Json::exception&) {
    // A value of an unexpected type.
    return tl::unexpected(StudyProblem{"results.json has values of unexpected types", "run the lab again"});
  }
}

tl::expected<RunFigures, StudyProblem> read_figures(const std::string& directory) {
  if (auto problem = why_no_run(directory)) return tl::unexpected(std::move(*problem));
  const std::string path = directory + "/results.json";
  auto text = read_file(path, kMostResults_B);
  if (!text)
    return tl::unexpected(
        StudyProblem{path + ": " + text.error(), "name the directory of a run, as weft run --out has it"});
  auto run = parse_figures(*text);
  if (!run) return tl::unexpected(StudyProblem{directory + ": " + run.error().message, run.error().remedy});
  run->directory = directory;
  return run;
}

}  // namespace weft::study
