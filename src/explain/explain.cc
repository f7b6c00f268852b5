#include "explain/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/nearest.h"
#include "explain/packet_numbers.h"
#include "results/report_text.h"
#include "text/units.h"

namespace weft::explain {
namespace {

tl::expected<std::pair<Time_ps, Time_ps>, ExplainProblem> read_times(const std::string& text) {
  const std::string form = "write two times with their units: --between 1.2ms,1.4ms";
  const std::size_t comma = text.find(',');
  if (comma == text.npos || text.find(',', comma + 1) != text.npos)
    return tl::unexpected(ExplainProblem{"--between has two times, not \"" + text + "\"", form});
  Time_ps times[2] = {};
  const std::string parts[2] = {text.substr(0, comma), text.substr(comma + 1)};
  for (int i = 0; i < 2; ++i) {
    const auto time = lab::parse_quantity(parts[i], lab::Quantity::kTime);
    if (!time) return tl::unexpected(ExplainProblem{"--between: " + time.error().message, time.error().remedy});
    times[i] = *time;
  }
  if (times[0] < 0 || times[0] >= times[1])
    return tl::unexpected(ExplainProblem{"--between: the first time is not before the second", form});
  return std::pair(times[0], times[1]);
}

std::string node_part(const std::string& port) {
  return port.substr(0, port.find(':'));
}

bool is_meant(const lab::FlowAnswer& flow, const std::string& word) {
  if (flow.id == word || flow.name == word || flow.from == word || flow.to == word) return true;
  if (flow.from + ">" + flow.to == word || node_part(flow.from) + ">" + node_part(flow.to) == word) return true;
  const std::size_t slash = flow.id.rfind('/');
  if (slash != flow.id.npos && flow.id.substr(slash + 1) == word) return true;
  return node_part(flow.from) == word || node_part(flow.to) == word || flow.workload == word;
}

// Only these flows, and incidents that they are part of.
void keep_flows(const std::string& word, lab::Explanation& explanation) {
  std::vector<std::string> ids;
  std::erase_if(explanation.flows, [&](const lab::FlowAnswer& flow) { return !is_meant(flow, word); });
  for (const lab::FlowAnswer& flow : explanation.flows) ids.push_back(flow.id);
  const auto has = [&](const std::vector<std::string>& list) {
    return std::any_of(list.begin(), list.end(),
                       [&](const std::string& id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); });
  };
  std::erase_if(explanation.incidents,
                [&](const lab::Incident& incident) { return !has(incident.flows) && !has(incident.victims); });
  std::erase_if(explanation.links, [&](const lab::LinkUse& link) {
    return std::none_of(explanation.flows.begin(), explanation.flows.end(), [&](const lab::FlowAnswer& flow) {
      return std::find(flow.path.begin(), flow.path.end(), link.from) != flow.path.end() || flow.from == link.from;
    });
  });
}

}  // namespace

tl::expected<lab::Explanation, ExplainProblem> explain_run(const Request& request) {
  auto evidence = read_evidence(request.directory);
  if (!evidence) return tl::unexpected(evidence.error());
  // Each drop is a row of its own in the file.
  if (!request.between.empty()) {
    const auto times = read_times(request.between);
    if (!times) return tl::unexpected(times.error());
    const auto cut = cut_to_window(request.directory, times->first, times->second, *evidence);
    if (!cut) return tl::unexpected(cut.error());
  }
  std::vector<lab::DropEvidence> drops;
  for (const lab::DropEvidence& drop : evidence->drops) lab::merge_drop(drops, drop);
  evidence->drops = std::move(drops);
  lab::Explanation explanation = lab::explain(*evidence);
  if (!request.flow.empty()) {
    const std::vector<lab::FlowAnswer> all = explanation.flows;
    keep_flows(request.flow, explanation);
    if (explanation.flows.empty()) {
      std::vector<std::string_view> ids;
      for (const lab::FlowAnswer& flow : all) ids.push_back(flow.id);
      if (ids.size() > 40) ids.resize(40);
      return tl::unexpected(
          ExplainProblem{"no flow " + request.flow + " in this run",
                         ids.empty() ? "the run has no flows" : did_you_mean(request.flow, ids, "flows")});
    }
  }
  find_packets(request.directory, *evidence, explanation);
  return explanation;
}

}  // namespace weft::explain
