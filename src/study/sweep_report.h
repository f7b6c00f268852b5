// The output of a sweep: sweep.json (also the answer of the page's API), and a table for a terminal.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "study/sweep_plan.h"

namespace weft::study {

// The figures of all cells, by name; nothing where a cell has none.
struct SweepFigures {
  std::vector<std::string> names;                          // those with expectations in the lab first
  std::vector<std::vector<std::optional<double>>> values;  // by cell
  std::vector<std::string> known;                          // all figures of cells, except those of ports
  std::vector<bool> met;                                   // by cell: all expectations
};
// Figures of the cells that are done. Figures that are equal in all cells are omitted unless they have expectations or
// are requested; those of single ports are omitted unless requested.
struct AskedFigures {
  std::vector<std::string> names;
  std::vector<std::string> counters;  // those that are 0 if a run does not have them
};
SweepFigures sweep_figures(const SweepPlan& plan, const AskedFigures& asked = {});

std::string sweep_json(const SweepPlan& plan, const SweepFigures& figures);
// `metrics`: columns, that sweep_figures() was asked for; empty: a few that differ. The problem names a metric that no
// cell has.
tl::expected<std::string, StudyProblem> sweep_text(const SweepPlan& plan, const SweepFigures& figures,
                                                   const std::vector<std::string>& metrics);

}  // namespace weft::study
