// workloads with `flows`: patterns over hosts become a list of flows.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/nearest.h"
#include "labfile/lab_fields.h"
#include "labfile/workloads/flow_csv.h"
#include "labfile/workloads/flow_endpoints.h"
#include "labfile/workloads/flow_graph.h"
#include "labfile/workloads/flow_keys.h"
#include "labfile/workloads/workload_kind.h"
#include "model/workloads/flow_matrix.h"
#include "model/workloads/flow_patterns.h"

namespace weft::lab {
namespace {

using workload::EndpointPair;

constexpr std::size_t kMostListProblems = 20;  // of one list

class FlowReader {
 public:
  FlowReader(const MapReader& map, const YamlNode& pattern, WorkloadConfig& workload, LabContext& context)
      : map_(map),
        pattern_(pattern),
        workload_(workload),
        context_(context),
        problems_(context.problems),
        endpoints_(workload.flow_ports, context) {}

  void read() {
    const auto pattern = read_choice<FlowPattern>(pattern_, "flows", std::span(kFlowPatternWords), problems_);
    if (!pattern) return;
    const std::size_t problems_before = problems_.size();
    auto& options = workload_.options.emplace<workload::FlowOptions>();
    read_options(options);
    check_flow_keys(map_, *pattern, pattern_.text, problems_);
    if (const YamlNode* hosts = map_.get("hosts")) endpoints_.read_hosts(*hosts);
    map_.read(kFlowNumberKeys, numbers_);
    if (problems_.size() == problems_before) make_flows(*pattern, options);
    check_reach();
  }

 private:
  void check_telemetry(engine::TelemetryFormat format, const Place& place) {
    if (format == engine::TelemetryFormat::kNone) return;
    bool ifa = format == engine::TelemetryFormat::kIfa;
    for (const SwitchConfig& each : context_.lab.switches) {
      if (ifa ? each.model.has_ifa : each.model.has_int) continue;
      context_.warnings.add(place,
                            fmt::format("a real {} writes no {}: here it does", each.model.name, ifa ? "IFA" : "INT"),
                            "weft catalog show lists the switches that have it");
      return;
    }
  }

  void read_options(workload::FlowOptions& options) {
    map_.read(kFlowKeys, options);
    if (const YamlNode* node = map_.get("telemetry")) check_telemetry(options.telemetry, node->place);
  }

  void read_pairs() {
    const auto* list = read_list(*map_.get("pairs"), "pairs", problems_);
    for (const YamlNode& item : list == nullptr ? std::vector<YamlNode>{} : *list) {
      const auto* ends = read_list(item, "a pair", problems_);
      if (ends == nullptr) continue;
      std::vector<std::uint32_t> found;
      for (const YamlNode& end : *ends) {
        const auto text = read_text(end, "a pair", problems_);
        if (text) found.push_back(endpoints_.one(*text, end.place));
      }
      if (std::find(found.begin(), found.end(), UINT32_MAX) != found.end()) continue;  // reported
      if (found.size() != 2 || ends->size() != 2 || found[0] == found[1]) {
        if (ends->size() == found.size())
          problems_.add(item.place, "a pair is two different hosts", "write [h0, h1]: the first one sends");
        continue;
      }
      pairs_.emplace_back(found[0], found[1]);
    }
  }

  void make_flows(FlowPattern pattern, workload::FlowOptions& options) {
    const auto endpoints = endpoints_.count();
    // Patterns among all hosts: too few of them were reported.
    const bool among_all = pattern == FlowPattern::kPermutation || pattern == FlowPattern::kAllToAll ||
                           pattern == FlowPattern::kDistribution;
    if (among_all && endpoints < 2) return;
    const auto size_B = static_cast<std::uint64_t>(numbers_.size_B);
    const std::size_t problems_before = problems_.size();
    switch (pattern) {
      case FlowPattern::kIncast:
        return make_incast(options);
      case FlowPattern::kPermutation:
        options.flows = workload::permutation(endpoints, size_B, context_.lab.seed);
        return;
      case FlowPattern::kAllToAll:
        if (too_many(std::uint64_t{endpoints} * (endpoints - 1))) return;
        options.flows = workload::all_to_all(endpoints, size_B);
        return;
      case FlowPattern::kPointToPoint:
      case FlowPattern::kOnOff: {
        read_pairs();
        if (problems_.size() != problems_before || too_many(pairs_.size() * std::uint64_t{numbers_.rounds})) return;
        options.flows = pattern == FlowPattern::kOnOff
                            ? workload::on_off(pairs_, size_B, numbers_.period_ps, numbers_.rounds)
                            : workload::point_to_point(pairs_, size_B);
        return;
      }
      case FlowPattern::kDistribution:
        return make_distribution(options);
      case FlowPattern::kMatrix:
        return make_matrix(options);
      case FlowPattern::kGraph:
        return make_graph(options);
    }
  }

  void make_incast(workload::FlowOptions& options) {
    const YamlNode& to = *map_.get("to");
    const std::size_t problems_before = problems_.size();
    const auto text = read_text(to, "to", problems_);
    if (!text) return;
    const std::uint32_t receiver = endpoints_.one(*text, to.place);
    std::vector<std::uint32_t> senders;
    for (std::uint32_t i = 0; i < workload_.flow_ports.size(); ++i) {
      if (i != receiver) senders.push_back(i);
    }
    if (numbers_.rounds > 1 && numbers_.period_ps == 0)
      problems_.add(map_.get("rounds")->place, "rounds without period", "set the interval: period: 1 ms");
    if (problems_.size() != problems_before || too_many(senders.size() * std::uint64_t{numbers_.rounds})) return;
    options.flows = workload::incast(senders, receiver, static_cast<std::uint64_t>(numbers_.size_B), numbers_.rounds,
                                     numbers_.period_ps);
  }

  void make_distribution(workload::FlowOptions& options) {
    const YamlNode& shape = *map_.get("shape");
    const auto distribution = workload::size_distribution(shape.text);
    if (!distribution) {
      problems_.add(shape.place, fmt::format("shape {} is not known", in_quotes(shape.text)),
                    "write one of websearch, hadoop, alistorage");
      return;
    }
    workload::DistributionPattern pattern;
    pattern.endpoints = endpoints_.count();
    pattern.sizes = workload::size_points(*distribution);
    pattern.load = static_cast<double>(numbers_.load_ppb) / 1e9;
    pattern.rate_bps = slowest_bps();
    if (pattern.rate_bps <= 0) return;  // what is wrong with the cable was reported
    pattern.duration_ps = numbers_.duration_ps > 0 ? numbers_.duration_ps : context_.lab.duration_ps.value_or(0);
    pattern.flow_count = numbers_.count;
    pattern.seed = context_.lab.seed;
    if (pattern.duration_ps == 0 && pattern.flow_count == 0) {
      problems_.add(pattern_.place, "flows without an end", "write duration: 10 ms, or count: 1000");
      return;
    }
    const std::uint64_t room = context_.most_flows - std::min(context_.flows, context_.most_flows) + 1;
    pattern.flow_count = pattern.flow_count > 0 ? std::min(pattern.flow_count, room) : room;
    options.flows = workload::distribution(pattern);
    if (too_many(options.flows.size())) options.flows.clear();
  }

  std::int64_t slowest_bps() {
    std::int64_t rate_bps = INT64_MAX;
    for (const PortState* state : endpoints_.states())
      rate_bps = std::min(rate_bps, context_.lab.links[*state->link].rate_bps);
    return rate_bps;
  }

  // htsim's format.
  void make_matrix(workload::FlowOptions& options) {
    const YamlNode& node = *map_.get("file");
    std::string path;
    const auto text = read_beside(node, context_.lab.file, path, problems_);
    if (!text) return;
    auto matrix = workload::read_flow_matrix(*text);
    if (!matrix) {
      for (const workload::MatrixProblem& problem : matrix.error())
        problems_.add(node.place, fmt::format("{}:{}: {}", path, problem.line, problem.message), problem.remedy);
      return;
    }
    if (matrix->nodes > workload_.flow_ports.size()) {
      problems_.add(node.place,
                    fmt::format("{} has {} nodes, hosts names {}", path, matrix->nodes, workload_.flow_ports.size()),
                    "name at least as many hosts as the matrix has nodes");
      return;
    }
    options.flows = std::move(matrix->flows);
  }

  // Flows by name, each from its start or after others.
  void make_graph(workload::FlowOptions& options) {
    const YamlNode *node = map_.get("list"), *file = map_.get("file");
    if ((node == nullptr) == (file == nullptr))
      return problems_.add(pattern_.place,
                           node == nullptr ? "a graph without flows" : "a graph from list and from file",
                           "write either " + std::string(flow_key_example("list")) + " or file: flows.csv");
    const std::size_t problems_before = problems_.size();
    std::string path;
    std::vector<CsvFlow> rows;
    if (file != nullptr) {
      if (const auto text = read_beside(*file, context_.lab.file, path, problems_))
        rows = read_flow_csv(*text, path, file->place, problems_);
    } else if (const auto* list = read_list(*node, "list", problems_)) {
      for (const YamlNode& item : *list) rows.push_back({item, 0});
    }
    if (problems_.size() != problems_before || too_many(rows.size())) return;
    if (rows.empty())
      problems_.add((file != nullptr ? file : node)->place, "a graph without flows",
                    "write " + std::string(flow_key_example("list")));
    std::vector<GraphFlow> graph;
    for (const CsvFlow& row : rows) {
      workload::Flow& flow = options.flows.emplace_back();
      const std::size_t before = problems_.size();
      read_graph_flow(row.node, graph.emplace_back(), flow);
      if (row.line > 0 && problems_.size() != before)
        problems_.add(file->place, fmt::format("that is line {} of {}", row.line, path));
      if (problems_.size() > problems_before + kMostListProblems) return;  // the others would say the same
    }
    if (problems_.size() == problems_before)
      resolve_graph(graph, workload_.flow_ports, context_.lab, options, problems_);
  }

  void read_graph_flow(const YamlNode& node, GraphFlow& names, workload::Flow& flow) {
    const MapReader map(node, "a flow", kGraphFlowKeys, problems_);
    if (!map.ok()) return;
    if (const YamlNode* name = map.require("name")) {
      store(names.name.text, read_name(*name, "name", problems_));
      names.name.place = name->place;
    }
    const YamlNode *from = map.require("from"), *to = map.require("to");
    if (from != nullptr && read_text(*from, "from", problems_)) flow.source = endpoints_.one(from->text, from->place);
    if (to != nullptr && read_text(*to, "to", problems_)) flow.destination = endpoints_.one(to->text, to->place);
    if (from != nullptr && to != nullptr && flow.source == flow.destination && flow.source != UINT32_MAX)
      problems_.add(node.place, "a flow from a port to itself", "name two hosts");
    pairs_.emplace_back(flow.source, flow.destination);
    flow.size_B = static_cast<std::uint64_t>(numbers_.size_B);
    map.read(kGraphFlowKeys, "size", flow);
    if (map.get("size") == nullptr && map_.get("size") == nullptr) {
      problems_.add(node.place, "a flow without size", "write size: 1 MB here, or once for all beside list");
    }
    const YamlNode *start = map.get("start"), *after = map.get("after"), *delay = map.get("delay");
    if (after != nullptr && start != nullptr)
      problems_.add(start->place, "start beside after", "write delay: so long after the last of them has ended");
    if (after == nullptr && delay != nullptr)
      problems_.add(delay->place, "delay without after", "write start: from the start of the workload");
    map.read(kGraphFlowKeys, after == nullptr ? "start" : "delay", flow);
    if (after == nullptr) return;
    const bool is_list = after->is_sequence();
    for (const YamlNode& name : is_list ? std::span(after->children) : std::span(after, 1)) {
      if (const auto text = read_text(name, "after", problems_)) names.after.push_back({*text, name.place});
    }
    if (is_list && after->children.empty())
      problems_.add(after->place, "after without names", "name the flows that it waits for, or leave out after");
  }

  bool too_many(std::uint64_t flows) {
    const std::uint64_t most = context_.most_flows, before = std::exchange(context_.flows, context_.flows + flows);
    if (context_.flows <= most) return false;
    problems_.add(pattern_.place, fmt::format("{} flows{}", flows, before > 0 ? fmt::format(" beside {}", before) : ""),
                  fmt::format("at most {} in a lab", most));
    return true;
  }

  // Endpoints reach each other, in one VLAN and one family: those of a pair, or, where anyone may send to anyone, all.
  void check_reach() {
    if (!context_.links_complete) return;
    if (!pairs_.empty()) {
      for (const auto& [source, destination] : pairs_) {
        if (source == UINT32_MAX || destination == UINT32_MAX) continue;
        if (!reaches(*endpoints_.states()[source], *endpoints_.states()[destination])) return;
      }
      return;
    }
    for (const PortState* state : endpoints_.states()) {
      if (!reaches(*endpoints_.states().front(), *state)) return;
    }
  }

  bool reaches(const PortState& from, const PortState& to) {
    const PortConfig &a = context_.port(from.ref), &b = context_.port(to.ref);
    std::string_view what;
    if (segment_of(from, context_) != segment_of(to, context_)) {
      what = "are not connected";
    } else if (a.vlan != b.vlan) {
      what = "are in two VLANs";
    } else if (a.address.is_v4 != b.address.is_v4) {
      what = "have IPv4 and IPv6";
    }
    if (what.empty()) return true;
    problems_.add(pattern_.place,
                  fmt::format("{} and {} {}", port_name(context_.lab, from.ref), port_name(context_.lab, to.ref), what),
                  "flows run between ports that reach each other");
    return false;
  }

  const MapReader& map_;
  const YamlNode& pattern_;
  WorkloadConfig& workload_;
  LabContext& context_;
  ProblemList& problems_;
  FlowEndpoints endpoints_;
  std::vector<EndpointPair> pairs_;  // of the patterns that have them
  FlowNumbers numbers_;
};

}  // namespace

const Section& kind_keys(std::type_identity<workload::FlowOptions>) {
  return kFlowKeys;
}
std::string_view misfit(std::type_identity<workload::FlowOptions>, std::string_view) {
  return "flows run between hosts: write hosts, and to for incast";
}

void read_kind(std::type_identity<workload::FlowOptions>, const YamlNode& node, WorkloadReading& reading) {
  FlowReader(reading.map, node, reading.workload, reading.context).read();
  read_traffic_class(reading.map, reading.workload.flow_ports, reading.workload, reading.context);
  reading.read_placement(reading.workload.flow_ports);
}

std::vector<TextError> metric_problems(const workload::FlowOptions& options, const WorkloadConfig& workload,
                                       std::string_view metric) {
  return plain_metric_problems(workload, metric_names(options), metric);
}

}  // namespace weft::lab
