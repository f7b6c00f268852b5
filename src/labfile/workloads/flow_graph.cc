#include "labfile/workloads/flow_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/nearest.h"

namespace weft::lab {
namespace {

constexpr std::size_t kMostInCycle = 8;  // names of one that are shown
constexpr std::size_t kMostReported = 20;

class GraphResolver {
 public:
  GraphResolver(std::span<const GraphFlow> flows, const std::vector<PortRef>& ports, const Lab& lab,
                workload::FlowOptions& options, ProblemList& problems)
      : flows_(flows), ports_(ports), lab_(lab), options_(options), problems_(problems) {}

  void resolve() {
    const std::size_t problems_before = problems_.size();
    for (const GraphFlow& each : flows_) {
      const auto [found, is_new] = indices_.emplace(each.name.text, static_cast<std::uint32_t>(options_.names.size()));
      if (!is_new)
        problem(each.name.place, fmt::format("two flows are named {}", each.name.text), "give each a name of its own");
      options_.names.push_back(each.name.text);
    }
    for (std::uint32_t i = 0; i < flows_.size(); ++i) read_after(i);
    if (problems_.size() == problems_before) check_cycles();
  }

 private:
  // A list of another kind is wrong in every line.
  void problem(const Place& place, std::string message, std::string remedy) {
    if (++reported_ <= kMostReported) problems_.add(place, std::move(message), std::move(remedy));
  }

  void read_after(std::uint32_t flow) {
    const GraphFlow& own = flows_[flow];
    std::vector<std::uint32_t> before;
    for (const GraphFlow::Name& name : own.after) {
      const auto found = indices_.find(name.text);
      if (found == indices_.end()) {
        problem(name.place,
                fmt::format("{} waits for {}, which is not in the list", own.name.text, in_quotes(name.text)),
                nearest_names(name.text));
      } else if (found->second == flow) {
        problem(name.place, fmt::format("{} waits for itself", own.name.text), "name another flow, or none");
      } else if (check_end(found->second, flow, name.place)) {
        before.push_back(found->second);
        options_.dependencies.push_back({flow, found->second});
      }
    }
    std::sort(before.begin(), before.end());
    if (const auto twice = std::adjacent_find(before.begin(), before.end()); twice != before.end())
      problem(own.name.place, fmt::format("{} waits for {} twice", own.name.text, options_.names[*twice]),
              "name it once");
  }

  std::string nearest_names(std::string_view name) const {
    constexpr std::size_t kMostCompared = 1000;
    std::vector<std::string_view> names;
    for (const GraphFlow& each : flows_.first(std::min(flows_.size(), kMostCompared))) names.push_back(each.name.text);
    const auto close = nearest(name, names);
    return close.empty() ? "write the name of a flow of this list"
                         : fmt::format("did you mean {}?", fmt::join(close, ", or "));
  }

  const PortRef& source(std::uint32_t flow) const { return ports_[options_.flows[flow].source]; }
  const PortRef& destination(std::uint32_t flow) const { return ports_[options_.flows[flow].destination]; }

  // A host knows of its own flows alone: of what it sent, by the completion, and of what it received.
  bool check_end(std::uint32_t before, std::uint32_t flow, const Place& place) {
    const PortRef &from = source(before), &to = destination(before), &at = source(flow);
    if (from.host == at.host || to.host == at.host) return true;
    const auto host = [&](const PortRef& port) -> const std::string& { return lab_.hosts[port.host].name; };
    const std::string& name = options_.names[before];
    problem(place,
            fmt::format("{} starts at {}, which cannot see the end of {}, from {} to {}", options_.names[flow],
                        host(at), name, host(from), host(to)),
            fmt::format(
                "add a flow that carries the dependency, and wait for it: {{from: {}, to: {}, size: 1 B, after: {}}}",
                host(to), host(at), name));
    return false;
  }

  // What is left when flows that wait for nothing are taken away, again and again, is a cycle or waits for one.
  void check_cycles() {
    const std::size_t count = flows_.size();
    std::vector<std::uint32_t> left(count), first(count + 1), dependents(options_.dependencies.size()), ready;
    for (const auto& each : options_.dependencies) ++left[each.flow], ++first[each.before + 1];
    for (std::size_t i = 0; i < count; ++i) first[i + 1] += first[i];
    std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
    for (const auto& each : options_.dependencies) dependents[next[each.before]++] = each.flow;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (left[i] == 0) ready.push_back(i);
    }
    for (std::size_t i = 0; i < ready.size(); ++i) {
      for (std::uint32_t d = first[ready[i]]; d < first[ready[i] + 1]; ++d) {
        if (--left[dependents[d]] == 0) ready.push_back(dependents[d]);
      }
    }
    if (ready.size() < count) report_cycle(left);
  }

  // From a flow that is left back to one that it waits for, until one comes again.
  void report_cycle(const std::vector<std::uint32_t>& left) {
    std::vector<std::uint32_t> before(flows_.size(), 0);
    for (const auto& each : options_.dependencies) {
      if (left[each.before] > 0) before[each.flow] = each.before;
    }
    const auto waiting = [](std::uint32_t n) { return n > 0; };
    auto at = static_cast<std::uint32_t>(std::find_if(left.begin(), left.end(), waiting) - left.begin());
    std::vector<bool> seen(flows_.size());
    for (; !seen[at]; at = before[at]) seen[at] = true;
    std::vector<std::uint32_t> cycle;
    do {
      cycle.push_back(at);
      at = before[at];
    } while (at != cycle.front());
    // Begins with the first of the file.
    std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < std::min(cycle.size(), kMostInCycle); ++i) names.push_back(options_.names[cycle[i]]);
    const std::string more =
        cycle.size() > kMostInCycle ? fmt::format(", and {} more", cycle.size() - kMostInCycle) : "";
    problem(flows_[cycle.front()].name.place,
            fmt::format("flows that wait for each other: {} after {}{}", fmt::join(names, " after "),
                        more.empty() ? names.front() : "…", more),
            "let one of them start by the clock");
  }

  std::span<const GraphFlow> flows_;
  const std::vector<PortRef>& ports_;
  const Lab& lab_;
  workload::FlowOptions& options_;
  ProblemList& problems_;
  std::unordered_map<std::string_view, std::uint32_t> indices_;
  std::size_t reported_ = 0;
};

}  // namespace

void resolve_graph(std::span<const GraphFlow> flows, const std::vector<PortRef>& ports, const Lab& lab,
                   workload::FlowOptions& options, ProblemList& problems) {
  GraphResolver(flows, ports, lab, options, problems).resolve();
}

}  // namespace weft::lab
