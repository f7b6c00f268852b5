#include "results/counters/counter_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace weft::lab {

namespace {

using Tree = nlohmann::json;

void collect(const Tree& node, const std::string& path, std::vector<std::pair<std::string, double>>& out) {
  if (node.is_number()) {
    out.emplace_back(path, node.get<double>());
  } else if (node.is_structured()) {
    for (const auto& [key, value] : node.items()) {
      // Which one it is, and what happened when: no counts.
      if (key == "class" || key == "records") continue;
      std::string name = key;
      if (value.is_object() && value.contains("name") && value["name"].is_string()) name = value["name"];
      if (value.is_object() && value.contains("class")) name = value["class"].dump();
      collect(value, path.empty() ? name : fmt::format("{}.{}", path, name), out);
    }
  }
}

}  // namespace

std::vector<std::pair<std::string, double>> counter_numbers(std::string_view json) {
  std::vector<std::pair<std::string, double>> numbers;
  const Tree root = Tree::parse(json, nullptr, false);
  if (!root.is_discarded()) collect(root, "", numbers);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace weft::lab
