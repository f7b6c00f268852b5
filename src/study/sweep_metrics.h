// The figures that `weft sweep --metric` names, checked as early as they can be: the beginning of a name against the
// lab before anything runs, the whole of it when the first run is there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/figures.h"

namespace weft::study {

// `subjects`: names of workloads and ports of the lab.
std::optional<StudyProblem> check_metric_subjects(const std::vector<std::string>& metrics,
                                                  const std::vector<std::string>& subjects);
// `known`: names of the figures that runs have. Nothing is known while no run has ended.
std::optional<StudyProblem> check_metrics(const std::vector<std::string>& metrics,
                                          const std::vector<std::string>& known);

}  // namespace weft::study
