// A comparison as text for a terminal and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/figures.h"
#include "base/text_table.h"
#include "study/comparison.h"

namespace weft::study {

namespace {

using OrderedJson = nlohmann::ordered_json;

std::string run_line(char letter, const RunFigures& run) {
  std::string line = fmt::format("{}  {}  lab {}, seed {}", letter, run.directory, run.lab, run.seed);
  if (run.expectations > 0) line += fmt::format(", {} of {} expectations met", run.met, run.expectations);
  if (run.interrupted) line += ", interrupted";
  for (const std::string& word : run.set) line += fmt::format("\n   --set '{}'", word);
  return line + "\n";
}

std::string value_text(const std::optional<LabValue>& value) {
  if (!value) return "(not there)";
  return value->line > 0 ? fmt::format("{} (line {})", value->text, value->line) : value->text + " (--set)";
}

std::string number_text(const FigureDifference& difference, const std::optional<double>& value) {
  return value ? figure_text(difference.name, *value) : "-";
}

std::string table(const std::vector<const FigureDifference*>& rows) {
  TextTable text;
  text.add_column("figure", TextTable::Align::kLeft);
  for (const char* title : {"A", "B", "change"}) text.add_column(title);
  for (const FigureDifference* row : rows)
    text.add_row({row->name, number_text(*row, row->a), number_text(*row, row->b),
                  row->change() ? change_text(*row->change()) : ""});
  return text.text("  ");
}

OrderedJson run_json(const RunFigures& run) {
  return {{"directory", run.directory},
          {"lab", run.lab},
          {"seed", run.seed},
          {"seed_text", std::to_string(run.seed)},
          {"set", run.set},
          {"met", run.met},
          {"expectations", run.expectations},
          {"interrupted", run.interrupted}};
}

std::string_view group_name(FigureGroup group) {
  switch (group) {
    case FigureGroup::kWorkload:
      return "workload";
    case FigureGroup::kFabric:
      return "fabric";
    case FigureGroup::kHosts:
      return "hosts";
    case FigureGroup::kPort:
      return "port";
    case FigureGroup::kExpected:
      return "expected";
  }
  return "";
}

}  // namespace

std::string comparison_text(const Comparison& comparison, bool ports) {
  std::string out = run_line('A', comparison.a) + run_line('B', comparison.b);
  if (comparison.same()) return out + "\nThe labs are the same, and so are all figures.\n";
  if (comparison.lab.empty()) {
    out += comparison.a.seed == comparison.b.seed ? "\nLab: no difference\n" : "\nLab: no difference but the seed\n";
  } else {
    out += fmt::format("\nLab: {} difference{}\n", comparison.lab.size(), comparison.lab.size() == 1 ? "" : "s");
    for (const LabDifference& difference : comparison.lab)
      out += fmt::format("  {}\n    A: {}\n    B: {}\n", difference.path, value_text(difference.a),
                         value_text(difference.b));
  }
  std::vector<const FigureDifference*> shown;
  std::size_t at_ports = 0;
  for (const FigureDifference& difference : comparison.results) {
    at_ports += difference.group == FigureGroup::kPort ? 1 : 0;
    if (ports || difference.group != FigureGroup::kPort) shown.push_back(&difference);
  }
  if (comparison.results.empty()) return out + "\nResults: all figures are the same\n";
  out += fmt::format("\nResults: {} of {} figures differ\n", comparison.results.size(), comparison.compared);
  if (!shown.empty()) out += table(shown);
  if (!ports && at_ports > 0) out += fmt::format("and {} counters of single ports: --ports lists them\n", at_ports);
  return out;
}

std::string comparison_json(const Comparison& comparison) {
  OrderedJson lab = OrderedJson::array(), results = OrderedJson::array();
  const auto text = [](const std::optional<LabValue>& value) {
    return value ? OrderedJson(value->text) : OrderedJson(nullptr);
  };
  const auto line = [](const std::optional<LabValue>& value) {
    return value && value->line > 0 ? OrderedJson(value->line) : OrderedJson(nullptr);
  };
  for (const LabDifference& difference : comparison.lab) {
    lab.push_back({{"path", difference.path},
                   {"a", text(difference.a)},
                   {"b", text(difference.b)},
                   {"line_a", line(difference.a)},
                   {"line_b", line(difference.b)}});
  }
  const auto number = [](const std::optional<double>& value) {
    return value ? OrderedJson(*value) : OrderedJson(nullptr);
  };
  for (const FigureDifference& difference : comparison.results) {
    results.push_back({{"name", difference.name},
                       {"group", group_name(difference.group)},
                       {"unit", unit_of(difference.name)},
                       {"a", number(difference.a)},
                       {"b", number(difference.b)},
                       {"change", number(difference.change())}});
  }
  const OrderedJson json{{"same", comparison.same()},
                         {"a", run_json(comparison.a)},
                         {"b", run_json(comparison.b)},
                         {"compared", comparison.compared},
                         {"lab", lab},
                         {"results", results}};
  return json.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace weft::study
