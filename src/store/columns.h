// One declaration of a row type: its columns, from which come CREATE, INSERT and SELECT (store/table.h), the JSON
// object (store/json_row.h), the tables of the documentation and the page's types (store/table_text.h). A row is a
// plain struct; beside it stand
//
//   template <> inline constexpr Table table<FlowRow>{"flow", "all flows"};
//   template <> inline constexpr auto columns<FlowRow> = std::tuple{
//       Column{"number", &FlowRow::number, "from 0 in each workload"}, Column{"fct_ps", &FlowRow::fct_ps, ""}};
//
// A member that is a std::optional is NULL where it has no value. JSON leaves it out, unless the column says
// null_in_json().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace weft::store {

struct Table {
  const char* name = nullptr;
  const char* help = "";
  bool has_rowid = true;
};

template <class Row, class Member>
struct Column {
  const char* name;
  Member Row::*member;
  const char* help = "";

  const char* json_name = nullptr;  // null: the name
  double json_divisor = 1;          // of numbers with a point: another unit in JSON
  int json_places = -1;             // and how many decimal places there; -1: all
  bool is_in_table = true, is_in_json = true;
  const char* page_type = nullptr;  // in TypeScript; null: by the member
  bool is_key = false;
  bool is_quoted = false;         // a word of SQL
  bool is_null_in_json = false;   // no value is null; otherwise it is left out
  bool is_empty_in_json = false;  // an empty list is []; otherwise it is left out

  constexpr Column(const char* column_name, Member Row::*column_member, const char* column_help = "")
      : name(column_name), member(column_member), help(column_help) {}
  constexpr Column key() const { return with(&Column::is_key, true); }
  constexpr Column table_only() const { return with(&Column::is_in_json, false); }
  constexpr Column json_only() const { return with(&Column::is_in_table, false); }
  constexpr Column null_in_json() const { return with(&Column::is_null_in_json, true); }
  constexpr Column empty_in_json() const { return with(&Column::is_empty_in_json, true); }
  constexpr Column page(const char* type) const { return with(&Column::page_type, type); }
  constexpr Column quoted() const { return with(&Column::is_quoted, true); }
  constexpr Column json(const char* other_name) const { return with(&Column::json_name, other_name); }
  constexpr Column rounded(int places, double divisor = 1) const {
    return with(&Column::json_places, places).with(&Column::json_divisor, divisor);
  }

 private:
  template <class Property>
  constexpr Column with(Property Column::*property, Property value) const {
    Column changed = *this;
    changed.*property = value;
    return changed;
  }
};

template <class Row>
inline constexpr Table table{};
template <class Row>
inline constexpr auto columns = std::tuple{};
template <class Row>
inline constexpr bool has_columns = std::tuple_size_v<std::remove_const_t<decltype(columns<Row>)>> > 0;

template <class Row, class Call>
constexpr void for_each_column(Call&& call) {
  std::apply([&](const auto&... column) { (call(column), ...); }, columns<Row>);
}

// What a column is, whatever the row.
enum class ColumnType : std::uint8_t { kInteger, kReal, kText, kBlob, kNone };
template <class Member>
constexpr ColumnType column_type(std::type_identity<Member>) {
  if constexpr (std::is_integral_v<Member>) {
    return ColumnType::kInteger;
  } else if constexpr (std::is_floating_point_v<Member>) {
    return ColumnType::kReal;
  } else if constexpr (std::is_same_v<Member, std::string>) {
    return ColumnType::kText;
  } else if constexpr (std::is_same_v<Member, std::vector<std::uint8_t>>) {
    return ColumnType::kBlob;
  } else {
    return ColumnType::kNone;  // lists and objects: in JSON alone
  }
}
template <class Member>
constexpr ColumnType column_type(std::type_identity<std::optional<Member>>) {
  return column_type(std::type_identity<Member>{});
}

struct ColumnInfo {
  const char* name = "";
  ColumnType type = ColumnType::kNone;
  bool is_key = false, is_quoted = false;
};
// Of the columns that stand in the table.
template <class Row>
std::vector<ColumnInfo> table_columns() {
  std::vector<ColumnInfo> list;
  for_each_column<Row>([&]<class Member>(const Column<Row, Member>& column) {
    constexpr ColumnType kType = column_type(std::type_identity<Member>{});
    if (column.is_in_table) list.push_back({column.name, kType, column.is_key, column.is_quoted});
  });
  return list;
}

}  // namespace weft::store
