// What tests compare findings by.
#pragma once

#include <string>
#include <vector>

#include "analyze/findings/finding.h"

namespace weft::analyze {

using Ids = std::vector<std::string>;

// In the order in which they were added.
inline Ids ids_of(const Findings& findings) {
  Ids ids;
  for (const Finding& finding : findings.all()) ids.emplace_back(finding.id);
  return ids;
}

}  // namespace weft::analyze
