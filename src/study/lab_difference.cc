#include "study/lab_difference.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "text/yaml_override.h"
#include "text/yaml_tree.h"

namespace weft::study {

namespace {

struct Flat {
  std::vector<std::string> order;
  std::map<std::string, LabValue> values;
};

// Items of a list are identified by their `name`, as in --set, unless two items have the same name.
std::vector<std::string> item_names(const lab::YamlNode& list) {
  const auto name_of = [](const lab::YamlNode& item) -> const std::string* {
    const lab::YamlNode* name = item.find("name");
    return name != nullptr && name->is_scalar() ? &name->text : nullptr;
  };
  std::map<std::string, std::size_t> counts;
  for (const lab::YamlNode& item : list.children)
    if (const std::string* name = name_of(item)) ++counts[*name];
  std::vector<std::string> names;
  for (const lab::YamlNode& item : list.children) {
    const std::string* name = name_of(item);
    names.push_back(name != nullptr && counts[*name] == 1 ? *name : std::to_string(names.size()));
  }
  return names;
}

void flatten(const lab::YamlNode& node, const std::string& path, Flat& out) {
  if (node.is_map() && !node.children.empty()) {
    for (std::size_t i = 0; i < node.children.size(); ++i)
      flatten(node.children[i], path.empty() ? node.keys[i].text : path + "." + node.keys[i].text, out);
    return;
  }
  if (node.is_sequence() && !node.children.empty()) {
    const std::vector<std::string> names = item_names(node);
    for (std::size_t i = 0; i < node.children.size(); ++i)
      flatten(node.children[i], fmt::format("{}[{}]", path, names[i]), out);
    return;
  }
  const std::string text = node.is_scalar() ? node.text : node.is_map() ? "{}" : node.is_sequence() ? "[]" : "";
  if (out.values.emplace(path, LabValue{text, node.place.override_index >= 0 ? 0 : node.place.line}).second)
    out.order.push_back(path);
}

tl::expected<Flat, std::string> flat_lab(const LabText& lab) {
  lab::ProblemList problems(lab.set);
  auto root = lab::parse_yaml(lab.text, problems);
  if (root) lab::apply_overrides(*root, lab.set, problems);
  if (!root || !problems.empty()) {
    const std::vector<lab::Problem> list = problems.take();
    return tl::unexpected(list.empty() ? std::string("lab.yaml cannot be read") : list.front().message);
  }
  Flat out;
  flatten(*root, "", out);
  return out;
}

}  // namespace

tl::expected<std::vector<LabDifference>, std::string> lab_differences(const LabText& a, const LabText& b) {
  auto flat_a = flat_lab(a), flat_b = flat_lab(b);
  if (!flat_a) return tl::unexpected(flat_a.error());
  if (!flat_b) return tl::unexpected(flat_b.error());
  std::vector<LabDifference> out;
  for (const std::string& path : flat_a->order) {
    const LabValue& value = flat_a->values.at(path);
    const auto other = flat_b->values.find(path);
    if (other == flat_b->values.end()) {
      out.push_back({path, value, std::nullopt});
    } else if (other->second.text != value.text) {
      out.push_back({path, value, other->second});
    }
  }
  for (const std::string& path : flat_b->order)
    if (!flat_a->values.contains(path)) out.push_back({path, std::nullopt, flat_b->values.at(path)});
  return out;
}

}  // namespace weft::study
