// Two captures of the same work: what changed, not every packet. Conversations are matched by who talks to whom and
// how, in order of their beginning, since queue pair numbers and PSNs differ from run to run.
#pragma once

#include <string>
#include <vector>

#include "analyze/findings/analysis.h"

namespace weft::analyze {

struct Change {
  std::string what;  // "goodput", "finding psn.lost", "conversation"
  std::string unit;  // "Gb/s"; empty: counts and names
  std::string before, after;
  std::string where;       // the conversation that changed most, or the place of the finding
  std::size_t places = 1;  // conversations or points that changed so
};

// In the order of how much they tell: findings, conversations that are only in one, figures.
std::vector<Change> differences(const Analysis& before, const Analysis& after);

std::string changes_text(const std::vector<Change>& changes, const std::string& before, const std::string& after);
std::string changes_json(const std::vector<Change>& changes, const std::string& before, const std::string& after);

}  // namespace weft::analyze
