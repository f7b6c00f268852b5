// Differences between a run's lab and the ready lab of the same name: the page shows them as changes to the lab.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "study/lab_difference.h"

namespace weft::serve {

inline constexpr std::size_t kMostChanges = 40;

// `a` is the ready lab, `b` the run's, with `set`; the first kMostChanges, values cut to a line. Nothing: there is no
// ready lab of this name, or one of the texts cannot be read.
std::optional<std::vector<study::LabDifference>> changes_to_ready_lab(std::string_view name, std::string_view text,
                                                                      std::span<const std::string> set);

}  // namespace weft::serve
