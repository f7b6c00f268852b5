// Changes of a lab by its meaning: a part of the tree dropped, emptied, doubled, swapped with its neighbour, or
// replaced by a part of another place or another lab. The text stays YAML, so that all of the reader's sections see it.
// The same numbers give the same change.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "text/yaml_tree.h"

namespace weft::support {

inline std::string yaml_scalar(std::string_view text, bool quoted) {
  const bool plain = !quoted && !text.empty() && text.find_first_of(",[]{}#:&*!|>'\"%@`\n\\") == text.npos;
  if (plain) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// In one line.
inline std::string yaml_text(const lab::YamlNode& node) {
  if (node.is_null()) return "null";
  if (node.is_scalar()) return yaml_scalar(node.text, node.quoted);
  std::string out;
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    if (i > 0) out += ", ";
    if (node.is_map()) out += yaml_scalar(node.keys[i].text, node.keys[i].quoted) + ": ";
    out += yaml_text(node.children[i]);
  }
  return node.is_map() ? "{" + out + "}" : "[" + out + "]";
}

class LabMutator {
 public:
  // Parts are taken from `donor`, too.
  LabMutator(lab::YamlNode root, const lab::YamlNode& donor) : root_(std::move(root)), donor_(donor) {}

  // One change more.
  void change(RandomStream& random) {
    std::vector<lab::YamlNode*> parents;
    collect(root_, parents);
    if (parents.empty()) return;
    lab::YamlNode& parent = *parents[random.below(parents.size())];
    const std::size_t index = random.below(parent.children.size());
    lab::YamlNode& child = parent.children[index];
    const auto at = [&](auto& list) { return list.begin() + static_cast<std::ptrdiff_t>(index); };
    switch (random.below(8)) {
      case 0:
        parent.children.erase(at(parent.children));
        if (parent.is_map()) parent.keys.erase(at(parent.keys));
        break;
      case 1:
        child = {};
        break;
      case 2:
        child.children.clear();
        child.keys.clear();
        if (child.is_scalar()) child.text = "0";
        break;
      case 3: {  // a second one: with a name of its own in a map
        const lab::YamlNode copy = child;
        if (parent.is_map()) {
          lab::YamlKey key = parent.keys[index];
          key.text += "2";
          parent.keys.insert(at(parent.keys), key);
        }
        parent.children.insert(at(parent.children), copy);
        break;
      }
      case 4:
        std::swap(child, parent.children[(index + 1) % parent.children.size()]);
        break;
      case 5:
        child = any_part(root_, random);
        break;
      case 6:
        child = any_part(donor_, random);
        break;
      default:
        replace_by_like(parent, index, random);
        break;
    }
  }

  std::string text() const { return yaml_text(root_); }

 private:
  static void collect(lab::YamlNode& node, std::vector<lab::YamlNode*>& parents) {
    if (!node.children.empty()) parents.push_back(&node);
    for (lab::YamlNode& child : node.children) collect(child, parents);
  }
  static lab::YamlNode any_part(const lab::YamlNode& tree, RandomStream& random) {
    const lab::YamlNode* node = &tree;
    while (!node->children.empty() && (node == &tree || random.below(3) != 0))
      node = &node->children[random.below(node->children.size())];
    return *node;
  }
  // By what another lab has under the same key; a key that it has besides where there is none.
  void replace_by_like(lab::YamlNode& parent, std::size_t index, RandomStream& random) const {
    if (!parent.is_map()) {
      parent.children[index] = any_part(donor_, random);
      return;
    }
    std::vector<const lab::YamlNode*> like;
    const std::string& key = parent.keys[index].text;
    const auto visit = [&](const auto& self, const lab::YamlNode& node) -> void {
      for (std::size_t i = 0; i < node.children.size(); ++i) {
        if (node.is_map() && node.keys[i].text == key) like.push_back(&node.children[i]);
        self(self, node.children[i]);
      }
    };
    visit(visit, donor_);
    if (!like.empty()) {
      parent.children[index] = *like[random.below(like.size())];
    } else if (donor_.is_map() && !donor_.children.empty() && &parent == &root_) {
      const std::size_t other = random.below(donor_.children.size());
      if (parent.find(donor_.keys[other].text) != nullptr) return;
      parent.keys.push_back(donor_.keys[other]);
      parent.children.push_back(donor_.children[other]);
    }
  }

  lab::YamlNode root_;
  const lab::YamlNode& donor_;
};

}  // namespace weft::support
