#include "text/yaml_override.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/units.h"

namespace weft::lab {
namespace {

// Follows one path. `rest_` is what was not followed yet, without its leading dot.
class PathWalk {
 public:
  PathWalk(std::string_view path, const Place& place, ProblemList& problems)
      : path_(path), rest_(path), place_(place), problems_(problems) {}

  YamlNode* walk(YamlNode* node) {
    for (int depth = 0; node != nullptr && !rest_.empty(); ++depth) {
      if (depth >= kMaxYamlDepth)
        return fail(fmt::format("a path of more than {} levels", kMaxYamlDepth), "no setting of a lab is so deep");
      node = rest_.front() == '[' ? item(*node) : value(*node);
      if (rest_.starts_with('.')) rest_.remove_prefix(1);
    }
    return node;
  }

 private:
  // What was followed so far, for messages.
  std::string_view followed() const {
    const std::string_view path = path_.substr(0, path_.size() - rest_.size());
    return path.ends_with('.') ? path.substr(0, path.size() - 1) : path;
  }

  YamlNode* fail(std::string message, std::string remedy) {
    problems_.add(place_, std::move(message), std::move(remedy));
    return nullptr;
  }

  YamlNode* value(YamlNode& map) {
    if (map.is_null()) map.kind = YamlNode::Kind::kMap;
    if (!map.is_map())
      return fail(fmt::format("{} is not a map", in_quotes(followed())), "check the path before this key");
    // The longest key that is there, so that keys with dots can be named; else the next word.
    std::size_t length = 0;
    for (const YamlKey& key : map.keys) {
      const bool ends =
          rest_.size() == key.text.size() || rest_.find_first_of(".[", key.text.size()) == key.text.size();
      if (rest_.starts_with(key.text) && ends) length = std::max(length, key.text.size());
    }
    if (length == 0) length = std::min(rest_.find_first_of(".["), rest_.size());
    if (length == 0)
      return fail("an empty name in the path", "write path=value, e.g. nodes.vm00.nics[0].ports.p0.mtu=1500 B");
    const std::string_view key = rest_.substr(0, length);
    rest_.remove_prefix(length);
    if (YamlNode* found = map.find(key)) return found;
    map.keys.push_back({std::string(key), place_, true});
    map.children.emplace_back().place = place_;
    return &map.children.back();
  }

  YamlNode* item(YamlNode& list) {
    const std::size_t close = rest_.find(']');
    if (close == std::string_view::npos) return fail("a [ without its ]", "write list[0]");
    const std::string_view index_text = rest_.substr(1, close - 1);
    if (list.is_null()) list.kind = YamlNode::Kind::kSequence;
    if (!list.is_sequence())
      return fail(fmt::format("{} is not a list", in_quotes(followed())), "check the path before the [");
    rest_.remove_prefix(close + 1);
    if (!rest_.empty() && rest_.front() != '.' && rest_.front() != '[') {
      return fail(fmt::format("{} follows a ]", in_quotes(rest_.substr(0, 1))), "write list[0].key");
    }
    const auto index = parse_unsigned(index_text);
    if (index && *index < list.children.size()) return &list.children[*index];
    if (index && *index == list.children.size()) {
      list.children.emplace_back().place = place_;
      return &list.children.back();
    }
    for (YamlNode& child : list.children) {
      const YamlNode* name = child.find("name");
      if (!index && name != nullptr && name->text == index_text) return &child;
    }
    return fail(fmt::format("there is no item {} in a list of {}", in_quotes(index_text), list.children.size()),
                "count from 0, or give the name of the item");
  }

  std::string_view path_, rest_;
  Place place_;
  ProblemList& problems_;
};

}  // namespace

void apply_overrides(YamlNode& root, std::span<const std::string> overrides, ProblemList& problems) {
  for (std::size_t i = 0; i < overrides.size(); ++i) {
    const Place place{0, 0, static_cast<int>(i)};
    const std::string_view text = overrides[i];
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      problems.add(place, "no path=value", "write e.g. nodes.vm00.nics[0].ports.p0.mtu=1500 B");
      continue;
    }
    const std::size_t problems_before = problems.size();
    std::optional<YamlNode> value;
    value.emplace().place = place;
    if (equals + 1 < text.size()) value = parse_yaml(text.substr(equals + 1), problems, static_cast<int>(i));
    if (problems.size() > problems_before) continue;
    YamlNode changed = root;  // a path that fails half way must leave nothing behind
    if (YamlNode* node = PathWalk(text.substr(0, equals), place, problems).walk(&changed)) {
      *node = *std::move(value);
      root = std::move(changed);
    }
  }
}

}  // namespace weft::lab
