// Typed, strict access to a YAML tree. Each reader reports what is wrong and returns nothing then, so
// that callers go on with the rest. `what` names the value in messages: "mtu", "cable length".
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/fields.h"
#include "text/problem.h"
#include "text/units.h"
#include "text/word.h"
#include "text/yaml_tree.h"

namespace weft::lab {

// A map with a fixed set of keys. Reports a node that is no map and every key that is not known.
class MapReader {
 public:
  MapReader(const YamlNode& node, std::string_view what, std::span<const std::string_view> keys, ProblemList& problems);
  // Those of the section.
  MapReader(const YamlNode& node, std::string_view what, const Section& section, ProblemList& problems);

  bool ok() const { return node_.is_map(); }
  const YamlNode* get(std::string_view key) const { return node_.find(key); }
  // Reports a missing key.
  const YamlNode* require(std::string_view key, std::string_view example) const;
  // With the example of its row.
  const YamlNode* require(std::string_view key) const;
  // Reads all rows that have a member of T, and reports those that are required and not there.
  template <class T>
  void read(const SectionOf<T>& section, T& object) const {
    for (const FieldInfo& field : section.fields) read_row(field, &object);
  }
  // Reads one of them; false: it is not there, or a problem was reported.
  template <class T>
  bool read(const SectionOf<T>& section, std::string_view key, T& object) const {
    return read_row(*section.find(key), &object);
  }
  const Place& place() const { return node_.place; }

 private:
  template <class IsKnown, class Keys>
  void check_keys(const IsKnown& is_known, const Keys& keys);
  bool read_row(const FieldInfo& field, void* object) const;

  const YamlNode& node_;
  std::string what_;
  const Section* section_ = nullptr;
  ProblemList& problems_;
};

template <class Number>
struct Range {
  Number min = 0;
  Number max = std::numeric_limits<Number>::max();
};

std::optional<std::int64_t> read_quantity(const YamlNode& node, std::string_view what, Quantity quantity,
                                          Range<std::int64_t> range, ProblemList& problems);
// A size that every tool gives in bytes, so that a number alone is one: "1500", "9000 B".
std::optional<std::int64_t> read_bytes(const YamlNode& node, std::string_view what, Range<std::int64_t> range,
                                       ProblemList& problems);
std::optional<std::uint64_t> read_unsigned(const YamlNode& node, std::string_view what, Range<std::uint64_t> range,
                                           ProblemList& problems);
std::optional<double> read_number(const YamlNode& node, std::string_view what, ProblemList& problems);
std::optional<bool> read_bool(const YamlNode& node, std::string_view what, ProblemList& problems);
// One line of any text; a bare `on` or `no` must be quoted.
std::optional<std::string> read_text(const YamlNode& node, std::string_view what, ProblemList& problems);
// Letters, digits, '-' and '_', at most 63, the first a letter or digit.
std::optional<std::string> read_name(const YamlNode& node, std::string_view what, ProblemList& problems);
bool check_name(const YamlKey& key, std::string_view what, ProblemList& problems);
// Reports a node that is no list.
const std::vector<YamlNode>* read_list(const YamlNode& node, std::string_view what, ProblemList& problems);
// Index of the word.
std::optional<std::size_t> read_word(const YamlNode& node, std::string_view what,
                                     std::span<const std::string_view> words, ProblemList& problems);

template <class Enum>
std::optional<Enum> read_choice(const YamlNode& node, std::string_view what, std::span<const Word<Enum>> words,
                                ProblemList& problems) {
  std::vector<std::string_view> texts;
  for (const Word<Enum>& word : words) texts.push_back(word.text);
  const auto index = read_word(node, what, texts, problems);
  if (!index) return std::nullopt;
  return words[*index].value;
}

// Puts the value where it belongs when there is one, and leaves the default when there is none.
template <class Target, class Value>
bool store(Target& target, const std::optional<Value>& value) {
  if (value) target = static_cast<Target>(*value);
  return value.has_value();
}

}  // namespace weft::lab
