// Two runs side by side: what differs in the lab, what differs in the result (`weft compare A B`).
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
  std::optional<double> a, b;  // nothing: it has no such figure; of counters that is 0
  // Of a: 0.1 is ten percent more; nothing where a is 0 or either is missing.
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

// `ports`: counters of each port as well, which are many.
std::string comparison_text(const Comparison& comparison, bool ports);
std::string comparison_json(const Comparison& comparison);

}  // namespace weft::study
