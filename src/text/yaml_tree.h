// YAML text -> a plain tree that knows the place of every key and value. Built from yaml-cpp's parser
// events and not from its nodes, because those keep the first of two equal keys without a word and
// expand aliases. A subset of YAML on purpose: one document, no anchors, aliases, merge keys or tags,
// keys are plain words, bounded size and depth. Values stay text; yaml_walk.h gives them types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/problem.h"

namespace weft::lab {

inline constexpr std::size_t kMaxYamlSize_B = 1 << 20;
inline constexpr int kMaxYamlDepth = 24;

struct YamlKey {
  std::string text;
  Place place;
  bool quoted = false;
};

struct YamlNode {
  enum class Kind : std::uint8_t { kNull, kScalar, kSequence, kMap };

  Kind kind = Kind::kNull;
  Place place;
  std::string text;                // kScalar
  bool quoted = false;             // kScalar: written in quotes, or as a block
  std::vector<YamlKey> keys;       // kMap: keys[i] belongs to children[i]
  std::vector<YamlNode> children;  // kSequence, kMap

  bool is_null() const { return kind == Kind::kNull; }
  bool is_scalar() const { return kind == Kind::kScalar; }
  bool is_sequence() const { return kind == Kind::kSequence; }
  bool is_map() const { return kind == Kind::kMap; }
  const YamlNode* find(std::string_view key) const;  // null when this is no map or has no such key
  YamlNode* find(std::string_view key);
};

// Nothing when the text could not be read to its end. A key that is given twice, a tag or a control
// character is reported, and the tree goes on without it. `override_index` is that of the --set whose
// value this is, or -1 for the file.
std::optional<YamlNode> parse_yaml(std::string_view text, ProblemList& problems, int override_index = -1);

}  // namespace weft::lab
