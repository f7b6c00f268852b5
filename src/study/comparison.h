// Two runs side by side: differences in the lab and in the results (`weft compare A B`).
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "study/figures.h"
#include "study/lab_difference.h"

namespace weft::study {

struct FigureDifference {
  std::string name;
  FigureGroup group = FigureGroup::kWorkload;
  std::optional<double> a, b;  // nothing: the run has no such figure; missing counters are 0
  // Relative to a: 0.1 is ten percent more; nothing if a is 0 or either is missing.
  std::optional<double> change() const;
};

struct Comparison {
  RunFigures a, b;  // without figures
  std::vector<LabDifference> lab;
  std::vector<FigureDifference> results;  // those that differ
  std::size_t compared = 0;               // figures in all

  bool same() const { return lab.empty() && results.empty() && a.seed == b.seed; }
};

tl::expected<Comparison, StudyProblem> compare_runs(const std::string& a, const std::string& b);

// `ports`: also the counters of each port.
std::string comparison_text(const Comparison& comparison, bool ports);
std::string comparison_json(const Comparison& comparison);

}  // namespace weft::study
