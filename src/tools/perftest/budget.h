// Where a link's bandwidth went in one bandwidth test, and whether the result is a healthy one. The sending port
// accounts for its own time: what it sent (payload, headers, packets sent again) and, when it was idle, what for
// (spec/wait.h). What the receiver held back is followed to what its writes waited for.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "spec/perftest_budget.h"
#include "spec/perftest_options.h"

namespace weft::workload {

// How a limit of PCIe is called, and what it is about.
struct PcieCause {
  const char* name;
  const char* note;
};
const PcieCause& pcie_cause(nic::PcieLimit limit);
PerftestBudget perftest_budget(const PerftestOptions& options, const PortAccount& account, std::uint64_t size_B,
                               std::uint32_t mtu_B);

// What explains a gap: a line that is neither payload nor headers, and more than 1 % of the link.
std::vector<const BudgetLine*> causes(const PerftestBudget& budget);
// One sentence: healthy, or what explains how much of the gap.
std::string verdict_text(const PerftestBudget& budget);
// The whole account, a line each.
std::string budget_text(const PerftestBudget& budget, std::uint64_t size_B);

}  // namespace weft::workload
