// perftest between every pair of hosts, one pair after the other, into the directory that `weft doctor --pairs` reads.
#include <fmt/format.h>

#include <algorithm>

#include "gear/emit/host_plan.h"

namespace weft::gear {
namespace {

// One end: a host, or a port of one with several.
struct PairEnd {
  std::string name, host, subnet;
  const HostPort* port = nullptr;
  std::size_t rail = 0;  // ports of the same place on their hosts
};

bool reaches(const PairEnd& from, const PairEnd& to) {
  const std::vector<std::string>& routes = from.port->routes;
  return from.subnet == to.subnet || std::find(routes.begin(), routes.end(), to.subnet) != routes.end();
}

}  // namespace

void perftest_pairs(const lab::Lab& lab, const RoutingPlan& plan, const EmitOptions& options, Emission& emission) {
  std::vector<HostPlan> hosts;
  for (std::uint32_t i = 0; i < lab.hosts.size(); ++i) {
    if (!lab.hosts[i].outside && !lab.hosts[i].nics.empty()) hosts.push_back(host_plan(lab, i, plan, options));
  }
  std::vector<PairEnd> ends;
  std::int64_t rate_bps = 0;
  for (const HostPlan& host : hosts) {
    const auto cabled = std::count_if(host.ports.begin(), host.ports.end(),
                                      [](const auto& port) { return port.cabled && !port.second_of_bond; });
    std::size_t rail = 0;
    for (const HostPort& port : host.ports) {
      if (!port.cabled || port.second_of_bond) continue;
      ends.push_back({cabled == 1 ? host.name : fmt::format("{}.{}", host.name, port.device), host.name,
                      host.connected[rail], &port, rail});
      ++rail;
      rate_bps = rate_bps == 0 ? port.rate_bps : std::min(rate_bps, port.rate_bps);
    }
  }
  std::string pairs;
  for (std::size_t a = 0; a < ends.size(); ++a) {
    for (std::size_t b = 0; b < ends.size(); ++b) {
      const bool same_rail = ends[a].rail == ends[b].rail && ends[a].host != ends[b].host;
      if (same_rail && reaches(ends[a], ends[b]))
        pairs += fmt::format("pair {} {} {} {} {} {} {}\n", ends[a].name, ends[a].host, ends[a].port->device,
                             ends[b].name, ends[b].host, ends[b].port->device, ends[b].port->address);
    }
  }
  if (pairs.empty()) return;
  const std::string test = fmt::format("ib_write_bw -F --report_gbits -D 5 -x 3 --tclass={}", hosts[0].traffic_class());
  emission.files.push_back(
      {"job/all-pairs.sh",
       fmt::format("#!/bin/sh\n# perftest between every pair of hosts of the lab {}, alone each time. Run it where ssh "
                   "reaches them all, then\n#   weft doctor --pairs DIR --line-rate {}\n# perftest needs --out_json "
                   "(4.5 or later).\nset -u\nout=${{1:-pairs}}\nmkdir -p \"$out\"\n",
                   lab.name, rate_bps / 1'000'000'000) +
           "# pair CLIENT HOST DEVICE SERVER HOST DEVICE ADDRESS\npair() {\n" +
           fmt::format("  ssh -n \"$5\" \"timeout 60 {} -d $6\" > /dev/null &\n", test) + "  server=$!\n  sleep 2\n" +
           fmt::format("  if ! ssh -n \"$2\" \"{} -d $3 --out_json --out_json_file=/tmp/weft-pair.json $7 > /dev/null "
                       "&& cat /tmp/weft-pair.json\" > \"$out/$1--$4.json\"; then\n",
                       test) +
           "    echo \"$1 -> $4: no result\" >&2\n    rm -f \"$out/$1--$4.json\"\n  fi\n  wait \"$server\"\n}\n" +
           pairs,
       true});
}

}  // namespace weft::gear
