// workloads: who sends what to whom, from when on. Each kind has a file of its own.
#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "labfile/lab_fields.h"
#include "labfile/sections.h"
#include "labfile/workloads/workload_kind.h"
#include "text/yaml_walk.h"

namespace weft::lab {
namespace {

class WorkloadReader {
 public:
  WorkloadReader(const YamlNode& node, LabContext& context)
      : context_(context),
        problems_(context.problems),
        map_(node, fmt::format("workloads[{}]", context.lab.workloads.size()), kWorkloadKeys, context.problems) {}

  void read() {
    const std::size_t problems_before = problems_.size();
    read_name_and_start();
    WorkloadReading reading(map_, workload_, context_);
    std::size_t kinds = 0;
    workload::for_each_kind([&]<class Kind>(std::type_identity<Kind>) { kinds += map_.get(Kind::kKey) != nullptr; });
    if (kinds == 1) {
      workload::for_each_kind([&]<class Kind>(std::type_identity<Kind> kind) {
        const YamlNode* node = map_.get(Kind::kKey);
        if (node == nullptr) return;
        workload_.options.emplace<Kind>();
        forbid_others(kind);
        read_kind(kind, *node, reading);
      });
    } else if (map_.ok()) {
      if (kinds == 0) reading.read_ends();
      problems_.add(map_.place(), kinds == 0 ? "a workload that does nothing" : "more than one kind in one workload",
                    "write one of " + examples());
    }
    context_.lab.workloads.push_back(std::move(workload_));
    context_.workload_usable.push_back(problems_.size() == problems_before);
  }

 private:
  void read_name_and_start() {
    const YamlNode* node = map_.require("name");
    const auto name = node == nullptr ? std::nullopt : read_name(*node, "name", problems_);
    if (name) {
      workload_.name = *name;
      if (!context_.workloads.emplace(*name, context_.lab.workloads.size()).second) {
        problems_.add(node->place, fmt::format("two workloads are named {}", *name), "give each a name of its own");
      }
    }
    map_.read(kWorkloadKeys, "start", workload_);
  }

  template <class Kind>
  void forbid_others(std::type_identity<Kind> kind) {
    const Section& own = kind_keys(kind);
    for (std::string_view key : kWorkloadKeys.keys()) {
      const YamlNode* node = map_.get(key);
      if (node == nullptr || key == "name" || key == "start" || own.find(key) != nullptr) continue;
      problems_.add(node->place, fmt::format("{} does not fit here", key), std::string(misfit(kind, key)));
    }
  }

  // "perftest: write_bw, transfer: write, flows: incast and program: […]"
  static std::string examples() {
    std::vector<std::string> list;
    workload::for_each_kind([&]<class Kind>(std::type_identity<Kind>) {
      list.push_back(fmt::format("{}: {}", Kind::kKey, Kind::kExample));
    });
    const std::string last = list.back();
    list.pop_back();
    return fmt::format("{} and {}", fmt::join(list, ", "), last);
  }

  LabContext& context_;
  ProblemList& problems_;
  MapReader map_;
  WorkloadConfig workload_;
};

}  // namespace

std::vector<TextError> plain_metric_problems(const WorkloadConfig& workload, const std::vector<std::string_view>& names,
                                             std::string_view metric) {
  const std::size_t dot = metric.find('.');
  if (std::find(names.begin(), names.end(), metric.substr(0, dot)) == names.end())
    return {{fmt::format("{} does not measure {}", workload.name, in_quotes(metric.substr(0, dot))),
             "it measures " + join(names)}};
  if (dot == std::string_view::npos) return {};
  return {size_after_metric(metric)};
}

TextError size_after_metric(std::string_view metric) {
  return {fmt::format("a size ({}) after the metric", metric.substr(metric.find('.') + 1)),
          "only a perftest with -a has several sizes: leave it out"};
}

void read_workloads(const YamlNode& node, LabContext& context) {
  const auto* list = read_list(node, "workloads", context.problems);
  if (list == nullptr) return;
  for (const YamlNode& item : *list) WorkloadReader(item, context).read();
}

}  // namespace weft::lab
