#include "catalog/catalog_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

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
  std::string out;
  for (CatalogKind kind : kKindsInOrder) {
    for (std::string_view name : catalog.names(kind)) {
      out += fmt::format("{:<6} {:<18} {}\n", to_string(kind), name, catalog.entry(name)->description);
    }
  }
  return out;
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
  std::size_t field_columns = 0;
  std::size_t value_columns = 0;
  for (const CatalogRow& row : entry.rows) {
    field_columns = std::max(field_columns, row.field.size());
    for (std::string_view line : value_lines(row.value)) value_columns = std::max(value_columns, line.size());
  }
  std::string out = fmt::format("{} ({}): {}\n", entry.name, to_string(entry.kind), entry.description);
  for (const CatalogRow& row : entry.rows) {
    const auto lines = value_lines(row.value);
    out += fmt::format("  {:<{}}  {:<{}}  [{}] {}\n", row.field, field_columns, lines.front(), value_columns, row.tag,
                       row.source);
    for (std::size_t i = 1; i < lines.size(); ++i) out += fmt::format("  {:<{}}  {}\n", "", field_columns, lines[i]);
  }
  return out + "tags: V primary source, S secondary, R recalled, E estimate, F fitted (docs/catalog.md)\n";
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
