#include "study/sweep_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/plural.h"
#include "study/sweep_metrics.h"

namespace weft::study {

namespace {

using SweepJson = nlohmann::ordered_json;

constexpr std::size_t kColumns = 5;
constexpr std::size_t kMostMetrics = 300;

using Row = std::vector<std::string>;

bool has(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

std::string aligned(const std::vector<Row>& rows, std::size_t left) {
  std::vector<std::size_t> width(rows.front().size(), 0);
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  std::string out;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += i < left ? fmt::format("{:<{}}  ", row[i], width[i]) : fmt::format("{:>{}}  ", row[i], width[i]);
    while (line.ends_with(' ')) line.pop_back();
    out += line + "\n";
  }
  return out;
}

}  // namespace

SweepFigures sweep_figures(const SweepPlan& plan, const AskedFigures& asked) {
  std::vector<std::map<std::string, double>> by_cell(plan.cells.size());
  std::vector<std::string> order, expected;
  std::set<std::string> known;
  SweepFigures out;
  out.met.resize(plan.cells.size(), false);
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    if (plan.cells[i].state != CellState::kDone) continue;
    auto run = read_figures(plan.directory_of(plan.cells[i]));
    if (!run) continue;
    out.met[i] = run->met == run->expectations;
    if (expected.empty()) expected = run->expected;
    for (const Figure& figure : run->figures) {
      if (figure.group == FigureGroup::kPort && !has(asked.names, figure.name)) continue;
      by_cell[i].emplace(figure.name, figure.value);
      if (known.insert(figure.name).second) order.push_back(figure.name);
    }
  }
  const auto differs = [&](const std::string& name) {
    std::set<double> values;
    for (const auto& cell : by_cell)
      if (const auto it = cell.find(name); it != cell.end()) values.insert(it->second);
    return values.size() > 1;
  };
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    if (plan.cells[i].state != CellState::kDone) continue;
    for (const std::string& counter : asked.counters) {
      by_cell[i].emplace(counter, 0);
      known.insert(counter);
    }
  }
  out.known = order;
  expected.insert(expected.end(), asked.names.begin(), asked.names.end());
  for (const std::string& name : expected)
    if (known.contains(name) && std::find(out.names.begin(), out.names.end(), name) == out.names.end())
      out.names.push_back(name);
  for (const std::string& name : order)
    if (out.names.size() < kMostMetrics && differs(name) &&
        std::find(out.names.begin(), out.names.end(), name) == out.names.end())
      out.names.push_back(name);
  for (const auto& cell : by_cell) {
    std::vector<std::optional<double>> row;
    for (const std::string& name : out.names) {
      const auto it = cell.find(name);
      row.push_back(it == cell.end() ? std::nullopt : std::optional(it->second));
    }
    out.values.push_back(std::move(row));
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
  Row head;
  for (const SweepAxis& axis : plan.axes) head.push_back(axis.path);
  head.emplace_back("run");
  const std::size_t left = head.size();
  for (const std::size_t column : columns) head.push_back(figures.names[column]);
  head.emplace_back("expectations");
  std::vector<Row> rows{head};
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    const SweepCell& cell = plan.cells[i];
    Row row;
    for (std::size_t k = 0; k < plan.axes.size(); ++k) row.push_back(plan.axes[k].values[cell.at[k]]);
    row.push_back(cell.name);
    for (const std::size_t column : columns) {
      const auto& value = figures.values[i][column];
      row.push_back(value ? figure_text(figures.names[column], *value) : "-");
    }
    row.emplace_back(cell.state != CellState::kDone ? cell_state_name(cell.state) : figures.met[i] ? "met" : "not met");
    rows.push_back(std::move(row));
  }
  std::string out =
      fmt::format("# Sweep of {}: {}\n\n{}", plan.lab_name, counted(plan.cells.size(), "run"), aligned(rows, left));
  if (metrics.empty() && figures.names.size() > columns.size())
    out += fmt::format("\n{} more figures differ: --metric NAME shows them, sweep.json has all\n",
                       figures.names.size() - columns.size());
  for (const SweepCell& cell : plan.cells)
    if (!cell.problem.empty()) out += fmt::format("\n{}: {}\n", cell.name, cell.problem);
  return out;
}

}  // namespace weft::study
