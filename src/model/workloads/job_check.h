// Checks the graph of a job before it runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/job_graph.h"

namespace weft::workload {

struct JobProblem {
  std::string message, remedy;
  std::uint32_t rank = 0, node = 0;
};

// What is wrong with a graph, at most a few of each kind: numbers out of range, cycles, groups whose members do not
// issue the same collectives in the same order, sends without their receive, and ranks that would wait for each other
// for ever. Puts the nodes of every program into an order in which none waits for a later one.
std::vector<JobProblem> settle_job(JobGraph& graph);

}  // namespace weft::workload
