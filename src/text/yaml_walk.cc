#include "text/yaml_walk.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"

namespace weft::lab {
namespace {

std::string_view kind_text(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "empty";
    case YamlNode::Kind::kScalar:
      return "a single value";
    case YamlNode::Kind::kSequence:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a map";
  }
  return "";
}

bool is_single_value(const YamlNode& node, std::string_view what, ProblemList& problems) {
  if (node.is_scalar()) return true;
  problems.add(node.place, fmt::format("{} is {}", what, kind_text(node)), "write one value");
  return false;
}

void add(ProblemList& problems, const YamlNode& node, std::string_view what, const TextError& error) {
  problems.add(node.place, fmt::format("{}: {}", what, error.message), error.remedy);
}

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

// A name or a text that YAML 1.1 tools read as true or false.
bool is_surprising_word(const YamlNode& node, std::string_view what, ProblemList& problems) {
  if (node.quoted || !is_yaml11_bool(node.text)) return false;
  problems.add(node.place, fmt::format("{}: {} is a boolean in YAML 1.1", what, node.text),
               fmt::format("write \"{}\" in quotes, or choose another word", node.text));
  return true;
}

}  // namespace

MapReader::MapReader(const YamlNode& node, std::string_view what, std::span<const std::string_view> keys,
                     ProblemList& problems)
    : node_(node), what_(what), problems_(problems) {
  check_keys([&](std::string_view key) { return std::find(keys.begin(), keys.end(), key) != keys.end(); },
             [&] { return keys; });
}

MapReader::MapReader(const YamlNode& node, std::string_view what, const Section& section, ProblemList& problems)
    : node_(node), what_(what), section_(&section), problems_(problems) {
  check_keys([&](std::string_view key) { return section.find(key) != nullptr; }, [&] { return section.keys(); });
}

template <class IsKnown, class Keys>
void MapReader::check_keys(const IsKnown& is_known, const Keys& keys) {
  if (!node_.is_map()) {
    problems_.add(node_.place, fmt::format("{} is {}, not a map", what_, kind_text(node_)),
                  fmt::format("keys of {}: {}", what_, join(keys())));
    return;
  }
  for (const YamlKey& key : node_.keys) {
    if (is_known(key.text)) continue;
    problems_.add(key.place, fmt::format("{} has no key {}", what_, in_quotes(key.text)),
                  did_you_mean(key.text, keys(), "keys"));
  }
}

const YamlNode* MapReader::require(std::string_view key) const {
  return require(key, section_->find(key)->notes.required);
}

bool MapReader::read_row(const FieldInfo& field, void* object) const {
  if (!field.value.is_readable()) return false;
  const YamlNode* value = field.notes.required.empty() ? get(field.key) : require(field.key, field.notes.required);
  return value != nullptr && read_field(*value, field, object, problems_);
}

const YamlNode* MapReader::require(std::string_view key, std::string_view example) const {
  const YamlNode* found = get(key);
  if (found == nullptr && ok()) {
    problems_.add(node_.place, fmt::format("{} has no {}", what_, in_quotes(key)), fmt::format("add {}", example));
  }
  return found;
}

std::optional<std::int64_t> read_quantity(const YamlNode& node, std::string_view what, Quantity quantity,
                                          Range<std::int64_t> range, ProblemList& problems) {
  if (!is_single_value(node, what, problems)) return std::nullopt;
  const auto value = parse_quantity(node.text, quantity);
  if (!value) {
    add(problems, node, what, value.error());
    return std::nullopt;
  }
  if (*value < range.min || *value > range.max) {
    const bool low = *value < range.min;
    problems.add(
        node.place, fmt::format("{} {} is {}", what, node.text, low ? "too small" : "too large"),
        fmt::format("{} {}", low ? "at least" : "at most", format_quantity(low ? range.min : range.max, quantity)));
    return std::nullopt;
  }
  return *value;
}

std::optional<std::int64_t> read_bytes(const YamlNode& node, std::string_view what, Range<std::int64_t> range,
                                       ProblemList& problems) {
  if (!node.is_scalar() || !parse_unsigned(node.text))
    return read_quantity(node, what, Quantity::kSize, range, problems);
  YamlNode bytes = node;
  bytes.text += " B";
  return read_quantity(bytes, what, Quantity::kSize, range, problems);
}

std::optional<std::uint64_t> read_unsigned(const YamlNode& node, std::string_view what, Range<std::uint64_t> range,
                                           ProblemList& problems) {
  if (!is_single_value(node, what, problems)) return std::nullopt;
  const auto value = parse_unsigned(node.text);
  if (!value) {
    add(problems, node, what, value.error());
    return std::nullopt;
  }
  if (*value < range.min || *value > range.max) {
    problems.add(node.place, fmt::format("{} {} is out of range", what, *value),
                 fmt::format("it goes from {} to {}", range.min, range.max));
    return std::nullopt;
  }
  return *value;
}

std::optional<double> read_number(const YamlNode& node, std::string_view what, ProblemList& problems) {
  if (!is_single_value(node, what, problems)) return std::nullopt;
  const auto value = parse_number(node.text);
  if (value) return *value;
  add(problems, node, what, value.error());
  return std::nullopt;
}

std::optional<bool> read_bool(const YamlNode& node, std::string_view what, ProblemList& problems) {
  if (!is_single_value(node, what, problems)) return std::nullopt;
  const auto value = parse_bool(node.text);
  if (value) return *value;
  add(problems, node, what, value.error());
  return std::nullopt;
}

std::optional<std::string> read_text(const YamlNode& node, std::string_view what, ProblemList& problems) {
  if (!is_single_value(node, what, problems) || is_surprising_word(node, what, problems)) return std::nullopt;
  return node.text;
}

bool check_name(const YamlKey& key, std::string_view what, ProblemList& problems) {
  YamlNode node;
  node.kind = YamlNode::Kind::kScalar;
  node.place = key.place;
  node.text = key.text;
  node.quoted = key.quoted;
  return read_name(node, what, problems).has_value();
}

std::optional<std::string> read_name(const YamlNode& node, std::string_view what, ProblemList& problems) {
  constexpr std::size_t kLongest = 63;
  if (!is_single_value(node, what, problems) || is_surprising_word(node, what, problems)) return std::nullopt;
  const std::string& text = node.text;
  const bool good = !text.empty() && text.size() <= kLongest && text[0] != '-' && text[0] != '_' &&
                    std::all_of(text.begin(), text.end(), is_name_char);
  if (good) return text;
  problems.add(node.place, fmt::format("{} {} is not a name", what, in_quotes(text)),
               "use letters, digits, - and _, at most 63, a letter or digit first");
  return std::nullopt;
}

const std::vector<YamlNode>* read_list(const YamlNode& node, std::string_view what, ProblemList& problems) {
  if (node.is_sequence()) return &node.children;
  problems.add(node.place, fmt::format("{} is {}, not a list", what, kind_text(node)),
               "write items that start with a dash, or [a, b]");
  return nullptr;
}

std::optional<std::size_t> read_word(const YamlNode& node, std::string_view what,
                                     std::span<const std::string_view> words, ProblemList& problems) {
  if (!is_single_value(node, what, problems)) return std::nullopt;
  const auto found = std::find(words.begin(), words.end(), node.text);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  problems.add(node.place, fmt::format("{} {} is not known", what, in_quotes(node.text)),
               fmt::format("write one of {}", join(words)));
  return std::nullopt;
}

}  // namespace weft::lab
