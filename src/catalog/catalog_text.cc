#include "catalog/catalog_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text_table.h"

namespace weft::lab {

namespace {

using Json = nlohmann::ordered_json;
constexpr CatalogKind kKindsInOrder[] = {CatalogKind::kNic,    CatalogKind::kHost,      CatalogKind::kGpu,
                                         CatalogKind::kSwitch, CatalogKind::kForwarder, CatalogKind::kCable,
                                         CatalogKind::kFec};

// A list that is too long for one line has a line for each of its items.
std::vector<std::string_view> value_lines(std::string_view value) {
  constexpr std::size_t kLong = 60;
  if (value.size() <= kLong) return {value};
  std::vector<std::string_view> lines;
  for (std::size_t end = value.find(", "); end != std::string_view::npos; end = value.find(", ")) {
    lines.push_back(value.substr(0, end));
    value.remove_prefix(end + 2);
  }
  lines.push_back(value);
  return lines;
}

}  // namespace

std::string catalog_list_text(const Catalog& catalog) {
  TextTable table({"", "", ""}, TextTable::Align::kLeft);
  for (CatalogKind kind : kKindsInOrder) {
    for (std::string_view name : catalog.names(kind))
      table.add_row({std::string(to_string(kind)), std::string(name), std::string(catalog.entry(name)->description)});
  }
  return table.text();
}

std::string catalog_list_json(const Catalog& catalog) {
  Json list = Json::array();
  for (CatalogKind kind : kKindsInOrder) {
    for (std::string_view name : catalog.names(kind)) {
      list.push_back({{"kind", to_string(kind)}, {"name", name}, {"description", catalog.entry(name)->description}});
    }
  }
  return list.dump(2) + "\n";
}

std::string catalog_entry_text(const CatalogEntry& entry) {
  TextTable table({"", "", ""}, TextTable::Align::kLeft);
  for (const CatalogRow& row : entry.rows) {
    const auto lines = value_lines(row.value);
    table.add_row({std::string(row.field), std::string(lines.front()), fmt::format("[{}] {}", row.tag, row.source)});
    for (std::size_t i = 1; i < lines.size(); ++i) table.add_row({"", std::string(lines[i]), ""});
  }
  return fmt::format("{} ({}): {}\n", entry.name, to_string(entry.kind), entry.description) + table.text("  ") +
         "tags: V primary source, S secondary, R recalled, E estimate, F fitted (docs/catalog.md)\n";
}

std::string catalog_entry_json(const CatalogEntry& entry) {
  Json j;
  j["kind"] = to_string(entry.kind);
  j["name"] = entry.name;
  j["description"] = entry.description;
  j["fields"] = Json::object();
  for (const CatalogRow& row : entry.rows)
    j["fields"][row.field] = {{"value", row.value}, {"tag", row.tag}, {"source", row.source}};
  return j.dump(2) + "\n";
}

}  // namespace weft::lab
