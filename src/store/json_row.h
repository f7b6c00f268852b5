// The JSON object of a row type (store/columns.h). A member that is a list of rows, a row, or named values is a list or
// an object in it.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "store/columns.h"
#include "store/json_stream.h"
#include "store/json_text.h"

namespace weft::store {

// {"name": value, …}, in this order.
template <class Value>
using NamedValues = std::vector<std::pair<std::string, Value>>;

template <class Member>
struct Unwrapped {
  using Type = Member;
};
template <class Value>
struct Unwrapped<std::optional<Value>> {
  using Type = Value;
};

template <class Row>
void add_members(JsonText& j, const Row& row);

template <class Column, class Value>
void add_member(JsonText& j, const char* name, const Column& column, const Value& value) {
  if constexpr (has_columns<Value>) {
    j.open(name, '{');
    add_members(j, value);
    j.close('}');
  } else if constexpr (std::is_floating_point_v<Value>) {
    j.add(name, column.json_places < 0 ? value : rounded(value / column.json_divisor, column.json_places));
  } else {
    j.add(name, value);
  }
}
template <class Column, class Value>
void add_member(JsonText& j, const char* name, const Column& column, const std::optional<Value>& value) {
  if (value) {
    add_member(j, name, column, *value);
  } else if (column.is_null_in_json) {
    j.add(name, nullptr);
  }
}
template <class Column, class Value>
void add_member(JsonText& j, const char* name, const Column& column, const std::vector<Value>& list) {
  if (list.empty() && !column.is_empty_in_json) return;
  j.open(name, '[');
  for (const Value& each : list) {
    if constexpr (has_columns<Value>) {
      j.open_item('{');
      add_members(j, each);
      j.close('}');
    } else {
      j.item(each);
    }
  }
  j.close(']');
}
template <class Column, class Value>
void add_member(JsonText& j, const char* name, const Column& column, const NamedValues<Value>& values) {
  if (values.empty() && !column.is_empty_in_json) return;
  j.open(name, '{');
  for (const auto& [key, value] : values) add_member(j, key.c_str(), column, value);
  j.close('}');
}

template <class Row>
void add_members(JsonText& j, const Row& row) {
  for_each_column<Row>([&](const auto& column) {
    if (column.is_in_json)
      add_member(j, column.json_name != nullptr ? column.json_name : column.name, column, row.*column.member);
  });
}

// The whole object.
template <class Row>
void add_row(JsonText& j, const Row& row) {
  j.open('{');
  add_members(j, row);
  j.close('}');
}
// A member that is a list of rows, empty or not.
template <class Row>
void add_list(JsonText& j, const char* name, const std::vector<Row>& rows) {
  j.open(name, '[');
  for (const Row& row : rows) {
    j.open_item('{');
    add_members(j, row);
    j.close('}');
  }
  j.close(']');
}
// Members that are columns of all rows: {"id": [1, 2], "name": ["a", "b"]}.
template <class Row>
void add_column_lists(JsonText& j, const std::vector<Row>& rows) {
  for_each_column<Row>([&]<class Member>(const Column<Row, Member>& column) {
    j.open(column.name, '[');
    for (const Row& row : rows) {
      if constexpr (std::is_same_v<Member, std::optional<typename Unwrapped<Member>::Type>>) {
        if (row.*column.member) {
          j.item(*(row.*column.member));
        } else {
          j.item(nullptr);
        }
      } else {
        j.item(row.*column.member);
      }
    }
    j.close(']');
  });
}
// The members of an object that is open, each on a line of its own.
template <class Row>
void write_members(JsonStream& out, const Row& row) {
  JsonText text;
  for_each_column<Row>([&](const auto& column) {
    if (!column.is_in_json) return;
    const std::string name = column.json_name != nullptr ? column.json_name : column.name;
    text.clear();
    add_member(text, name.c_str(), column, row.*column.member);
    if (!text.text().empty()) out.value(name, text.text().substr(name.size() + 3));  // without "name":
  });
}
// As an element of a list; `text` is memory that is used again.
template <class Row>
void write_row(JsonStream& out, JsonText& text, const Row& row) {
  text.clear();
  add_row(text, row);
  out.item(text.text());
}

}  // namespace weft::store
