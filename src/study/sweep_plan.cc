#include "study/sweep_plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::study {

namespace {

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == text.npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

// Nothing if a bracket or quote is not closed.
std::optional<std::vector<std::string>> split_values(std::string_view text) {
  std::vector<std::string> out;
  std::string closers;
  char quote = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '[' || c == '{') {
      closers.push_back(c == '[' ? ']' : '}');
    } else if (!closers.empty() && c == closers.back()) {
      closers.pop_back();
    } else if (c == ',' && closers.empty()) {
      out.push_back(trimmed(text.substr(start, i - start)));
      start = i + 1;
    }
  }
  if (quote != 0 || !closers.empty()) return std::nullopt;
  out.push_back(trimmed(text.substr(start)));
  return out;
}

}  // namespace

tl::expected<SweepAxis, StudyProblem> parse_axis(std::string_view text) {
  const std::string remedy = "write --vary path=value,value, e.g. --vary fabric.hosts=9,17,33";
  const std::size_t equals = text.find('=');
  if (equals == text.npos || equals == 0)
    return tl::unexpected(
        StudyProblem{fmt::format("--vary {}: {}", text, equals == 0 ? "no path" : "no values"), remedy});
  auto values = split_values(text.substr(equals + 1));
  if (!values)
    return tl::unexpected(StudyProblem{fmt::format("--vary {}: a bracket or a quote is not closed", text), remedy});
  for (const std::string& value : *values)
    if (value.empty()) return tl::unexpected(StudyProblem{fmt::format("--vary {}: a value is empty", text), remedy});
  for (auto it = values->begin(); it != values->end(); ++it)
    if (std::find(values->begin(), it, *it) != it)
      return tl::unexpected(
          StudyProblem{fmt::format("--vary {}: {} is given twice", text, *it), "write each value once"});
  SweepAxis axis{trimmed(text.substr(0, equals)), std::move(*values)};
  if (axis.path.empty()) return tl::unexpected(StudyProblem{fmt::format("--vary {}: no path", text), remedy});
  return axis;
}

std::string_view cell_state_name(CellState state) {
  switch (state) {
    case CellState::kWaits:
      return "waits";
    case CellState::kRuns:
      return "runs";
    case CellState::kDone:
      return "done";
    case CellState::kFailed:
      return "failed";
  }
  return "";
}

std::vector<std::string> SweepPlan::set_of(const SweepCell& cell) const {
  std::vector<std::string> all = set;
  for (std::size_t i = 0; i < axes.size(); ++i) all.push_back(axes[i].path + "=" + axes[i].values[cell.at[i]]);
  return all;
}

tl::expected<void, StudyProblem> make_cells(SweepPlan& plan) {
  std::size_t count = 1;
  if (plan.axes.empty())
    return tl::unexpected(StudyProblem{"nothing to vary", "add --vary path=value,value; it may be repeated"});
  for (std::size_t i = 0; i < plan.axes.size(); ++i) {
    count *= plan.axes[i].values.size();
    if (count > kMostCells)
      return tl::unexpected(StudyProblem{fmt::format("more than {} runs", kMostCells), "use fewer values"});
    for (std::size_t k = 0; k < i; ++k)
      if (plan.axes[k].path == plan.axes[i].path)
        return tl::unexpected(
            StudyProblem{fmt::format("--vary {} is given twice", plan.axes[i].path), "give all values in one --vary"});
  }
  const std::size_t digits = std::max<std::size_t>(3, fmt::format("{}", count).size());
  plan.cells.clear();
  for (std::size_t number = 0; number < count; ++number) {
    SweepCell cell;
    cell.at.resize(plan.axes.size());
    std::size_t rest = number;
    for (std::size_t i = plan.axes.size(); i-- > 0;) {
      cell.at[i] = rest % plan.axes[i].values.size();
      rest /= plan.axes[i].values.size();
    }
    cell.name = fmt::format("cell-{:0{}}", number + 1, digits);
    plan.cells.push_back(std::move(cell));
  }
  return {};
}

}  // namespace weft::study
