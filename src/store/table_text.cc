#include "store/table_text.h"

namespace weft::store {

std::string docs_table(std::span<const TableText> tables) {
  std::string out = "| table | rows |\n|---|---|\n";
  for (const TableText& each : tables) {
    std::string names, notes = each.help;
    for (const ColumnText& column : each.columns) {
      names += (names.empty() ? "" : ", ") + column.name;
      if (!column.help.empty()) notes += "; `" + column.name + "`: " + column.help;
    }
    out += "| `" + each.name + "(" + names + ")` | " + notes + " |\n";
  }
  return out;
}

std::string typescript(const TableText& row, bool has_lists) {
  std::string out = "export interface " + row.name + " {\n";
  for (const ColumnText& column : row.columns) {
    const bool is_union = column.type.find('|') != std::string::npos;
    const std::string type = !has_lists ? column.type : is_union ? "(" + column.type + ")[]" : column.type + "[]";
    out += "  " + column.name + (column.is_left_out ? "?: " : ": ") + type + ";";
    if (!column.help.empty()) out += " // " + column.help;
    out += "\n";
  }
  return out + "}\n";
}

}  // namespace weft::store
