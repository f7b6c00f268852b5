#include "study/sweep_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/plural.h"
#include "base/text_table.h"
#include "study/sweep_metrics.h"

namespace weft::study {

namespace {

using SweepJson = nlohmann::ordered_json;

constexpr std::size_t kColumns = 5;
constexpr std::size_t kMostMetrics = 300;

bool has(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

void SweepReader::put(Cell& cell, const std::string& name, double value) {
  const auto [at, is_new] = numbers_.emplace(name, names_.size());
  const std::size_t number = at->second;
  if (is_new) {
    names_.push_back(name);
    first_.push_back(value);
    differs_.push_back(false);
  }
  if (number >= cell.values.size()) cell.values.resize(number + 1);
  if (cell.values[number]) return;
  cell.values[number] = value;
  if (value != first_[number]) differs_[number] = true;
}

void SweepReader::read(std::size_t index) {
  Cell& cell = cells_[index];
  auto run = read_figures(plan_.directory_of(plan_.cells[index]));
  if (!run) return;
  cell.read = true;
  cell.met = run->met == run->expectations;
  if (expected_.empty()) expected_ = run->expected;
  for (const Figure& figure : run->figures) {
    if (figure.group != FigureGroup::kPort || has(asked_.names, figure.name) || has(run->expected, figure.name))
      put(cell, figure.name, figure.value);
  }
  for (const std::string& counter : asked_.counters) put(cell, counter, 0);
}

SweepFigures SweepReader::figures() {
  cells_.resize(plan_.cells.size());
  for (std::size_t i = 0; i < cells_.size(); ++i)
    if (plan_.cells[i].state == CellState::kDone && !cells_[i].read) read(i);
  SweepFigures out;
  out.known = names_;
  std::vector<std::size_t> columns;
  std::vector<bool> taken(names_.size());
  const auto take = [&](std::size_t number) {
    if (!taken[number]) columns.push_back(number);
    taken[number] = true;
  };
  for (const std::vector<std::string>* list : {&expected_, &asked_.names})
    for (const std::string& name : *list)
      if (const auto at = numbers_.find(name); at != numbers_.end()) take(at->second);
  for (std::size_t number = 0; number < names_.size() && columns.size() < kMostMetrics; ++number)
    if (differs_[number]) take(number);
  for (const std::size_t number : columns) out.names.push_back(names_[number]);
  for (const Cell& cell : cells_) {
    out.met.push_back(cell.met);
    std::vector<std::optional<double>>& row = out.values.emplace_back();
    for (const std::size_t number : columns)
      row.push_back(number < cell.values.size() ? cell.values[number] : std::nullopt);
  }
  return out;
}

std::string sweep_json(const SweepPlan& plan, const SweepFigures& figures) {
  SweepJson vary = SweepJson::array(), metrics = SweepJson::array(), cells = SweepJson::array();
  for (const SweepAxis& axis : plan.axes) vary.push_back({{"path", axis.path}, {"values", axis.values}});
  for (const std::string& name : figures.names) metrics.push_back({{"name", name}, {"unit", unit_of(name)}});
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    const SweepCell& cell = plan.cells[i];
    SweepJson values = SweepJson::array();
    for (const auto& value : figures.values[i]) values.push_back(value ? SweepJson(*value) : SweepJson(nullptr));
    SweepJson row{{"at", cell.at}, {"run", cell.name}, {"state", cell_state_name(cell.state)}};
    if (cell.state == CellState::kDone) row["met"] = static_cast<bool>(figures.met[i]);
    if (!cell.problem.empty()) row["problem"] = cell.problem;
    row["values"] = values;
    cells.push_back(row);
  }
  SweepJson json{{"lab", plan.lab_name}, {"set", plan.set}};
  if (plan.seed) json["seed"] = *plan.seed;
  json["vary"] = vary;
  json["metrics"] = metrics;
  json["cells"] = cells;
  return json.dump(1, ' ', false, SweepJson::error_handler_t::replace) + "\n";
}

tl::expected<std::string, StudyProblem> sweep_text(const SweepPlan& plan, const SweepFigures& figures,
                                                   const std::vector<std::string>& metrics) {
  std::vector<std::size_t> columns;
  for (const std::string& name : metrics) {
    const auto it = std::find(figures.names.begin(), figures.names.end(), name);
    if (it == figures.names.end()) {
      auto problem = check_metrics({name}, figures.known);
      if (problem) return tl::unexpected(std::move(*problem));
      continue;  // no run has ended
    }
    columns.push_back(static_cast<std::size_t>(it - figures.names.begin()));
  }
  for (std::size_t i = 0; metrics.empty() && i < std::min(kColumns, figures.names.size()); ++i) columns.push_back(i);
  TextTable table;
  for (const SweepAxis& axis : plan.axes) table.add_column(axis.path, TextTable::Align::kLeft);
  table.add_column("run", TextTable::Align::kLeft);
  for (const std::size_t column : columns) table.add_column(figures.names[column]);
  table.add_column("expectations");
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    const SweepCell& cell = plan.cells[i];
    std::vector<std::string> row;
    for (std::size_t k = 0; k < plan.axes.size(); ++k) row.push_back(plan.axes[k].values[cell.at[k]]);
    row.push_back(cell.name);
    for (const std::size_t column : columns) {
      const auto& value = figures.values[i][column];
      row.push_back(value ? figure_text(figures.names[column], *value) : "-");
    }
    row.emplace_back(cell.state != CellState::kDone ? cell_state_name(cell.state) : figures.met[i] ? "met" : "not met");
    table.add_row(std::move(row));
  }
  std::string out =
      fmt::format("# Sweep of {}: {}\n\n{}", plan.lab_name, counted(plan.cells.size(), "run"), table.text());
  if (metrics.empty() && figures.names.size() > columns.size())
    out += fmt::format("\n{} more figures differ: --metric NAME shows them, sweep.json has all\n",
                       figures.names.size() - columns.size());
  for (const SweepCell& cell : plan.cells)
    if (!cell.problem.empty()) out += fmt::format("\n{}: {}\n", cell.name, cell.problem);
  return out;
}

}  // namespace weft::study
