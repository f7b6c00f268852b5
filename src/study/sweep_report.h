// The output of a sweep: sweep.json (also the answer of the page's API), and a table for a terminal.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>
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
struct AskedFigures {
  std::vector<std::string> names;
  std::vector<std::string> counters;  // those that are 0 if a run does not have them
};

// Figures of the cells that are done; the results of each are read once. Figures that are equal in all cells are
// omitted unless they have expectations or are requested, and figures of single ports even if they differ.
class SweepReader {
 public:
  // `plan` must outlive it.
  SweepReader(const SweepPlan& plan, AskedFigures asked) : plan_(plan), asked_(std::move(asked)) {}
  SweepFigures figures();

 private:
  struct Cell {
    bool read = false, met = false;
    std::vector<std::optional<double>> values;  // by number of the figure
  };
  void read(std::size_t index);
  void put(Cell& cell, const std::string& name, double value);

  const SweepPlan& plan_;
  AskedFigures asked_;
  std::vector<Cell> cells_;
  std::vector<std::string> expected_;
  std::map<std::string, std::size_t> numbers_;
  // Names by number, in the order in which figures were first seen.
  std::vector<std::string> names_;
  std::vector<double> first_;
  std::vector<bool> differs_;
};

std::string sweep_json(const SweepPlan& plan, const SweepFigures& figures);
// `metrics`: columns, requested from the reader; empty: a few that differ. The problem names a metric that no
// cell has.
tl::expected<std::string, StudyProblem> sweep_text(const SweepPlan& plan, const SweepFigures& figures,
                                                   const std::vector<std::string>& metrics);

}  // namespace weft::study
