// expect: assertions on what workloads measured and what ports counted.
#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "labfile/lab_fields.h"
#include "labfile/sections.h"
#include "labfile/workloads/workload_kind.h"
#include "model/metrics.h"
#include "text/yaml_walk.h"

namespace weft::lab {
namespace {

bool is_any_metric(std::string_view word) {
  bool found = false;
  workload::for_each_kind([&](auto kind) { found = found || contains(known_metrics(kind), word); });
  return found;
}

class ExpectationReader {
 public:
  ExpectationReader(const YamlKey& key, const YamlNode& value, LabContext& context)
      : key_(key), value_(value), context_(context), problems_(context.problems) {}

  void read() {
    expectation_.line = key_.place.line;
    expectation_.column = key_.place.column;
    read_subject();
    read_bounds();
    context_.lab.expectations.push_back(expectation_);
  }

 private:
  void fail(std::string message, std::string remedy) {
    problems_.add(key_.place, std::move(message), std::move(remedy));
  }

  // "bw.bw_average_Gbps.65536", "bw_average_Gbps", "vm00:p0.out_of_sequence"
  void read_subject() {
    const std::string_view text = key_.text;
    const std::size_t dot = text.find('.');
    const std::string_view head = text.substr(0, dot);
    const std::string_view tail = dot == std::string_view::npos ? std::string_view() : text.substr(dot + 1);
    if (head.find(':') != std::string_view::npos) {
      read_counter(head, tail);
    } else if (const auto found = context_.workloads.find(head); found != context_.workloads.end()) {
      read_metric(found->second, tail);
    } else if (head == "fabric" || head == "deadlock") {
      read_fabric(head == "fabric" ? MetricGroup::kFabric : MetricGroup::kDeadlock, head, tail);
    } else if (const auto node = context_.nodes.find(head); node != context_.nodes.end() && node->second.is_switch) {
      read_fabric(MetricGroup::kSwitch, head, tail);
    } else if (is_any_metric(head) || is_metric_of_the_only_workload(head)) {
      read_metric_of_the_only_workload(text);
    } else {
      std::vector<std::string_view> names;
      for (const auto& [name, index] : context_.workloads) names.push_back(name);
      fail(fmt::format("there is no workload {}", in_quotes(head)),
           names.empty() ? "write WORKLOAD.METRIC or NODE:PORT.COUNTER" : did_you_mean(head, names, "workloads"));
    }
  }

  void read_counter(std::string_view port, std::string_view counter) {
    const EndpointText endpoint = split_endpoint(port);
    NodeState* node = find_node(endpoint.host, key_.place, context_);
    const PortState* found =
        node == nullptr ? nullptr : find_port(*node, endpoint.host, *endpoint.port, key_.place, context_);
    if (found != nullptr && !node->is_switch && is_vf(context_.lab, found->ref))
      fail(fmt::format("{} is a virtual function and has no counters of its own", port),
           fmt::format("those of {} have what it sends and receives",
                       port_name(context_.lab, carrier_of(context_.lab, found->ref))));
    if (node != nullptr && node->is_switch) {
      read_fabric(MetricGroup::kSwitchPort, port, counter);
      return;
    }
    check_counter(counter);
    expectation_.subject = port;
    expectation_.metric = counter;
  }

  // What switches count; of one port also by priority, "leaf1:swp3.ecn_marked.3".
  void read_fabric(MetricGroup group, std::string_view subject, std::string_view text) {
    expectation_.subject = subject;
    expectation_.metric = text;
    if (is_forwarder(subject) && contains(metrics_of(MetricGroup::kForwarder), text)) return;
    const std::size_t dot = text.find('.');
    const std::string_view metric = text.substr(0, dot);
    if (!contains(metrics_of(group), metric)) {
      fail(fmt::format("{} has no {}", subject, in_quotes(metric)), "it has " + join(metrics_of(group)));
      return;
    }
    if (dot == std::string_view::npos) return;
    const auto priority = parse_unsigned(text.substr(dot + 1));
    if (group != MetricGroup::kSwitchPort || !priority || *priority > 7 || text.size() != dot + 2)
      fail(fmt::format("{} after {}", in_quotes(text.substr(dot + 1)), metric),
           "only a port of a switch has its counters by priority, 0 to 7: leaf1:swp3.ecn_marked.3");
  }

  bool is_forwarder(std::string_view subject) const {
    const auto node = context_.nodes.find(subject.substr(0, subject.find(':')));
    return node != context_.nodes.end() && node->second.is_switch &&
           context_.lab.switches[node->second.index].forwarder.has_value();
  }

  void check_counter(std::string_view counter) {
    const auto counted = counted_counters();
    if (std::find(counted.begin(), counted.end(), counter) != counted.end()) return;
    if (is_known_counter(counter)) {
      fail(fmt::format("{} is a real counter, but nothing that it counts is modelled", counter),
           "docs/lab-file.md lists those that are");
      return;
    }
    const std::vector<std::string_view> candidates(counted.begin(), counted.end());
    const auto names = nearest(counter, candidates);
    fail(fmt::format("there is no counter {}", in_quotes(counter)),
         names.empty() ? "counters have the names of ethtool -S and rdma statistic: docs/lab-file.md lists them"
                       : fmt::format("did you mean {}?", fmt::join(names, ", or ")));
  }

  void read_metric_of_the_only_workload(std::string_view metric) {
    const std::size_t count = context_.lab.workloads.size();
    if (count == 1) {
      read_metric(0, metric);
    } else {
      fail(fmt::format("{} of which workload? there are {}", in_quotes(metric), count), "write WORKLOAD.METRIC");
    }
  }

  void read_metric(std::size_t index, std::string_view text) {
    const WorkloadConfig& workload = context_.lab.workloads[index];
    expectation_.subject = workload.name;
    expectation_.metric = text;
    if (!context_.workload_usable[index]) return;
    std::visit(
        [&](const auto& options) {
          for (TextError& problem : metric_problems(options, workload, text))
            fail(std::move(problem.message), std::move(problem.remedy));
        },
        workload.options);
  }

  bool is_metric_of_the_only_workload(std::string_view metric) const {
    const auto& workloads = context_.lab.workloads;
    if (workloads.size() != 1) return false;
    return std::visit([&](const auto& options) { return contains(metric_names(options), metric); },
                      workloads[0].options);
  }

  void read_bounds() {
    const MapReader map(value_, "an expectation", kExpectationKeys, problems_);
    if (!map.ok()) return;
    const YamlNode *min = map.get("min"), *max = map.get("max"), *equal = map.get("equal");
    if (min == nullptr && max == nullptr && equal == nullptr) {
      problems_.add(value_.place, "an expectation without a bound", "write {min: 24.0}, {max: 1.5} or {equal: 1}");
    }
    if (equal != nullptr && (min != nullptr || max != nullptr)) {
      problems_.add(equal->place, "equal beside min or max", "write equal alone, or min and max");
    }
    read_bound(min, "min", expectation_.min);
    read_bound(max, "max", expectation_.max);
    if (equal != nullptr) {
      read_bound(equal, "equal", expectation_.min);
      expectation_.max = expectation_.min;
    }
    if (expectation_.min && expectation_.max && *expectation_.min > *expectation_.max) {
      problems_.add(max->place, "max is below min", "swap them");
    }
  }

  void read_bound(const YamlNode* node, std::string_view what, std::optional<double>& target) {
    if (node == nullptr) return;
    // wc_status may be given by the name that ibv_wc_status_str's enum has.
    if (node->is_scalar() && expectation_.metric == "wc_status") {
      if (const auto status = wc_status_value(node->text)) {
        target = *status;
        return;
      }
    }
    if (const auto value = read_number(*node, what, problems_)) target = *value;
  }

  const YamlKey& key_;
  const YamlNode& value_;
  LabContext& context_;
  ProblemList& problems_;
  Expectation expectation_;
};

}  // namespace

void read_expectations(const YamlNode& node, LabContext& context) {
  if (!node.is_map()) {
    context.problems.add(node.place, "expect is not a map", "write e.g. bw.bw_average_Gbps: {min: 24.0}");
    return;
  }
  for (std::size_t i = 0; i < node.keys.size(); ++i) ExpectationReader(node.keys[i], node.children[i], context).read();
}

}  // namespace weft::lab
