// Common part of `weft plan`.
#pragma once

#include <string>
#include <vector>

#include "gear/plan/error.h"
#include "gear/vm/plan.h"

namespace CLI {
class App;
}

namespace weft::cli {

void add_plan_fabric(CLI::App& plan, int& status);
void add_plan_uplink(CLI::App& plan, int& status);

// Print and return the exit status.
int wrong_plan(const gear::PlanError& error);
int write_planned(const std::string& directory, const std::vector<gear::PlannedFile>& files);

}  // namespace weft::cli
