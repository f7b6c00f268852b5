// What a sweep says: sweep.json (also the answer of the page's API), and a table for a terminal.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "study/sweep_plan.h"

namespace weft::study {

// The figures of all cells, by name; nothing where a cell has none.
struct SweepFigures {
  std::vector<std::string> names;                          // those that the lab expects something of first
  std::vector<std::vector<std::optional<double>>> values;  // by cell
  std::vector<std::string> known;                          // all that a cell has, without those of ports
  std::vector<bool> met;                                   // by cell: all expectations
};
// Of the cells that are done. Figures that are the same in all of them are left out, unless the lab expects them or
// they are asked for; those of single ports are left out unless they are asked for.
struct AskedFigures {
  std::vector<std::string> names;
  std::vector<std::string> counters;  // of these, such as are 0 where a run does not have them
};
SweepFigures sweep_figures(const SweepPlan& plan, const AskedFigures& asked = {});

std::string sweep_json(const SweepPlan& plan, const SweepFigures& figures);
// `metrics`: columns, that sweep_figures() was asked for; empty: a few that differ. The problem names a metric that no
// cell has.
tl::expected<std::string, StudyProblem> sweep_text(const SweepPlan& plan, const SweepFigures& figures,
                                                   const std::vector<std::string>& metrics);

}  // namespace weft::study
