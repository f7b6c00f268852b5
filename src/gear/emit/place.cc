// Where the lab file says what a problem of emit is about: the node's own key, else the template's, else the section.
#include "gear/emit/emit.h"
#include "text/yaml_tree.h"

namespace weft::gear {

lab::Place place_of(std::string_view lab_text, const EmitProblem& problem) {
  lab::ProblemList ignored;
  const auto tree = lab::parse_yaml(lab_text, ignored);
  lab::Place place{1, 1, -1};
  if (!tree) return place;
  const lab::YamlNode *nodes = tree->find("nodes"), *fabric = tree->find("fabric"), *qos = tree->find("qos");
  const lab::YamlNode* node = nodes == nullptr ? nullptr : nodes->find(problem.node);
  const auto of = [](const lab::YamlNode* map, std::string_view key) {
    return map == nullptr ? nullptr : map->find(key);
  };
  const lab::YamlNode* found = nullptr;
  if (problem.part == LabPart::kQos) {
    found = of(node, "qos") != nullptr ? of(node, "qos") : qos;
  } else if (problem.part == LabPart::kModel) {
    found = of(node, "model");
    for (const char* key : {"leaf", "spine", "switch"}) {
      // leaf0 is of `leaf`, everything above of `spine`; `switch` is for both.
      const bool fits = std::string_view(key) == "switch" || problem.node.starts_with(key);
      if (found == nullptr && fits && !problem.node.empty()) found = of(fabric, key);
    }
  }
  if (found == nullptr && !problem.node.empty()) found = node;
  if (found == nullptr) found = fabric != nullptr ? fabric : nodes;
  return found == nullptr ? place : found->place;
}

}  // namespace weft::gear
