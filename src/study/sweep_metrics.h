// Checks the figures of `weft sweep --metric` as early as possible: the first part of a name against the lab before
// anything runs, the whole name when the first run has ended.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/figures.h"

namespace weft::study {

// `subjects`: names of workloads and ports of the lab.
std::optional<StudyProblem> check_metric_subjects(const std::vector<std::string>& metrics,
                                                  const std::vector<std::string>& subjects);
// `known`: names of the figures of runs, empty while no run has ended.
std::optional<StudyProblem> check_metrics(const std::vector<std::string>& metrics,
                                          const std::vector<std::string>& known);

}  // namespace weft::study
