// Row types as text: the table of the documentation, and the page's types in TypeScript. Both stand in files that are
// made, and tests compare them (docs/results.md, web/src/lib/rows.ts).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "store/columns.h"
#include "store/json_row.h"

namespace weft::store {

struct ColumnText {
  std::string name, help;
  std::string type;  // in TypeScript
  bool is_left_out = false;
};
struct TableText {
  std::string name, help;
  std::vector<ColumnText> columns;
};

// "| `flow(workload, number)` | all flows; `number`: from 0 in each workload |" for each table, in their order.
std::string docs_table(std::span<const TableText> tables);
// "export interface FabricNode {…}". With lists, as columns of all rows: "export interface Flows { id: string[]; …".
std::string typescript(const TableText& row, bool has_lists = false);

template <class Row>
TableText table_text() {
  TableText text{table<Row>.name, table<Row>.help, {}};
  for_each_column<Row>([&](const auto& column) {
    if (column.is_in_table) text.columns.push_back({column.name, column.help, "", false});
  });
  return text;
}

// The name of a row type in TypeScript.
template <class Row>
inline constexpr const char* type_name = nullptr;

template <class Member>
std::string typescript_type(std::type_identity<Member>) {
  if constexpr (has_columns<Member>) {
    return type_name<Member>;
  } else if constexpr (std::is_same_v<Member, bool>) {
    return "boolean";
  } else {
    return column_type(std::type_identity<Member>{}) == ColumnType::kText ? "string" : "number";
  }
}
template <class Member>
std::string typescript_type(std::type_identity<std::optional<Member>>) {
  return typescript_type(std::type_identity<Member>{}) + " | null";
}
template <class Member>
std::string typescript_type(std::type_identity<std::vector<Member>>) {
  return typescript_type(std::type_identity<Member>{}) + "[]";
}

template <class Row>
TableText object_text(const char* name) {
  TableText text{name, "", {}};
  for_each_column<Row>([&]<class Member>(const Column<Row, Member>& column) {
    if (!column.is_in_json) return;
    const char* const own_name = column.json_name != nullptr ? column.json_name : column.name;
    const std::string type =
        column.page_type != nullptr ? column.page_type : typescript_type(std::type_identity<Member>{});
    constexpr bool kIsOptional = !std::is_same_v<Member, typename Unwrapped<Member>::Type>;
    text.columns.push_back({own_name, column.help, type, kIsOptional && !column.is_null_in_json});
  });
  return text;
}

}  // namespace weft::store
