#include "labfile/workloads/flow_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "labfile/lab_fields.h"
#include "text/yaml_walk.h"

namespace weft::lab {
namespace {

std::string_view without_spaces(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// Commas, without quotes around a field or with them; no field of a flow has a comma or a quote in it.
std::vector<std::string_view> csv_fields(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t comma = line.find(',');
    std::string_view field = without_spaces(line.substr(0, comma));
    if (field.size() >= 2 && field.front() == '"' && field.back() == '"') field = field.substr(1, field.size() - 2);
    fields.push_back(field);
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

YamlNode scalar(std::string_view text, const Place& place) {
  YamlNode node;
  node.kind = YamlNode::Kind::kScalar;
  node.place = place;
  node.text = std::string(text);
  return node;
}

// Names with spaces between them are a list.
YamlNode csv_value(std::string_view key, std::string_view text, const Place& place) {
  if (key != "after" || text.find(' ') == std::string_view::npos) return scalar(text, place);
  YamlNode list;
  list.kind = YamlNode::Kind::kSequence;
  list.place = place;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) list.children.push_back(scalar(text.substr(0, end), place));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return list;
}

}  // namespace

std::optional<std::string> read_beside(const YamlNode& file, const std::string& lab, std::string& path,
                                       ProblemList& problems) {
  constexpr std::size_t kLargest_B = 100'000'000;
  const auto name = read_text(file, "file", problems);
  if (!name) return std::nullopt;
  path = (std::filesystem::path(lab).parent_path() / *name).string();
  auto text = read_file(path, kLargest_B);
  if (text) return std::move(*text);
  problems.add(file.place, fmt::format("cannot read {}: {}", path, text.error()), "give the path from the lab file");
  return std::nullopt;
}

std::vector<CsvFlow> read_flow_csv(std::string_view text, const std::string& path, const Place& place,
                                   ProblemList& problems) {
  constexpr std::size_t kMostCsvProblems = 20;
  std::vector<CsvFlow> flows;
  std::vector<std::string_view> columns;
  const std::size_t problems_before = problems.size();
  for (std::size_t line = 1; !text.empty() && problems.size() < problems_before + kMostCsvProblems; ++line) {
    const std::size_t end = text.find('\n');
    const std::string_view own = without_spaces(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (own.empty() || own.front() == '#') continue;
    const std::vector<std::string_view> fields = csv_fields(own);
    if (columns.empty()) {
      columns = fields;
      const auto keys = kGraphFlowKeys.keys();
      for (std::string_view column : columns) {
        if (std::find(keys.begin(), keys.end(), column) == keys.end())
          problems.add(place, fmt::format("{}:{}: there is no column {}", path, line, in_quotes(column)),
                       fmt::format("the first line names the columns: {}", fmt::join(keys, ", ")));
      }
      if (problems.size() != problems_before) return flows;
      continue;
    }
    if (fields.size() != columns.size()) {
      problems.add(place, fmt::format("{}:{}: {} fields, and {} columns", path, line, fields.size(), columns.size()),
                   "leave a field empty between its commas");
      continue;
    }
    CsvFlow& flow = flows.emplace_back();
    flow.line = line;
    flow.node.kind = YamlNode::Kind::kMap;
    flow.node.place = place;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (fields[i].empty()) continue;
      flow.node.keys.push_back({std::string(columns[i]), place, false});
      flow.node.children.push_back(csv_value(columns[i], fields[i], place));
    }
  }
  return flows;
}

}  // namespace weft::lab
