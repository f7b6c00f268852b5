// What a YAML 1.2 reader makes of a lab, as JSON: for its schema.
#pragma once

#include <nlohmann/json.hpp>

#include "text/units.h"
#include "text/yaml_tree.h"

namespace weft::test {

inline nlohmann::ordered_json to_json(const lab::YamlNode& node) {
  nlohmann::ordered_json json;
  if (node.is_map()) {
    json = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < node.keys.size(); ++i) json[node.keys[i].text] = to_json(node.children[i]);
  } else if (node.is_sequence()) {
    json = nlohmann::ordered_json::array();
    for (const lab::YamlNode& child : node.children) json.push_back(to_json(child));
  } else if (node.is_scalar()) {
    json = node.text;
    if (node.quoted) return json;
    if (node.text == "true" || node.text == "false") json = node.text == "true";
    if (const auto whole = lab::parse_unsigned(node.text)) return *whole;
    if (const auto number = lab::parse_number(node.text)) return *number;
  }
  return json;
}

}  // namespace weft::test
