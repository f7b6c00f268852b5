#include "labfile/workloads/flow_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/nearest.h"

namespace weft::lab {
namespace {

struct PatternKeys {
  FlowPattern pattern;
  std::vector<std::string_view> required, optional;
};

}  // namespace

std::string_view flow_key_example(std::string_view key) {
  constexpr std::pair<std::string_view, std::string_view> kExamples[] = {
      {"hosts", "hosts: all"},        {"to", "to: h0"},
      {"pairs", "pairs: [[h0, h1]]"}, {"size", "size: 1 MB"},
      {"rounds", "rounds: 10"},       {"period", "period: 1 ms"},
      {"shape", "shape: websearch"},  {"load", "load: 50 %"},
      {"file", "file: flows.cm"},     {"list", "list: [{name: a, from: h0, to: h1, size: 1 MB}]"}};
  for (const auto& [name, text] : kExamples) {
    if (name == key) return text;
  }
  return key;
}

void check_flow_keys(const MapReader& map, FlowPattern pattern, std::string_view name, ProblemList& problems) {
  static const std::vector<PatternKeys> kPatterns = {
      {FlowPattern::kIncast, {"hosts", "to", "size"}, {"rounds", "period"}},
      {FlowPattern::kPermutation, {"hosts", "size"}, {}},
      {FlowPattern::kAllToAll, {"hosts", "size"}, {}},
      {FlowPattern::kPointToPoint, {"pairs", "size"}, {}},
      {FlowPattern::kOnOff, {"pairs", "size", "period", "rounds"}, {}},
      {FlowPattern::kDistribution, {"hosts", "shape", "load"}, {"duration", "count"}},
      {FlowPattern::kMatrix, {"hosts", "file"}, {}},
      {FlowPattern::kGraph, {}, {"list", "file", "size"}}};
  const auto keys =
      std::find_if(kPatterns.begin(), kPatterns.end(), [&](const auto& k) { return k.pattern == pattern; });
  for (std::string_view key : keys->required) map.require(key, flow_key_example(key));
  for (std::string_view key :
       {"hosts", "to", "pairs", "size", "rounds", "period", "load", "shape", "duration", "count", "file", "list"}) {
    const auto in = [&](const auto& list) { return std::find(list.begin(), list.end(), key) != list.end(); };
    const YamlNode* node = map.get(key);
    if (node == nullptr || in(keys->required) || in(keys->optional)) continue;
    problems.add(
        node->place, fmt::format("{} does not go with flows {}", key, name),
        fmt::format("it takes {}", join(keys->required) + (keys->optional.empty() ? "" : ", ") + join(keys->optional)));
  }
}

}  // namespace weft::lab
