// Inside the lab reader: `flows: graph`, flows that wait for others by name.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/lab.h"
#include "text/problem.h"

namespace weft::lab {

// What a flow of a graph says of names, and where.
struct GraphFlow {
  struct Name {
    std::string text;
    Place place;
  };
  Name name;
  std::vector<Name> after;
};

// Gives the flows of `options` their names and dependencies; `flows` are parallel to FlowOptions::flows, `ports` those
// that they count. Reports names that are used twice or not known, flows that wait for themselves, for each other, or
// for one that ends at other hosts.
void resolve_graph(std::span<const GraphFlow> flows, const std::vector<PortRef>& ports, const Lab& lab,
                   workload::FlowOptions& options, ProblemList& problems);

}  // namespace weft::lab
