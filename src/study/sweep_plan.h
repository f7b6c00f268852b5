// A grid of runs: one lab, some paths of it, some values for each (`weft sweep LAB --vary path=a,b,c`). Every cell is
// the lab with one value of each path, set as with --set, in its own directory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "study/figures.h"

namespace weft::study {

inline constexpr std::size_t kMostCells = 10'000;

struct SweepAxis {
  std::string path;
  std::vector<std::string> values;
};
// "path=a,b,c"; commas in brackets, braces and quotes belong to a value.
tl::expected<SweepAxis, StudyProblem> parse_axis(std::string_view text);

enum class CellState : unsigned char { kWaits, kRuns, kDone, kFailed };
std::string_view cell_state_name(CellState state);

struct SweepCell {
  std::vector<std::size_t> at;  // an index for each axis
  std::string name;             // "cell-007"
  CellState state = CellState::kWaits;
  int status = -1;      // of `weft run`
  std::string problem;  // of a failed run: the end of its output
};

struct SweepPlan {
  std::string lab_path;  // the file that runs read
  std::string lab_text, lab_name;
  std::vector<SweepAxis> axes;
  std::vector<std::string> set;  // for all cells, before the axes
  std::optional<std::uint64_t> seed;
  std::string out;
  std::vector<SweepCell> cells;  // the last axis changes first

  std::vector<std::string> set_of(const SweepCell& cell) const;
  std::string directory_of(const SweepCell& cell) const { return out + "/" + cell.name; }
};

// Creates the cells; a problem if there are none or too many.
tl::expected<void, StudyProblem> make_cells(SweepPlan& plan);

}  // namespace weft::study
